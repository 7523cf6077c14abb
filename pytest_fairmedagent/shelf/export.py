"""A run of a store as a record file: JSON Lines, the configuration in the header."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_fairmedagent import __version__
from pytest_fairmedagent.domain.variants import clusters_among
from pytest_fairmedagent.errors import StoreError
from pytest_fairmedagent.files.swaps import RESERVED
from pytest_fairmedagent.running.archive import FAILED, OPEN, Archive, StoredTrial
from pytest_fairmedagent.shelf.contents import iso

SCHEMA = 1


def export_run(archive: Archive, number: int | None, target: Path) -> str:
    """Write the trajectories of a run to a file, and return in a line what was written.

    Trials that are open have no trajectory and are left out; the line says how many.
    """
    run = archive.run(number)
    trials = list(archive.trials(run).values())
    states = [stored.state for stored in trials]
    header: dict[str, Any] = {
        "schema": SCHEMA,
        "generator": f"pytest-fairmedagent {__version__}",
        "model": run.model,
        "configuration": run.fields,
        "config_digest": run.configuration,
        "run": {
            "id": run.id,
            "series": run.series,
            "seed": run.seed,
            "created": iso(run.created),
            "finished": iso(run.finished),
            "plan_digest": run.plan,
            "open": states.count(OPEN),
        },
    }
    if any(stored.trial.condition == RESERVED for stored in trials):
        header["reference"] = RESERVED
    rows = list(_rows(trials))
    if not rows:
        raise StoreError(
            f"{archive.path}: run {run.id} has no trajectory yet.\n  `fairmed show` lists the runs."
        )
    write_whole(target, "".join(f"{json.dumps(line)}\n" for line in (header, *rows)))
    line = f"run {run.id} of {archive.path}: {len(rows)} trajectories written to {target}"
    for state, told in ((FAILED, "lost to the infrastructure"), (OPEN, "open and left out")):
        if state in states:
            line += f", {states.count(state)} {told}"
    return line


def run_rows(archive: Archive, number: int | None) -> Iterator[dict[str, Any]]:
    """Yield the trajectories of a run in the shape of a record file."""
    run = archive.run(number)
    for row in _rows(list(archive.trials(run).values())):
        yield {**row, "config": run.configuration}


def write_whole(target: Path, content: str | bytes) -> None:
    """Write a file so that it is there whole or not at all. Raises StoreError where it cannot."""
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        part.write_bytes(content if isinstance(content, bytes) else content.encode())
        part.replace(target)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise StoreError(f"{target}: cannot be written: {error.strerror}") from error


def _rows(trials: list[StoredTrial]) -> Iterator[dict[str, Any]]:
    clusters = clusters_among({stored.trial.vignette for stored in trials})
    for stored in trials:
        trajectory = stored.trajectory
        if trajectory is None:
            continue
        yield {
            "vignette": stored.trial.vignette,
            **({"cluster": cluster} if (cluster := clusters.get(stored.trial.vignette)) else {}),
            "condition": stored.trial.condition,
            "replicate": stored.trial.replicate + 1,
            "outputs": trajectory.outputs,
            "complete": trajectory.complete,
            "missing": trajectory.missing,
            "calls": trajectory.calls,
            "retries": trajectory.repairs,
            "input_tokens": trajectory.input_tokens,
            "output_tokens": trajectory.output_tokens,
            "response_ids": trajectory.response_ids,
            "drawn": iso(stored.finished),
            **({"ballots": list(trajectory.ballots)} if trajectory.ballots else {}),
            **({"infrastructure": True} if trajectory.infrastructure else {}),
        }
