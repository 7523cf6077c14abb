"""The swap catalogue: one grammar for the descriptor line, and what each condition changes."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import Field

from pytest_fairmedagent.domain import Catalogue, Condition
from pytest_fairmedagent.errors import closest
from pytest_fairmedagent.files.toml import Strict, TomlFile
from pytest_fairmedagent.files.types import Slug, Text, one_of
from pytest_fairmedagent.files.vignettes import shipped_vignettes

RESERVED = "reference"


class ConditionTable(Strict):
    """`set` changes slots of the line; `line` is a whole line of its own instead.

    `reason` says why words that the linter does not know are right.
    """

    id: Slug
    kind: Annotated[str, one_of(("swap", "identical", "sham"))] = "swap"
    attribute: str = ""
    set: Annotated[dict[str, str], Field(default_factory=dict)]
    line: Text | None = None
    reason: str = ""


class RosterTable(Strict):
    """What a slot is filled from, case by case. `perceived` says how such names were seen."""

    id: Slug
    slot: Slug
    perceived: Text
    values: Annotated[list[Text], Field(min_length=2)]


class SwapsFile(Strict):
    """`line` holds `{slots}`, `reference` their values, each condition the slots it changes.

    A slot that has rosters holds the id of one.
    """

    schema_version: Annotated[int, Field(alias="schema", ge=1, le=1)]
    line: Text
    reference: dict[str, str]
    roster: Annotated[list[RosterTable], Field(default_factory=list)]
    condition: Annotated[list[ConditionTable], Field(min_length=1)]


def read_swaps(path: Path | None = None) -> Catalogue:
    """Return the catalogue of a file, by default the one that comes with the project.

    Raises FileFormatError with file and line where a slot is unknown or unset, an id stands twice,
    a swap or sham changes nothing, an identical re-render changes something, or rosters of a slot
    do not match.
    """
    source = TomlFile(path or shipped_vignettes() / "swaps.toml")
    data = source.parse(SwapsFile)
    slots = _slots(source, data)
    rosters = _rosters(source, data, slots)
    _check_rosters_named(source, ("reference",), data.reference, rosters)
    conditions = {RESERVED: _condition(RESERVED, RESERVED, "", data.reference, data, rosters)}
    for index, table in enumerate(data.condition):
        place = ("condition", index)
        if table.id in conditions:
            raise source.error(
                (*place, "id"), f"condition id '{table.id}' stands twice or is taken."
            )
        if table.kind == "swap" and not table.attribute:
            raise source.error(place, f"swap '{table.id}' has no 'attribute'. Name its group.")
        _check_change(source, place, table, data, slots)
        _check_rosters_named(source, (*place, "set"), table.set, rosters)
        if table.line is not None:
            condition = Condition(table.id, table.line, table.kind, table.attribute)
        else:
            values = {**data.reference, **table.set}
            condition = _condition(table.id, table.kind, table.attribute, values, data, rosters)
        if table.reason:
            condition = replace(condition, reason=table.reason)
        conditions[table.id] = condition
    return Catalogue(conditions)


def _slots(source: TomlFile, data: SwapsFile) -> list[str]:
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
    return slots


def _check_change(
    source: TomlFile,
    place: tuple[str | int, ...],
    table: ConditionTable,
    data: SwapsFile,
    slots: Sequence[str],
) -> None:
    """Raise FileFormatError unless a condition changes what its kind says, and all it names."""
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
    if table.line is not None and table.set:
        raise source.error(
            (*place, "line"),
            f"condition '{table.id}' has 'set' and a 'line' of its own. Remove one of them.",
        )
    changes = bool(table.set) or table.line is not None
    if (table.kind == "identical") == changes:
        raise source.error(
            (*place, "set"),
            f"condition '{table.id}' of kind '{table.kind}' "
            + ("must change no slot." if table.kind == "identical" else "changes no slot."),
        )


Rosters = Mapping[str, Mapping[str, Sequence[str]]]  # slot -> id -> values


def _rosters(source: TomlFile, data: SwapsFile, slots: Sequence[str]) -> Rosters:
    found: dict[str, dict[str, Sequence[str]]] = {}
    for index, table in enumerate(data.roster):
        place = ("roster", index)
        if table.slot not in slots:
            raise source.error(
                (*place, "slot"),
                f"'{table.slot}' is no slot of the line. Known slots: {', '.join(slots)}.",
            )
        rosters = found.setdefault(table.slot, {})
        if table.id in rosters:
            raise source.error((*place, "id"), f"roster '{table.id}' stands twice.")
        rosters[table.id] = table.values
        first = next(iter(rosters.values()))
        if len(first) != len(table.values):
            raise source.error(
                (*place, "values"),
                f"roster '{table.id}' has {len(table.values)} values and the first of its slot "
                f"{len(first)}. A case takes the same place of each; give them the same number.",
            )
    if len(found) > 1:
        raise source.error(("roster",), f"rosters for {len(found)} slots, expected at most one.")
    return found


def _check_rosters_named(
    source: TomlFile, place: Sequence[str | int], values: Mapping[str, str], rosters: Rosters
) -> None:
    for slot, value in values.items():
        if slot in rosters and value not in rosters[slot]:
            raise source.error(
                place, f"slot '{slot}' names no roster: {value!r}.{closest(value, rosters[slot])}"
            )


def _condition(
    name: str,
    kind: str,
    attribute: str,
    values: Mapping[str, str],
    data: SwapsFile,
    rosters: Rosters,
) -> Condition:
    """Return a condition; with a roster, one descriptor for each of its values."""
    changes = tuple(slot for slot, value in values.items() if value != data.reference[slot])
    slot = next(iter(rosters), None)
    if slot is None:
        return Condition(name, data.line.format(**values), kind, attribute, changes=changes)
    drawn = tuple(
        data.line.format(**{**values, slot: value}) for value in rosters[slot][values[slot]]
    )
    return Condition(name, drawn[0], kind, attribute, drawn, changes)
