"""The Anthropic backend: what is sent, and how its answers read."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pytest_fairmedagent.errors import ModelError
from pytest_fairmedagent.models.base import Decoding, Reply, Request

pytest.importorskip("anthropic")
from pytest_fairmedagent.models.anthropic import AnthropicModel

PATH = "/v1/messages"
USAGE = {
    "input_tokens": 11,
    "cache_creation_input_tokens": 200,
    "cache_read_input_tokens": 1000,
    "output_tokens": 42,
}


def answer(*content: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "id": "msg_01XFD",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5-20250929",
        "content": list(content),
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": USAGE,
        **changes,
    }


def tool_use(given: object) -> dict[str, Any]:
    return {"type": "tool_use", "id": "toolu_01", "name": "answer", "input": given}


@pytest.fixture
def make(server: Any) -> Iterator[Callable[..., AnthropicModel]]:
    models = []

    def make(decoding: Decoding | None = None, name: str = "claude-x") -> AnthropicModel:
        model = AnthropicModel(name, decoding=decoding or Decoding(), base_url=server.url)
        model.open()
        models.append(model)
        return model

    yield make
    for model in models:
        model.close()


def test_a_call_forces_the_tool_and_sends_no_seed_and_no_sampling_of_its_own(
    server: Any, make: Callable[..., AnthropicModel], request_: Request
) -> None:
    server.say(PATH, answer(tool_use({})))
    make().chat(request_, 0)
    (body,) = server.bodies(PATH)
    assert body.pop("tools")[0]["input_schema"] == request_.schema
    assert body == {
        "model": "claude-x",
        "max_tokens": 90,
        "system": [{"type": "text", "text": "You triage.", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {
                        "type": "text",
                        "text": "Chest pain for two hours.",
                        "cache_control": {"type": "ephemeral"},
                    }
                ],
            },
            *[dict(message) for message in request_.messages[2:]],
        ],
        "tool_choice": {"type": "tool", "name": "answer", "disable_parallel_tool_use": True},
    }


def test_sampling_parameters_are_sent_when_given_whatever_the_package_has_keywords_for(
    server: Any, make: Callable[..., AnthropicModel], request_: Request
) -> None:
    given = {"temperature": 0.7, "top_p": 0.9, "top_k": 40}
    server.say(PATH, answer(tool_use({})))
    model = make(Decoding({**given, "max_tokens": 500}))
    model.chat(request_, 0)
    (body,) = server.bodies(PATH)
    assert {name: body[name] for name in given} == given
    assert body["max_tokens"] == 90


def test_the_tools_input_is_the_answer_and_cached_tokens_count(
    server: Any, make: Callable[..., AnthropicModel], request_: Request
) -> None:
    given = {"esi_acuity": 2, "orders": ["ecg"], "note": "Größe"}
    server.say(PATH, answer({"type": "text", "text": "I will answer."}, tool_use(given)))
    reply = make().chat(request_, 0)
    assert json.loads(reply.text) == given
    assert "Größe" in reply.text
    assert reply == Reply(
        reply.text,
        "stop",
        input_tokens=1211,
        output_tokens=42,
        cache_read_tokens=1000,
        cache_write_tokens=200,
        response_id="msg_01XFD",
    )


def test_prose_in_place_of_the_tool_is_handed_on_and_the_record_says_that_it_was_none(
    server: Any, make: Callable[..., AnthropicModel], request_: Request
) -> None:
    texts = [{"type": "text", "text": "I think"}, {"type": "text", "text": "ESI 2"}]
    server.say(PATH, answer(*texts, stop_reason="end_turn"))
    reply = make().chat(request_, 0)
    assert (reply.text, reply.finish) == ("I think\nESI 2", "stop without the tool")


def test_a_tools_input_that_was_cut_at_the_limit_is_no_answer_though_it_reads_as_one(
    server: Any, make: Callable[..., AnthropicModel], request_: Request
) -> None:
    from pytest_fairmedagent.agents.fields import Boolean, FieldError
    from pytest_fairmedagent.agents.parsing import read_reply

    server.say(PATH, answer(tool_use({"admit": True}), stop_reason="max_tokens"))
    reply = make().chat(request_, 0)
    with pytest.raises(FieldError, match="cut at the token limit"):
        read_reply(reply, [Boolean("admit")])


def test_thoughts_are_no_part_of_an_answer(
    server: Any, make: Callable[..., AnthropicModel], request_: Request
) -> None:
    thought = {"type": "thinking", "thinking": '{"esi_acuity": 1}', "signature": "x"}
    server.say(PATH, answer(thought, stop_reason="end_turn"))
    assert make().chat(request_, 0).text == ""


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("tool_use", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refusal"),
        ("pause_turn", "pause_turn"),
    ],
)
def test_why_an_answer_ended(
    server: Any,
    make: Callable[..., AnthropicModel],
    request_: Request,
    reason: str,
    finish: str,
) -> None:
    server.say(PATH, answer(tool_use({}), stop_reason=reason))
    assert make().chat(request_, 0).finish == finish


def test_the_configuration_claims_no_weights_and_no_seed(
    server: Any, make: Callable[..., AnthropicModel]
) -> None:
    model = make(Decoding({"temperature": 1.0}))
    assert model.configuration() == {
        "backend": "anthropic",
        "model": "claude-x",
        "model_reported": "unattested",
        "weights": "unattested",
        "server": server.url,
        "workers": 4,
        "schema_mode": "forced tool answer",
        "seed": "unsupported",
        "decoding": {**dict.fromkeys(Decoding.KNOWN, "unset"), "temperature": 1.0},
    }
    assert not model.seeded


def test_a_bearer_token_serves_in_place_of_a_key(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token-1234567")
    model = AnthropicModel("claude-x", decoding=Decoding(), base_url=server.url)
    model.open()
    assert server.asked[0].headers["authorization"] == "Bearer token-1234567"
    model.close()


MODEL = "/v1/models/claude-x"


def able(supported: object) -> dict[str, Any]:
    return {
        "id": "claude-x",
        "type": "model",
        "capabilities": {"structured_outputs": {"supported": supported}},
    }


def test_a_model_that_knows_output_formats_is_asked_for_one_as_it_may_refuse_a_forced_tool(
    server: Any, make: Callable[..., AnthropicModel], request_: Request
) -> None:
    server.say(MODEL, able(True))
    server.say(PATH, answer({"type": "text", "text": '{"esi_acuity": 2}'}, stop_reason="end_turn"))
    model = make()
    reply = model.chat(request_, 0)
    (body,) = server.bodies(PATH)
    assert "tools" not in body
    assert "tool_choice" not in body
    told = body["output_config"]["format"]
    assert told["type"] == "json_schema"
    assert told["schema"]["additionalProperties"] is False
    assert told["schema"]["required"] == ["esi_acuity", "admit", "orders"]
    # Output formats refuse limits, so they are told instead, and checked when the reply is read.
    assert told["schema"]["properties"] == {
        "esi_acuity": {"type": "integer", "description": "minimum 1, maximum 5"},
        "admit": {"type": "boolean"},
        "orders": {
            "type": "array",
            "items": {"type": "string", "enum": ["ecg", "ct_head"]},
            "description": "maxItems 2",
        },
    }
    assert (reply.text, reply.finish) == ('{"esi_acuity": 2}', "stop")
    assert model.configuration()["schema_mode"] == "output format json_schema"


@pytest.mark.parametrize(
    ("told", "how"),
    [
        (able(False), {}),
        (able("yes"), {}),
        ({"id": "claude-x", "object": "model"}, {}),
        ({"capabilities": ["completion"]}, {}),
        (b"<html>what?</html>", {}),
        ({"type": "error", "error": {"type": "not_found_error", "message": "x"}}, {"status": 404}),
    ],
)
def test_a_server_that_claims_no_output_formats_is_asked_for_the_tool(
    server: Any, make: Callable[..., AnthropicModel], told: object, how: dict[str, Any]
) -> None:
    server.say(MODEL, told, **how)
    assert make().configuration()["schema_mode"] == "forced tool answer"


def test_a_server_that_stumbles_over_the_question_for_the_form_does_not_change_the_form(
    server: Any, make: Callable[..., AnthropicModel]
) -> None:
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    server.say(MODEL, overloaded, status=529)
    with pytest.raises(ModelError, match="answered 529") as caught:
        make()
    assert caught.value.transient
    server.forget()
    server.say(MODEL, able(True))
    assert make().configuration()["schema_mode"] == "output format json_schema"


@pytest.mark.parametrize("stage", [0, -1], ids=["first", "last"])
def test_arms_share_all_that_a_cache_is_told_to_keep_and_differ_in_the_line_after_it(
    server: Any, make: Callable[..., AnthropicModel], stage: int
) -> None:
    from pytest_fairmedagent.agents.clinical import ClinicalAgent
    from pytest_fairmedagent.agents.rehearsal import rehearse
    from pytest_fairmedagent.domain import render
    from pytest_fairmedagent.files.swaps import read_swaps
    from pytest_fairmedagent.testing import blank_vignettes

    (vignette,) = blank_vignettes(1).values()
    conditions = read_swaps().conditions
    model = make()
    server.say(PATH, answer(tool_use({})))
    requests = {
        name: rehearse(ClinicalAgent(), render(vignette, conditions[name]))[stage]
        for name in ("reference", "race_black")
    }
    for request in requests.values():
        model.chat(request, 0)
    ours, theirs = server.bodies(PATH)
    assert ours["system"] == theirs["system"]
    assert ours["system"][-1]["cache_control"] == {"type": "ephemeral"}
    assert ours["tools"] == theirs["tools"]
    (shared, own), (their_shared, their_own) = (b["messages"][0]["content"] for b in (ours, theirs))
    assert shared == their_shared
    assert shared["cache_control"] == {"type": "ephemeral"}
    assert shared["text"] == vignette.narrative.strip()  # the narrative, which is alike, is first
    assert "cache_control" not in own
    lines = zip(own["text"].splitlines(), their_own["text"].splitlines(), strict=True)
    assert [a == b for a, b in lines].count(False) == 1
    # Nothing is lost or added by the cut.
    sent = shared["text"] + own["text"]
    assert sent == requests["reference"].messages[1]["content"]


def test_the_model_that_an_alias_stands_for_is_part_of_the_configuration(
    server: Any, make: Callable[..., AnthropicModel]
) -> None:
    server.say(MODEL, {**able(True), "id": "claude-x-20250929"})
    said = make().configuration()
    assert (said["model"], said["model_reported"]) == ("claude-x", "claude-x-20250929")


def test_a_warning_of_the_package_under_w_error_is_an_error_of_this_model(
    make: Callable[..., AnthropicModel], request_: Request
) -> None:
    from anthropic.resources.messages.messages import DEPRECATED_MODELS

    model = make(name=next(iter(DEPRECATED_MODELS)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ModelError, match="deprecated") as caught:
            model.chat(request_, 0)
    assert not caught.value.transient
