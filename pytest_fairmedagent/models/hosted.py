"""What the SDKs of hosted servers have in common: how a call is made, and how its faults read.

The packages anthropic and openai come from one generator: their errors have the same names and the
same attributes, so both are read here by attribute and neither is imported.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from pytest_fairmedagent.errors import (
    CONNECTION_LOST,
    MALFORMED,
    OTHER_FAULT,
    OVERLOADED,
    RATE_LIMITED,
    REFUSED,
    REFUSED_BY_POLICY,
    SERVER_ERROR,
    TIMEOUT,
    ModelError,
)
from pytest_fairmedagent.models.base import Decoding, Reply
from pytest_fairmedagent.models.hosts import plain

# connect, read, write, pool. A server that is not there says so soon; one that thinks may think.
TIMEOUT_S = (10.0, 180.0, 30.0, 180.0)
# Those start anew with every byte: a body that drips in is cut by this one.
CALL_LIMIT_S = 240.0
WORKERS = 4

_PASSING_STATUS = {408, 409, 425, 429}  # and 5xx but 501
_PASSING_WORDS = ("overloaded", "rate_limit", "timeout", "unavailable")
_LASTING_WORDS = ("insufficient_quota", "billing", "credit balance")
_POLICY_WORDS = ("content_filter", "content filter", "content_policy", "content management policy")


@dataclass(frozen=True)
class Server:
    """A server as messages call it.

    `error` is the base of the SDK's own errors, `keys` returns what must not be in a message.
    """

    provider: str
    url: str
    key_variable: str
    error: type[Exception]
    keys: Callable[[], tuple[str | None, ...]]

    def ask(
        self, create: Callable[..., Any], body: Mapping[str, Any], **insisted: Any
    ) -> dict[str, Any]:
        """Return the JSON of an answer. `create` is an SDK's `with_raw_response` method.

        The raw body and not the SDK's object is read: the SDK fills in an object from anything,
        so that a broken answer would be found out only at the field that is missing.

        `body` is sent as it is, with the arguments that `create` insists on. As arguments, every
        message and every word of the schema would be held against the SDK's types, which takes it
        twice as long as all the rest of a call; and which parameters are arguments depends on its
        version (anthropic has had no `temperature` since 1.0).
        """
        try:
            # The messages in the body take the place of the empty ones.
            response = create(**insisted, messages=[], extra_body=body)
            answer = response.http_response.json()
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise self.malformed(f"no JSON ({error})") from None
        except Warning as warning:
            # The SDK warns of models that will go; under `-W error` that is raised.
            raise ModelError(f"{self.provider}: {plain(warning)}") from None
        except self.error as error:
            # Without its cause, whose frames hold the request with its key.
            raise self._fault(error) from None
        if not isinstance(answer, dict):
            raise self.malformed(f"{type(answer).__name__} where an object belongs")
        if answer.get("error"):
            # Some proxies hand the fault of the server behind them on under status 200.
            raise self._refusal(200, answer, None)
        return answer

    def malformed(self, what: str) -> ModelError:
        """Return the error for an answer that is none; another try may bring a whole one."""
        return ModelError(
            f"{self.provider} ({self.url}) sent a malformed answer: {self._plain(what)}",
            kind=MALFORMED,
            transient=True,
        )

    def _fault(self, error: Any) -> ModelError:
        status = getattr(error, "status_code", None)
        if status is not None:
            return self._refusal(status, error.body, error.response.headers)
        cause = error.__cause__ or error
        names = [base.__name__ for base in type(error).__mro__]
        if "APITimeoutError" in names:
            what, kind = "did not answer in time", TIMEOUT
        elif "APIConnectionError" in names:
            what, kind = "is not reachable", CONNECTION_LOST
        else:
            what, kind = "was not asked", OTHER_FAULT  # credentials that cannot be had, for one
        return ModelError(
            f"{self.provider} ({self.url}) {what}: {self._plain(cause) or type(cause).__name__}",
            kind=kind,
            transient="APIConnectionError" in names,
        )

    def _refusal(self, status: int, body: object, headers: Mapping[str, str] | None) -> ModelError:
        kind, words = _read_error(body)
        text = f"{self.provider} ({self.url}) answered {status} {kind}".rstrip()
        advice = ""
        if status in (401, 403):
            advice = f"\n  check {self.key_variable} in the environment"
        elif status == 404:
            advice = "\n  check the model's name and the base URL"
        return ModelError(
            f"{self._plain(text)}: {self._plain(words)}{advice}",
            kind=kind_of_refusal(status, kind.lower(), words.lower()),
            transient=_passes(status, kind.lower(), words.lower()),
            retry_after_s=_retry_after(headers) if headers else None,
        )

    def _plain(self, text: object) -> str:
        return plain(text, self.keys())


def refuse_unknown_parameters(provider: str, decoding: Decoding, unknown: tuple[str, ...]) -> None:
    """Raise ModelError for parameters that the server has not got and would pass over."""
    for name in unknown:
        if name in decoding.parameters:
            raise ModelError(
                f"{provider} has no parameter {name}, so it would not be obeyed"
                "\n  leave it out of --fairmed-decoding"
            )


def _read_error(body: object) -> tuple[str, str]:
    """Return the kind of an error and its words, from any of the shapes that servers use."""
    inner = body.get("error", body) if isinstance(body, Mapping) else body
    if isinstance(inner, Mapping):
        kinds = dict.fromkeys(str(inner[k]) for k in ("type", "code") if inner.get(k))
        words = inner.get("message") or inner.get("detail") or json.dumps(dict(inner), default=str)
        return " ".join(kinds), str(words)
    return "", str(inner) if inner else "(an empty body)"


def kind_of_refusal(status: int, kind: str, words: str) -> str:
    """Return the kind of fault of an answer with an error, from its status and its body.

    The body goes first: overload comes as 529, as 429 and as 400, and only a rate limit is a
    reason to ask less at once.
    """
    said = f"{kind} {words}"
    if status < 500 and any(word in said for word in _POLICY_WORDS):
        return REFUSED_BY_POLICY
    if any(word in said for word in _LASTING_WORDS):
        return REFUSED
    if "overloaded" in said or "unavailable" in kind or status in (503, 529):
        return OVERLOADED
    if "rate_limit" in kind or status == 429:
        return RATE_LIMITED
    if "timeout" in kind or status in (408, 504):
        return TIMEOUT
    return SERVER_ERROR if status >= 500 else REFUSED


def refusal(error: ModelError) -> Reply:
    """Return the reply that a refusal by policy is; raise any other error.

    Some servers refuse a case with an error and not with an answer. It is the model's decision
    about this case all the same: as a fault it would be drawn again until it does not refuse.
    """
    if error.kind != REFUSED_BY_POLICY:
        raise error
    return Reply("", finish="refusal")


def _passes(status: int, kind: str, words: str) -> bool:
    """Return whether another try may succeed. Overload comes under many a status: read the body."""
    if any(word in kind or word in words for word in _LASTING_WORDS):
        return False
    if any(word in kind for word in _PASSING_WORDS) or words.startswith("overloaded"):
        return True
    return status in _PASSING_STATUS or (status >= 500 and status != 501)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait, given in ms, in seconds or as a date."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        value = headers.get("retry-after")
        if value is None:
            return None
        if value.replace(".", "", 1).strip().isdigit():
            return float(value)
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError):
        return None
