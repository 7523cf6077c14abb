"""A case without a menu: nothing can be ordered, so nobody is asked to."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings

from pytest_fairmedagent import strategies
from pytest_fairmedagent.agents import prompts
from pytest_fairmedagent.agents.clinical import ClinicalAgent
from pytest_fairmedagent.domain.outcome import OUTCOMES
from pytest_fairmedagent.errors import PlanError
from pytest_fairmedagent.testing import blank_vignettes

BARE = replace(blank_vignettes(1)["case_00"], menu=())
WITHOUT = ["triage", "reassess", "prescribe", "document"]


def test_it_has_four_calls_and_no_orders_neither_some_nor_none(ran):
    trajectory, requests = ran(ClinicalAgent(), vignette=BARE)
    assert [request.stage for request in requests] == WITHOUT
    assert list(trajectory.outputs) == WITHOUT
    assert trajectory.complete
    assert OUTCOMES["orders"].read(trajectory) is None


def test_no_prompt_speaks_of_orders_menus_or_results(ran):
    _, requests = ran(ClinicalAgent(), vignette=BARE)
    said = "\n".join(m["content"] for m in requests[-1].messages if m["role"] != "assistant")
    for word in ("order", "menu", "results:"):
        assert word not in said.lower()


def test_a_stage_that_fails_ends_it_without_a_word_of_orders(ran, scripted):
    trajectory, _ = ran(ClinicalAgent(), scripted(triage="no"), vignette=BARE)
    assert list(trajectory.missing) == WITHOUT


def test_a_descriptor_that_only_the_order_stage_carries_is_told_at_none(ran):
    with pytest.raises(PlanError, match="no menu, so no 'order' stage"):
        ran(ClinicalAgent(exposure=["order"]), vignette=BARE)
    _, requests = ran(ClinicalAgent(exposure=["order", "document"]), vignette=BARE)
    told = ["White man" in str(request.messages) for request in requests]
    assert told == [False, False, False, True]


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(strategies.vignettes(slot=False))
def test_the_agent_runs_on_any_case_and_asks_for_what_it_has(ran, vignette):
    trajectory, requests = ran(ClinicalAgent(), vignette=vignette)
    stages = [stage.name for stage in prompts.stages_of(vignette.menu)]
    assert [request.stage for request in requests] == stages == list(trajectory.outputs)
    assert ("order" in stages) == bool(vignette.menu)
