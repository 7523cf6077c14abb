"""A call that hangs is given up; any other is as if nobody had watched it."""

import threading
import time

import pytest

from pytest_fairmedagent.errors import TIMEOUT, ModelError
from pytest_fairmedagent.running import cut
from pytest_fairmedagent.running.cut import within


@pytest.mark.parametrize("limit_s", [None, 5.0])
def test_what_a_call_returns_or_raises_comes_through(limit_s):
    assert within(limit_s, lambda: "answer") == "answer"
    with pytest.raises(ZeroDivisionError):
        within(limit_s, lambda: 1 / 0)
    fault = ModelError("busy", transient=True)
    with pytest.raises(ModelError) as caught:
        within(limit_s, lambda: (_ for _ in ()).throw(fault))
    assert caught.value is fault


def test_a_hung_call_is_given_up_as_a_timeout_that_may_pass():
    released, start = threading.Event(), time.monotonic()
    with pytest.raises(ModelError, match=r"had not ended after 0\.05 s") as caught:
        within(0.05, lambda: released.wait(20))
    released.set()
    assert time.monotonic() - start < 10
    assert (caught.value.kind, caught.value.transient) == (TIMEOUT, True)


def test_without_a_limit_the_call_stays_on_its_own_thread():
    assert within(None, threading.current_thread) is threading.current_thread()
    assert within(5.0, threading.current_thread) is not threading.current_thread()


def test_the_calls_of_a_worker_are_made_on_one_thread_until_one_of_them_is_given_up():
    released = threading.Event()
    first, second = (within(5.0, threading.current_thread) for _ in range(2))
    with pytest.raises(ModelError):
        within(0.05, lambda: released.wait(20))
    third = within(5.0, threading.current_thread)
    released.set()
    assert first is second is not third
    first.join(20)
    assert not first.is_alive(), "it was given up, so it ends with its call"


def test_the_thread_of_the_calls_ends_with_the_worker():
    found = []
    worker = threading.Thread(target=lambda: found.append(within(5.0, threading.current_thread)))
    worker.start()
    worker.join(20)
    found[0].join(20)
    assert not found[0].is_alive()


def test_a_call_that_lasts_is_looked_after_meanwhile(monkeypatch):
    monkeypatch.setattr(cut, "LOOK_S", 0.01)
    looks = []

    def call():
        while len(looks) < 3:
            time.sleep(0.001)
        return "answer"

    assert within(20.0, call, on_wait=lambda: looks.append(None)) == "answer"
