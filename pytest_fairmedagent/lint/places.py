"""From the place of a hit to a file and a line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_fairmedagent.domain import Vignette
from pytest_fairmedagent.files.toml import TomlFile
from pytest_fairmedagent.lint.finding import Finding, Hit
from pytest_fairmedagent.lint.rules import RULES


@dataclass(frozen=True)
class Origin:
    """Where a case or a catalogue comes from; `line` is that of a row in a file of rows."""

    path: Path
    line: int = 0


def findings(
    hits: Iterable[Hit], vignettes: Mapping[str, Vignette], origins: Mapping[str, Origin]
) -> list[Finding]:
    """Return hits with file and line, in order of both.

    Args:
        origins: by the id of the case; under "" that of the catalogue. A case without one is named
            by its id.
    """
    sources: dict[Path, TomlFile] = {}
    found = []
    for hit in hits:
        origin = origins.get(hit.case)
        path, line = (str(origin.path), origin.line) if origin else (hit.case or "catalogue", 0)
        if origin and not line:
            if origin.path not in sources:
                sources[origin.path] = TomlFile(origin.path)
            line = _line(sources[origin.path], hit, vignettes.get(hit.case))
        severity = hit.severity or RULES[hit.rule].severity
        found.append(Finding(hit.rule, severity, path, line or 1, hit.message, hit.advice))
    return sorted(found, key=lambda f: (f.file, f.line, f.rule, f.message))


def _line(source: TomlFile, hit: Hit, vignette: Vignette | None) -> int:
    """Return the line of a hit: that of its key, and inside a text of several lines further on."""
    line = source.line(hit.place)
    if hit.place != ("narrative",) or vignette is None:
        return line
    opens = source.text.splitlines()[line - 1].rstrip().endswith(('"""', "'''"))
    return line + opens + vignette.narrative.count("\n", 0, hit.offset)
