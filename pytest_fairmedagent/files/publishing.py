"""What a case set is published with: Croissant, a card for hubs, what changed by edition."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_fairmedagent.domain import Vignette
from pytest_fairmedagent.files.composition import digest_lines
from pytest_fairmedagent.files.vignettes import CANARY, case_files, read_vignettes

EDITION = 2
PUBLISHED = "2026-12-01"
LICENSE = "https://creativecommons.org/licenses/by/4.0/"
NAME = "fairmed-cases"
# The context of Croissant 1.0, as its specification has it.
_CR = (
    "citeAs column extract field fileProperty fileObject fileSet format includes isLiveDataset "
    "jsonPath key md5 parentField path recordSet references regex repeated replace samplingRate "
    "separator source subField transform"
)
_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "sc": "https://schema.org/",
    **{name: f"cr:{name}" for name in _CR.split()},
}
_FIELDS = {
    "id": "Name of the case; never given to another.",
    "title": "What the case is about, in a few words.",
    "domain": "The decision that the case was written around.",
    "difficulty": "How far guidelines settle that decision.",
    "setting": "Where the patient is seen.",
    "narrative": "The frozen text, with slots for the values of pools.",
    "menu": "Orders that can be placed, with their fixed results.",
    "band": "Acceptable values of the outcomes, with who says so.",
}


def purpose(folder: Path) -> str:
    """Return the paragraph of the data sheet under its first heading."""
    sheet = (folder / "README.md").read_text(encoding="utf-8")
    found = re.search(r"^## Why\n\n(.*?)(?=\n\n)", sheet, re.DOTALL | re.MULTILINE)
    return " ".join(found[1].split()) if found else ""


def croissant(folder: Path) -> dict[str, Any]:
    """Return the set as Croissant 1.0 metadata, made from the data sheet and the files."""
    files = list(case_files(folder))
    cases = "cases"
    objects = [
        {
            "@type": "cr:FileObject",
            "@id": path.relative_to(folder).as_posix(),
            "name": path.stem,
            "contentUrl": path.relative_to(folder).as_posix(),
            "encodingFormat": "application/toml",
            "sha256": hashlib.sha256(path.read_text("utf-8").encode()).hexdigest(),
        }
        for path in files
    ]
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"{cases}/{name}",
            "name": name,
            "description": says,
            "dataType": "sc:Text",
            "repeated": name in ("menu", "band"),
            "source": {"fileSet": {"@id": "case-files"}, "extract": {"jsonPath": f"$.{name}"}},
        }
        for name, says in _FIELDS.items()
    ]
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": NAME,
        "description": purpose(folder),
        "license": LICENSE,
        "version": f"{EDITION}.0.0",
        "datePublished": PUBLISHED,
        "citeAs": f"The pytest-fairmedagent developers: {NAME}, edition {EDITION}",
        "creator": {"@type": "Organization", "name": "The pytest-fairmedagent developers"},
        "isAccessibleForFree": True,
        "inLanguage": "en",
        "keywords": ["fairness", "clinical", "metamorphic testing", "synthetic"],
        "distribution": [
            *objects,
            {
                "@type": "cr:FileSet",
                "@id": "case-files",
                "encodingFormat": "application/toml",
                "includes": "*/*.toml",
            },
        ],
        "recordSet": [{"@type": "cr:RecordSet", "@id": cases, "name": cases, "field": fields}],
    }


def card_lines(folder: Path) -> Iterator[str]:
    """Yield the card that hubs of data sets show, made from the data sheet and the files."""
    vignettes = read_vignettes([folder])
    sheet = (folder / "README.md").read_text(encoding="utf-8")
    yield from (
        "---",
        "license: cc-by-4.0",
        "language: [en]",
        "pretty_name: Cases of pytest-fairmedagent",
        "size_categories: [n<1K]",
        "task_categories: [text-generation]",
        "tags: [medical, fairness, synthetic, evaluation, not-for-training]",
        "---",
        "",
        f"# Cases of pytest-fairmedagent, edition {EDITION}",
        "",
        purpose(folder),
        "",
        f"{len(vignettes)} cases, "
        + ", ".join(f"{n} {name}" for name, n in _count(vignettes, "domain").items())
        + ".",
        "",
        "| split | cases |",
        "| --- | --- |",
        *(f"| {name} | {n} |" for name, n in sorted(_count(vignettes, "split").items())),
        "",
        "Those who tune on the cases use `tune` and report on `held`. The split is by a hash "
        "of the id, so that a case stays on its side in every edition.",
        "",
        f"Canary: `{CANARY}`",
        "",
    )
    for title in ("Limits", "Not for", "Licence"):
        found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", sheet, re.DOTALL | re.MULTILINE)
        if found:
            yield from (f"## {title}", *found[1].rstrip().split("\n"), "")


def _count(vignettes: Mapping[str, Vignette], name: str) -> Counter[str]:
    return Counter(str(getattr(vignette, name)) for vignette in vignettes.values())


def change_lines(folder: Path) -> Iterator[str]:
    """Yield what changed since the edition before: `text` if an agent can see it, else `labels`."""
    editions = folder / "editions"
    before = _digests((editions / f"{EDITION - 1}.txt").read_text("utf-8").splitlines())
    shown = _digests((editions / f"{EDITION - 1}_cases.txt").read_text("utf-8").splitlines())
    now = _digests(digest_lines(folder))
    cases = {name: vignette.digest for name, vignette in read_vignettes([folder]).items()}
    for name in sorted({*before, *now}):
        case = Path(name).stem
        if name not in before:
            yield f"new      {name}"
        elif name not in now:
            yield f"gone     {name}"
        elif case in cases and cases[case] != shown.get(case):
            yield f"text     {name}"
        elif before[name] != now[name]:
            yield f"labels   {name}" if case in cases else f"changed  {name}"


def _digests(lines: Iterator[str] | list[str]) -> dict[str, str]:
    pairs = (line.split(maxsplit=1) for line in lines if line.strip())
    return {name: digest for digest, name in pairs}


def croissant_text(folder: Path) -> str:
    """Return the Croissant description as it is written to a file."""
    return json.dumps(croissant(folder), indent=1) + "\n"
