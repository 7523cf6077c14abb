"""What a plan may come to at its longest, told before any model is asked."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from pytest_fairmedagent.agents import rehearsal
from pytest_fairmedagent.agents.clinical import ClinicalAgent
from pytest_fairmedagent.agents.scaffolds import NAMES
from pytest_fairmedagent.agents.user import UserAgent
from pytest_fairmedagent.domain import ACTIONS, Family, Plan, render
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.models.base import Request
from pytest_fairmedagent.models.simulated import SimulatedModel, Truth
from pytest_fairmedagent.models.window import size
from pytest_fairmedagent.testing import blank_vignettes

CATALOGUE = read_swaps()


class Asker:
    """Asks the simulated model and keeps what it was asked."""

    replicate = 0

    def __init__(self, seed):
        self.model = SimulatedModel("simulated", Truth(floor=0.3), CATALOGUE)
        self.rng = random.Random(seed)
        self.requests = []

    def __call__(self, stage, attempt, messages, schema, max_tokens):
        request = Request(stage, messages, schema, self.rng.getrandbits(31), max_tokens)
        self.requests.append(request)
        reply = self.model.chat(request, 0)
        broken = self.rng.random() < 0.3
        return replace(reply, text=reply.text[:5]) if broken and attempt == 0 else reply


@pytest.mark.parametrize("scaffold", NAMES)
def test_no_stage_is_ever_longer_than_rehearsed(scaffold):
    (vignette,) = blank_vignettes(1).values()
    case = render(vignette, CATALOGUE.conditions["race_black"])
    agent = ClinicalAgent(scaffold)
    longest = {}
    for request in rehearsal.rehearse(agent, case):
        n_bytes = size(request.messages) + request.max_tokens
        longest[request.stage] = max(n_bytes, longest.get(request.stage, 0))
    for seed in range(50):
        asker = Asker(seed)
        agent.run(case, asker)
        for request in asker.requests:
            assert size(request.messages) + request.max_tokens <= longest[request.stage]


class Windowed:
    """A back end that only keeps what it is to prepare for."""

    def __init__(self):
        self.planned = []

    def prepare(self, planned):
        self.planned += planned


def plan_of(vignettes):
    family = Family("primary", ("race_black",), tuple(ACTIONS), tuple(vignettes), replicates=3)
    return Plan((family,), "reference", ("rerender",))


def test_every_case_of_the_plan_is_rehearsed_under_every_condition_and_named():
    vignettes = blank_vignettes(2)
    model = Windowed()
    rehearsal.prepare(model, ClinicalAgent(), plan_of(vignettes), vignettes, CATALOGUE)
    found = {planned.where for planned in model.planned}
    stages = ("triage", "order", "reassess", "prescribe", "document")
    assert found == {
        f"{vignette}, {condition}, stage {stage}"
        for vignette in vignettes
        for condition in ("reference", "rerender", "race_black")
        for stage in stages
    }


def test_an_agent_that_asks_in_its_own_way_is_not_run_before_its_time():
    vignettes = blank_vignettes(1)
    model = Windowed()
    agent = UserAgent(lambda case: pytest.fail("the agent was run"))
    rehearsal.prepare(model, agent, plan_of(vignettes), vignettes, CATALOGUE)
    assert model.planned == []
