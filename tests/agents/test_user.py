"""Agents of one's own: what they may return and raise, how long they may take, where they are."""

from __future__ import annotations

import asyncio
import sys
import threading

import pytest

from pytest_fairmedagent.agents import user, waiting
from pytest_fairmedagent.agents.user import AgentError, UserAgent, load_agent
from pytest_fairmedagent.domain import Case, Order
from pytest_fairmedagent.errors import CONNECTION_LOST, TIMEOUT, ModelError, PlanError
from pytest_fairmedagent.running.cut import within

CASE = Case("A case.\nPatient: 50-year-old man.", (Order("ecg", "ECG", "normal"),))


class Ask:
    """Calls once, and cuts what hangs."""

    replicate = 0

    def patiently(self, call, limit_s=None):
        return within(limit_s, call)


def run(agent, times=1):
    return [agent.run(CASE, Ask()) for _ in range(times)]


def after_one(then):
    """Return an agent that succeeds once, and then does what `then` does."""
    calls = []

    def agent(case):
        calls.append(None)
        return then() if len(calls) > 1 else {"admission": True}

    agent.stateless = True
    return UserAgent(agent)


class Client:
    """Belongs to the event loop it was first used on, as clients with connections do."""

    loop = None

    async def ask(self):
        loop = asyncio.get_running_loop()
        self.loop = self.loop or loop
        if loop is not self.loop:
            raise RuntimeError("Event loop is closed")
        await asyncio.sleep(0)


def test_an_asynchronous_agent_may_keep_a_client_over_all_its_trials_and_workers():
    client = Client()

    async def agent(case):
        await client.ask()
        return {"admission": True}

    waiting._loop.cache_clear()  # as in a new process, where the workers come together first
    found, wrapped = [], UserAgent(agent)
    threads = [threading.Thread(target=lambda: found.extend(run(wrapped, 3))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert [t.missing for t in found] == [{}] * 24


def test_asynchronous_trials_are_under_way_together():
    meeting = []

    async def agent(case):
        meeting.append(None)
        while len(meeting) < 3:
            await asyncio.sleep(0.001)
        return {"admission": True}

    agent.stateless = True
    found, wrapped = [], UserAgent(agent)
    threads = [threading.Thread(target=lambda: found.extend(run(wrapped))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(found) == 3


def leaves():
    sys.exit(3)


async def leaves_later():
    sys.exit(3)


async def is_cancelled():
    raise asyncio.CancelledError


def skips():
    pytest.skip("no bed left")


async def fails():
    raise ValueError("no bed left")


@pytest.mark.parametrize(
    ("then", "kind"),
    [
        (leaves, "SystemExit"),
        (leaves_later, "SystemExit"),
        (is_cancelled, "CancelledError"),
        (skips, "Skipped"),
        (fails, "ValueError"),
    ],
)
def test_whatever_an_agent_raises_is_its_missing_answer_and_the_next_trial_goes_on(then, kind):
    found = run(after_one(then), 3)
    assert [t.missing for t in found[1:]] == [{"trial": f"the agent raised {kind}"}] * 2
    assert not any(t.infrastructure for t in found)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, "returned NoneType, expected a mapping that is not empty"),
        ({}, "returned dict, expected a mapping that is not empty"),
        ([("admission", True)], "returned list, expected a mapping that is not empty"),
        ({"admission": None}, "returned a field that is NoneType, expected bool, int, *"),
        ({"admission": float("nan")}, "returned a field that is float, expected bool, int, *"),
        ({"admission": "yes"}, "returned admission as str, expected bool"),
        ({"admission": 1}, "returned admission as int, expected bool"),
        ({"urgency_score": "high"}, "returned urgency_score as str, expected a number"),
        ({"orders": "ecg"}, "returned orders as str, expected ids"),
    ],
)
def test_an_answer_of_the_wrong_shape_is_missing_with_what_was_expected(answer, reason):
    [_, found] = run(after_one(lambda: answer), 2)
    assert found.outputs == {}
    assert found.missing["trial"].startswith(f"the agent {reason.rstrip('*')}")


def test_a_wrong_shape_on_the_first_case_stops_the_run_and_says_what_was_expected():
    with pytest.raises(AgentError, match="first case: returned admission as str, expected bool"):
        run(UserAgent(lambda case: {"admission": "yes"}))


def test_numbers_of_numpy_are_numbers():
    np = pytest.importorskip("numpy")
    answer = {"admission": np.bool_(True), "urgency_score": np.float32(4), "esi_acuity": np.int8(2)}
    [found] = run(UserAgent(lambda case: answer))
    assert found.outputs == {"actions": {"admission": True, "urgency_score": 4.0, "esi_acuity": 2}}


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_trial_that_hangs_is_given_up_as_a_fault_that_may_pass(asynchronous):
    cancelled, released = threading.Event(), threading.Event()

    async def hangs():
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    agent = after_one(hangs if asynchronous else lambda: released.wait(20))
    agent._limit_s = 0.1
    run(agent)
    with pytest.raises(ModelError, match=r"had not ended after 0\.1 s") as caught:
        run(agent)
    assert (caught.value.kind, caught.value.transient) == (TIMEOUT, True)
    released.set()
    assert not asynchronous or cancelled.wait(20), "it would go on and be paid for, unheard"


def test_no_agent_may_take_for_ever_unless_it_says_so():
    def agent(case):
        return {"admission": True}

    assert UserAgent(agent)._limit_s == user.CALL_LIMIT_S
    for limit_s in (5.0, None):
        agent.call_limit_s = limit_s
        assert UserAgent(agent)._limit_s == limit_s
    for wrong in ("soon", 0, -1.0, float("inf"), float("nan")):
        agent.call_limit_s = wrong
        with pytest.raises(AgentError, match=r"call_limit_s is .*, expected seconds above 0"):
            UserAgent(agent)


def test_an_object_with_reset_serves_its_worker_though_every_trial_may_be_cut():
    made = []

    class Agent:
        def __init__(self):
            made.append(threading.get_ident())

        def reset(self):
            assert made[-1] == threading.get_ident(), "what belongs to a thread stays on it"

        def __call__(self, case):
            return {"admission": True}

    agent = UserAgent(Agent)
    before = len(made)  # one was made to ask for its version
    assert [t.missing for t in run(agent, 5)] == [{}] * 5
    assert len(made) == before + 1


def test_a_server_of_the_agent_s_own_that_was_not_there_is_no_answer_of_the_agent():
    def drops():
        raise ConnectionResetError("peer")

    agent = after_one(drops)
    run(agent)
    with pytest.raises(ModelError, match="ConnectionResetError: peer") as caught:
        run(agent)
    assert (caught.value.kind, caught.value.transient) == (CONNECTION_LOST, True)


def test_a_module_is_found_where_pytest_was_started(tmp_path, monkeypatch):
    (tmp_path / "agent_beside_the_tests.py").write_text("def decide(case):\n    return {}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p not in ("", str(tmp_path))])
    assert load_agent("agent_beside_the_tests:decide").__name__ == "decide"


@pytest.mark.parametrize(
    ("source", "said"),
    [("raise KeyError('A_KEY')", "KeyError: 'A_KEY'"), ("def (", "SyntaxError: ")],
)
def test_a_module_that_cannot_be_imported_is_told_with_its_reason(
    tmp_path, monkeypatch, source, said
):
    (tmp_path / "broken_agent.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(PlanError, match=f"'broken_agent:x' cannot be imported: {said}"):
        load_agent("broken_agent:x")


def test_a_fault_without_words_has_its_kind_for_a_reason():
    assert ModelError("", kind=TIMEOUT).reason.startswith("timeout")
