"""Checks files that people write, and collects every complaint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_fairmedagent.domain import Catalogue, Vignette
from pytest_fairmedagent.errors import FileFormatError
from pytest_fairmedagent.files.adjudicators import ADJUDICATORS, read_adjudicators
from pytest_fairmedagent.files.cases import read_vignette
from pytest_fairmedagent.files.confounding import (
    CONFOUNDING,
    ConfoundingRegistry,
    check_registries,
    registry_in,
)
from pytest_fairmedagent.files.contradictions import CONTRADICTIONS, read_contradictions
from pytest_fairmedagent.files.foreign import CASES, Foreign, read_foreign
from pytest_fairmedagent.files.mapping import ENDING, read_mapping
from pytest_fairmedagent.files.plans import Registered, catalogue_of, read_plan
from pytest_fairmedagent.files.rows import SUFFIXES
from pytest_fairmedagent.files.rules import read_rules
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.files.toml import TomlFile

VIGNETTE, SWAPS, PLAN, RULES = "vignette", "swaps", "plan", "rules"
REGISTRY, CONFOUNDERS = "adjudicators", "confounding"
CONTRADICTED, MAPPING = "contradictions", "mapping"

# Keys that only one kind of file has.
_TELLING = {
    VIGNETTE: {"narrative", "menu", "domain", "difficulty", "title", "guideline"},
    SWAPS: {"line", "reference"},
    PLAN: {"says", "replicates", "controls", "family", "vignettes"},
    RULES: {"action", "range", "actions", "block"},
}


@dataclass(frozen=True)
class Checked:
    """One file, what kind it is taken for, what is wrong with its format, and what was read."""

    path: Path
    kind: str
    errors: tuple[str, ...]
    found: object = None  # what the reader of its kind returns; None where it cannot be read

    @property
    def vignettes(self) -> tuple[Vignette, ...]:
        """The cases that the file holds."""
        if isinstance(self.found, Foreign):
            return self.found.vignettes
        return (self.found,) if isinstance(self.found, Vignette) else ()


def validate(paths: Sequence[Path], columns: str = "") -> list[Checked]:
    """Return what is to be said of the format of files, and of all `*.toml` files in folders.

    `columns` says what CSV and JSON Lines files call their columns; a mapping file beside one of
    them is read with it. A plan that names no catalogue is read with the first among them,
    `swaps.toml` before others, else with the one that comes with the project.
    """
    files: list[Path] = []
    checked: list[Checked] = []
    for path in paths:
        inside = sorted(path.rglob("*.toml")) if path.is_dir() else [path]
        if not inside:
            error = f"{path}: holds no file *.toml to check"
            checked.append(Checked(path, "folder", (error,)))
        files += [file for file in inside if file not in files]
    kinds: dict[Path, str] = {}
    for file in files:
        try:
            foreign = file.suffix.lower() in SUFFIXES
            kinds[file] = CASES if foreign else _kind(TomlFile(file))
        except FileFormatError as error:
            checked.append(Checked(file, "unknown", _complaints(error)))
    catalogues: dict[Path, Catalogue] = {}
    for file in (f for f in kinds if kinds[f] == SWAPS):
        try:
            catalogues[file] = read_swaps(file)
        except FileFormatError as error:
            checked.append(Checked(file, SWAPS, _complaints(error)))
        else:
            checked.append(Checked(file, SWAPS, (), catalogues[file]))
    first = min(catalogues, key=lambda file: file.name != "swaps.toml", default=None)
    known = catalogues[first] if first is not None else read_swaps()
    readers: dict[str, Callable[[Path], object]] = {
        VIGNETTE: read_vignette,
        PLAN: lambda path: _read_plan(path, known),
        RULES: read_rules,
        CASES: lambda path: read_foreign(path, columns),
        REGISTRY: read_adjudicators,
        CONTRADICTED: read_contradictions,
        MAPPING: read_mapping,
        CONFOUNDERS: lambda path: registry_in(path.parent),
    }
    ids: dict[str, Path] = {}
    for file in (f for f in kinds if kinds[f] != SWAPS):
        try:
            found = readers[kinds[file]](file)
        except FileFormatError as error:
            checked.append(Checked(file, kinds[file], _complaints(error)))
            continue
        kind = found.kind if isinstance(found, Foreign) else kinds[file]
        read = Checked(file, kind, (), found)
        twice = tuple(
            f"{file}: the vignette id '{vignette.id}' is also that of {ids[vignette.id]}. Rename "
            "one of them."
            for vignette in read.vignettes
            if ids.setdefault(vignette.id, file) != file
        )
        checked.append(replace(read, errors=twice))
    checked = [_confounders_checked(file, ids, known, first) for file in checked]
    order = {path: place for place, path in enumerate([*files, *paths])}
    return sorted(checked, key=lambda c: order[c.path])


def _read_plan(path: Path, known: Catalogue) -> Registered:
    named = catalogue_of(path)
    return read_plan(path, read_swaps(named) if named is not None else known)


def _confounders_checked(
    file: Checked, ids: Mapping[str, Path], known: Catalogue, swaps: Path | None
) -> Checked:
    """Return a confounding registry held against the swaps, and the cases that were read of it."""
    near = {name for name, path in ids.items() if path.is_relative_to(file.path.parent)}
    if isinstance(file.found, ConfoundingRegistry):
        try:
            check_registries([file.path.parent], known, swaps)
            if near:
                file.found.check(near)
        except FileFormatError as error:
            return replace(file, errors=_complaints(error))
    return file


def _kind(source: TomlFile) -> str:
    """Return what kind of file has these keys. Raises FileFormatError where none has them."""
    keys = set(source.data)
    if source.path.name == ADJUDICATORS:  # may be empty: nobody is registered
        return REGISTRY
    if source.path.name == CONFOUNDING:
        return CONFOUNDERS
    if source.path.name == CONTRADICTIONS:
        return CONTRADICTED
    if source.path.name.endswith(ENDING):
        return MAPPING
    scores = {kind: len(keys & telling) for kind, telling in _TELLING.items()}
    kind = max(scores, key=lambda name: scores[name])
    if scores[kind]:
        return kind
    if "condition" in keys:  # both kinds have it; in rules, conditions have the name of a file
        tables = source.data["condition"]
        named = isinstance(tables, list) and any(
            isinstance(t, dict) and "name" in t for t in tables
        )
        return RULES if named else SWAPS
    raise source.error(
        (),
        "is neither a vignette nor a swaps, plan or rules file: it has none of their keys. "
        f"It has {_listed(keys)}.",
    )


def _listed(keys: Iterable[str]) -> str:
    return ", ".join(sorted(keys)) or "no keys at all"


def _complaints(error: FileFormatError) -> tuple[str, ...]:
    return tuple(str(error).split("\n  also: "))
