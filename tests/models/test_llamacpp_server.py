"""The hosted backends against llama.cpp's own HTTP server, which nobody here wrote.

It shows transport, authentication, usage and the reading of real answers. It passes over a forced
tool, so what a tool's input looks like is shown by scripted answers only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from pytest_fairmedagent.errors import ModelError
from pytest_fairmedagent.models import weights
from pytest_fairmedagent.models.base import OVER_WINDOW, Decoding, Request
from pytest_fairmedagent.models.specs import ModelSpec, open_model

KEY = "sk-test-of-this-server"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    xllamacpp = pytest.importorskip("xllamacpp", reason="xllamacpp is not installed")
    try:
        path = weights.find_weights("")
    except ModelError as error:
        pytest.skip(str(error).splitlines()[0])
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx, params.n_parallel, params.warmup, params.verbosity = 512, 1, False, 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.api_keys = [KEY]
    server = xllamacpp.Server(params)
    yield server.listening_address
    del server


def test_the_openai_route_answers_within_the_schema_and_counts_tokens(
    url: str, request_: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openai")
    from pytest_fairmedagent.models.openai_compatible import OpenAICompatibleModel

    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    # Greedy, so that no unlucky draw of white space runs into the limit.
    model = OpenAICompatibleModel("m", decoding=Decoding({"top_k": 1}), base_url=f"{url}/v1")
    model.open()
    reply = model.chat(request_, 0)
    model.close()
    assert set(json.loads(reply.text)) == {"esi_acuity", "admit", "orders"}
    assert reply.finish == "stop"
    assert reply.input_tokens > 20
    assert reply.output_tokens > 5
    assert reply.response_id.startswith("chatcmpl-")


def test_the_anthropic_route_answers_and_is_cut_at_the_limit(
    url: str, request_: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("anthropic")
    from pytest_fairmedagent.models.anthropic import AnthropicModel

    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    model = AnthropicModel("m", decoding=Decoding({"temperature": 0.0}), base_url=url)
    model.open()
    reply = model.chat(Request("x", request_.messages, request_.schema, 1, 4), 0)
    model.close()
    assert reply.text
    assert reply.finish == "length"
    assert reply.output_tokens == 4
    assert reply.response_id


@pytest.mark.parametrize("route", ["openai", "anthropic"])
def test_a_wrong_key_is_an_error_that_does_not_pass(
    url: str, request_: Request, route: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(route)
    monkeypatch.setenv(f"{route.upper()}_API_KEY", "sk-another-key")
    model = open_model(
        ModelSpec(route, "m"),
        decoding=Decoding(),
        base_url=f"{url}/v1" if route == "openai" else url,
        base_url_trusted=True,
        workers=None,
    )
    model.open()
    with pytest.raises(ModelError, match="answered 401 authentication_error 401: ") as caught:
        model.chat(request_, 0)
    model.close()
    assert not caught.value.transient
    assert "sk-another-key" not in str(caught.value)


@pytest.mark.parametrize("route", ["openai", "anthropic"])
def test_a_prompt_over_its_window_is_no_answer_and_says_why(
    url: str, route: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(route)
    monkeypatch.setenv(f"{route.upper()}_API_KEY", KEY)
    model = open_model(
        ModelSpec(route, "m"),
        decoding=Decoding(),
        base_url=f"{url}/v1" if route == "openai" else url,
        base_url_trusted=True,
        workers=None,
    )
    model.open()
    long = Request("x", ({"role": "user", "content": "pain " * 900},), {"type": "object"}, 1, 9)
    reply = model.chat(long, 0)
    model.close()
    assert (reply.text, reply.finish) == ("", OVER_WINDOW)
