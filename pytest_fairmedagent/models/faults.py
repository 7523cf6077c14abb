"""How the errors of model servers read, whatever their protocol: of what kind, and what to do."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from pytest_fairmedagent.errors import (
    OVERLOADED,
    RATE_LIMITED,
    REFUSED,
    REFUSED_BY_POLICY,
    SERVER_ERROR,
    TIMEOUT,
    TOO_LONG,
    ModelError,
)
from pytest_fairmedagent.models.base import OVER_WINDOW, Reply

_PASSING_STATUS = {408, 409, 425, 429}  # and 5xx but 501
_PASSING_WORDS = ("overloaded", "rate_limit", "timeout", "unavailable")
# Of the code or type of an error. Words of a rate limit may send one to a page called "billing".
_LASTING_KINDS = ("insufficient_quota", "billing")
_LASTING_WORDS = ("insufficient_quota", "credit balance")
_POLICY_WORDS = ("content_filter", "content filter", "content_policy", "content management policy")
# llama.cpp and so Ollama, Ollama itself (two of them), OpenAI and vLLM, Anthropic (two).
_LONG_WORDS = (
    "exceeds the available context size",
    "exceeds the context length",
    "longer than the context length",
    "context_length_exceeded",
    "maximum context length",
    "prompt is too long",
    "exceed context limit",
)


def read_error(body: object) -> tuple[str, str]:
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
    if any(word in said for word in _LONG_WORDS):
        return TOO_LONG
    if _lasts(kind, words):
        return REFUSED
    if "overloaded" in said or "unavailable" in kind or status in (503, 529):
        return OVERLOADED
    if "rate_limit" in kind or status == 429:
        return RATE_LIMITED
    if "timeout" in kind or status in (408, 504):
        return TIMEOUT
    return SERVER_ERROR if status >= 500 else REFUSED


def passes(status: int, kind: str, words: str) -> bool:
    """Return whether another try may succeed. Overload comes under many a status: read the body."""
    if _lasts(kind, words) or any(word in f"{kind} {words}" for word in _LONG_WORDS):
        return False
    if any(word in kind for word in _PASSING_WORDS) or words.startswith("overloaded"):
        return True
    return status in _PASSING_STATUS or (status >= 500 and status != 501)


def status_of(body: object) -> int:
    """Return the status that an error under status 200 would have had, by its `code`; else 200.

    Some proxies hand the fault of the server behind them on like that.
    """
    inner = body.get("error", body) if isinstance(body, Mapping) else None
    code = inner.get("code") if isinstance(inner, Mapping) else None
    found = int(code) if isinstance(code, (int, str)) and str(code).isdecimal() else 200
    return found if 400 <= found < 600 else 200


def _lasts(kind: str, words: str) -> bool:
    """Return whether the account is out of money: no other try will find it full."""
    return any(word in kind for word in _LASTING_KINDS) or any(
        word in f"{kind} {words}" for word in _LASTING_WORDS
    )


def as_reply(error: ModelError) -> Reply:
    """Return the reply that an error about this very case is; raise any other error.

    Some servers refuse a case by policy with an error and not with an answer, and all good ones
    refuse a prompt that they would have to cut. Neither passes: as a fault of the infrastructure
    the trial would be drawn again by every start, and the run never end.
    """
    if error.kind == REFUSED_BY_POLICY:
        return Reply("", finish="refusal")
    if error.kind == TOO_LONG:
        return Reply("", finish=OVER_WINDOW)
    raise error


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait, given in ms, in seconds or as a date.

    None where it says nothing, or nothing that can be understood. A date that has passed is 0.
    """
    advised = _number(headers.get("retry-after-ms"), 1000)
    if advised is None:
        advised = _number(headers.get("retry-after"), 1)
    if advised is not None:
        return advised
    try:
        date = parsedate_to_datetime(headers.get("retry-after") or "")
        return max(0.0, date.timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return None


def _number(value: str | None, parts: int) -> float | None:
    """Return a header's number of seconds, 0 or more; None for anything else."""
    try:
        found = float(value or "") / parts
    except ValueError:
        return None
    return found if 0 <= found < math.inf else None
