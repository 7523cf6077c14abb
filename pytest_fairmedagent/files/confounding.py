"""The confounding registry of a case set: which differences can be clinically right, and why."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from pytest_fairmedagent.domain import ACTIONS, Catalogue, Confounder
from pytest_fairmedagent.domain.band import SCALES
from pytest_fairmedagent.domain.confounding import DIRECTIONS
from pytest_fairmedagent.errors import closest
from pytest_fairmedagent.files.toml import Strict, TomlFile
from pytest_fairmedagent.files.types import Slug, Text, one_of

CONFOUNDING = "confounding.toml"
CATALOGUES = ("swaps.toml", "names.toml")  # of a case set, beside its registry

# A source that points to another attribute of the same registry, and what names none at all.
_POINTER = re.compile(r"as (?:under|for) ([a-z][a-z_ ]*)", re.IGNORECASE)
_NONE = {"", "as above", "n a", "na", "none", "no source", "tbd", "to do", "todo", "unknown"}


class EntryTable(Strict):
    """`direction` is what the outcome does under the swap where it is right to differ.

    `swap` names one condition or several.
    """

    attribute: Slug | None = None
    swap: Slug | Annotated[list[Slug], Field(min_length=1)] | None = None
    outcome: Annotated[str, one_of((*ACTIONS, *SCALES, "orders"))]
    vignettes: Literal["all"] | Annotated[list[Slug], Field(min_length=1)]
    direction: Annotated[str, one_of(DIRECTIONS)]
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
        tables = self._source.parse(ConfoundingFile).entry
        sourced = {table.attribute for table in tables if _names_a_source(table.source)}
        for index, table in enumerate(tables):
            if (table.attribute is None) == (table.swap is None):
                raise self._source.error(
                    ("entry", index), "an entry needs 'attribute' or 'swap', and one of the two."
                )
            self._check_source(index, table, {name for name in sourced if name})
            named = None if table.vignettes == "all" else tuple(table.vignettes)
            swaps = table.swap if isinstance(table.swap, list) else [table.swap or ""]
            said = (table.outcome, table.direction, table.source, table.reason)
            found = tuple(Confounder(*said, table.attribute or "", swap) for swap in swaps)
            self._entries.append((named, found))

    def of(self, vignette: str) -> tuple[Confounder, ...]:
        """Return the entries that bear on a vignette."""
        found = (entries for named, entries in self._entries if not named or vignette in named)
        return tuple(entry for entries in found for entry in entries)

    def _check_source(self, index: int, table: EntryTable, sourced: set[str]) -> None:
        """Raise FileFormatError where an entry has no source of its own and points to none."""
        if _names_a_source(table.source):
            return
        place = ("entry", index, "source")
        pointer = _POINTER.match(table.source.strip())
        if pointer is None:
            raise self._source.error(
                place, f"source {table.source!r} names no source. Say who holds it to be right."
            )
        name = pointer[1].strip().replace(" ", "_")
        if name not in sourced:
            raise self._source.error(
                place,
                f"source {table.source!r} points to {name!r}, which has no entry with a source of "
                f"its own.{closest(name, sourced)}",
            )

    def check_names(self, catalogues: Iterable[Catalogue]) -> None:
        """Raise FileFormatError where an entry names what no catalogue has."""
        conditions = {c.id: c for found in catalogues for c in found.conditions.values()}
        known = {
            "attribute": {c.attribute for c in conditions.values() if c.attribute},
            "swap": {c.id for c in conditions.values() if c.kind == "swap"},
        }
        for index, (_, entries) in enumerate(self._entries):
            for entry in entries:
                key = "swap" if entry.swap else "attribute"
                name = entry.swap or entry.attribute
                if name not in known[key]:
                    raise self._source.error(
                        ("entry", index, key),
                        f"no {key} {name!r} in the swap catalogue.{closest(name, known[key])}",
                    )

    def check(self, known: set[str]) -> None:
        """Raise FileFormatError where an entry names a vignette that is not known."""
        for index, (named, _) in enumerate(self._entries):
            for name in named or ():
                if name not in known:
                    raise self._source.error(
                        ("entry", index, "vignettes"),
                        f"no vignette {name!r} in this folder.{closest(name, known)}",
                    )


def _names_a_source(source: str) -> bool:
    """Whether a source is one, and not a pointer to another attribute or a word for none."""
    bare = " ".join(re.findall(r"[a-z]+", source.casefold()))
    return bare not in _NONE and not _POINTER.match(source.strip())


def check_registries(
    cases: Iterable[Path], catalogue: Catalogue, catalogue_file: Path | None = None
) -> None:
    """Hold the registries of case files and folders against the swaps that there are.

    Known are the names of the catalogue of the run, of those beside its file (by default the one
    that comes with the project), and of those beside the registry: a case set may have several, of
    which a run uses one. Raises FileFormatError.
    """
    from pytest_fairmedagent.files.swaps import read_swaps
    from pytest_fairmedagent.files.vignettes import shipped_vignettes

    for folder in dict.fromkeys(folder for case in cases for folder in _folders_of(case)):
        registry = registry_in(folder)
        if registry is None:
            continue
        beside = (catalogue_file or shipped_vignettes() / CATALOGUES[0]).parent
        files = [place / name for place in {folder, beside} for name in CATALOGUES]
        registry.check_names([catalogue, *(read_swaps(file) for file in files if file.is_file())])


def _folders_of(case: Path) -> tuple[Path, ...]:
    """Where the registry of a case file, or of a folder of them, can lie."""
    return (case,) if case.is_dir() else (case.parent, case.parent.parent)


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
