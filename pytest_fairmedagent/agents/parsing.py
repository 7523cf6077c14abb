"""From a model's text to the fields of a stage. Model text is data: nothing in it is evaluated."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from pytest_fairmedagent.agents.fields import Field, FieldError, check_fields
from pytest_fairmedagent.models.base import Reply

VERSION = "1"  # part of the configuration: another parser may read other answers

_THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_DECODER = json.JSONDecoder()


def read_reply(reply: Reply, fields: Sequence[Field]) -> dict[str, object]:
    """Return the valid fields of a reply. Raises FieldError with the reason, never guesses."""
    if reply.finish == "refusal":
        raise FieldError("refusal")
    if not reply.text.strip():
        raise FieldError("cut at the token limit" if reply.finish == "length" else "empty reply")
    found = _parse(reply.text)
    if found is None:
        cut = reply.finish == "length"
        raise FieldError("cut at the token limit" if cut else "no JSON object in the reply")
    return check_fields(found, fields)


def _parse(text: str) -> dict[str, object] | None:
    """Return the JSON object of a reply: all of it, else the last one outside thinking blocks."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return _last_object(_THINKING.sub("", text))
    return whole if isinstance(whole, dict) else None


def _last_object(text: str) -> dict[str, object] | None:
    found: dict[str, object] | None = None
    position = text.find("{")
    while position != -1:
        try:
            value, end = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            end = position + 1
        else:
            found = value
        position = text.find("{", end)
    return found
