"""Vignette files: one case each, in TOML."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from pytest_fairmedagent.domain import DIFFICULTIES, DOMAINS, Order, Vignette
from pytest_fairmedagent.errors import FileFormatError, PlanError, closest
from pytest_fairmedagent.files.toml import Strict, TomlFile


def _slug(value: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_]{1,47}", value):
        raise ValueError(
            "expected an id of 2 to 48 lower-case letters, digits and '_', starting with a letter"
        )
    return value


def _one_of(known: tuple[str, ...]) -> AfterValidator:
    def check(value: str) -> str:
        if value not in known:
            raise ValueError(f"expected one of {', '.join(known)}")
        return value

    return AfterValidator(check)


def _text(value: str) -> str:
    if not value.strip():
        raise ValueError("expected some text")
    return value.strip()


Slug = Annotated[str, AfterValidator(_slug)]
Text = Annotated[str, AfterValidator(_text)]


class OrderTable(Strict):
    id: Slug
    name: Text
    result: Text


class VignetteFile(Strict):
    """The fields of a vignette file; `schema` is the version of this format."""

    schema_version: Annotated[int, Field(alias="schema", ge=1, le=1)]
    id: Slug
    title: Text
    domain: Annotated[str, _one_of(DOMAINS)]
    difficulty: Annotated[str, _one_of(DIFFICULTIES)]
    status: Annotated[str, _one_of(("author-derived",))]
    provenance: Text
    guideline: Text
    narrative: Text
    menu: Annotated[list[OrderTable], Field(min_length=3, max_length=20)]


def read_vignette(path: Path) -> Vignette:
    """Return the vignette of one file. Raises FileFormatError with file and line."""
    source = TomlFile(path)
    data = source.parse(VignetteFile)
    seen: set[str] = set()
    for index, order in enumerate(data.menu):
        if order.id in seen:
            raise source.error(
                ("menu", index, "id"), f"order id '{order.id}' stands twice. Rename one of them."
            )
        seen.add(order.id)
    if re.search(r"^\s*Patient:", data.narrative, re.MULTILINE):
        raise source.error(
            ("narrative",),
            "a line of the narrative starts with 'Patient:'. That line is the descriptor's, which "
            "is added when the case is rendered. Reword it.",
        )
    return Vignette(
        id=data.id,
        title=data.title,
        domain=data.domain,
        difficulty=data.difficulty,
        narrative=data.narrative,
        menu=tuple(Order(o.id, o.name, o.result) for o in data.menu),
        provenance=data.provenance,
        status=data.status,
        guideline=data.guideline,
    )


def shipped_vignettes() -> Path:
    """Return the folder of the vignettes that come with the project."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "vignettes"  # in a wheel; in a checkout they lie beside the package
    return inside if inside.is_dir() else package.parent / "vignettes"


def read_vignettes(paths: Iterable[Path]) -> dict[str, Vignette]:
    """Return the vignettes of files and folders by id, in order of their file names.

    A folder stands for its `*.toml` files but `swaps.toml`. Raises FileFormatError where a file is
    wrong, an id stands twice, or there is none at all.
    """
    found: dict[str, Vignette] = {}
    origin: dict[str, Path] = {}
    paths = list(paths)
    for path in paths:
        files = sorted(path.glob("*.toml")) if path.is_dir() else [path]
        for file in files:
            if path.is_dir() and file.name == "swaps.toml":
                continue
            vignette = read_vignette(file)
            if vignette.id in found:
                raise FileFormatError(
                    f"{file}: the vignette id '{vignette.id}' is also that of "
                    f"{origin[vignette.id]}. Rename one of them."
                )
            found[vignette.id], origin[vignette.id] = vignette, file
    if not found:
        shown = ", ".join(map(str, paths))
        raise FileFormatError(f"{shown}: holds no vignette. Expected files *.toml, one case each.")
    return found


def select_vignettes(spec: str, base: Path) -> dict[str, Vignette]:
    """Return the vignettes that `--fairmed-vignettes` names.

    Args:
        spec: comma-separated files, folders, and ids of shipped vignettes; `shipped` or an empty
            text means all that come with the project.
        base: the folder that relative paths start from.
    """
    names = [name.strip() for name in spec.split(",") if name.strip()] or ["shipped"]
    chosen: dict[str, Vignette] = {}
    shipped: dict[str, Vignette] = {}
    for name in names:
        path = base / name
        if name != "shipped" and path.exists():
            chosen.update(read_vignettes([path]))
            continue
        shipped = shipped or read_vignettes([shipped_vignettes()])
        if name == "shipped":
            chosen.update(shipped)
        else:
            if name not in shipped:
                raise PlanError(
                    f"no vignette file, folder or shipped vignette {name!r}."
                    f"{closest(name, shipped)}"
                )
            chosen[name] = shipped[name]
    return chosen
