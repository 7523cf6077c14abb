"""Giving up on a call that hangs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from pytest_fairmedagent.errors import TIMEOUT, ModelError

T = TypeVar("T")


def within(limit_s: float | None, call: Callable[[], T]) -> T:
    """Return what `call` returns or raise what it raises; ModelError if that takes too long.

    The timeouts of the clients start anew with every byte, so a server that drips would hold a
    worker for ever. A thread cannot be stopped from outside: the call that is given up ends when it
    ends, on a daemon thread of its own, and nobody hears of it. None for no limit and no thread.
    """
    if limit_s is None:
        return call()
    outcome: list[T] = []
    fault: list[BaseException] = []
    ended = threading.Event()

    def run() -> None:
        try:
            outcome.append(call())
        except BaseException as error:  # handed to the worker, which raises it
            fault.append(error)
        finally:
            ended.set()

    threading.Thread(target=run, daemon=True, name="call").start()
    if not ended.wait(limit_s):
        raise ModelError(
            f"the call had not ended after {limit_s:g} s and was given up",
            kind=TIMEOUT,
            transient=True,
        )
    if fault:
        raise fault[0]
    return outcome[0]
