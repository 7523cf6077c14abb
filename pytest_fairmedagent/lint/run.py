"""The same rules at the start of a run, before anything is paid for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pytest_fairmedagent.domain import Catalogue, Vignette
from pytest_fairmedagent.errors import FileFormatError
from pytest_fairmedagent.lint.checking import check_run
from pytest_fairmedagent.lint.finding import Hit
from pytest_fairmedagent.lint.places import Origin, findings

_MOST = 20  # findings that are shown


def refuse_unsound(
    vignettes: Mapping[str, Vignette],
    catalogue: Catalogue,
    spec: str,
    base: Path,
    swaps: Path | None = None,
    columns: str = "",
) -> None:
    """Raise FileFormatError, with file and line, for cases or swaps that break a rule of weight.

    Args:
        spec, base: what named the cases, and the folder that relative paths start from.
        swaps: the file of the catalogue, by default the one that comes with the project.
    """
    hits = check_run(list(vignettes.values()), catalogue)
    if hits:
        raise FileFormatError(_told(hits, vignettes, _origins(hits, spec, base, swaps, columns)))


def _told(hits: list[Hit], vignettes: Mapping[str, Vignette], origins: Mapping[str, Origin]) -> str:
    found = findings(hits, vignettes, origins)
    lines = [str(finding) for finding in found[:_MOST]]
    if len(found) > _MOST:
        lines.append(f"and {len(found) - _MOST} more; fairmed validate lists them")
    return "\n  also: ".join(lines)


def _origins(
    hits: list[Hit], spec: str, base: Path, swaps: Path | None, columns: str
) -> dict[str, Origin]:
    """Return where the cases of hits come from. Files are read again: nobody waits for a fault."""
    from pytest_fairmedagent.files.foreign import Foreign
    from pytest_fairmedagent.files.validate import validate
    from pytest_fairmedagent.files.vignettes import shipped_vignettes

    shipped = shipped_vignettes()
    names = [name.strip() for name in spec.split(",") if name.strip()] or ["shipped"]
    paths = [base / n if n != "shipped" and (base / n).exists() else shipped for n in names]
    wanted = {hit.case for hit in hits}
    found = {"": Origin(swaps or shipped / "swaps.toml")}
    for file in validate(list(dict.fromkeys(paths)), columns):
        lines = file.found.lines if isinstance(file.found, Foreign) else {}
        for vignette in file.vignettes:
            if vignette.id in wanted:
                found.setdefault(vignette.id, Origin(file.path, lines.get(vignette.id, 0)))
    return found
