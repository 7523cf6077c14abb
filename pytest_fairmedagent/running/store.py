"""The store: every model call and every trajectory on disk at once, in one SQLite file.

Several processes may work on it together. Each statement that decides something is one
`INSERT ... ON CONFLICT ... RETURNING` or `UPDATE ... RETURNING`: reading first and writing after
would let two processes draw the same trial.
"""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pytest_fairmedagent.domain import Trajectory, Trial
from pytest_fairmedagent.errors import StoreError
from pytest_fairmedagent.models.base import Reply

SCHEMA_VERSION = 1
LEASE_S = 900.0  # renewed while calls end, so it need only outlast the longest one

_PROCESS = time.time_ns()  # tells this process from an earlier one with the same number

_TABLES = """
CREATE TABLE IF NOT EXISTS runs (
    id INTEGER PRIMARY KEY, series INTEGER NOT NULL, created REAL NOT NULL, finished REAL,
    plan TEXT NOT NULL, design TEXT NOT NULL, replicates INTEGER NOT NULL,
    configuration TEXT NOT NULL, fields TEXT NOT NULL, model TEXT NOT NULL, seed INTEGER NOT NULL,
    fresh TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS trials (
    series INTEGER NOT NULL, key TEXT NOT NULL, draw INTEGER NOT NULL, run INTEGER NOT NULL,
    vignette TEXT NOT NULL, condition TEXT NOT NULL, replicate INTEGER NOT NULL,
    state TEXT NOT NULL, owner TEXT, lease REAL, finished REAL, trajectory TEXT,
    PRIMARY KEY (series, key, draw)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS calls (
    series INTEGER NOT NULL, key TEXT NOT NULL, draw INTEGER NOT NULL, stage TEXT NOT NULL,
    attempt INTEGER NOT NULL, request TEXT NOT NULL, seed INTEGER NOT NULL, reply TEXT NOT NULL,
    created REAL NOT NULL, duration REAL NOT NULL,
    PRIMARY KEY (series, key, draw, stage, attempt)) WITHOUT ROWID;
"""


@dataclass(frozen=True)
class Run:
    """One start of a plan in one configuration.

    Runs of one `series` share their draws; a fresh run begins a new series. `seed` is the series'.
    `earlier_looks` are the replicates of finished runs of the same series and design that had
    fewer of them: the data have been looked at before. `registered_before_draws` tells whether the
    plan was fixed before the series' first trial.
    """

    id: int
    series: int
    seed: int
    created: float
    finished: float | None
    resumed: bool
    earlier_looks: tuple[int, ...]
    registered_before_draws: bool


@dataclass(frozen=True)
class Draw:
    """One trial with its place in the store: the key of what is sent, and which draw of it."""

    trial: Trial
    key: str
    draw: int


class Store:
    """A store in the folder `path`. Opened by one process, used by all of its threads."""

    def __init__(self, path: Path, *, keep_raw: bool = True) -> None:
        self.path = path
        self.keep_raw = keep_raw
        self._lock = threading.RLock()
        self._owner = f"{socket.gethostname()}:{os.getpid()}:{_PROCESS}"
        file = path / "runs.sqlite"
        try:
            path.mkdir(parents=True, exist_ok=True)
            ignore = path / ".gitignore"
            if not ignore.exists():
                ignore.write_text("# Trajectories may hold case text.\n*\n", encoding="utf-8")
            if not file.exists():
                os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
            self._db = sqlite3.connect(
                file, timeout=60, isolation_level=None, check_same_thread=False
            )
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")  # a killed process loses nothing
            self._prepare(file)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(
                f"{file}: the store cannot be opened: {error}\n"
                "  It needs a writable folder on a local disk. Name one with --fairmed-store."
            ) from error

    def _prepare(self, file: Path) -> None:
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, SCHEMA_VERSION):
            raise StoreError(
                f"{file}: schema version {version}, expected {SCHEMA_VERSION}.\n"
                "  Use the pytest-fairmedagent that wrote it, or name another --fairmed-store."
            )
        if version == 0:
            self._db.executescript(_TABLES + f"PRAGMA user_version={SCHEMA_VERSION};")
        self.release_dead()

    def close(self) -> None:
        with self._lock:
            self._db.close()

    # Runs

    def begin(
        self,
        *,
        plan: str,
        design: str,
        replicates: int,
        configuration: str,
        fields: Mapping[str, object],
        model: str,
        seed: int | None,
        default_seed: int,
        fresh: str,
    ) -> Run:
        """Return the run of a plan in a configuration: the unfinished one, or a new one.

        A new run continues the newest series of the same configuration (and seed, if one is
        given), unless it is to be fresh: `fresh` is then a name that the processes of one start
        share, else "". A finished run of the same plan is returned as it is.
        """
        with self._transaction():
            latest = self._db.execute(
                "SELECT series, seed FROM runs WHERE configuration=? AND (? IS NULL OR seed=?) "
                "AND (?='' OR fresh=?) ORDER BY id DESC LIMIT 1",
                (configuration, seed, seed, fresh, fresh),
            ).fetchone()
            series: int | None = None if latest is None else latest[0]
            same = self._db.execute(
                "SELECT id, created, finished FROM runs WHERE series=? AND plan=? "
                "ORDER BY id LIMIT 1",
                (series, plan),
            ).fetchone()
            if same is None:
                used = latest[1] if series is not None else (default_seed if seed is None else seed)
                now = time.time()
                number = self._db.execute(
                    "INSERT INTO runs (series, created, plan, design, replicates, configuration, "
                    "fields, model, seed, fresh) VALUES (?,?,?,?,?,?,?,?,?,?) RETURNING id",
                    (
                        *(series or 0, now, plan, design, replicates),
                        *(configuration, json.dumps(fields), model, used, fresh),
                    ),
                ).fetchone()[0]
                if series is None:
                    series = int(number)
                    self._db.execute("UPDATE runs SET series=id WHERE id=?", (number,))
                same = (number, now, None)
                resumed = False
            else:
                used, resumed = latest[1], True
            assert series is not None  # noqa: S101 - for the type checker
            looks = self._db.execute(
                "SELECT DISTINCT replicates FROM runs WHERE series=? AND design=? AND plan<>? "
                "AND finished IS NOT NULL AND replicates<? ORDER BY replicates",
                (series, design, plan, replicates),
            ).fetchall()
            first = self._db.execute(
                "SELECT min(finished) FROM trials WHERE series=? AND state='done'", (series,)
            ).fetchone()[0]
            return Run(
                id=same[0],
                series=series,
                seed=used,
                created=same[1],
                finished=same[2],
                resumed=resumed,
                earlier_looks=tuple(row[0] for row in looks),
                registered_before_draws=first is None or same[1] <= first,
            )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def finish(self, run: Run) -> None:
        """Mark a run finished: all its trials are there and have been judged."""
        with self._lock:
            self._db.execute(
                "UPDATE runs SET finished=? WHERE id=? AND finished IS NULL", (time.time(), run.id)
            )

    # Trials

    def claim(self, run: Run, draw: Draw) -> bool:
        """Take a trial for this process. False where it is done or another process has it."""
        now = time.time()
        trial = draw.trial
        with self._lock:
            row = self._db.execute(
                "INSERT INTO trials (series, key, draw, run, vignette, condition, replicate, state,"
                " owner, lease) VALUES (?,?,?,?,?,?,?,'leased',?,?) "
                "ON CONFLICT (series, key, draw) DO UPDATE SET state='leased', "
                "owner=excluded.owner, lease=excluded.lease, run=excluded.run "
                "WHERE state IN ('open', 'failed') OR (state='leased' AND lease<?) RETURNING draw",
                (
                    *(run.series, draw.key, draw.draw, run.id),
                    *(trial.vignette, trial.condition, trial.replicate),
                    *(self._owner, now + LEASE_S, now),
                ),
            ).fetchone()
        return row is not None

    def complete(self, run: Run, draw: Draw, trajectory: Trajectory) -> None:
        """Store the trajectory of a trial; the first completion wins.

        A fault of the infrastructure leaves the trial to be drawn again by a later start.
        """
        state = "failed" if trajectory.infrastructure else "done"
        place = (run.series, draw.key, draw.draw)
        with self._lock:
            self._db.execute(
                "UPDATE trials SET state=?, finished=?, trajectory=?, owner=NULL, lease=NULL "
                "WHERE series=? AND key=? AND draw=? AND state<>'done'",
                (state, time.time(), json.dumps(vars(trajectory)), *place),
            )
            if not self.keep_raw and state == "done":
                self._db.execute("DELETE FROM calls WHERE series=? AND key=? AND draw=?", place)

    def release(self, run: Run, draw: Draw) -> None:
        """Give a claimed trial back; its finished calls stay."""
        with self._lock:
            self._db.execute(
                "UPDATE trials SET state='open', owner=NULL, lease=NULL "
                "WHERE series=? AND key=? AND draw=? AND owner=?",
                (run.series, draw.key, draw.draw, self._owner),
            )

    def release_dead(self) -> None:
        """Give back the trials of processes of this machine that no longer live."""
        with self._lock:
            owners = self._db.execute(
                "SELECT DISTINCT owner FROM trials WHERE state='leased'"
            ).fetchall()
            for (owner,) in owners:
                if owner != self._owner and _is_dead(owner):
                    self._db.execute(
                        "UPDATE trials SET state='open', owner=NULL, lease=NULL WHERE owner=?",
                        (owner,),
                    )

    def load(
        self, run: Run, draws: Iterable[Draw], *, failed: bool = False
    ) -> dict[Draw, tuple[Trajectory, int, float]]:
        """Return the finished draws among `draws`: trajectory, run that drew it, time of it.

        With `failed` also those that ended in a fault of the infrastructure.
        """
        wanted = {(draw.key, draw.draw): draw for draw in draws}
        states = ("done", "failed") if failed else ("done", "done")
        found = {}
        with self._lock:
            rows = self._db.execute(
                "SELECT key, draw, trajectory, run, finished FROM trials "
                "WHERE series=? AND state IN (?,?)",
                (run.series, *states),
            )
            for key, number, text, origin, finished in rows:
                draw = wanted.get((key, number))
                if draw is not None:
                    found[draw] = (_trajectory(text), origin, finished)
        return found

    # Calls

    def replies(self, run: Run, draw: Draw) -> dict[tuple[str, int], tuple[str, Reply]]:
        """Return the finished calls of a trial: (stage, attempt) -> (request digest, reply)."""
        with self._lock:
            rows = self._db.execute(
                "SELECT stage, attempt, request, reply FROM calls "
                "WHERE series=? AND key=? AND draw=?",
                (run.series, draw.key, draw.draw),
            ).fetchall()
        return {(row[0], row[1]): (row[2], Reply(**json.loads(row[3]))) for row in rows}

    def keep(
        self,
        run: Run,
        draw: Draw,
        stage: str,
        attempt: int,
        request: str,
        seed: int,
        reply: Reply,
        duration_s: float,
    ) -> None:
        """Store a finished call."""
        place = (run.series, draw.key, draw.draw)
        call = (stage, attempt, request, seed, json.dumps(vars(reply)), time.time(), duration_s)
        with self._lock:
            self._db.execute(
                "INSERT OR REPLACE INTO calls VALUES (?,?,?,?,?,?,?,?,?,?)", (*place, *call)
            )

    def renew(self, run: Run, draw: Draw) -> None:
        """Renew the lease of a trial that this process has."""
        with self._lock:
            self._db.execute(
                "UPDATE trials SET lease=? WHERE series=? AND key=? AND draw=? AND owner=?",
                (time.time() + LEASE_S, run.series, draw.key, draw.draw, self._owner),
            )


def _trajectory(text: str) -> Trajectory:
    fields = json.loads(text)
    fields["response_ids"] = tuple(fields["response_ids"])
    return Trajectory(**fields)


def _is_dead(owner: str) -> bool:
    host, pid, _ = owner.rsplit(":", 2)
    if host != socket.gethostname() or os.name != "posix":
        return False  # nothing can be known of it: its lease will run out
    if int(pid) == os.getpid():
        return True  # the number is ours now, so the process that had it is gone
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
