"""The swap catalogue: one grammar for the descriptor line, and what each condition changes."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Annotated

from pydantic import Field

from pytest_fairmedagent.domain import Catalogue, Condition
from pytest_fairmedagent.files.toml import Strict, TomlFile
from pytest_fairmedagent.files.vignettes import Slug, Text, _one_of, shipped_vignettes

RESERVED = "reference"


class ConditionTable(Strict):
    id: Slug
    kind: Annotated[str, _one_of(("swap", "identical", "sham"))] = "swap"
    attribute: str = ""
    set: Annotated[dict[str, str], Field(default_factory=dict)]


class SwapsFile(Strict):
    """`line` holds `{slots}`, `reference` their values, each condition the slots it changes."""

    schema_version: Annotated[int, Field(alias="schema", ge=1, le=1)]
    line: Text
    reference: dict[str, str]
    condition: Annotated[list[ConditionTable], Field(min_length=1)]


def read_swaps(path: Path | None = None) -> Catalogue:
    """Return the catalogue of a file, by default the one that comes with the project.

    Raises FileFormatError with file and line where a slot is unknown or unset, an id stands twice,
    a swap or sham changes nothing, or an identical re-render changes something.
    """
    source = TomlFile(path or shipped_vignettes() / "swaps.toml")
    data = source.parse(SwapsFile)
    try:
        slots = [name for _, name, _, _ in string.Formatter().parse(data.line) if name is not None]
    except ValueError as error:
        raise source.error(("line",), f"not a line with {{slots}}: {error}.") from error
    for slot in slots:
        if slot not in data.reference:
            raise source.error(
                ("line",), f"slot {{{slot}}} has no value under [reference]. Add it."
            )
    for slot in data.reference:
        if slot not in slots:
            raise source.error(
                ("reference", slot),
                f"'{slot}' is no slot of the line. Known slots: {', '.join(slots)}.",
            )
    conditions = {RESERVED: Condition(RESERVED, data.line.format(**data.reference), RESERVED)}
    for index, table in enumerate(data.condition):
        place = ("condition", index)
        if table.id in conditions:
            raise source.error(
                (*place, "id"), f"condition id '{table.id}' stands twice or is taken."
            )
        for slot in table.set:
            if slot not in slots:
                raise source.error(
                    (*place, "set"),
                    f"'{slot}' is no slot of the line. Known slots: {', '.join(slots)}.",
                )
        unchanged = [s for s, value in table.set.items() if value == data.reference[s]]
        if unchanged:
            raise source.error(
                (*place, "set"),
                f"condition '{table.id}' sets '{unchanged[0]}' to what the reference says. A swap "
                "that is half applied tests nothing; change the value or remove the slot.",
            )
        if (table.kind == "identical") != (not table.set):
            raise source.error(
                (*place, "set"),
                f"condition '{table.id}' of kind '{table.kind}' "
                + ("must change no slot." if table.kind == "identical" else "changes no slot."),
            )
        if table.kind == "swap" and not table.attribute:
            raise source.error(place, f"swap '{table.id}' has no 'attribute'. Name its group.")
        line = data.line.format(**{**data.reference, **table.set})
        conditions[table.id] = Condition(table.id, line, table.kind, table.attribute)
    return Catalogue(conditions)
