"""The adjudicator registry of a case set: which clinicians stand behind what it claims."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import Field

from pytest_fairmedagent.domain.band import Adjudicator
from pytest_fairmedagent.files.toml import Strict, TomlFile
from pytest_fairmedagent.files.types import Slug, Text

ADJUDICATORS = "adjudicators.toml"


class AdjudicatorTable(Strict):
    """`attestation` is what the person attests, in their words; `date` the day of it."""

    id: Slug
    role: Text
    attestation: Text
    date: date


class AdjudicatorsFile(Strict):
    schema_version: Annotated[int, Field(alias="schema", ge=1, le=1)]
    adjudicator: Annotated[list[AdjudicatorTable], Field(default_factory=list)]


def read_adjudicators(path: Path) -> dict[str, Adjudicator]:
    """Return the adjudicators of a file by id. Raises FileFormatError with file and line."""
    source = TomlFile(path)
    found: dict[str, Adjudicator] = {}
    for index, table in enumerate(source.parse(AdjudicatorsFile).adjudicator):
        if table.id in found:
            raise source.error(
                ("adjudicator", index, "id"), f"adjudicator '{table.id}' stands twice."
            )
        found[table.id] = Adjudicator(
            table.id, table.role, table.attestation, table.date.isoformat()
        )
    return found


def adjudicators_of(case: Path) -> Mapping[str, Adjudicator]:
    """Return the registry that holds for a vignette file: beside it, or in the folder above."""
    for folder in (case.parent, case.parent.parent):
        if (folder / ADJUDICATORS).is_file():
            return read_adjudicators(folder / ADJUDICATORS)
    return {}
