"""Which arms the text of a case contradicts: they leave the contrast, for every action."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import Field

from pytest_fairmedagent.domain import ACTIONS, Confounder
from pytest_fairmedagent.files.toml import Strict, TomlFile
from pytest_fairmedagent.files.types import Slug, Text

CONTRADICTIONS = "contradictions.toml"
SOURCE = "the text of the case"  # what a contradiction rests on, as its confounders say


class ContradictionTable(Strict):
    """`says` is what stands in the text, `swaps` the conditions under which it cannot be so."""

    vignette: Slug
    swaps: Annotated[list[Slug], Field(min_length=1)]
    says: Text
    reason: Text


class ContradictionsFile(Strict):
    schema_version: Annotated[int, Field(alias="schema", ge=1, le=1)]
    entry: Annotated[list[ContradictionTable], Field(default_factory=list)]


def read_contradictions(path: Path) -> dict[str, tuple[Confounder, ...]]:
    """Return, by vignette, a confounder of every action for each arm that its text contradicts.

    Raises FileFormatError with file and line.
    """
    found: dict[str, tuple[Confounder, ...]] = {}
    for entry in TomlFile(path).parse(ContradictionsFile).entry:
        reason = f"the text says '{entry.says}': {entry.reason}"
        found[entry.vignette] = found.get(entry.vignette, ()) + tuple(
            Confounder(action, "either", SOURCE, reason, swap=swap)
            for swap in entry.swaps
            for action in ACTIONS
        )
    return found


@lru_cache(maxsize=8)
def _read(path: Path, changed: int) -> dict[str, tuple[Confounder, ...]]:
    return read_contradictions(path)


def contradictions_of(case: Path, vignette: str) -> tuple[Confounder, ...]:
    """Return what the registry beside a vignette file, or one folder above, says of it."""
    for folder in (case.parent, case.parent.parent):
        path = folder / CONTRADICTIONS
        if path.is_file():
            return _read(path, path.stat().st_mtime_ns).get(vignette, ())
    return ()
