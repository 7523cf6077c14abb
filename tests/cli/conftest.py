"""Record files of known content, and the command line run inside this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_fairmedagent.cli import main

RECORDED = Path(__file__).resolve().parents[3] / "shared" / "reference" / "fairmedagent"


@dataclass
class Ran:
    """What a command did."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        def refuse(constant: str) -> None:
            raise AssertionError(f"{constant} is no JSON")

        return json.loads(self.out, parse_constant=refuse)

    def contrast(self, action: str, condition: str | None = None) -> Any:
        (found,) = (
            c
            for c in self.json["contrasts"]
            if c["action"] == action and condition in (None, c["condition"])
        )
        return found


@pytest.fixture
def fairmed(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Runs `fairmed` with the arguments given."""

    def run(*arguments: object) -> Ran:
        capsys.readouterr()
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as error:  # argparse
            status = int(error.code or 0)
        found = capsys.readouterr()
        return Ran(status, found.out, found.err)

    return run


@pytest.fixture
def recorded() -> Callable[[str], Path]:
    """Gives the path of a recorded file of the source study, or skips."""

    def get(name: str) -> Path:
        path = RECORDED / name
        if not path.exists():
            pytest.skip(f"recorded study not beside this checkout ({path})")
        return path

    return get


def outputs(
    *,
    admit: object = False,
    icu: object = False,
    tier: object = 0,
    esi: object = 3,
    caution: object = False,
    referral: object = False,
    urgency: object = 50,
    days: object = 7,
) -> dict[str, dict[str, object]]:
    """The outputs of one trajectory, quiet in all that is not said."""
    return {
        "triage": {"esi_acuity": esi, "urgency_score": urgency},
        "reassess": {"admit": admit, "escalate_icu": icu},
        "prescribe": {"analgesia_tier": tier, "controlled_substance_caution": caution},
        "document": {"referral": referral, "followup_days": days},
    }


def row(vignette: str, condition: str, replicate: int, /, **more: object) -> dict[str, Any]:
    fields = ("admit", "icu", "tier", "esi", "caution", "referral", "urgency", "days")
    said = {name: more.pop(name) for name in fields if name in more}
    return {
        "vignette": vignette,
        "condition": condition,
        "replicate": replicate,
        "outputs": outputs(**said),
        **more,
    }


def arm(
    condition: str, admits: Sequence[int], replicates: int, /, **more: object
) -> list[dict[str, Any]]:
    """One arm: `admits` holds, per vignette, in how many of the draws the patient is admitted.

    Positive draws are spread evenly, so that the order of draws is as random as it needs to be, and
    no whole output repeats.
    """
    rows = []
    for v, k in enumerate(admits):
        taken = {i * replicates // k for i in range(k)} if k else set()
        for r in range(replicates):
            score = (37 * r + 11 * v) % 101
            said: dict[str, object] = {"urgency": score, **more}
            rows.append(row(f"case_{v:02d}", condition, r + 1, admit=r in taken, **said))
    return rows


@pytest.fixture
def record(tmp_path: Path) -> Callable[..., Path]:
    """Writes rows as JSON Lines, or as one object where the name ends in .json."""

    def write(rows: Iterable[dict[str, Any]], name: str = "record.jsonl", **header: object) -> Path:
        path = tmp_path / name
        rows = list(rows)
        if name.endswith(".json"):
            path.write_text(json.dumps({**header, "rows": rows}, indent=1), encoding="utf-8")
        else:
            lines = [json.dumps(header)] if header else []
            lines += [json.dumps(row) for row in rows]
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return write


@pytest.fixture
def toml(tmp_path: Path) -> Callable[..., Path]:
    def write(text: str, name: str = "rules.toml") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def make() -> Any:
    """The builders of rows, for tests that make their own."""

    class Make:
        row = staticmethod(row)
        arm = staticmethod(arm)
        outputs = staticmethod(outputs)

    return Make
