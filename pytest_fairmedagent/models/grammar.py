"""A GBNF grammar for the replies of a stage: the schema's JSON without any white space.

llama.cpp can take the JSON schema itself, but then leaves white space to the model. A reply without
it is shorter, and it is to the letter what the next prompt repeats, so the prompt cache goes on
through it: on a small machine that is worth a third of the time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def compact_grammar(schema: Mapping[str, Any]) -> str:
    """Return the grammar of an object whose fields are integers, booleans and lists of ids.

    Integers need `minimum` and `maximum`, lists an `enum` of strings and `maxItems`. Raises
    ValueError for any other schema.
    """
    fields = [
        f"{_literal(json.dumps(name) + ':')} {_value(field)}"
        for name, field in schema.get("properties", {}).items()
    ]
    if schema.get("type") != "object" or not fields:
        raise ValueError(f"expected the schema of an object with properties, got {schema!r}")
    return 'root ::= "{" ' + ' "," '.join(fields) + ' "}"'


def _value(field: Mapping[str, Any]) -> str:
    kind = field.get("type")
    if kind == "boolean":
        return '("true" | "false")'
    if kind == "integer" and "minimum" in field and "maximum" in field:
        numbers = range(field["minimum"], field["maximum"] + 1)
        return f"({' | '.join(_literal(str(number)) for number in numbers)})"
    if kind == "array" and "enum" in field.get("items", {}) and field.get("maxItems", 0) > 0:
        item = f"({' | '.join(_literal(json.dumps(i)) for i in field['items']['enum'])})"
        more = ""
        for _ in range(field["maxItems"] - 1):
            more = f' ("," {item}{more})?'
        return f'"[" ({item}{more})? "]"'
    raise ValueError(f"no compact grammar for a field of this schema: {field!r}")


def _literal(text: str) -> str:
    return json.dumps(text)  # GBNF escapes quotes and backslashes as JSON does
