"""The backend for OpenAI-compatible servers: what is sent, and how their answers read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pytest_fairmedagent.models.base import Decoding, Reply, Request

pytest.importorskip("openai")
from pytest_fairmedagent.models.openai_compatible import OpenAICompatibleModel

PATH = "/v1/chat/completions"


def answer(finish: str = "stop", **message: Any) -> dict[str, Any]:
    return {
        "id": "chatcmpl-B9M",
        "object": "chat.completion",
        "created": 1_741_569_952,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": '{"esi_acuity":2}', **message},
                "finish_reason": finish,
            }
        ],
        "usage": {
            "prompt_tokens": 82,
            "completion_tokens": 17,
            "total_tokens": 99,
            "prompt_tokens_details": {"cached_tokens": 64},
        },
        "system_fingerprint": "fp_44709d6fcb",
    }


@pytest.fixture
def make(server: Any) -> Iterator[Callable[..., OpenAICompatibleModel]]:
    models = []

    def make(decoding: Decoding | None = None) -> OpenAICompatibleModel:
        url = f"{server.url}/v1"
        model = OpenAICompatibleModel("m", decoding=decoding or Decoding(), base_url=url)
        model.open()
        models.append(model)
        return model

    yield make
    for model in models:
        model.close()


def test_a_call_sends_schema_seed_and_limit_and_no_sampling_of_its_own(
    server: Any, make: Callable[..., OpenAICompatibleModel], request_: Request
) -> None:
    server.say(PATH, answer())
    reply = make().chat(request_, 0)
    assert server.bodies(PATH) == [
        {
            "model": "m",
            "messages": [dict(message) for message in request_.messages],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": request_.schema, "strict": True},
            },
            "seed": 7,
            "max_tokens": 90,
        }
    ]
    assert reply == Reply(
        '{"esi_acuity":2}',
        "stop",
        input_tokens=82,
        output_tokens=17,
        cache_read_tokens=64,
        response_id="chatcmpl-B9M",
    )


def test_sampling_parameters_are_sent_when_given_also_those_the_package_does_not_know(
    server: Any, make: Callable[..., OpenAICompatibleModel], request_: Request
) -> None:
    given = {"temperature": 0.7, "top_p": 0.9, "top_k": 40, "min_p": 0.05}
    server.say(PATH, answer())
    make(Decoding(given)).chat(request_, 0)
    (body,) = server.bodies(PATH)
    assert {name: body[name] for name in given} == given


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (answer("length"), ("length", '{"esi_acuity":2}')),
        (answer("content_filter", content=""), ("refusal", "")),
        (answer(content=None, refusal="I cannot help."), ("refusal", "I cannot help.")),
        (answer("tool_calls", content=None), ("tool_calls", "")),
        (answer(content=None, reasoning_content='{"esi_acuity":1}'), ("stop", "")),
        (
            answer(
                content=[
                    {"type": "thinking", "thinking": [{"type": "text", "text": "1?"}]},
                    {"type": "text", "text": '{"esi_acuity":2}'},
                ]
            ),
            ("stop", '{"esi_acuity":2}'),
        ),
    ],
    ids=["length", "filtered", "refused", "own-word", "thoughts", "parts"],
)
def test_why_an_answer_ended_and_what_is_left_of_it(
    server: Any,
    make: Callable[..., OpenAICompatibleModel],
    request_: Request,
    given: dict[str, Any],
    expected: tuple[str, str],
) -> None:
    server.say(PATH, given)
    reply = make().chat(request_, 0)
    assert (reply.finish, reply.text) == expected


def test_the_configuration_claims_no_weights(
    server: Any, make: Callable[..., OpenAICompatibleModel]
) -> None:
    assert make().configuration() == {
        "backend": "openai",
        "model": "m",
        "weights": "unattested",
        "server": f"{server.url}/v1",
        "workers": 4,
        "schema_mode": "response_format json_schema",
        "token_limit": "max_tokens",
        "seed": "sent",
        "decoding": dict.fromkeys(Decoding.KNOWN, "unset"),
    }


def test_openai_itself_is_given_the_limit_under_its_newer_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0000000000")
    model = OpenAICompatibleModel("gpt-x", decoding=Decoding())
    model.open()
    assert model.configuration()["token_limit"] == "max_completion_tokens"
    assert model.configuration()["server"] == "https://api.openai.com/v1"
    model.close()
