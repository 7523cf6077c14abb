"""How columns and slots of a file that others wrote are called: an option, or a file beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from pydantic import Field

from pytest_fairmedagent.domain.pronouns import PRONOUN_SLOTS
from pytest_fairmedagent.domain.vignette import PATIENT, Silence
from pytest_fairmedagent.errors import FileFormatError, PlanError, closest
from pytest_fairmedagent.files.rows import Rows
from pytest_fairmedagent.files.toml import Strict, TomlFile
from pytest_fairmedagent.files.types import Text

ENDING = ".mapping.toml"


class MappedSilence(Strict):
    rule: Text
    reason: Text
    match: str = ""


class MappingFile(Strict):
    """`columns` gives the file's name of each of ours, `slots` our name of each of the file's.

    `reference` is the group that a long file compares the others with, `attribute` what its groups
    are of. A `silence` holds in all rows.
    """

    schema_version: Annotated[int, Field(alias="schema", ge=1, le=1)]
    columns: Annotated[dict[str, str], Field(default_factory=dict)]
    slots: Annotated[dict[str, str], Field(default_factory=dict)]
    reference: str = ""
    attribute: str = ""
    silence: Annotated[list[MappedSilence], Field(default_factory=list)]


@dataclass(frozen=True)
class ColumnMap:
    """Names of columns and slots, as a file has them and as they are read."""

    columns: Mapping[str, str]  # ours -> the file's
    slots: Mapping[str, str]  # the file's, as written -> ours
    reference: str = ""
    attribute: str = ""
    silences: tuple[Silence, ...] = ()

    def named(self, rows: Rows) -> Rows:
        """Return rows under our names. Raises FileFormatError for a column that is not there."""
        if not self.columns and not self.slots:
            return rows
        there = list(dict.fromkeys(name for row in rows.rows for name in row.values))
        for ours, theirs in self.columns.items():
            if theirs.strip().lower() not in there:
                raise rows.error(
                    1,
                    f"no column is called '{theirs}', which is to be read as '{ours}'."
                    f"{closest(theirs.lower(), there)}\n  The header has: {', '.join(there)}.",
                )
        taken = {theirs.strip().lower(): ours for ours, theirs in self.columns.items()}
        # A column of theirs that has one of our names by chance, and is not the one that is meant.
        hidden = set(self.columns) - set(taken)
        found = []
        for row in rows.rows:
            values = {
                taken.get(name, name): value
                for name, value in row.values.items()
                if name in taken or name not in hidden
            }
            for key in ("text", "narrative", "reference_text", "swapped_text"):
                value = values.get(key)
                if isinstance(value, str):
                    values[key] = self.filled(value)
            found.append(replace(row, values=values))
        return replace(rows, rows=tuple(found), named=True)

    def filled(self, text: str) -> str:
        """Return a text with our slots in place of the file's."""
        for theirs, ours in sorted(self.slots.items(), key=lambda pair: -len(pair[0])):
            text = text.replace(theirs, f"{{{ours}}}" if _is_slot(ours) else ours)
        return text


NONE = ColumnMap({}, {})


def column_map(path: Path, given: str = "") -> ColumnMap:
    """Return how the columns of a data file are called.

    Args:
        given: what `--fairmed-columns` says, as `text=Vignette,id=case_id`, or a mapping file. It
            goes before `NAME.mapping.toml` beside the data file. Raises FileFormatError, PlanError.
    """
    if given.endswith(".toml"):
        return read_mapping(Path(given))
    beside = path.with_name(path.name + ENDING)
    beside = beside if beside.is_file() else path.with_name(path.stem + ENDING)
    found = read_mapping(beside) if beside.is_file() else NONE
    if not given.strip():
        return found
    columns = dict(found.columns)
    reference, attribute = found.reference, found.attribute
    for part in given.split(","):
        ours, equals, theirs = (piece.strip() for piece in part.partition("="))
        if not equals or not ours or not theirs:
            raise PlanError(
                f"--fairmed-columns: {part.strip()!r} is no column, expected as in text=Vignette"
            )
        if ours == "reference":
            reference = theirs
        elif ours == "attribute":
            attribute = theirs
        else:
            columns[ours] = theirs
    _check(columns, "--fairmed-columns")
    return replace(found, columns=columns, reference=reference, attribute=attribute)


def read_mapping(path: Path) -> ColumnMap:
    """Return what a mapping file says. Raises FileFormatError with file and line."""
    source = TomlFile(path)
    data = source.parse(MappingFile)
    try:
        _check(data.columns, str(path))
    except PlanError as error:
        raise source.error(("columns",), str(error)) from None
    for theirs, ours in data.slots.items():
        if re.fullmatch(r"\{.*\}", ours):
            raise source.error(("slots", theirs), f"write {ours[1:-1]!r} without braces.")
    return ColumnMap(
        data.columns,
        data.slots,
        data.reference,
        data.attribute,
        tuple(Silence(s.rule, s.reason, s.match, everywhere=True) for s in data.silence),
    )


def _check(columns: Mapping[str, str], where: str) -> None:
    known = known_columns()
    for ours in columns:
        if ours not in known:
            raise PlanError(f"{where}: '{ours}' is no column that is read.{closest(ours, known)}")


def known_columns() -> Sequence[str]:
    """Return the names of all columns that are read."""
    from pytest_fairmedagent.files.foreign import TEXT_COLUMNS, CaseRow
    from pytest_fairmedagent.files.longform import LongRow
    from pytest_fairmedagent.files.pairs import PairRow

    models = (CaseRow, PairRow, LongRow)
    return list(
        dict.fromkeys([*TEXT_COLUMNS, *(f for model in models for f in model.model_fields)])
    )


def _is_slot(name: str) -> bool:
    return name == PATIENT or name in PRONOUN_SLOTS


def silences_of(value: object, where: str) -> tuple[Silence, ...]:
    """Return the silences of a cell: `VG205: reason | VG202(she): reason`, or a list of objects.

    Raises FileFormatError where a silence has no reason.
    """
    if value in (None, "", []):
        return ()
    if isinstance(value, str):
        items = [_SILENCE.fullmatch(part.strip()) for part in value.split("|")]
        if not all(items):
            raise FileFormatError(
                f"{where}: 'silence' is {value!r}, expected 'VG205: why' and more after '|'"
            )
        return tuple(Silence(hit[1], hit[3].strip(), hit[2] or "") for hit in items if hit)
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        found = []
        for item in value:
            if not {"rule", "reason"} <= set(item) or set(item) - {"rule", "reason", "match"}:
                raise FileFormatError(f"{where}: 'silence' is {item!r}, expected rule and reason")
            rule, reason, match = (str(item.get(k, "")) for k in ("rule", "reason", "match"))
            found.append(Silence(rule, reason, match))
        return tuple(found)
    raise FileFormatError(f"{where}: 'silence' is {value!r}, expected text or a list of objects")


_SILENCE = re.compile(r"([A-Z]{2}\d{3})(?:\(([^)]*)\))?:\s*(.+)", re.DOTALL)
