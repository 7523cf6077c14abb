"""Checks files that people write, and collects every complaint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_fairmedagent.domain import Catalogue
from pytest_fairmedagent.errors import FileFormatError
from pytest_fairmedagent.files.plans import read_plan
from pytest_fairmedagent.files.rules import read_rules
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.files.toml import TomlFile
from pytest_fairmedagent.files.vignettes import read_vignette

VIGNETTE, SWAPS, PLAN, RULES = "vignette", "swaps", "plan", "rules"

# Keys that only one kind of file has.
_TELLING = {
    VIGNETTE: {"narrative", "menu", "domain", "difficulty", "title", "guideline"},
    SWAPS: {"line", "reference"},
    PLAN: {"says", "replicates", "controls", "family", "vignettes"},
    RULES: {"action", "range", "actions", "block"},
}


@dataclass(frozen=True)
class Checked:
    """One file, what kind it is taken for, and what is wrong with it."""

    path: Path
    kind: str
    errors: tuple[str, ...]

    def as_dict(self) -> dict[str, object]:
        return {
            "file": str(self.path),
            "kind": self.kind,
            "ok": not self.errors,
            "errors": list(self.errors),
        }


def validate(paths: Sequence[Path]) -> list[Checked]:
    """Return what is to be said of files and of the `*.toml` files of folders.

    Plans are read with the catalogue of a swaps file among them, else with the one that comes with
    the project.
    """
    files: list[Path] = []
    checked: list[Checked] = []
    for path in paths:
        inside = sorted(path.glob("*.toml")) if path.is_dir() else [path]
        if not inside:
            error = f"{path}: holds no file *.toml to check"
            checked.append(Checked(path, "folder", (error,)))
        files += [file for file in inside if file not in files]
    kinds: dict[Path, str] = {}
    for file in files:
        try:
            kinds[file] = _kind(TomlFile(file))
        except FileFormatError as error:
            checked.append(Checked(file, "unknown", _complaints(error)))
    catalogue: Catalogue | None = None
    for file in (f for f in kinds if kinds[f] == SWAPS):
        try:
            catalogue = read_swaps(file)
        except FileFormatError as error:
            checked.append(Checked(file, SWAPS, _complaints(error)))
        else:
            checked.append(Checked(file, SWAPS, ()))
    known = catalogue if catalogue is not None else read_swaps()
    readers: dict[str, Callable[[Path], object]] = {
        VIGNETTE: read_vignette,
        PLAN: lambda path: read_plan(path, known),
        RULES: read_rules,
    }
    ids: dict[str, Path] = {}
    for file in (f for f in kinds if kinds[f] != SWAPS):
        try:
            found = readers[kinds[file]](file)
        except FileFormatError as error:
            checked.append(Checked(file, kinds[file], _complaints(error)))
            continue
        name = str(getattr(found, "id", "")) if kinds[file] == VIGNETTE else ""
        first = ids.setdefault(name, file) if name else file
        twice = (
            f"{file}: the vignette id '{name}' is also that of {first}. Rename one of them."
            if first != file
            else ""
        )
        checked.append(Checked(file, kinds[file], (twice,) if twice else ()))
    order = {path: place for place, path in enumerate([*files, *paths])}
    return sorted(checked, key=lambda c: order[c.path])


def _kind(source: TomlFile) -> str:
    """Return what kind of file has these keys. Raises FileFormatError where none has them."""
    keys = set(source.data)
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
