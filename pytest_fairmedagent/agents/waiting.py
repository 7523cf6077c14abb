"""Waiting for agents that are asynchronous: all of them on one event loop, in a thread of its own.

A client that an agent keeps is tied to the loop it was first used on. On a loop for each trial its
second call would fail, and that failure would be taken for the agent's answer.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable
from concurrent.futures import TimeoutError as Late
from dataclasses import dataclass
from functools import cache
from typing import Any

from pytest_fairmedagent.errors import TIMEOUT, ModelError

_making = threading.Lock()


@dataclass(frozen=True)
class _Raised:
    error: BaseException


def ended(answer: Any, limit_s: float | None = None) -> Any:
    """Return an answer; of an awaitable, what it comes to.

    What it raises is raised. One that takes longer than `limit_s` is cancelled, and ModelError
    raised.
    """
    if not inspect.isawaitable(answer):
        return answer
    with _making:  # workers that start together would make a loop each
        loop = _loop()
    future = asyncio.run_coroutine_threadsafe(_awaited(answer), loop)
    try:
        found = future.result(limit_s)
    except Late:
        future.cancel()
        raise ModelError(
            f"the agent had not ended after {limit_s:g} s and was cancelled",
            kind=TIMEOUT,
            transient=True,
        ) from None
    if isinstance(found, _Raised):
        raise found.error
    return found


async def _awaited(answer: Awaitable[Any]) -> Any:
    try:
        return await answer
    except BaseException as error:  # a SystemExit would end the loop, and every other trial with it
        return _Raised(error)


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """Return the process's loop, running. Its thread ends with the process."""
    loop = asyncio.new_event_loop()
    # An agent can read the name of its thread: it tells nothing of what this is about.
    threading.Thread(target=loop.run_forever, daemon=True, name="worker-loop").start()
    return loop
