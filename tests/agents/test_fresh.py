"""Each trial gets a fresh agent, and one that remembers the last trial is found out."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from pytest_fairmedagent.agents.fresh import GROWTHS, AgentError, Fresh
from pytest_fairmedagent.agents.user import UserAgent, as_agent
from pytest_fairmedagent.domain import Case, Order
from pytest_fairmedagent.errors import PlanError

CASE = Case("A case.\nPatient: 50-year-old man.", (Order("ecg", "ECG", "normal"),))


class Ask:
    """Calls once: what the sampler adds is not of this test."""

    replicate = 0

    def patiently(self, call, limit_s=None):
        return call()


def run(agent, times=1):
    return [agent.run(CASE, Ask()) for _ in range(times)]


class Remembering:
    """Admits until it has seen two cases."""

    def __init__(self):
        self.messages = []

    def __call__(self, case):
        self.messages.append(case.text)
        return {"admission": len(self.messages) <= 2}


def admissions(agent, times=4):
    return [t.get("actions", "admission") for t in run(agent, times)]


@pytest.mark.parametrize("given", [Remembering, lambda: Remembering()], ids=["class", "factory"])
def test_a_class_or_factory_is_called_anew_for_each_trial(given):
    assert admissions(UserAgent(given)) == [True] * 4
    assert UserAgent(given).configuration()["agent_state"] == "made for each trial"


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_object_with_reset_is_reset_before_each_trial(asynchronous):
    class Resettable(Remembering):
        if asynchronous:

            async def reset(self):
                self.messages = []
        else:

            def reset(self):
                self.messages = []

    assert admissions(UserAgent(Resettable())) == [True] * 4


def test_an_agent_whose_memory_grows_with_every_trial_stops_the_run():
    with pytest.raises(AgentError, match=r"remembers earlier trials: the size of messages was 0"):
        run(UserAgent(Remembering()), GROWTHS)


MEMORY = []


def by_global(case):
    MEMORY.append(case.text)
    return {"admission": True}


def by_closure():
    memory = {}

    def agent(case):
        memory[len(memory)] = case.text
        return {"admission": True}

    return agent


def by_attribute(case):
    by_attribute.seen += case.text
    return {"admission": True}


by_attribute.seen = ""


class Chat:
    def __init__(self):
        self.turns = []


class Holding:
    def __init__(self):
        self.chat = Chat()

    def decide(self, case):
        self.chat.turns.append(case)
        return {"admission": True}

    __call__ = decide


@pytest.mark.parametrize(
    ("agent", "where"),
    [
        (by_global, "MEMORY"),
        (by_closure(), "memory"),
        (by_attribute, "seen"),
        (Holding(), r"chat\.turns"),
        (Holding().decide, r"chat\.turns"),
        (partial(lambda log, case: log.append(case) or {"admission": True}, []), "argument 0"),
    ],
    ids=["global", "closure", "attribute", "held object", "method", "partial"],
)
def test_a_memory_is_found_wherever_the_agent_holds_it(agent, where):
    with pytest.raises(AgentError, match=f"the size of {where} was"):
        run(UserAgent(agent), GROWTHS)


def test_what_is_filled_once_is_no_memory():
    class Lazy:
        def __init__(self):
            self.tools = {}

        def __call__(self, case):
            self.tools.setdefault("graph", object())
            self.last = case.text
            return {"admission": True}

    assert admissions(UserAgent(Lazy()), 20) == [True] * 20


def test_an_agent_that_says_that_it_is_stateless_is_believed():
    agent = Remembering()
    agent.stateless = True
    assert len(run(UserAgent(agent), 10)) == 10


def test_how_an_agent_is_kept_fresh_is_part_of_its_configuration():
    shared, stateless = Remembering(), Remembering()
    stateless.stateless = True
    kinds = {UserAgent(a).configuration()["agent_state"] for a in (shared, stateless, Remembering)}
    assert len(kinds) == 3, "or draws of the leaking agent would be taken over after the repair"


def test_workers_never_share_an_agent_that_is_made_or_reset():
    class Entered:
        """Notes whether two trials are in it at once."""

        inside = 0
        overlaps = 0
        barrier = threading.Barrier(4, timeout=5)

        def __call__(self, case):
            self.inside += 1
            type(self).overlaps += self.inside > 1
            if self.meets:
                self.barrier.wait()  # all four workers are in their agents
            self.inside -= 1
            return {"admission": True}

        meets = True

    class Reset(Entered):
        def reset(self):
            self.clean = True

    class Alone(Reset):
        meets = False

    for given in (Entered, Reset, Alone()):
        agent = UserAgent(given)
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda _, agent=agent: run(agent)[0], range(8)))
        assert all(t.complete for t in found)
    assert Entered.overlaps == Reset.overlaps == Alone.overlaps == 0


def test_a_class_with_reset_is_made_once_for_each_worker():
    class Counting:
        made = 0

        def __init__(self):
            type(self).made += 1

        def reset(self):
            self.n = 0

        def __call__(self, case):
            self.n += 1
            return {"admission": self.n == 1}

    assert admissions(UserAgent(Counting), 5) == [True] * 5
    # One for the worker, and one to ask for its version.
    assert Counting.made <= 2


@pytest.mark.parametrize("stated", ["class", "instance", "property", "factory"])
def test_the_version_is_read_from_class_object_or_what_a_factory_makes(stated):
    class Stating:
        def __init__(self):
            if stated in ("instance", "factory"):
                self.version = "7"

        def __call__(self, case):
            return {"admission": True}

    if stated == "class":
        Stating.version = "7"
    if stated == "property":
        Stating.version = property(lambda self: "7")
    given = (lambda: Stating()) if stated == "factory" else Stating
    assert UserAgent(given).configuration()["agent_version"] == "7"


def test_a_factory_that_makes_no_agent_is_an_error_at_once():
    with pytest.raises(AgentError, match="cannot be made: TypeError: it makes int, expected a"):
        UserAgent(lambda: 5)
    with pytest.raises(PlanError, match="returned int, expected a callable"):
        as_agent(5)


def test_an_agent_may_state_what_else_identifies_it():
    class Stating(Remembering):
        def configuration(self):
            return {"temperature": 0.7}

    assert UserAgent(Stating()).configuration()["agent_temperature"] == 0.7
    Stating.configuration = lambda self: {"model": object()}
    with pytest.raises(AgentError, match="holds what JSON cannot"):
        UserAgent(Stating()).configuration()


def test_a_function_whose_case_has_a_default_is_an_agent_and_no_factory():
    def agent(case=None):
        return {"admission": case is not None}

    assert Fresh(agent).makes is False
    assert admissions(UserAgent(agent), 1) == [True]
