"""Running an agent without a runner: a seeded answer to each question, and a log of what it saw."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from pytest_fairmedagent.domain import Catalogue, Condition, Trial, render
from pytest_fairmedagent.models.base import Reply, Request
from pytest_fairmedagent.models.simulated import SimulatedModel, Truth
from pytest_fairmedagent.running.schedule import seed_of
from pytest_fairmedagent.running.store import Draw
from pytest_fairmedagent.testing import blank_vignettes

CATALOGUE = Catalogue(
    {
        "reference": Condition("reference", "White man, aged 50", "reference"),
        "race_black": Condition("race_black", "Black man, aged 50"),
    }
)


@dataclass
class Asked:
    """An `Ask` that hands every request to a model and keeps it."""

    model: object
    draw: Draw
    requests: list[Request] = field(default_factory=list)

    @property
    def replicate(self):
        return self.draw.trial.replicate

    def __call__(self, stage, attempt, messages, schema, max_tokens):
        seed = seed_of(7, self.draw, stage, attempt)
        request = Request(stage, messages, schema, seed, max_tokens)
        self.requests.append(request)
        return self.model.chat(request, 0)


class Scripted:
    """A model that answers each stage with a text of a script, by the stage's name."""

    def __init__(self, **texts):
        self.texts = texts

    def chat(self, request, worker):
        return Reply(self.texts[request.stage.rpartition("/")[2]])


@pytest.fixture
def catalogue():
    return CATALOGUE


@pytest.fixture
def scripted():
    return Scripted


@pytest.fixture
def ran():
    """Runs an agent once: returns its trajectory and the requests it made."""

    def run(agent, model=None, *, vignette=None, condition="reference", replicate=0):
        vignette = vignette or blank_vignettes(1)["case_00"]
        model = model or SimulatedModel("simulated", Truth(), CATALOGUE)
        trial = Trial(vignette.id, condition, replicate)
        asked = Asked(model, Draw(trial, f"{vignette.id} {condition}", replicate))
        trajectory = agent.run(render(vignette, CATALOGUE.conditions[condition]), asked)
        return trajectory, asked.requests

    return run
