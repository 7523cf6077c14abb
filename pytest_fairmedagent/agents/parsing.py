"""From a model's text to the fields of a stage. Model text is data: nothing in it is evaluated."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from pytest_fairmedagent.agents.fields import Field, FieldError, check_fields
from pytest_fairmedagent.models.base import OVER_WINDOW, Reply

VERSION = "2"  # part of the configuration: another parser may read other answers
LONGEST = 20_000  # characters that are searched: a search takes time that grows with their square

_THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_OBJECT_BEGINS = re.compile(r"\{\s*(?:[\"'“]|\Z)")  # other braces are prose


class _GivenTwice:
    """In the place of a value whose name is there twice: no field takes it, whichever was meant."""

    def __repr__(self) -> str:
        return "given twice"


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in pairs:
        found[name] = _GivenTwice() if name in found else value
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_object)


def read_reply(reply: Reply, fields: Sequence[Field]) -> dict[str, object]:
    """Return the valid fields of a reply. Raises FieldError with the reason, never guesses."""
    if reply.finish == "refusal":
        raise FieldError("refusal")
    if reply.finish == OVER_WINDOW:
        raise FieldError("the prompt did not fit the window")
    if not reply.text.strip():
        raise FieldError("cut at the token limit" if reply.finish == "length" else "empty reply")
    found = _parse(reply.text)
    if found is None:
        cut = reply.finish == "length"
        raise FieldError("cut at the token limit" if cut else "no JSON object in the reply")
    return check_fields(found, fields)


def sendable(text: str) -> str:
    """Return a reply as it can be shown to the model again: never empty, and possible in UTF-8.

    A server may answer half a character, such as `\\ud83d`, and no client can send that back.
    """
    return text.encode(errors="replace").decode() or "(empty)"


def _parse(text: str) -> dict[str, object] | None:
    """Return the JSON object of a reply: all of it, else the last one outside thinking blocks."""
    try:
        whole = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return _last_object(_THINKING.sub("", text))
    return whole if isinstance(whole, dict) else None


def _last_object(text: str) -> dict[str, object] | None:
    """Return the last JSON object of a text; None if that is broken or cut, or there is none.

    One that stands before a broken one was a draft, and one inside it a part: neither is the
    answer.
    """
    if len(text) > LONGEST:
        raise FieldError(f"the reply has {len(text)} characters, expected at most {LONGEST}")
    found: dict[str, object] | None = None
    position = text.find("{")
    while position != -1:
        try:
            found, end = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            end = position + 1
            if _OBJECT_BEGINS.match(text, position):
                found, end = None, _end_of_braces(text, position)
        position = text.find("{", end)
    return found


def _end_of_braces(text: str, start: int) -> int:
    """Return where as many braces have closed as opened from `start` on, or the text's end."""
    depth = 0
    for position in range(start, len(text)):
        depth += (text[position] == "{") - (text[position] == "}")
        if depth == 0:
            return position + 1
    return len(text)
