"""Taking trajectories that were drawn elsewhere into a store, as a run of their own."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_fairmedagent.domain import Trajectory, Trial
from pytest_fairmedagent.running.database import Database
from pytest_fairmedagent.running.runs import IMPORTED


@dataclass(frozen=True)
class Foreign:
    """A run that was drawn elsewhere, as its file tells.

    `source` is a digest of the file's content and of which run of it this is: what was taken in
    once is not taken in again. `trajectories` come with the time at which they were drawn, in
    seconds since the epoch, None where that is not known. `plan` and `seed` are "" and 0 where the
    file does not say.
    """

    source: str
    model: str
    configuration: str
    fields: Mapping[str, object]
    trajectories: Mapping[Trial, tuple[Trajectory, float | None]]
    plan: str = ""
    seed: int = 0
    created: float | None = None


def take_in(folder: Path, foreign: Foreign) -> tuple[int, bool]:
    """Return the number of the run in the store of a folder, and whether it is new.

    It is a series of its own, and the keys of its trials are no digests of what was sent: no draw
    of ours ever continues it or is taken for one of its own. Raises StoreError.
    """
    database = Database(folder)
    try:
        with database.transaction():
            known = database.execute(
                "SELECT id FROM runs WHERE fresh=? AND design=?", (IMPORTED, foreign.source)
            ).fetchone()
            return (int(known[0]), False) if known else (_insert(database, foreign), True)
    finally:
        database.close()


def _insert(database: Database, foreign: Foreign) -> int:
    now = time.time()
    trials = foreign.trajectories
    created = foreign.created if foreign.created is not None else now
    number = int(
        database.execute(
            "INSERT INTO runs (series, created, finished, plan, design, replicates, configuration, "
            "fields, model, seed, fresh) VALUES (0,?,?,?,?,?,?,?,?,?,?) RETURNING id",
            (
                *(created, now, foreign.plan, foreign.source),
                max(trial.replicate for trial in trials) + 1,
                *(foreign.configuration, json.dumps(foreign.fields), foreign.model),
                *(foreign.seed, IMPORTED),
            ),
        ).fetchone()[0]
    )
    database.execute("UPDATE runs SET series=id WHERE id=?", (number,))
    for trial, (trajectory, drawn) in trials.items():
        arm = f"{IMPORTED}|{foreign.source}|{trial.vignette}|{trial.condition}"
        key = hashlib.sha256(arm.encode()).hexdigest()
        names = (trial.vignette, trial.condition, trial.replicate)
        database.execute(
            "INSERT INTO trials (series, key, draw, run, vignette, condition, replicate, state, "
            "finished, trajectory) VALUES (?,?,?,?,?,?,?,?,?,?)",
            (
                *(number, key, trial.replicate, number, *names),
                "failed" if trajectory.infrastructure else "done",
                *(drawn, json.dumps(vars(trajectory))),
            ),
        )
        database.execute(
            "INSERT INTO places VALUES (?,?,?,?,?,?)", (number, *names, key, trial.replicate)
        )
    return number
