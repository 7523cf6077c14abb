"""The short form of `benchmarks/fuzz_replies.py`: malformed replies through the whole agent."""

import json

import pytest

from pytest_fairmedagent.agents import prompts
from pytest_fairmedagent.agents.clinical import ClinicalAgent
from pytest_fairmedagent.agents.fields import schema_of
from pytest_fairmedagent.domain import render
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.models.base import Reply
from pytest_fairmedagent.testing import blank_vignettes

fuzz_replies = pytest.importorskip("benchmarks.fuzz_replies", reason="run from the repository")
TRIAGE = prompts.STAGES[0]
SCHEMA = schema_of(TRIAGE.fields)


def test_no_reply_crashes_the_agent_or_becomes_a_default_and_each_has_its_reason():
    found = fuzz_replies.fuzz(250)
    assert found.wrong == []
    assert found.n_replies >= 250
    assert found.n_read > 10
    assert len(found.reasons) >= 9


@pytest.mark.parametrize(
    ("output", "reply"),
    [
        ({"esi_acuity": 3, "urgency_score": 70}, Reply('{"esi_acuity": 2, "urgency_score": 70}')),
        ({"esi_acuity": 2, "urgency_score": 0}, Reply('{"esi_acuity": 2}')),
        ({"esi_acuity": 2}, Reply('{"esi_acuity": 2}')),
        ({"esi_acuity": 9, "urgency_score": 70}, Reply('{"esi_acuity": 9, "urgency_score": 70}')),
        (
            {"esi_acuity": 2, "urgency_score": 70},
            Reply('{"esi_acuity": 2, "urgency_score": 70}', "refusal"),
        ),
    ],
)
def test_the_fuzzers_own_reading_finds_what_is_not_in_a_reply(output, reply):
    assert fuzz_replies.unfounded(output, reply, SCHEMA)


def test_the_fuzzers_own_reading_accepts_what_is():
    reply = Reply('Well: {"esi\\u005facuity": 2.0, "urgency_score": 7e1}')
    assert not fuzz_replies.unfounded({"esi_acuity": 2, "urgency_score": 70}, reply, SCHEMA)


@pytest.mark.parametrize("text", ['{"esi_acuity": "\ud83d"', "\ud83d", ""])
def test_a_reply_that_no_client_could_send_back_is_asked_for_again_all_the_same(text):
    sent = []

    class Ask:
        replicate = 0

        def __call__(self, stage, attempt, messages, schema, max_tokens):
            sent.append(json.dumps(messages, ensure_ascii=False).encode())
            return Reply(text)

    case = render(blank_vignettes(1)["case_00"], read_swaps().conditions["reference"])
    trajectory = ClinicalAgent().run(case, Ask())
    assert len(sent) == 2
    assert trajectory.missing["triage"]
    assert all(message["content"] for message in json.loads(sent[1]))
