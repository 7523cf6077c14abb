"""A call that hangs is given up; any other is as if nobody had watched it."""

import threading
import time

import pytest

from pytest_fairmedagent.errors import TIMEOUT, ModelError
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
