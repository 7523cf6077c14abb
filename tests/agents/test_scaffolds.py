"""Scaffolds change how the agent decides, and nothing of what counts as its decision."""

import pytest

from pytest_fairmedagent.agents import prompts
from pytest_fairmedagent.agents.build import agent_of, clinical_agent
from pytest_fairmedagent.agents.clinical import ClinicalAgent
from pytest_fairmedagent.agents.fields import Text, check_fields, schema_of
from pytest_fairmedagent.agents.scaffolds import NAMES, parse_scaffold, scaffold_of
from pytest_fairmedagent.errors import PlanError

TEXTS = {"direct": [], "reasoned": ["reasoning"], "panel": ["advocate", "sceptic"]}


@pytest.mark.parametrize("name", NAMES)
def test_every_scaffold_ends_in_the_same_fields(name, ran):
    trajectory, _ = ran(ClinicalAgent(name))
    assert trajectory.complete
    assert {stage: set(fields) for stage, fields in trajectory.outputs.items()} == {
        "triage": {"esi_acuity", "urgency_score"},
        "order": {"orders"},
        "reassess": {"admit", "escalate_icu"},
        "prescribe": {"analgesia_tier", "controlled_substance_caution"},
        "document": {"referral", "followup_days", "note_flags"},
    }


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_before_deciding_comes_first_in_every_schema(name, ran):
    _, requests = ran(ClinicalAgent(name))
    for request in requests:
        properties = list(request.schema["properties"])
        assert properties[: len(TEXTS[name])] == TEXTS[name]
        assert set(request.schema["required"]) == set(properties)
        for text in TEXTS[name]:
            assert request.schema["properties"][text]["type"] == "string"
            assert request.schema["properties"][text]["maxLength"] > 0


@pytest.mark.parametrize("name", NAMES)
def test_every_text_of_a_scaffold_is_asked_for_in_its_opening(name):
    assert all(text in prompts.system((), scaffold_of(name)) for text in TEXTS[name])


def test_what_was_said_on_the_way_reaches_no_later_stage(ran):
    _, requests = ran(ClinicalAgent("panel"))
    answers = [m for m in requests[-1].messages if m["role"] == "assistant"]
    assert len(answers) == 4
    assert not any("Simulated." in answer["content"] for answer in answers)


def test_a_reply_without_its_text_is_asked_for_again(ran, scripted):
    model = scripted(triage='{"esi_acuity": 2, "urgency_score": 50}')
    trajectory, requests = ran(ClinicalAgent("reasoned"), model)
    assert trajectory.missing["triage"] == "reasoning is missing"
    assert len(requests) == 2


def test_a_text_that_is_too_long_spoils_no_decision():
    fields = (Text("reasoning", 5), *prompts.STAGES[0].fields)
    reply = {"reasoning": "much longer", "esi_acuity": 2, "urgency_score": 50}
    assert check_fields(reply, fields) == {"esi_acuity": 2, "urgency_score": 50}
    assert schema_of(fields)["properties"]["reasoning"] == {"type": "string", "maxLength": 5}


def test_each_scaffold_has_a_configuration_and_prompts_of_its_own():
    agents = [clinical_agent(s) for s in (*NAMES, "vote:3", "vote:5", "vote:3/panel")]
    found = [dict(agent.configuration()) for agent in agents]
    assert len({str(configuration) for configuration in found}) == len(agents)
    assert len({c["prompts"] for c in found[:3]}) == 3


@pytest.mark.parametrize("spec", ["direct", "reasoned", "panel", "vote:5", "vote:3/panel"])
def test_a_stored_configuration_gives_its_agent_back(spec):
    configuration = clinical_agent(spec, exposure=["order"]).configuration()
    assert agent_of(configuration).configuration() == configuration


@pytest.mark.parametrize(
    ("spec", "calls"),
    [("direct", 5), ("reasoned", 5), ("panel", 5), ("vote:3", 15), ("vote:5/reasoned", 25)],
)
def test_an_agent_says_how_many_calls_a_trial_needs(spec, calls, ran):
    agent = clinical_agent(spec)
    trajectory, requests = ran(agent)
    assert agent.calls_per_trial == calls == len(requests) == trajectory.calls


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("reasonned", "Did you mean 'reasoned'"),
        ("vote:4", "expected an odd number from 3 to 99"),
        ("vote:1", "expected an odd number"),
        ("vote:", "expected an odd number"),
        ("vote:-3", "expected an odd number"),
        ("vote:5/dirct", "Did you mean 'direct'"),
        ("", "unknown scaffold ''"),
    ],
)
def test_a_scaffold_that_is_none_is_refused_by_name(spec, said):
    with pytest.raises(PlanError, match=said):
        parse_scaffold(spec)
