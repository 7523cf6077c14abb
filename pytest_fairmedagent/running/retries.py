"""Trying again after a fault of the infrastructure, within a budget of time.

Our own loop and no library's. Written with tenacity 9 it passes the same tests and takes as many
statements, since the loop is all that a library brings: the pause (the server's own advice goes
first), the end (a budget by the kind of fault, in which waiting for one's turn does not count), the
turn in the throttle, the renewal of the lease meanwhile and the end of the run are ours either way,
and as callbacks they are harder to follow than in the order in which they happen.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from pytest_fairmedagent.errors import RATE_LIMITED, ModelError
from pytest_fairmedagent.running.throttle import Throttle

POLICY = "1"  # part of the configuration: another policy loses other trials
LONGEST_WAIT_S = 30.0
LOOK_UP_S = 0.5  # how often a call that waits for its turn looks whether the run is stopped

T = TypeVar("T")


class Stopped(Exception):
    """The run is being stopped; what is finished is stored."""


def with_retries(
    call: Callable[[], T],
    *,
    throttle: Throttle,
    budget_s: Callable[[ModelError], float],
    on_retry: Callable[[], None],
    on_wait: Callable[[], None],
    stopped: Callable[[], bool],
    sleep: Callable[[float], object] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> T:
    """Return what `call` returns; try again while it raises transient ModelErrors.

    Waits what the server asks, else 1, 2, 4, ... seconds, with jitter, so that workers that failed
    together do not come back together. The last error is raised when tries and waits have spent the
    budget for it; a first fault may be tried again even if it took all of that, such as a call that
    hung. Waiting for one's turn is not counted: it is our own doing. Raises Stopped instead of
    starting a call when the run is being stopped.
    """
    spent, wait, tries = 0.0, 1.0, 0
    while True:
        ticket = None
        while ticket is None:
            if stopped():
                raise Stopped
            ticket = throttle.enter(LOOK_UP_S)
            if ticket is None:
                on_wait()
        start = clock()
        answered = limited = False
        try:
            result = call()
            answered = True
            return result
        except ModelError as error:
            limited = error.kind == RATE_LIMITED
            tries += 1
            if error.retry_after_s:  # 0 is no advice: it would be asked for without end
                pause = error.retry_after_s * random.uniform(1.0, 1.1)
            else:
                pause = min(wait, LONGEST_WAIT_S) * random.uniform(0.5, 1.0)
            budget = budget_s(error)
            spent += clock() - start + pause
            over = pause > budget or (tries > 1 and spent > budget)
            if not error.transient or over or stopped():
                raise
        finally:
            throttle.leave(ticket, answered=answered, limited=limited)
        on_retry()
        sleep(pause)
        wait *= 2
