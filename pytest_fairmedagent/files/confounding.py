"""The confounding registry of a case set: which differences can be clinically right, and why."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from pytest_fairmedagent.domain import ACTIONS, Confounder
from pytest_fairmedagent.domain.band import SCALES
from pytest_fairmedagent.errors import closest
from pytest_fairmedagent.files.toml import Strict, TomlFile
from pytest_fairmedagent.files.types import Slug, Text, one_of

CONFOUNDING = "confounding.toml"


class EntryTable(Strict):
    """`direction` is what the outcome does under the swap where it is right to differ.

    `swap` names one condition or several.
    """

    attribute: Slug | None = None
    swap: Slug | Annotated[list[Slug], Field(min_length=1)] | None = None
    outcome: Annotated[str, one_of((*ACTIONS, *SCALES, "orders"))]
    vignettes: Literal["all"] | Annotated[list[Slug], Field(min_length=1)]
    direction: Annotated[str, one_of(("more", "fewer", "either"))]
    source: Text
    reason: Text


class ConfoundingFile(Strict):
    schema_version: Annotated[int, Field(alias="schema", ge=1, le=1)]
    entry: Annotated[list[EntryTable], Field(default_factory=list)]


class ConfoundingRegistry:
    """The registry of one file. Raises FileFormatError with file and line."""

    def __init__(self, path: Path) -> None:
        self._source = TomlFile(path)
        self._entries: list[tuple[tuple[str, ...] | None, tuple[Confounder, ...]]] = []
        for index, table in enumerate(self._source.parse(ConfoundingFile).entry):
            if (table.attribute is None) == (table.swap is None):
                raise self._source.error(
                    ("entry", index), "an entry needs 'attribute' or 'swap', and one of the two."
                )
            named = None if table.vignettes == "all" else tuple(table.vignettes)
            swaps = table.swap if isinstance(table.swap, list) else [table.swap or ""]
            said = (table.outcome, table.direction, table.source, table.reason)
            found = tuple(Confounder(*said, table.attribute or "", swap) for swap in swaps)
            self._entries.append((named, found))

    def of(self, vignette: str) -> tuple[Confounder, ...]:
        """Return the entries that bear on a vignette."""
        found = (entries for named, entries in self._entries if not named or vignette in named)
        return tuple(entry for entries in found for entry in entries)

    def check(self, known: set[str]) -> None:
        """Raise FileFormatError where an entry names a vignette that is not known."""
        for index, (named, _) in enumerate(self._entries):
            for name in named or ():
                if name not in known:
                    raise self._source.error(
                        ("entry", index, "vignettes"),
                        f"no vignette {name!r} in this folder.{closest(name, known)}",
                    )


def registry_in(folder: Path) -> ConfoundingRegistry | None:
    """Return the confounding registry of a folder, or None where it has none."""
    path = folder / CONFOUNDING
    # Asked for once a vignette; the time of its last change tells whether it is the same file.
    return _read(path, path.stat().st_mtime_ns) if path.is_file() else None


@lru_cache(maxsize=8)
def _read(path: Path, changed: int) -> ConfoundingRegistry:
    return ConfoundingRegistry(path)


def confounders_of(case: Path, vignette: str) -> tuple[Confounder, ...]:
    """Return what the registry beside a vignette file, or one folder above, says of it."""
    for folder in (case.parent, case.parent.parent):
        registry = registry_in(folder)
        if registry is not None:
            return registry.of(vignette)
    return ()
