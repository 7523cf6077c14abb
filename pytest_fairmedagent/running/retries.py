"""Trying again after a fault of the infrastructure, within a budget of time.

tenacity loops; what is ours is when to stop and how long to wait: the server's own advice goes
first, the budget depends on the kind of fault, and waiting for one's turn does not count.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception

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
    spent = 0.0  # seconds in calls and pauses

    def turn() -> int:
        while not stopped():
            ticket = throttle.enter(LOOK_UP_S)
            if ticket is not None:
                return ticket
            on_wait()
        raise Stopped

    def once() -> T:
        nonlocal spent
        ticket, start = turn(), clock()
        answered = limited = False
        try:
            result = call()
            answered = True
            return result
        except ModelError as error:
            limited = error.kind == RATE_LIMITED
            raise
        finally:
            spent += clock() - start
            throttle.leave(ticket, answered=answered, limited=limited)

    def pause(state: RetryCallState) -> float:
        advised = _fault(state).retry_after_s
        if advised:  # 0 is no advice: it would be asked for without end
            return advised * random.uniform(1.0, 1.1)
        doubled = min(2.0 ** (state.attempt_number - 1), LONGEST_WAIT_S)
        return doubled * random.uniform(0.5, 1.0)

    def over(state: RetryCallState) -> bool:
        nonlocal spent
        spent += state.upcoming_sleep
        budget = budget_s(_fault(state))
        late = state.attempt_number > 1 and spent > budget
        return state.upcoming_sleep > budget or late or stopped()

    def rest(seconds: float) -> None:
        sleep(seconds)

    return Retrying(
        retry=retry_if_exception(lambda e: isinstance(e, ModelError) and e.transient),
        wait=pause,
        stop=over,
        before_sleep=lambda state: on_retry(),
        sleep=rest,
        reraise=True,
    )(once)


def _fault(state: RetryCallState) -> ModelError:
    error = state.outcome and state.outcome.exception()
    assert isinstance(error, ModelError)  # noqa: S101 - nothing else is tried again
    return error
