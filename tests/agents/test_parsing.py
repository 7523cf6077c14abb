"""From text to fields: every reply gives valid fields or a reason, and never a default."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_fairmedagent.agents import prompts
from pytest_fairmedagent.agents.fields import (
    Boolean,
    Choices,
    FieldError,
    Integer,
    check_fields,
    schema_of,
)
from pytest_fairmedagent.agents.parsing import read_reply
from pytest_fairmedagent.models.base import Reply

TRIAGE = (Integer("esi_acuity", 1, 5), Integer("urgency_score", 0, 100))
ORDERS = (Choices("orders", ("ecg", "cbc", "ct_head"), 2),)
ADMIT = (Boolean("admit"),)
GOOD = '{"esi_acuity": 2, "urgency_score": 70}'


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"<think>maybe {{'esi_acuity': 1}}</think>{GOOD}",
        f'<think>first {{"esi_acuity": 1, "urgency_score": 1}}</think>\n{GOOD}',
        f'Draft: {{"esi_acuity": 5, "urgency_score": 0}}. Final: {GOOD}',
        f"Here it is: {GOOD} I hope this helps {{.",
        '{"esi_acuity": 2.0, "urgency_score": 70, "why": "because"}',
    ],
)
def test_a_valid_object_is_found_where_it_stands(text):
    assert read_reply(Reply(text), TRIAGE) == {"esi_acuity": 2, "urgency_score": 70}


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(""), "empty reply"),
        (Reply("  \n"), "empty reply"),
        (Reply("", finish="length"), "cut at the token limit"),
        (Reply('{"esi_acuity": 2, "urg', finish="length"), "cut at the token limit"),
        (Reply("I cannot help.", finish="refusal"), "refusal"),
        (Reply("ESI 2, I would say."), "no JSON object in the reply"),
        (Reply("[1, 2]"), "no JSON object in the reply"),
        (Reply('<think>{"esi_acuity": 2, "urgency_score": 70}'), "no JSON object in the reply"),
        (Reply('{"esi_acuity": 2}'), "urgency_score is missing"),
        (Reply('{"esi_acuity": 0, "urgency_score": 1}'), "esi_acuity is 0, expected 1..5"),
        (Reply('{"esi_acuity": 9, "urgency_score": 1}'), "esi_acuity is 9, expected 1..5"),
        (
            Reply('{"esi_acuity": true, "urgency_score": 1}'),
            "esi_acuity is True, expected an integer",
        ),
        (
            Reply('{"esi_acuity": "2", "urgency_score": 1}'),
            "esi_acuity is '2', expected an integer",
        ),
        (Reply('{"esi_acuity": 2.5, "urgency_score": 1}'), "esi_acuity is 2.5"),
        (Reply('{"esi_acuity": NaN, "urgency_score": 1}'), "esi_acuity is nan"),
        (Reply('{"esi_acuity": 1e999, "urgency_score": 1}'), "esi_acuity is inf"),
        (Reply('{"esi_acuity": null, "urgency_score": 1}'), "esi_acuity is None"),
    ],
)
def test_what_is_not_valid_is_refused_with_its_reason(reply, reason):
    with pytest.raises(FieldError, match=reason.replace("[", r"\[").replace("..", r"\.\.")):
        read_reply(reply, TRIAGE)


def test_orders_are_ids_of_the_menu_and_a_set():
    assert read_reply(Reply('{"orders": ["ct_head", "ecg", "ecg"]}'), ORDERS) == {
        "orders": ["ecg", "ct_head"]
    }
    for bad in ('["CT of the head"]', '"ecg"', '["ecg", 3]', '["ecg", "cbc", "ct_head"]'):
        with pytest.raises(FieldError):
            read_reply(Reply(f'{{"orders": {bad}}}'), ORDERS)


def test_true_is_not_the_word_true():
    assert read_reply(Reply('{"admit": true}'), ADMIT) == {"admit": True}
    for bad in ('"true"', "1", '"yes"', "null"):
        with pytest.raises(FieldError, match="expected true or false"):
            read_reply(Reply(f'{{"admit": {bad}}}'), ADMIT)


@settings(max_examples=400, deadline=None)
@given(st.text(max_size=400), st.sampled_from(["stop", "length", "refusal", "tool_use"]))
def test_no_text_makes_it_crash_or_guess(text, finish):
    for fields in (TRIAGE, ORDERS, ADMIT):
        try:
            found = read_reply(Reply(text, finish), fields)
        except FieldError as error:
            assert str(error)
        else:
            assert check_fields(found, fields) == found


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=400, deadline=None)
@given(st.fixed_dictionaries({"esi_acuity": JSON, "urgency_score": JSON}), st.text(max_size=30))
def test_any_json_gives_values_in_range_or_a_reason(value, prose):
    try:
        found = read_reply(Reply(prose + json.dumps(value) + prose), TRIAGE)
    except FieldError as error:
        assert str(error)
    else:
        assert 1 <= found["esi_acuity"] <= 5
        assert 0 <= found["urgency_score"] <= 100


def test_deep_nesting_is_refused_and_not_recursed_into():
    with pytest.raises(FieldError):
        read_reply(Reply("{" * 5_000), TRIAGE)
    with pytest.raises(FieldError):
        read_reply(Reply('{"a":' * 3_000), TRIAGE)


def test_the_schemas_ask_for_just_what_is_checked():
    assert schema_of(TRIAGE) == {
        "type": "object",
        "properties": {
            "esi_acuity": {"type": "integer", "minimum": 1, "maximum": 5},
            "urgency_score": {"type": "integer", "minimum": 0, "maximum": 100},
        },
        "required": ["esi_acuity", "urgency_score"],
        "additionalProperties": False,
    }
    assert schema_of(ORDERS)["properties"]["orders"]["maxItems"] == 2


def test_the_stages_are_the_five_calls_in_their_order():
    names = [stage.name for stage in prompts.STAGES]
    assert names == ["triage", "order", "reassess", "prescribe", "document"]


def test_every_field_of_a_stage_is_explained_in_the_system_message():
    text = prompts.system(())
    for stage in prompts.STAGES:
        for field in stage.fields:
            assert field.name in text
