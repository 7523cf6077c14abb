"""Trying again after a fault of the infrastructure, within a budget of time."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from pytest_fairmedagent.errors import ModelError

BUDGET_S = 90.0
LONGEST_WAIT_S = 30.0

T = TypeVar("T")


def with_retries(
    call: Callable[[], T],
    *,
    on_retry: Callable[[], None],
    stopped: Callable[[], bool],
    budget_s: float = BUDGET_S,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> T:
    """Return what `call` returns; try again while it raises transient ModelErrors.

    Waits what the server asks, else 1, 2, 4, ... seconds with jitter, so that workers that failed
    together do not come back together. The last error is raised when the budget is spent.
    """
    start, wait = clock(), 1.0
    while True:
        try:
            return call()
        except ModelError as error:
            pause = error.retry_after_s
            if pause is None:
                pause = min(wait, LONGEST_WAIT_S) * random.uniform(0.5, 1.0)
            if not error.transient or stopped() or clock() - start + pause > budget_s:
                raise
            on_retry()
            sleep(pause)
            wait *= 2
