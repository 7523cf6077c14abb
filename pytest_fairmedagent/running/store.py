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
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_fairmedagent.domain import Trajectory
from pytest_fairmedagent.models.base import Reply
from pytest_fairmedagent.running.database import Database
from pytest_fairmedagent.running.runs import Draw, Run, Runs

__all__ = ["LEASE_S", "Draw", "Run", "Store"]

LEASE_S = 900.0  # renewed while calls end, so it need only outlast the longest one

_PROCESS = time.time_ns()  # tells this process from an earlier one with the same number


class Store(Runs):
    """A store in the folder `path`. Opened by one process, used by all of its threads.

    `calls_found` are calls of trials begun before that this process found answered, `calls_made`
    those it had answered itself and kept; `hits` and `misses` are the same of whole trials.
    """

    def __init__(self, path: Path, *, keep_raw: bool = True) -> None:
        super().__init__(Database(path))
        self.path = path
        self.keep_raw = keep_raw
        if not keep_raw:  # what is deleted is overwritten too, and not only forgotten
            self._db.execute("PRAGMA secure_delete=ON")
        self._owner = f"{socket.gethostname()}:{os.getpid()}:{_PROCESS}"
        self._found: set[tuple[int, str, int]] = set()
        self._claimed: set[tuple[int, str, int]] = set()
        self.calls_found = self.calls_made = 0
        try:
            self.release_dead()
        except sqlite3.Error as error:
            self._db.close()
            raise self._db.refusal(error) from error

    @property
    def hits(self) -> int:
        """Trials that were read and not drawn by this process."""
        return len(self._found - self._claimed)

    @property
    def misses(self) -> int:
        """Trials that this process took, for they were not there."""
        return len(self._claimed)

    @property
    def size(self) -> int:
        """Bytes of the store, with what is in its log and not in its file yet."""
        with self._db.lock:
            n_bytes = self._db.execute(
                "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
            ).fetchone()[0]
        return int(n_bytes)

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def reopened(self) -> Iterator[Store]:
        """Yield this store, or where it was closed another one in its folder for the while."""
        if not self._db.closed:
            yield self
            return
        store = Store(self.path, keep_raw=self.keep_raw)
        try:
            yield store
        finally:
            store.close()

    # Trials

    def claim(self, run: Run, draw: Draw) -> bool:
        """Take a trial for this process. False where it is done or another process has it."""
        now = time.time()
        trial = draw.trial
        with self._db.lock:
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
            if row is not None:
                self._claimed.add((run.series, draw.key, draw.draw))
        return row is not None

    def complete(self, run: Run, draw: Draw, trajectory: Trajectory) -> None:
        """Store the trajectory of a trial; the first completion wins.

        A fault of the infrastructure leaves the trial to be drawn again by a later start.
        """
        state = "failed" if trajectory.infrastructure else "done"
        place = (run.series, draw.key, draw.draw)
        with self._db.lock:
            self._db.execute(
                "UPDATE trials SET state=?, finished=?, trajectory=?, owner=NULL, lease=NULL "
                "WHERE series=? AND key=? AND draw=? AND state<>'done'",
                (state, time.time(), json.dumps(vars(trajectory)), *place),
            )
            if not self.keep_raw and state == "done":
                self._db.execute("DELETE FROM calls WHERE series=? AND key=? AND draw=?", place)

    def release(self, run: Run, draw: Draw) -> None:
        """Give a claimed trial back; its finished calls stay."""
        with self._db.lock:
            self._db.execute(
                "UPDATE trials SET state='open', owner=NULL, lease=NULL "
                "WHERE series=? AND key=? AND draw=? AND owner=?",
                (run.series, draw.key, draw.draw, self._owner),
            )

    def release_dead(self) -> None:
        """Give back the trials of processes of this machine that no longer live."""
        with self._db.lock:
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
        with self._db.lock:
            rows = self._db.execute(
                "SELECT key, draw, trajectory, run, finished FROM trials "
                "WHERE series=? AND state IN (?,?)",
                (run.series, *states),
            )
            for key, number, text, origin, finished in rows:
                draw = wanted.get((key, number))
                if draw is not None:
                    found[draw] = (read_trajectory(text), origin, finished)
                    self._found.add((run.series, key, number))
        return found

    # Calls

    def replies(self, run: Run, draw: Draw) -> dict[tuple[str, int], tuple[str, Reply]]:
        """Return the finished calls of a trial: (stage, attempt) -> (request digest, reply)."""
        with self._db.lock:
            rows = self._db.execute(
                "SELECT stage, attempt, request, reply FROM calls "
                "WHERE series=? AND key=? AND draw=?",
                (run.series, draw.key, draw.draw),
            ).fetchall()
            self.calls_found += len(rows)
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
        """Store a finished call, unless another process has completed its trial meanwhile."""
        place = (run.series, draw.key, draw.draw)
        call = (stage, attempt, request, seed, json.dumps(vars(reply)), time.time(), duration_s)
        with self._db.lock:
            self._db.execute(
                "INSERT OR REPLACE INTO calls SELECT ?,?,?,?,?,?,?,?,?,? WHERE NOT EXISTS ("
                "SELECT 1 FROM trials WHERE series=? AND key=? AND draw=? AND state='done')",
                (*place, *call, *place),
            )
            self.calls_made += 1

    def renew(self, run: Run, draw: Draw) -> None:
        """Renew the lease of a trial that this process has."""
        with self._db.lock:
            self._db.execute(
                "UPDATE trials SET lease=? WHERE series=? AND key=? AND draw=? AND owner=?",
                (time.time() + LEASE_S, run.series, draw.key, draw.draw, self._owner),
            )


def read_trajectory(text: str) -> Trajectory:
    """Return a trajectory as `complete` has written it."""
    fields = json.loads(text)
    fields["response_ids"] = tuple(fields["response_ids"])
    fields["ballots"] = tuple(fields.get("ballots", ()))
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
