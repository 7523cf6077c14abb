"""The fields of a stage's reply: their JSON schema, and the check that a value is one of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


class FieldError(ValueError):
    """A reply that is not what the stage asked for. The message is the reason kept in records."""


@dataclass(frozen=True)
class Integer:
    """A whole number in low..high."""

    name: str
    low: int
    high: int

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.low, "maximum": self.high}

    def check(self, value: object) -> int:
        # bool is an int in Python but not in JSON; 3.0 is an integer in JSON Schema.
        if isinstance(value, float) and math.isfinite(value) and value == int(value):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise FieldError(f"{self.name} is {_shown(value)}, expected an integer")
        if not self.low <= value <= self.high:
            raise FieldError(f"{self.name} is {_shown(value)}, expected {self.low}..{self.high}")
        return value


@dataclass(frozen=True)
class Boolean:
    """True or false, never a word or a number for it."""

    name: str

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}

    def check(self, value: object) -> bool:
        if not isinstance(value, bool):
            raise FieldError(f"{self.name} is {_shown(value)}, expected true or false")
        return value


@dataclass(frozen=True)
class Choices:
    """Some of a closed list of ids. Order and repetition carry no meaning."""

    name: str
    ids: tuple[str, ...]
    most: int

    @property
    def schema(self) -> dict[str, Any]:
        items = {"type": "string", "enum": list(self.ids)}
        return {"type": "array", "items": items, "maxItems": self.most}

    def check(self, value: object) -> list[str]:
        if not isinstance(value, list):
            raise FieldError(f"{self.name} is {_shown(value)}, expected a list of ids")
        for item in value:
            if not isinstance(item, str) or item not in self.ids:
                raise FieldError(f"{self.name} holds {_shown(item)}, which is not on the menu")
        chosen = [item for item in self.ids if item in value]
        if len(chosen) > self.most:
            raise FieldError(f"{self.name} holds {len(chosen)} ids, expected at most {self.most}")
        return chosen


@dataclass(frozen=True)
class Text:
    """What a model writes before it decides, `longest` characters at most.

    It shapes the decision and is none: `check_fields` leaves it out.
    """

    name: str
    longest: int

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "string", "maxLength": self.longest}

    def check(self, value: object) -> None:
        # A server that ignores maxLength sends more. Its decision is none the worse for that.
        if not isinstance(value, str):
            raise FieldError(f"{self.name} is {_shown(value)}, expected a text")


Field = Integer | Boolean | Choices | Text


def schema_of(fields: Sequence[Field]) -> dict[str, Any]:
    """Return the JSON schema of a stage's reply."""
    return {
        "type": "object",
        "properties": {field.name: field.schema for field in fields},
        "required": [field.name for field in fields],
        "additionalProperties": False,
    }


def check_fields(reply: Mapping[str, object], fields: Sequence[Field]) -> dict[str, object]:
    """Return the decision in a parsed reply. Raises FieldError for the first field not valid.

    Fields that were not asked for are left out (some models explain themselves), and so are texts
    that were.
    """
    for field in fields:
        if field.name not in reply:
            raise FieldError(f"{field.name} is missing")
    checked = {field.name: field.check(reply[field.name]) for field in fields}
    texts = {field.name for field in fields if isinstance(field, Text)}
    return {name: value for name, value in checked.items() if name not in texts}


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
