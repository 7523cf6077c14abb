"""Forms in which models and servers are known to answer without answering.

`replies.json` holds them, with the issue where a form was reported of a model or server by name.
Every one ends as the answer that it plainly holds, or as missing with a reason.
"""

import json
from pathlib import Path

import pytest

from pytest_fairmedagent.agents.fields import Boolean, FieldError, Integer
from pytest_fairmedagent.agents.parsing import LONGEST, read_reply
from pytest_fairmedagent.models.base import Reply

TRIAGE = (Integer("esi_acuity", 1, 5), Integer("urgency_score", 0, 100))
NOTE = (Boolean("referral"), Integer("followup_days", 0, 365))
NO_OBJECT = "no JSON object in the reply"

REPLIES = {
    entry["form"]: entry
    for entry in json.loads(Path(__file__).with_name("replies.json").read_text(encoding="utf-8"))
}
READ = [form for form, entry in REPLIES.items() if "read" in entry]
REFUSED = [form for form, entry in REPLIES.items() if "reason" in entry]


def reply(form):
    return Reply(REPLIES[form]["text"], REPLIES[form].get("finish", "stop"))


@pytest.mark.parametrize("form", READ)
def test_an_answer_that_is_plainly_there_is_read(form):
    assert read_reply(reply(form), TRIAGE) == REPLIES[form]["read"]


@pytest.mark.parametrize("form", REFUSED)
def test_what_is_no_answer_is_missing_with_its_reason(form):
    with pytest.raises(FieldError) as caught:
        read_reply(reply(form), TRIAGE)
    assert REPLIES[form]["reason"] in str(caught.value)
    str(caught.value).encode()  # or the record could not be written


def test_every_form_says_either_what_is_read_or_why_nothing_is():
    assert len(READ) + len(REFUSED) == len(REPLIES) > 100


@pytest.mark.parametrize("text", ['"true"', "1", '"Yes"', "null", "[]", "{}"])
def test_no_word_or_number_stands_for_true(text):
    with pytest.raises(FieldError, match="referral is"):
        read_reply(Reply(f'{{"referral": {text}, "followup_days": 7}}'), NOTE)


def test_a_name_given_twice_is_no_answer_even_where_both_agree():
    with pytest.raises(FieldError, match="referral is given twice, expected true or false"):
        read_reply(Reply('{"referral": true, "followup_days": 7, "referral": true}'), NOTE)


@pytest.mark.parametrize("form", [f for f in REFUSED if REPLIES[f]["reason"] == NO_OBJECT])
def test_an_answer_cut_at_the_limit_says_so(form):
    with pytest.raises(FieldError) as caught:
        read_reply(Reply(REPLIES[form]["text"], finish="length"), TRIAGE)
    assert str(caught.value) == "cut at the token limit"


def test_a_reply_that_would_take_minutes_to_search_is_refused_by_its_length():
    with pytest.raises(FieldError, match=f"has 1000000 characters, expected at most {LONGEST}"):
        read_reply(Reply("{" * 1_000_000), TRIAGE)
