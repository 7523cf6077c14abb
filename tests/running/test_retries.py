"""Trying again: as long as the server asks, within a budget, never what cannot pass."""

import pytest

from pytest_fairmedagent.errors import OVERLOADED, RATE_LIMITED, ModelError
from pytest_fairmedagent.running.retries import Stopped, with_retries
from pytest_fairmedagent.running.throttle import Throttle


class Clock:
    """A clock that only sleeping moves, and calls that `take` some time."""

    def __init__(self):
        self.now = 0.0
        self.waits = []

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.waits.append(seconds)
        self.now += seconds


def run(outcomes, *, budget_s=90.0, takes_s=0.0, stopped=lambda: False, throttle=None):
    """Return what came of calls with these outcomes, and the waits between them."""
    clock, outcomes = Clock(), iter(outcomes)

    def call():
        clock.now += takes_s
        outcome = next(outcomes)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    try:
        found = with_retries(
            call,
            throttle=throttle or Throttle(1),
            budget_s=lambda error: budget_s,
            on_retry=lambda: None,
            on_wait=lambda: None,
            stopped=stopped,
            sleep=clock.sleep,
            clock=clock,
        )
    except ModelError as error:
        found = error
    return found, clock.waits


def busy(retry_after_s=None, kind=OVERLOADED):
    return ModelError("busy", kind=kind, transient=True, retry_after_s=retry_after_s)


def test_waits_what_the_server_asks_and_a_little_more_so_that_not_all_come_back_at_once():
    result, waits = run([busy(4.0), busy(4.0), "ok"])
    assert result == "ok"
    assert all(4.0 <= wait <= 4.4 for wait in waits)
    assert waits[0] != waits[1]


@pytest.mark.parametrize("advice", [None, 0.0])
def test_waits_longer_each_time_with_jitter_where_the_server_says_nothing(advice):
    result, waits = run([busy(advice)] * 4 + ["ok"])
    assert result == "ok"
    for wait, most in zip(waits, (1, 2, 4, 8), strict=True):
        assert most / 2 <= wait <= most


def test_gives_up_when_the_budget_of_time_is_spent():
    error, waits = run([busy(10.0)] * 100, budget_s=35.0)
    assert str(error) == "busy"
    assert 20 <= sum(waits) <= 35


def test_a_server_that_asks_for_more_than_the_budget_is_not_waited_for():
    assert run([busy(3600.0), "ok"])[1] == []


def test_a_call_that_took_the_whole_budget_is_tried_once_more_and_not_twice():
    assert run([busy(), "ok"], takes_s=500)[0] == "ok"
    error, waits = run([busy()] * 5, takes_s=500)
    assert str(error) == "busy"
    assert len(waits) == 1


def test_does_not_try_again_what_cannot_pass():
    error, waits = run([ModelError("no such model"), "ok"])
    assert str(error) == "no such model"
    assert waits == []


def test_a_run_that_is_stopped_starts_no_call():
    with pytest.raises(Stopped):
        run(["ok"], stopped=lambda: True)


def test_a_rate_limit_is_told_to_the_throttle_and_an_overload_is_not():
    for kind, limit in ((RATE_LIMITED, 4), (OVERLOADED, 8)):
        throttle = Throttle(8)
        assert run([busy(kind=kind), "ok"], throttle=throttle)[0] == "ok"
        assert throttle.limit == limit


def test_no_outcome_keeps_its_place_in_the_throttle():
    throttle = Throttle(1)
    for outcomes in (["ok"], [busy(), "ok"], [ModelError("no")], [busy(3600.0)]):
        run(outcomes, throttle=throttle)
    with pytest.raises(ZeroDivisionError):
        run([ZeroDivisionError()], throttle=throttle)
    assert throttle.enter(0) is not None
