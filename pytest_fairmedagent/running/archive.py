"""A store that is read and never written: its runs, their trials, their calls."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_fairmedagent.domain import Trajectory, Trial
from pytest_fairmedagent.errors import StoreError
from pytest_fairmedagent.models.base import Reply
from pytest_fairmedagent.running.database import FILE, check_schema
from pytest_fairmedagent.running.ledger import Entry, read_entries
from pytest_fairmedagent.running.store import read_trajectory

MAGIC = b"SQLite format 3\0"

LEDGER_SINCE = 5  # schema version of a store
DONE, FAILED, OPEN = "done", "failed", "open"

# The trials of a run by their names in it. Where the run noted none (it is of schema version 1),
# those of its series that it or an earlier run has begun, the last of each name.
_TRIALS = """
    SELECT p.vignette, p.condition, p.replicate, p.key, p.draw, coalesce(t.state, 'open'), t.run,
           t.finished, CASE WHEN ? THEN t.trajectory END
    FROM places p LEFT JOIN trials t ON t.series=? AND t.key=p.key AND t.draw=p.draw
    WHERE p.run=?"""
_TRIALS_OF_SERIES = """
    SELECT vignette, condition, replicate, key, draw, state, run, finished,
           CASE WHEN ? THEN trajectory END
    FROM trials WHERE series=? AND run<=? AND replicate<? ORDER BY run"""


@dataclass(frozen=True)
class StoredRun:
    """A run as it was begun. `configuration` is the digest of `fields`, `plan` that of the plan.

    One that was `imported` was drawn elsewhere, and says of itself what its file says.
    """

    fields: Mapping[str, Any]
    id: int
    series: int
    created: float
    finished: float | None
    plan: str
    replicates: int
    configuration: str
    model: str
    seed: int
    imported: bool


@dataclass(frozen=True)
class StoredTrial:
    """A trial of a run and how far it is: `done`, `failed` or `open`.

    `origin` is the run that drew it, at the time `finished` in seconds since the epoch.
    """

    trial: Trial
    series: int
    key: str
    draw: int
    state: str
    origin: int | None
    finished: float | None
    trajectory: Trajectory | None


@dataclass(frozen=True)
class StoredCall:
    """One finished call of a trial. `request` is the digest of what was sent."""

    reply: Reply
    stage: str
    attempt: int
    request: str
    seed: int
    created: float
    duration_s: float


def store_file(path: Path) -> Path | None:
    """Return the SQLite file that a folder or file is or holds; None where it is no store."""
    file = path / FILE if path.is_dir() else path
    try:
        with file.open("rb") as stream:
            return file if stream.read(len(MAGIC)) == MAGIC else None
    except OSError:
        return None


class Archive:
    """The store in a folder, or in a SQLite file of any name. Close it when done."""

    def __init__(self, path: Path) -> None:
        self.path = path
        file = store_file(path)
        if file is None:
            there = "holds no store" if path.exists() else "does not exist"
            advice = "Runs are stored in .fairmed unless --fairmed-store names another place."
            if path.suffix in (".json", ".jsonl"):
                advice = "A record is shown by `fairmed report`, and `fairmed import` stores it."
            elif "#" in path.name and store_file(Path(str(path).rpartition("#")[0])) is not None:
                advice = "A run of a store is named by --run N; only recorded/ takes PATH#N."
            raise StoreError(
                f"{path}: {there}. Expected a folder with {FILE}, or such a file.\n  {advice}"
            )
        self.file = file
        log = file.with_name(f"{file.name}-wal")
        # Without a log the file is whole and is read as it lies, which leaves nothing beside it and
        # needs no right to write. With one, the log holds what came last and has to be read too.
        mode = "mode=ro" if _size(log) else "mode=ro&immutable=1"
        try:
            self._db = sqlite3.connect(f"{file.resolve().as_uri()}?{mode}", uri=True)
            try:
                self.schema = check_schema(self._db, file)
            except BaseException:
                self._db.close()
                raise
        except sqlite3.Error as error:
            raise StoreError(
                f"{file}: cannot be read: {error}\n"
                f"  Where {log.name} lies beside it, the folder must be whole: copy all of it to a "
                "place that may be written to. `fairmed show --check` looks for damage."
            ) from error
        self.size = _size(file) + _size(log)

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *exc: object) -> None:
        self._db.close()

    def runs(self) -> list[StoredRun]:
        """Return every run, in the order in which they were begun."""
        rows = self._rows(
            "SELECT fields, id, series, created, finished, plan, replicates, configuration, model, "
            "seed, fresh='imported' FROM runs ORDER BY id"
        )
        return [StoredRun(json.loads(fields), *other) for fields, *other in rows]

    def run(self, number: int | None = None, *, finished: bool = False) -> StoredRun:
        """Return a run: by its number, else the newest finished one, else the newest.

        Raises StoreError where there is none; with `finished` also where none was finished.
        """
        runs = self.runs()
        if number is not None:
            found = [run for run in runs if run.id == number]
        else:
            found = [run for run in runs if run.finished is not None] or ([] if finished else runs)
        if found:
            return found[-1]
        known = ", ".join(f"{r.id}{'' if r.finished else ' (unfinished)'}" for r in runs) or "none"
        what = "no finished run" if number is None else f"no run {number}"
        raise StoreError(
            f"{self.path}: holds {what}. Its runs: {known}.\n"
            f"  recorded/{self.path}#N and --run N name a run, finished or not."
        )

    def trials(self, run: StoredRun, *, outputs: bool = True) -> dict[Trial, StoredTrial]:
        """Return the trials of a run, sorted; without `outputs`, without their trajectories."""
        rows = self._rows(_TRIALS, outputs, run.series, run.id) if self.schema > 1 else []
        if not rows:
            rows = self._rows(_TRIALS_OF_SERIES, outputs, run.series, run.id, run.replicates)
        found = {}
        for vignette, condition, replicate, key, draw, state, origin, finished, text in rows:
            trial = Trial(vignette, condition, replicate)
            found[trial] = StoredTrial(
                trial,
                run.series,
                key,
                draw,
                state if state in (DONE, FAILED) else OPEN,
                origin,
                finished,
                read_trajectory(text) if text and state in (DONE, FAILED) else None,
            )
        names = sorted(found, key=lambda t: (t.vignette, t.condition, t.replicate))
        return {trial: found[trial] for trial in names}

    def calls(self, trial: StoredTrial) -> list[StoredCall]:
        """Return the finished calls of a trial in the order in which they were made."""
        rows = self._rows(
            "SELECT reply, stage, attempt, request, seed, created, duration FROM calls "
            "WHERE series=? AND key=? AND draw=? ORDER BY created",
            *(trial.series, trial.key, trial.draw),
        )
        return [StoredCall(Reply(**json.loads(reply)), *other) for reply, *other in rows]

    def entries(self, **where: str | int) -> list[Entry]:
        """Return the entries of the ledger, as `read_entries`; none of a store older than it."""
        if self.schema < LEDGER_SINCE:
            return []
        return read_entries(lambda statement, values: self._rows(statement, *values), **where)

    def check(self) -> list[str]:
        """Return what is damaged, found by reading the whole file; nothing where all is well."""
        try:
            found = [row[0] for row in self._db.execute("PRAGMA quick_check") if row[0] != "ok"]
            for vignette, condition, replicate, text in self._db.execute(
                "SELECT vignette, condition, replicate, trajectory FROM trials WHERE state='done'"
            ):
                try:
                    read_trajectory(text)
                except (TypeError, ValueError, KeyError):
                    place = f"{vignette}/{condition}/{replicate + 1}"
                    found.append(f"the trajectory of {place} cannot be read")
        except sqlite3.Error as error:
            return [str(error)]
        return found

    def _rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        try:
            return self._db.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise StoreError(
                f"{self.file}: cannot be read: {error}\n  `fairmed show {self.path} --check` tells "
                "what is damaged. Restore a copy of the store."
            ) from error


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0
