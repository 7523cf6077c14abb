"""Which exceptions of an agent tell of a server that was not there, by whatever client it asks."""

from __future__ import annotations

import asyncio

import pytest

from pytest_fairmedagent.agents.outage import outage
from pytest_fairmedagent.errors import (
    CONNECTION_LOST,
    OVERLOADED,
    RATE_LIMITED,
    REFUSED,
    SERVER_ERROR,
    TIMEOUT,
)

httpx = pytest.importorskip("httpx")
REQUEST = httpx.Request("POST", "http://127.0.0.1/decide")


def answered(status, headers=None, body=None):
    return httpx.Response(status, headers=headers, json=body or {}, request=REQUEST)


def of_httpx(status, **how):
    return httpx.HTTPStatusError("failed", request=REQUEST, response=answered(status, **how))


def of_sdk(package, status, body=None, **how):
    sdk = pytest.importorskip(package)
    return sdk.APIStatusError("failed", response=answered(status, body=body, **how), body=body)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (lambda: TimeoutError(), TIMEOUT),
        (lambda: asyncio.TimeoutError(), TIMEOUT),
        (lambda: ConnectionRefusedError(), CONNECTION_LOST),
        (lambda: httpx.ReadTimeout("slow"), TIMEOUT),
        (lambda: httpx.ConnectError("gone"), CONNECTION_LOST),
        (lambda: of_httpx(503), OVERLOADED),
        (lambda: of_httpx(500), SERVER_ERROR),
        (lambda: of_httpx(429), RATE_LIMITED),
        (lambda: of_sdk("anthropic", 529), OVERLOADED),
        (lambda: of_sdk("anthropic", 400, {"error": {"type": "overloaded_error"}}), OVERLOADED),
        (lambda: of_sdk("openai", 429), RATE_LIMITED),
        (
            lambda: pytest.importorskip("openai").APIConnectionError(request=REQUEST),
            CONNECTION_LOST,
        ),
        (lambda: pytest.importorskip("anthropic").APITimeoutError(request=REQUEST), TIMEOUT),
    ],
)
def test_a_server_that_was_not_there_is_told_by_its_kind_and_may_come_back(error, kind):
    found = outage(error())
    assert (found.kind, found.transient) == (kind, True)


def test_what_the_server_asks_to_wait_is_obeyed():
    assert outage(of_httpx(429, headers={"Retry-After": "7"})).retry_after_s == 7.0


@pytest.mark.parametrize(
    "error",
    [
        lambda: of_sdk("openai", 401),
        lambda: of_httpx(403),
        lambda: of_sdk("openai", 429, {"code": "insufficient_quota", "message": "none left"}),
    ],
)
def test_a_key_or_account_that_is_not_valid_ends_the_run(error):
    assert (outage(error()).kind, outage(error()).transient) == (REFUSED, False)


@pytest.mark.parametrize(
    "error",
    [
        lambda: ValueError("no bed left"),
        lambda: KeyError("timeout"),
        lambda: FileNotFoundError("prompt.txt"),
        lambda: of_httpx(404),
        lambda: of_httpx(422),
    ],
)
def test_any_other_fault_is_the_agent_s_own(error):
    assert outage(error()) is None
