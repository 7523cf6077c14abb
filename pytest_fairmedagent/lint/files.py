"""Files that people write, read and then held to the rules."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_fairmedagent.domain import Catalogue, Vignette
from pytest_fairmedagent.files.foreign import PAIRS, Foreign
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.files.toml import TomlFile
from pytest_fairmedagent.files.validate import SWAPS, VIGNETTE, Checked, validate
from pytest_fairmedagent.lint.arms import check_arms
from pytest_fairmedagent.lint.checking import check_cases
from pytest_fairmedagent.lint.finding import ERROR, Finding, Hit
from pytest_fairmedagent.lint.places import Origin, findings
from pytest_fairmedagent.lint.rosters import check_rosters, check_swaps
from pytest_fairmedagent.lint.silences import unsilenced

_FIRST_COMMENT = {
    "clear": "# Clear: ",
    "intermediate": "# Intermediate: ",
    "borderline": "# Borderline: guidelines leave room. ",
}


@dataclass(frozen=True)
class Result:
    """The files in order, and every finding about them."""

    files: tuple[Checked, ...]
    findings: tuple[Finding, ...]

    @property
    def n_errors(self) -> int:
        """Files whose format is wrong, and findings of severity `error`."""
        wrong = sum(1 for file in self.files if file.errors)
        return wrong + sum(1 for finding in self.findings if finding.severity == ERROR)

    @property
    def n_warnings(self) -> int:
        return sum(1 for finding in self.findings if finding.severity != ERROR)

    def by_file(self) -> Iterator[tuple[Checked, list[Finding]]]:
        """Yield each file with its findings."""
        found: dict[str, list[Finding]] = defaultdict(list)
        for finding in self.findings:
            found[finding.file].append(finding)
        for file in self.files:
            yield file, found[str(file.path)]


def check_files(paths: Sequence[Path], columns: str = "") -> Result:
    """Return what is to be said of files, and of the `*.toml` files of folders.

    Cases are held to the rules with the catalogue among the files, `swaps.toml` before others, else
    with the one that comes with the project; ready pairs with their own. What cannot be read has
    its errors of format alone.
    """
    files = validate(paths, columns)
    swaps = [f for f in files if f.kind == SWAPS and isinstance(f.found, Catalogue)]
    swaps.sort(key=lambda file: file.path.name != "swaps.toml")
    main = swaps[0].found if swaps else read_swaps()
    assert isinstance(main, Catalogue)  # noqa: S101 - sorted out above
    vignettes: dict[str, Vignette] = {}
    origins: dict[str, Origin] = {"": Origin(swaps[0].path)} if swaps else {}
    extra: list[Hit] = []
    pairs: list[tuple[Checked, Foreign]] = []
    ours: set[str] = set()
    for file in files:
        if isinstance(file.found, Foreign) and file.found.kind == PAIRS:
            pairs.append((file, file.found))
            continue
        for vignette in file.vignettes:
            if vignette.id in vignettes:
                continue  # told as an error of format
            vignettes[vignette.id] = vignette
            lines = file.found.lines if isinstance(file.found, Foreign) else {}
            origins[vignette.id] = Origin(file.path, lines.get(vignette.id, 0))
        if file.kind == VIGNETTE and isinstance(file.found, Vignette):
            ours.add(file.found.id)
            extra += check_file(file.path, file.found)
    hits = check_cases(list(vignettes.values()), main, ours=ours)
    rosters = check_rosters(swaps[0].path) if swaps else []
    found = findings([*hits, *rosters, *extra], vignettes, origins)
    for file in swaps[1:]:
        assert isinstance(file.found, Catalogue)  # noqa: S101 - sorted out above
        more = check_swaps(file.path, file.found)
        # Without a slot a line is added to the same text in every catalogue: one case shows it.
        slotted = [v for v in vignettes.values() if "{" in v.narrative]
        for vignette in slotted or list(vignettes.values())[:1]:
            more += check_arms(vignette, file.found)
        found += findings(more, vignettes, {**origins, "": Origin(file.path)})
    for file, foreign in pairs:
        found += _check_pairs(file.path, foreign)
    return Result(tuple(files), tuple(found))


def _check_pairs(path: Path, foreign: Foreign) -> list[Finding]:
    assert foreign.catalogue is not None  # noqa: S101 - pairs bring one
    hits = check_cases(foreign.vignettes, foreign.catalogue, ours=())
    vignettes = {vignette.id: vignette for vignette in foreign.vignettes}
    origins = {name: Origin(path, foreign.lines.get(name, 1)) for name in vignettes}
    return findings(hits, vignettes, {**origins, "": Origin(path, 1)})


def check_file(path: Path, vignette: Vignette) -> list[Hit]:
    """Return what a file says beside the case: its name and its first comment."""
    hits = []
    if path.stem != vignette.id:
        hits.append(
            Hit(
                "VG301",
                ("id",),
                f"the id is '{vignette.id}' and the file is called '{path.name}'",
                f"Call it {vignette.id}.toml, or change the id",
                case=vignette.id,
            )
        )
    start = _FIRST_COMMENT[vignette.difficulty]
    text = TomlFile(path).text
    comment = re.sub(r"\n# ?", " ", text[: re.search(r"^[^#]|\Z", text, re.MULTILINE).start()])  # type: ignore[union-attr]
    if not comment.startswith(start) or len(comment) < len(start) + 20:
        hits.append(
            Hit(
                "VG310",
                (),
                f"the first comment of '{vignette.id}' does not begin with '{start.strip()}' and a "
                "reason",
                "Say which way it can go, in one or two lines",
                case=vignette.id,
            )
        )
    return unsilenced(hits, [])
