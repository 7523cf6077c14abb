"""The Ollama backend: the official client against what Ollama documents."""

from __future__ import annotations

import json
import re
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pytest_fairmedagent.errors import ModelError
from pytest_fairmedagent.models.base import Decoding, Reply, Request

pytest.importorskip("ollama")
from pytest_fairmedagent.models.ollama import OllamaModel

NAME = "llama3.1:8b"
DIGEST = "46e0c10c039e019119339687c3c1757cc81b9da49709a3b3924863ba87ca666e"
CHAT = "/api/chat"
KEY = "ollama-key-5aXq"


def answer(**changes: Any) -> dict[str, Any]:
    return {
        "model": NAME,
        "created_at": "2026-01-01T00:00:00Z",
        "message": {"role": "assistant", "content": '{"esi_acuity": 2}'},
        "done": True,
        "done_reason": "stop",
        "total_duration": 5_000,
        "prompt_eval_count": 60,
        "eval_count": 12,
        **changes,
    }


def shown(context: int | None = 131_072) -> dict[str, Any]:
    info: dict[str, Any] = {"general.architecture": "llama"}
    if context is not None:
        info["llama.context_length"] = context
    details = {
        "format": "gguf",
        "family": "llama",
        "parameter_size": "8.0B",
        "quantization_level": "Q4_K_M",
    }
    return {"details": details, "model_info": info, "capabilities": ["completion"]}


def identify(server: Any, *, context: int | None = 131_072, tag: str = NAME) -> None:
    server.say("/api/show", shown(context))
    tags = [{"model": tag, "name": tag, "digest": DIGEST}, {"model": "other:1b", "digest": "0"}]
    server.say("/api/tags", {"models": tags})
    server.say("/api/version", {"version": "0.12.6"})


@pytest.fixture
def make(server: Any) -> Iterator[Callable[..., OllamaModel]]:
    models = []

    def make(name: str = NAME, decoding: Decoding | None = None, **how: Any) -> OllamaModel:
        how = {"base_url": server.url, **how}
        models.append(OllamaModel(name, decoding=decoding or Decoding(), **how))
        return models[-1]

    yield make
    for model in models:
        model.close()


@pytest.fixture
def opened(server: Any, make: Callable[..., OllamaModel]) -> Callable[..., OllamaModel]:
    """A model that is warm; what is scripted from then on answers its calls."""

    def opened(decoding: Decoding | None = None, **how: Any) -> OllamaModel:
        identify(server)
        server.say(CHAT, answer())
        model = make(decoding=decoding, **how)
        model.open()
        server.forget()
        return model

    return opened


def test_a_call_sends_schema_window_seed_limit_and_an_explicit_think_and_nothing_else(
    server: Any, opened: Callable[..., OllamaModel], request_: Request
) -> None:
    model = opened()
    server.say(CHAT, answer())
    reply = model.chat(request_, 0)
    assert server.bodies(CHAT) == [
        {
            "model": NAME,
            "messages": [dict(message) for message in request_.messages],
            "stream": False,
            "truncate": False,
            "shift": False,
            "think": False,
            "format": request_.schema,
            "options": {"num_ctx": 8192, "num_predict": 90, "seed": 7},
            "keep_alive": "30m",
        }
    ]
    assert reply == Reply('{"esi_acuity": 2}', "stop", 60, 12)


def test_sampling_parameters_are_sent_when_given(
    server: Any, opened: Callable[..., OllamaModel], request_: Request
) -> None:
    given = {"temperature": 0.7, "top_p": 0.9, "top_k": 40, "min_p": 0.05, "num_ctx": 2048}
    model = opened(Decoding({**given, "max_tokens": 500}))
    server.say(CHAT, answer())
    model.chat(request_, 0)
    assert server.bodies(CHAT)[0]["options"] == {**given, "num_predict": 90, "seed": 7}
    decoding = model.configuration()["decoding"]
    assert decoding == {**given, "max_tokens": 500}


def test_the_configuration_says_which_weights_answer(opened: Callable[..., OllamaModel]) -> None:
    assert opened().configuration() == {
        "backend": "ollama",
        "model": NAME,
        "weights": DIGEST,
        "quantisation": "Q4_K_M",
        "parameters": "8.0B",
        "server": "ollama 0.12.6",
        "hosts": 1,
        "context": 8192,
        "context_trained": 131_072,
        "prompts_counted": False,
        "workers": 1,
        "schema_mode": "format",
        "think": False,
        "seed": "sent",
        "decoding": dict.fromkeys(Decoding.KNOWN, "unset"),
    }


def test_a_name_without_a_tag_has_the_digest_of_its_latest(
    server: Any, make: Callable[..., OllamaModel]
) -> None:
    identify(server, tag="llama3.1:latest")
    server.say(CHAT, answer())
    model = make("llama3.1")
    model.open()
    assert model.configuration()["weights"] == DIGEST


def test_a_model_that_the_server_does_not_list_is_unattested(
    server: Any, make: Callable[..., OllamaModel]
) -> None:
    identify(server, tag="llama3.1:70b")
    server.say(CHAT, answer())
    model = make()
    model.open()
    assert model.configuration()["weights"] == "unattested"


@pytest.mark.parametrize(("context", "window"), [(4096, 4096), (131_072, 8192), (None, 8192)])
def test_the_window_is_8192_or_what_the_model_was_trained_with(
    server: Any, make: Callable[..., OllamaModel], context: int | None, window: int
) -> None:
    identify(server, context=context)
    server.say(CHAT, answer())
    model = make()
    model.open()
    assert model.configuration()["context"] == window
    assert server.bodies(CHAT)[0]["options"]["num_ctx"] == window


def test_a_window_larger_than_the_model_was_trained_with_is_refused(
    server: Any, make: Callable[..., OllamaModel]
) -> None:
    identify(server, context=4096)
    with pytest.raises(ModelError, match=r"num_ctx is 8192, but llama3.1:8b was trained with 4096"):
        make(decoding=Decoding({"num_ctx": 8192})).open()


def test_the_warm_up_loads_the_model_for_the_run_with_the_window_of_its_calls(
    server: Any, make: Callable[..., OllamaModel]
) -> None:
    identify(server)
    server.say(CHAT, answer())
    make().open()
    (body,) = server.bodies(CHAT)
    assert body["keep_alive"] == "30m"
    assert body["options"] == {"num_ctx": 8192, "num_predict": 1, "seed": 0}


def test_a_load_longer_than_a_calls_timeout_does_not_fail_the_warm_up(
    server: Any, make: Callable[..., OllamaModel]
) -> None:
    identify(server)
    server.say(CHAT, answer(), delay_s=0.9)
    short, long = (5.0, 0.6, 5.0, 5.0), (5.0, 5.0, 5.0, 5.0)
    model = make(timeout_s=short, warm_up_timeout_s=long)
    model.open()
    assert model.configuration()["server"] == "ollama 0.12.6"


def test_a_model_that_takes_no_think_is_asked_without_it_and_that_is_recorded(
    server: Any, make: Callable[..., OllamaModel], request_: Request
) -> None:
    identify(server)
    server.say(CHAT, {"error": f'"{NAME}" does not support thinking'}, status=400)
    server.say(CHAT, answer())
    model = make()
    model.open()
    model.chat(request_, 0)
    assert ["think" in body for body in server.bodies(CHAT)] == [True, False, False]
    assert model.configuration()["think"] == "unsupported"


def test_thoughts_are_no_part_of_an_answer(
    server: Any, opened: Callable[..., OllamaModel], request_: Request
) -> None:
    model = opened()
    message = {"role": "assistant", "content": "", "thinking": '{"esi_acuity": 1}'}
    server.say(CHAT, answer(message=message, done_reason="length"))
    assert model.chat(request_, 0) == Reply("", "length", 60, 12)


def test_an_unknown_model_shows_the_servers_words_and_the_pull_command(
    server: Any, make: Callable[..., OllamaModel]
) -> None:
    server.say("/api/show", {"error": f"model '{NAME}' not found"}, status=404)
    with pytest.raises(ModelError, match=f"answered 404: model '{NAME}' not found") as caught:
        make().open()
    assert f"ollama pull {NAME}" in str(caught.value)
    assert not caught.value.transient


@pytest.mark.parametrize(
    ("status", "body", "shown"),
    [
        (404, b"404 page not found", "404: 404 page not found"),
        (307, b"", r"307: \(an empty body\)"),
    ],
)
def test_a_url_that_is_no_root_of_an_ollama_server_is_not_answered_with_advice_to_pull(
    server: Any, make: Callable[..., OllamaModel], status: int, body: bytes, shown: str
) -> None:
    server.say("/v1/api/show", body, status=status, headers={"location": f"{server.url}/api/show"})
    identify(server)
    with pytest.raises(ModelError, match=shown) as caught:
        make(base_url=f"{server.url}/v1").open()
    assert "pull" not in str(caught.value)
    assert "without /v1" in str(caught.value)
    assert [asked.path for asked in server.asked] == ["/v1/api/show"]  # and no redirect followed


def test_weights_that_change_under_the_tag_stop_the_run(
    server: Any,
    opened: Callable[..., OllamaModel],
    request_: Request,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pytest_fairmedagent.models.ollama_host.LOOK_S", 0.0)
    model = opened()
    identify(server)
    server.say(CHAT, answer())
    assert model.chat(request_, 0).finish == "stop"
    server.forget()
    server.say("/api/tags", {"models": [{"model": NAME, "digest": "b" * 64}]})
    server.say(CHAT, answer())
    with pytest.raises(ModelError, match="was changed while it was measured") as caught:
        model.chat(request_, 0)
    assert f"was {DIGEST[:12]} and is {'b' * 12}" in str(caught.value)
    assert not caught.value.transient


def test_a_server_is_not_asked_for_the_tag_at_every_call(
    server: Any, opened: Callable[..., OllamaModel], request_: Request
) -> None:
    model = opened()
    server.say(CHAT, answer())
    for _ in range(3):
        model.chat(request_, 0)
    assert [asked.path for asked in server.asked] == [CHAT] * 3


def test_a_server_that_is_down_is_named_with_what_starts_it(
    server: Any, make: Callable[..., OllamaModel]
) -> None:
    server.stop()
    with pytest.raises(ModelError) as caught:
        make().open()
    first, *rest = str(caught.value).splitlines()
    assert first == f"Ollama is not reachable at {server.url}"
    assert "ollama serve" in rest[0]
    assert "OLLAMA_HOST" in rest[1]
    assert caught.value.transient


def test_the_environments_host_is_asked_where_no_url_is_given(
    server: Any, make: Callable[..., OllamaModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", server.url.removeprefix("http://"))
    identify(server)
    server.say(CHAT, answer())
    model = make(base_url=None)
    model.open()
    assert model.configuration()["weights"] == DIGEST


@pytest.mark.parametrize(
    ("status", "words", "transient"),
    [
        (503, "server busy, please try again. maximum pending requests exceeded", True),
        (500, "llama runner process has terminated: signal: killed", True),
        (500, "model requires more system memory (8.4 GiB) than is available (5.1 GiB)", False),
        (429, "too many requests", True),
        (502, "bad gateway", True),
        (400, "invalid options", False),
        (404, f"model '{NAME}' not found", False),
        (401, "unauthorized", False),
    ],
)
def test_a_refusal_shows_the_servers_words_and_whether_to_try_again(
    server: Any,
    opened: Callable[..., OllamaModel],
    request_: Request,
    status: int,
    words: str,
    transient: bool,
) -> None:
    model = opened()
    server.say(CHAT, {"error": words}, status=status)
    with pytest.raises(ModelError) as caught:
        model.chat(request_, 0)
    assert str(caught.value).splitlines()[0].endswith(f"answered {status}: {words}")
    assert caught.value.transient is transient


@pytest.mark.parametrize(
    ("body", "how", "says"),
    [
        (answer(), {"cut": True}, "connection lost: .* broke off"),
        (answer(), {"hang_up": True}, "connection lost: .* broke off"),
        (answer(), {"delay_s": 3}, "timeout: .* did not answer in time"),
        (b'{"message": {"role"', {}, "malformed reply: "),
        (b"<html>Bad gateway</html>", {}, "malformed reply: "),
        (b"", {}, "malformed reply: "),
        ([], {}, "malformed reply: "),
        ({}, {}, "malformed reply: "),
        (b'"a proxy\'s words"', {"status": 502}, "malformed reply: "),
    ],
)
def test_broken_and_missing_answers_are_faults_that_may_pass(
    server: Any,
    opened: Callable[..., OllamaModel],
    request_: Request,
    body: object,
    how: dict[str, Any],
    says: str,
) -> None:
    model = opened(timeout_s=(5.0, 0.6, 5.0, 5.0))
    server.say(CHAT, body, **how)
    with pytest.raises(ModelError) as caught:
        model.chat(request_, 0)
    assert re.match(says, caught.value.reason)
    assert caught.value.transient


def test_no_key_goes_abroad_for_project_configuration(
    make: Callable[..., OllamaModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    make(base_url="http://elsewhere.example:11434", base_url_trusted=False)  # no key, nothing lost
    monkeypatch.setenv("OLLAMA_API_KEY", KEY)
    with pytest.raises(ModelError, match=r"--fairmed-base-url=http://elsewhere.example:11434"):
        make(base_url="http://elsewhere.example:11434", base_url_trusted=False)


def test_the_key_is_in_no_error_and_no_configuration(
    server: Any,
    opened: Callable[..., OllamaModel],
    request_: Request,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", KEY)
    model = opened()
    server.say(CHAT, {"error": f"invalid key {KEY}"}, status=401)
    with pytest.raises(ModelError) as caught:
        model.chat(request_, 0)
    # The client's early versions know of no key, and send none.
    assert server.asked[0].headers.get("authorization") in (None, f"Bearer {KEY}")
    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert KEY not in json.dumps(model.configuration())


def test_a_closed_model_lets_go_of_its_connections(opened: Callable[..., OllamaModel]) -> None:
    model = opened()
    (host,) = model._hosts
    model.close()
    model.close()
    assert host._client._client.is_closed
