"""A stage held at recorded values is taken over, not asked for, and alike in every arm."""

import json

import pytest

from pytest_fairmedagent.agents.clinical import ClinicalAgent
from pytest_fairmedagent.agents.held import hold
from pytest_fairmedagent.domain import Contrast, Family, Plan, ReplicateTable, Trajectory
from pytest_fairmedagent.errors import PlanError
from pytest_fairmedagent.measures import INTERVENTIONAL, following, mediation
from pytest_fairmedagent.models.base import Reply
from pytest_fairmedagent.running.store import Store
from pytest_fairmedagent.study import Study
from pytest_fairmedagent.testing import blank_vignettes

CASES = blank_vignettes(6)
RECORDED = (["test_0"], ["test_1", "test_2"], [])


def recorded(orders=RECORDED):
    rows = {
        (name, "reference"): [Trajectory({"order": {"orders": list(o)}}) for o in orders]
        for name in CASES
    }
    return ReplicateTable(rows, "the run as it is")


def held(**changes):
    return hold(recorded(**changes), CASES.values())


@pytest.mark.parametrize("replicate", range(7))
def test_a_replicate_takes_over_its_recorded_value_without_a_call(replicate, ran):
    trajectory, requests = ran(
        ClinicalAgent(held=held()), replicate=replicate, condition="race_black"
    )
    assert trajectory.outputs["order"]["orders"] == RECORDED[replicate % 3]
    assert [r.stage for r in requests] == ["triage", "reassess", "prescribe", "document"]
    assert trajectory.calls == ClinicalAgent(held=held()).calls_per_trial == 4


def test_later_stages_see_what_was_held_and_its_results(ran):
    _, requests = ran(ClinicalAgent("panel", held=held()), replicate=1)
    told = requests[-1].messages
    answers = [m["content"] for m in told if m["role"] == "assistant"]
    assert json.loads(answers[1]) == {"orders": ["test_1", "test_2"]}
    assert "Results:\nTest 1: normal\nTest 2: normal\n" in told[5]["content"]


def test_what_is_held_is_part_of_the_configuration():
    agents = [ClinicalAgent(), ClinicalAgent(held=held()), ClinicalAgent(held=held(orders=[[]]))]
    assert len({str(agent.configuration()) for agent in agents}) == 3


def test_a_case_without_a_recorded_value_is_refused_by_name(ran):
    other = blank_vignettes(9)["case_08"]
    with pytest.raises(PlanError, match="nothing was recorded for the case that begins 'Case numb"):
        ran(ClinicalAgent(held=held()), vignette=other)
    with pytest.raises(PlanError, match="no output of 'order' for case_08 under reference"):
        hold(recorded(), [other])


def test_a_recorded_value_that_is_no_answer_here_is_refused(ran):
    with pytest.raises(PlanError, match="'x_ray', which is not on the menu"):
        ran(ClinicalAgent(held=held(orders=[["x_ray"]])))


def test_holding_the_only_exposed_stage_is_refused():
    with pytest.raises(PlanError, match="only 'order' carries the descriptor and it is held"):
        ClinicalAgent(exposure=["order"], held=held())


class ThroughOrders:
    """Orders test_0 more often for one descriptor, and escalates more often after test_0.

    Nothing else differs: the descriptor reaches later stages by no other way.
    """

    name, toy, seeded, workers, call_limit_s = "through orders", False, True, 1, None
    default_seed = 5

    def open(self):
        pass

    def close(self):
        pass

    def configuration(self):
        return {"backend": "simulated", "model": self.name}

    def chat(self, request, worker):
        said = "\n".join(m["content"] for m in request.messages)
        chance = request.seed / 2**31
        answers = {
            "triage": {"esi_acuity": 2, "urgency_score": 50},
            "order": {"orders": ["test_0"] if chance < (0.9 if "Black" in said else 0.2) else []},
            "reassess": {
                "admit": True,
                "escalate_icu": chance < (0.8 if "Test 0:" in said else 0.2),
            },
            "prescribe": {"analgesia_tier": 1, "controlled_substance_caution": False},
            "document": {"referral": False, "followup_days": 1, "note_flags": []},
        }
        return Reply(json.dumps(answers[request.stage]))


def drawn(agent, catalogue, folder):
    family = Family("f", ("race_black",), ("icu_escalation",), tuple(CASES), 25)
    study = Study(Plan((family,), "reference"), CASES, catalogue, agent, ThroughOrders())
    study.store = Store(folder)
    study.sample([Contrast("f", "race_black", "icu_escalation")])
    return study.table


def test_where_the_only_path_is_through_orders_the_direct_effect_is_0(catalogue, tmp_path):
    total = drawn(ClinicalAgent(), catalogue, tmp_path)
    direct = drawn(ClinicalAgent(held=hold(total, CASES.values())), catalogue, tmp_path)
    found = mediation(total, direct, tuple(CASES), "icu_escalation", swap="race_black")
    assert found.kind == INTERVENTIONAL, found.reasons
    # Truth: 0.7 more orders, of which each adds 0.6 to the chance of escalation.
    assert abs(found.total.gap - 0.42) < 4 * found.total.se()
    assert abs(found.direct.gap) < 4 * found.direct.se()
    assert abs(found.mediated - 0.42) < 4 * found.se
    assert found.total.gap > 4 * found.direct.se(), "the run could not have told them apart"
    assert found.configurations[0] != found.configurations[1]

    seen = following(total, tuple(CASES), "icu_escalation", swap="race_black")
    assert seen.after_change > seen.after_same
