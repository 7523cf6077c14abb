"""A record file taken into a store: a run of its own for each agent and set that it holds."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_fairmedagent.domain import Trial
from pytest_fairmedagent.errors import FileFormatError
from pytest_fairmedagent.files.record_row import seconds_of, trajectory_of
from pytest_fairmedagent.files.recordings import RecordedSet, read_sets
from pytest_fairmedagent.running.archive import store_file
from pytest_fairmedagent.running.info import digest_of
from pytest_fairmedagent.running.intake import Foreign, take_in


@dataclass(frozen=True)
class Imported:
    """One run as it lies in the store now. One that is not `new` was there from before."""

    run: int
    new: bool
    model: str
    n_trajectories: int


def import_file(path: Path, store: Path) -> list[Imported]:
    """Return what a file was taken in as. Raises FileFormatError or StoreError.

    The file is read whole before anything is written.
    """
    if store_file(path) is not None:
        raise FileFormatError(
            f"{path}: is a store and no record file.\n  Write its runs with `fairmed export "
            f"{path} --run N -o FILE.jsonl`, or replay it where it is: recorded/{path}."
        )
    sets, header = read_sets(path, by_block=True)
    content = hashlib.sha256(path.read_bytes()).hexdigest()
    found = []
    for number, drawn in enumerate(sets):
        foreign = _foreign(drawn, header, f"{content}#{number}")
        run, new = take_in(store, foreign)
        found.append(Imported(run, new, foreign.model, len(drawn.rows)))
    return found


def _foreign(drawn: RecordedSet, header: Mapping[str, Any], source: str) -> Foreign:
    stated = header.get("config_digest")
    own = stated if isinstance(stated, str) and stated else digest_of(drawn.configuration)
    digest = own if drawn.digest is None else drawn.digest
    run = _run_of(header, digest)
    named = run.get("model") or header.get("model") or drawn.configuration.get("model")
    model = str(named or "unknown")
    seed, plan = run.get("seed"), run.get("plan_digest")
    return Foreign(
        source=source,
        model=model if drawn.block is None else f"{model}, block {drawn.block}",
        configuration=digest,
        fields=drawn.configuration,
        trajectories={
            Trial(row.vignette, row.condition, row.replicate - 1): (trajectory_of(row), row.drawn)
            for row in drawn.rows.values()
        },
        plan=plan if isinstance(plan, str) else "",
        seed=seed if isinstance(seed, int) and 0 <= seed < 2**63 else 0,
        created=_seconds(run.get("created")),
    )


def _run_of(header: Mapping[str, Any], digest: str) -> Mapping[str, Any]:
    """Return what a header says of the run of a configuration: a run record, or an export."""
    runs = header.get("runs")
    for run in runs if isinstance(runs, list) else ():
        if isinstance(run, dict) and run.get("config_digest") == digest:
            return run
    run = header.get("run")
    return run if isinstance(run, dict) else {}


def _seconds(date: object) -> float | None:
    if isinstance(date, (int, float)) and not isinstance(date, bool):
        return float(date)
    return None if date is None else seconds_of(date)
