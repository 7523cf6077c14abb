"""Giving up on a call that hangs."""

from __future__ import annotations

import queue
import threading
import time
import weakref
from collections.abc import Callable
from typing import TypeVar

from pytest_fairmedagent.errors import TIMEOUT, ModelError

LOOK_S = 30.0  # between two looks at a call that lasts

T = TypeVar("T")


def within(
    limit_s: float | None, call: Callable[[], T], *, on_wait: Callable[[], None] = lambda: None
) -> T:
    """Return what `call` returns or raise what it raises; ModelError if that takes too long.

    The timeouts of the clients start anew with every byte, so a server that drips would hold a
    worker for ever. A thread cannot be stopped from outside: the call that is given up ends when it
    ends, and nobody hears of it. None for no limit and no thread.

    The calls of one thread are made on one other thread until one of them is given up: an agent or
    client may belong to the thread that made it. `on_wait` is called now and then meanwhile.
    """
    if limit_s is None:
        return call()
    outcome: list[T] = []
    fault: list[BaseException] = []
    ended = threading.Event()

    def job() -> None:
        try:
            outcome.append(call())
        except BaseException as error:  # handed to the worker, which raises it
            fault.append(error)
        finally:
            ended.set()

    _hand().jobs.put(job)
    deadline = time.monotonic() + limit_s
    while not ended.wait(min(LOOK_S, max(0.0, deadline - time.monotonic()))):
        if time.monotonic() >= deadline:
            del _own.hand
            raise ModelError(
                f"the call had not ended after {limit_s:g} s and was given up",
                kind=TIMEOUT,
                transient=True,
            )
        on_wait()
    if fault:
        raise fault[0]
    return outcome[0]


class _Hand:
    """A thread that makes the calls of another one. It ends with it, or once it is given up."""

    def __init__(self) -> None:
        self.jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        threading.Thread(target=_work, args=(self.jobs,), daemon=True, name="call").start()
        weakref.finalize(self, self.jobs.put, None)


_own = threading.local()


def _hand() -> _Hand:
    if not hasattr(_own, "hand"):
        _own.hand = _Hand()
    hand: _Hand = _own.hand
    return hand


def _work(jobs: queue.SimpleQueue[Callable[[], None] | None]) -> None:
    while (job := jobs.get()) is not None:
        job()
        del job  # or it would keep what it answered until the next one
