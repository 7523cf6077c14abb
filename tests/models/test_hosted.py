"""Faults, keys and broken answers, alike for both kinds of hosted server."""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Callable
from email.utils import formatdate
from fnmatch import fnmatch
from typing import Any, NamedTuple

import pytest

from pytest_fairmedagent import errors
from pytest_fairmedagent.errors import ModelError
from pytest_fairmedagent.models.base import OVER_WINDOW, Decoding, Reply, Request
from tests.models.conftest import Provider

SECRET = "sk-test-7Qx9-do-not-show"


class Backend(NamedTuple):
    make: Callable[..., Any]
    path: str
    key: str
    url: str
    good: dict[str, Any]


def anthropic_backend() -> Backend:
    pytest.importorskip("anthropic")
    from pytest_fairmedagent.models.anthropic import AnthropicModel

    good = {
        "id": "msg_1",
        "content": [{"type": "text", "text": "{}"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    make = AnthropicModel
    return Backend(make, "/v1/messages", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", good)


def openai_backend() -> Backend:
    pytest.importorskip("openai")
    from pytest_fairmedagent.models.openai_compatible import OpenAICompatibleModel

    message = {"role": "assistant", "content": "{}"}
    good = {"id": "chatcmpl-1", "choices": [{"message": message, "finish_reason": "stop"}]}
    make = OpenAICompatibleModel
    return Backend(make, "/chat/completions", "OPENAI_API_KEY", "OPENAI_BASE_URL", good)


@pytest.fixture(params=[anthropic_backend, openai_backend], ids=["anthropic", "openai"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Backend:
    backend: Backend = request.param()
    monkeypatch.setenv(backend.key, SECRET)
    return backend


@pytest.fixture
def fault(server: Any, backend: Backend, request_: Request) -> Callable[..., ModelError]:
    """The error of a call that gets one scripted answer."""

    def fault(body: object, *, read_s: float = 5.0, **how: Any) -> ModelError:
        server.forget()
        server.say(backend.path, body, **how)
        timeout_s = (5.0, read_s, 5.0, 5.0)
        model = backend.make("m", decoding=Decoding(), base_url=server.url, timeout_s=timeout_s)

        def call() -> None:
            model.open()
            model.chat(request_, 0)

        try:
            with pytest.raises(ModelError) as caught:
                call()
        finally:
            model.close()
        return caught.value

    return fault


OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


def error(kind: str, message: str, **more: object) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message, **more}}


@pytest.mark.parametrize(
    ("status", "body", "transient", "kind"),
    [
        (429, error("rate_limit_error", "Number of requests exceeded"), True, errors.RATE_LIMITED),
        (529, OVERLOADED, True, errors.OVERLOADED),
        (
            400,
            OVERLOADED,
            True,
            errors.OVERLOADED,
        ),  # some gateways hand overload on under another status
        (200, OVERLOADED, True, errors.OVERLOADED),
        (429, OVERLOADED, True, errors.OVERLOADED),  # too much for all, not too much of ours
        (429, b"", True, errors.RATE_LIMITED),
        (
            429,
            error("requests", "Limit: 3 / min. Add a payment method: https://x.test/billing"),
            True,
            errors.RATE_LIMITED,
        ),
        (429, error("billing_not_active", "Your account is not active"), False, errors.REFUSED),
        (200, error("", "Provider returned error", code=502), True, errors.SERVER_ERROR),
        (200, error("", "Provider returned error", code="429"), True, errors.RATE_LIMITED),
        (200, error("", "No such model", code=404), False, errors.REFUSED),
        (500, error("api_error", "Overloaded"), True, errors.OVERLOADED),
        (400, error("api_error", "Overloaded"), True, errors.OVERLOADED),
        (500, error("api_error", "Internal server error"), True, errors.SERVER_ERROR),
        (502, b"<html>Bad gateway</html>", True, errors.SERVER_ERROR),
        (503, b"", True, errors.OVERLOADED),
        (504, {"detail": "upstream timed out"}, True, errors.TIMEOUT),
        (408, error("timeout_error", "Request timed out"), True, errors.TIMEOUT),
        (501, error("api_error", "Not implemented"), False, errors.SERVER_ERROR),
        (400, error("invalid_request_error", "max_tokens: too large"), False, errors.REFUSED),
        (
            400,
            error("invalid_request_error", "Your credit balance is too low"),
            False,
            errors.REFUSED,
        ),
        (
            429,
            error("insufficient_quota", "You exceeded your quota", code="x"),
            False,
            errors.REFUSED,
        ),
        (401, error("authentication_error", "invalid key"), False, errors.REFUSED),
        (403, error("permission_error", "not yours"), False, errors.REFUSED),
        (404, error("not_found_error", "model: m"), False, errors.REFUSED),
        (
            413,
            error("request_too_large", "Request exceeds the maximum size"),
            False,
            errors.REFUSED,
        ),
        (
            422,
            {"object": "error", "message": "bad schema", "type": "BadRequest"},
            False,
            errors.REFUSED,
        ),
    ],
)
def test_kind_and_whether_to_try_again_are_read_from_status_and_body(
    fault: Callable[..., ModelError], status: int, body: object, transient: bool, kind: str
) -> None:
    caught = fault(body, status=status)
    assert (caught.transient, caught.kind) == (transient, kind)


@pytest.mark.parametrize(
    "body",
    [
        error("invalid_request_error", "Output blocked by content filtering policy"),
        error("None", "The response was filtered", code="content_filter"),
        error("image_generation_user_error", "not allowed", code="content_policy_violation"),
    ],
)
def test_a_refusal_of_the_case_by_policy_is_an_answer_and_no_fault(
    server: Any, backend: Backend, request_: Request, body: object
) -> None:
    server.say(backend.path, body, status=400)
    model = backend.make("m", decoding=Decoding(), base_url=server.url)
    model.open()
    reply = model.chat(request_, 0)
    model.close()
    assert (reply.text, reply.finish) == ("", "refusal")


@pytest.mark.parametrize(
    "body",
    [
        error(
            "exceed_context_size_error", "request (902 tokens) exceeds the available context size"
        ),
        error("invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"),
        error("invalid_request_error", "This model's maximum context length is 4096 tokens"),
        error("invalid_request_error", "too long", code="context_length_exceeded"),
    ],
)
def test_a_prompt_that_does_not_fit_is_no_fault_that_a_resume_would_run_into_again(
    server: Any, backend: Backend, request_: Request, body: object
) -> None:
    server.say(backend.path, body, status=400)
    model = backend.make("m", decoding=Decoding(), base_url=server.url)
    model.open()
    reply = model.chat(request_, 0)
    model.close()
    assert reply == Reply("", OVER_WINDOW)


@pytest.mark.parametrize("usage", [None, [], "many", {"input_tokens": "12", "prompt_tokens": None}])
def test_a_broken_count_of_tokens_is_none_and_no_crash(
    server: Any, backend: Backend, request_: Request, usage: object
) -> None:
    server.say(backend.path, {**backend.good, "usage": usage})
    model = backend.make("m", decoding=Decoding(), base_url=server.url)
    model.open()
    reply = model.chat(request_, 0)
    model.close()
    assert (reply.text, reply.input_tokens, reply.output_tokens) == ("{}", 0, 0)


def test_the_first_line_shows_status_kind_and_the_servers_words(
    fault: Callable[..., ModelError], server: Any
) -> None:
    first = str(fault(OVERLOADED, status=529)).splitlines()[0]
    assert first.endswith(f"({server.url}) answered 529 overloaded_error: Overloaded")


def test_a_refused_key_names_the_variable_that_holds_it(
    fault: Callable[..., ModelError], backend: Backend
) -> None:
    said = str(fault(error("authentication_error", "invalid x-api-key"), status=401))
    assert f"check {backend.key} in the environment" in said


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "17"}, 17.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "17"}, 0.25),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "86400"}, 86400.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "Sun, 99 Nov 99999 10:00:00 GMT"}, None),
        ({"retry-after-ms": "soon", "retry-after": "17"}, 17.0),
        ({}, None),
    ],
)
def test_what_the_server_asks_to_wait_comes_with_the_error(
    fault: Callable[..., ModelError], headers: dict[str, str], seconds: float | None
) -> None:
    assert fault(OVERLOADED, status=529, headers=headers).retry_after_s == seconds


def test_a_date_to_retry_after_becomes_seconds_and_a_past_one_none_at_all(
    fault: Callable[..., ModelError],
) -> None:
    def wait(at: float) -> float | None:
        headers = {"retry-after": formatdate(at, usegmt=True)}
        return fault(OVERLOADED, status=529, headers=headers).retry_after_s

    later = wait(time.time() + 60)
    assert later is not None
    assert 50 < later <= 60
    assert wait(time.time() - 60) == 0


@pytest.mark.parametrize(
    ("body", "how", "says"),
    [
        (OVERLOADED, {"cut": True}, "connection lost: * is not reachable"),
        (OVERLOADED, {"hang_up": True}, "connection lost: * is not reachable"),
        (OVERLOADED, {"delay_s": 3, "read_s": 0.3}, "timeout: * did not answer in time"),
        (b'{"id": "x", "cho', {}, "malformed reply: * sent a malformed answer: no JSON"),
        (b"<html>ok</html>", {"headers": {"content-type": "text/html"}}, "malformed reply:"),
        (b"", {}, "malformed reply:"),
        ([], {}, "malformed reply: * sent a malformed answer: list"),
        ({}, {}, "malformed reply: * sent a malformed answer: it has no"),
        (b"\xff\xfe", {}, "malformed reply:"),
    ],
    ids=["cut", "hang-up", "slow", "half-json", "html", "empty", "list", "no-fields", "bytes"],
)
def test_broken_and_missing_answers_are_faults_that_may_pass(
    fault: Callable[..., ModelError], body: object, how: dict[str, Any], says: str
) -> None:
    caught = fault(body, **how)
    assert fnmatch(caught.reason, f"{says}*")
    assert caught.transient


def test_a_server_that_is_down_is_a_fault_that_may_pass(
    fault: Callable[..., ModelError], server: Any
) -> None:
    server.stop()
    caught = fault(OVERLOADED)
    assert "is not reachable" in str(caught)
    assert server.url in str(caught)
    assert caught.transient


def test_the_client_itself_never_tries_again(
    fault: Callable[..., ModelError], server: Any, backend: Backend
) -> None:
    # Its tries would not be counted, and would wait inside the runner's budget of time.
    fault(OVERLOADED, status=529, headers={"x-should-retry": "true"})
    assert len(server.bodies(backend.path)) == 1


def test_the_key_is_in_no_error_no_traceback_and_no_configuration(
    fault: Callable[..., ModelError], server: Any, backend: Backend
) -> None:
    caught = fault(error("authentication_error", f"Incorrect key: {SECRET}."), status=401)
    headers = server.asked[0].headers
    assert SECRET in headers.get("x-api-key", "") + headers.get("authorization", "")
    model = backend.make("m", decoding=Decoding(), base_url=server.url)
    model.open()
    shown = [
        *traceback.format_exception(caught),
        repr(caught),
        json.dumps(model.configuration()),
        repr(vars(model)),
    ]
    model.close()
    assert "Incorrect key: [key]" in str(caught)
    assert SECRET not in "".join(shown)


def test_project_configuration_sends_no_key_abroad(backend: Backend) -> None:
    url = "https://elsewhere.example/v1"
    with pytest.raises(ModelError, match=f"--fairmed-base-url={url}") as caught:
        backend.make("m", decoding=Decoding(), base_url=url, base_url_trusted=False)
    assert backend.key in str(caught.value)


def test_project_configuration_may_name_a_server_on_this_machine(
    server: Any, backend: Backend, request_: Request
) -> None:
    server.say(backend.path, backend.good)
    model = backend.make("m", decoding=Decoding(), base_url=server.url, base_url_trusted=False)
    model.open()
    assert model.chat(request_, 0).text == "{}"
    model.close()


def test_a_missing_key_is_an_error_before_any_call(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(backend.key)
    model = backend.make("m", decoding=Decoding())
    with pytest.raises(ModelError, match="there is no key") as caught:
        model.open()
    assert f"set {backend.key}" in str(caught.value)
    assert not caught.value.transient


def test_a_server_on_this_machine_is_asked_without_a_key(
    server: Any, backend: Backend, request_: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(backend.key)
    server.say(backend.path, backend.good)
    model = backend.make("m", decoding=Decoding(), base_url=server.url)
    model.open()
    assert model.chat(request_, 0).text == "{}"
    model.close()


def test_the_environments_url_is_asked_where_no_other_is_given(
    server: Any, backend: Backend, request_: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(backend.url, server.url)
    server.say(backend.path, backend.good)
    model = backend.make("m", decoding=Decoding())
    model.open()
    assert model.chat(request_, 0).response_id
    assert model.configuration()["server"] == server.url
    model.close()


def test_a_password_in_the_environments_url_is_refused(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(backend.url, "http://me:hunter22@localhost:1")
    with pytest.raises(ModelError, match=f"{backend.url} carries a user name") as caught:
        backend.make("m", decoding=Decoding()).open()
    assert "hunter22" not in str(caught.value)


def test_a_parameter_that_the_server_has_not_got_is_refused_and_not_passed_over(
    server: Any, backend: Backend
) -> None:
    with pytest.raises(ModelError, match="has no parameter num_ctx"):
        backend.make("m", decoding=Decoding({"num_ctx": 4096}), base_url=server.url)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_no_redirect_is_followed_so_that_case_and_key_stay_with_the_server_that_was_named(
    server: Any, fault: Callable[..., ModelError], backend: Backend, status: int
) -> None:
    other = Provider()
    try:
        place = f"{other.url}{backend.path}"
        other.say(backend.path, backend.good)
        caught = fault(b"", status=status, headers={"location": place})
        assert other.asked == []
    finally:
        other.stop()
    assert f"answered {status}" in str(caught)
    assert f"redirects to {place}" in str(caught)
    assert not caught.transient


def test_a_run_stops_when_another_model_answers_than_before(
    server: Any, backend: Backend, request_: Request
) -> None:
    for name in ("m-2025-08", "m-2025-08", "m-2025-11"):
        server.say(backend.path, {**backend.good, "model": name})
    model = backend.make("m", decoding=Decoding(), base_url=server.url)
    model.open()
    assert [model.chat(request_, 0).text for _ in range(2)] == ["{}", "{}"]
    with pytest.raises(
        ModelError, match="answered as m-2025-11, and before as m-2025-08"
    ) as caught:
        model.chat(request_, 0)
    model.close()
    assert not caught.value.transient
