"""What a case set is made of, as its data sheet prints it, and the digests it is published with."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from pytest_fairmedagent.domain import DIFFICULTIES, SETTINGS, Vignette, n_variants
from pytest_fairmedagent.files.vignettes import RESERVED, case_files


def composition_lines(vignettes: Collection[Vignette]) -> Iterator[str]:
    """Yield three Markdown tables: cases by domain, bands by outcome, and the cases themselves."""
    domains = list(dict.fromkeys(v.domain for v in vignettes))
    columns = ("cases", *DIFFICULTIES, *SETTINGS)
    yield from _head("domain", *columns)
    for domain in [*domains, ""]:
        mine = [v for v in vignettes if domain in (v.domain, "")]
        levels, settings = Counter(v.difficulty for v in mine), Counter(v.setting for v in mine)
        numbers = (len(mine), *map(levels.get, DIFFICULTIES), *map(settings.get, SETTINGS))
        yield _row(domain or "all", *(n or 0 for n in numbers))
    yield ""
    yield from _head("outcome", "bands", "straddling", "guideline-derived", "clinician-adjudicated")
    bands = [band for v in vignettes for band in v.bands]
    for outcome in sorted({band.outcome for band in bands}):
        held = [band for band in bands if band.outcome == outcome]
        levels = Counter(band.provenance for band in held)
        told = (levels["guideline-derived"], levels["clinician-adjudicated"])
        yield _row(outcome, len(held), sum(band.straddles for band in held), *told)
    yield ""
    yield from _head("id", "domain", "difficulty", "setting", "specialty", "orders", "renderings")
    for v in sorted(vignettes, key=lambda v: (domains.index(v.domain), v.id)):
        labels = (v.domain, v.difficulty, v.setting, v.specialty)
        yield _row(f"`{v.id}`", *labels, len(v.menu), n_variants(v))


def digest_lines(folder: Path) -> Iterator[str]:
    """Yield `SHA-256  FILE` for every file of a case set, as `sha256sum -c` reads them.

    Line ends count as one character, however they are stored.
    """
    own = [folder / name for name in RESERVED]
    for path in (*case_files(folder), *sorted(path for path in own if path.is_file())):
        text = path.read_text(encoding="utf-8")
        digest = hashlib.sha256(text.encode()).hexdigest()
        yield f"{digest}  {path.relative_to(folder).as_posix()}"


def _head(*names: str) -> Sequence[str]:
    return _row(*names), _row(*["---"] * len(names))


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"
