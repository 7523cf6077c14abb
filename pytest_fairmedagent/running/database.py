"""The SQLite file of a store: where it may lie, its tables, and how an older one is renewed.

Several processes may work on it together. Whoever decides something does so in one statement or in
one `transaction`: reading first and writing after would let two processes draw the same trial.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_fairmedagent.errors import StoreError

FILE = "runs.sqlite"
TIMEOUT_S = 60.0  # how long a statement waits for another process

# Step i leads from schema version i to i + 1. A step that was released is never edited: stores
# that took it would differ from those that take it now.
STEPS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE runs (
            id INTEGER PRIMARY KEY, series INTEGER NOT NULL, created REAL NOT NULL, finished REAL,
            plan TEXT NOT NULL, design TEXT NOT NULL, replicates INTEGER NOT NULL,
            configuration TEXT NOT NULL, fields TEXT NOT NULL, model TEXT NOT NULL,
            seed INTEGER NOT NULL, fresh TEXT NOT NULL)""",
        """CREATE TABLE trials (
            series INTEGER NOT NULL, key TEXT NOT NULL, draw INTEGER NOT NULL, run INTEGER NOT NULL,
            vignette TEXT NOT NULL, condition TEXT NOT NULL, replicate INTEGER NOT NULL,
            state TEXT NOT NULL, owner TEXT, lease REAL, finished REAL, trajectory TEXT,
            PRIMARY KEY (series, key, draw)) WITHOUT ROWID""",
        """CREATE TABLE calls (
            series INTEGER NOT NULL, key TEXT NOT NULL, draw INTEGER NOT NULL, stage TEXT NOT NULL,
            attempt INTEGER NOT NULL, request TEXT NOT NULL, seed INTEGER NOT NULL,
            reply TEXT NOT NULL, created REAL NOT NULL, duration REAL NOT NULL,
            PRIMARY KEY (series, key, draw, stage, attempt)) WITHOUT ROWID""",
    ),
    (
        # The trials of a run under the names they had in it. Without it a run that took over the
        # draws of an earlier one, or whose vignettes were renamed, cannot be told from the others
        # of its series.
        """CREATE TABLE places (
            run INTEGER NOT NULL, vignette TEXT NOT NULL, condition TEXT NOT NULL,
            replicate INTEGER NOT NULL, key TEXT NOT NULL, draw INTEGER NOT NULL,
            PRIMARY KEY (run, vignette, condition, replicate)) WITHOUT ROWID""",
    ),
    (
        # When a run was looked at before its end, and which contrasts went on then. An early end
        # for want of money is a look too, after which none is planned.
        """CREATE TABLE looks (
            run INTEGER NOT NULL, replicates INTEGER NOT NULL, created REAL NOT NULL, going TEXT,
            PRIMARY KEY (run, replicates)) WITHOUT ROWID""",
    ),
    (
        # The measured number of calls under way at once, for a configuration but for that number:
        # a resumed run that measured anew would come to another one, and start all over.
        """CREATE TABLE concurrency (
            configuration TEXT NOT NULL, fresh TEXT NOT NULL, created REAL NOT NULL,
            measured TEXT NOT NULL, PRIMARY KEY (configuration, fresh)) WITHOUT ROWID""",
    ),
    (
        # What was registered, started, looked at and said, in this order, never to be taken back:
        # what a later verdict may claim of the same draws depends on it.
        """CREATE TABLE ledger (
            id INTEGER PRIMARY KEY, kind TEXT NOT NULL, created REAL NOT NULL,
            run INTEGER NOT NULL, series INTEGER NOT NULL, configuration TEXT NOT NULL,
            design TEXT NOT NULL, cases TEXT NOT NULL, line INTEGER NOT NULL,
            subject TEXT NOT NULL, content TEXT NOT NULL, UNIQUE (kind, run, subject))""",
        """CREATE TRIGGER ledger_keeps_rows BEFORE DELETE ON ledger
            BEGIN SELECT RAISE(ABORT, 'the ledger is only added to'); END""",
        """CREATE TRIGGER ledger_keeps_words BEFORE UPDATE ON ledger
            BEGIN SELECT RAISE(ABORT, 'the ledger is only added to'); END""",
        # A replacing insert deletes without asking the trigger above. What is there stays.
        """CREATE TRIGGER ledger_keeps_first BEFORE INSERT ON ledger
            WHEN EXISTS (SELECT 1 FROM ledger WHERE id=NEW.id OR
                (kind=NEW.kind AND run=NEW.run AND subject=NEW.subject))
            BEGIN SELECT RAISE(IGNORE); END""",
        # Of what was judged before there was a ledger, only run and design are known.
        """INSERT INTO ledger (kind, created, run, series, configuration, design, cases, line,
                subject, content)
            SELECT 'start', created, id, series, configuration, design, '', 0, '',
                json_object('plan', plan, 'replicates', replicates, 'model', model, 'seed', seed,
                'older', json('true')) FROM runs WHERE fresh<>'imported' ORDER BY id""",
        """INSERT INTO ledger (kind, created, run, series, configuration, design, cases, line,
                subject, content)
            SELECT 'look', coalesce(finished, created), id, series, configuration, design, '', 0,
                'older|' || at, json_object('at', json_array(at, 'off'), 'older', json('true'))
            FROM (SELECT *, replicates AS at FROM runs WHERE finished IS NOT NULL UNION ALL
                SELECT runs.*, looks.replicates AS at FROM runs JOIN looks ON looks.run=runs.id
                WHERE looks.going IS NULL) WHERE fresh<>'imported' ORDER BY id, at""",
    ),
)
SCHEMA_VERSION = len(STEPS)
TABLES = (  # that each step adds
    frozenset({"runs", "trials", "calls"}),
    frozenset({"places"}),
    frozenset({"looks"}),
    frozenset({"concurrency"}),
    frozenset({"ledger"}),
)

# Of these the locks, and the memory that readers of a write-ahead log share, hold on one machine
# only: two machines would corrupt the file without noticing.
NETWORK = (
    *("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "lustre", "gpfs", "beegfs"),
    *("fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.rclone", "fuse.s3fs", "fuse.gcsfuse"),
)


class Database:
    """The connection of one process to the store in `folder`, used by all of its threads."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / FILE
        self.lock = threading.RLock()
        self.closed = False
        refuse_network(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            ignore = folder / ".gitignore"
            if not ignore.exists():
                ignore.write_text("# Trajectories may hold case text.\n*\n", encoding="utf-8")
            if not self.file.exists():
                os.close(os.open(self.file, os.O_CREAT | os.O_RDWR, 0o600))
            self._connection = sqlite3.connect(
                self.file, timeout=TIMEOUT_S, isolation_level=None, check_same_thread=False
            )
            try:
                self._settle()
            except BaseException:
                self._connection.close()
                raise
        except (OSError, sqlite3.Error) as error:
            raise self.refusal(error) from error

    def refusal(self, error: Exception) -> StoreError:
        """Return what to tell of a store that cannot be opened."""
        return StoreError(
            f"{self.file}: the store cannot be opened: {error}\n"
            "  It needs a folder on a local disk that may be written to: name one with "
            "--fairmed-store. A store that may only be read is replayed with "
            f"--fairmed-model=recorded/{self.file.parent}."
        )

    def execute(self, statement: str, values: tuple[object, ...] = ()) -> sqlite3.Cursor:
        """Run one statement. Hold `lock` while rows are read from what comes back."""
        return self._connection.execute(statement, values)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold off every other writer from the first read to the last write."""
        with self.lock:
            self.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self.execute("ROLLBACK")
                raise
            self.execute("COMMIT")

    def close(self) -> None:
        """Move what is in the write-ahead log to the file, so that the file alone can be copied."""
        with self.lock:
            # It waits for nobody, and one that fails loses nothing: the next start reads the log.
            with contextlib.suppress(sqlite3.Error):
                self.execute("PRAGMA wal_checkpoint(PASSIVE)")
            self._connection.close()
            self.closed = True

    def _settle(self) -> None:
        """Set the journal and bring the tables up to date, whoever else is just doing the same.

        SQLite waits for other processes everywhere but in the change of the journal, where it says
        at once that the file is locked. Of workers that start together some would meet that.
        """
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            try:
                self.execute("PRAGMA journal_mode=WAL")
                self.execute("PRAGMA synchronous=NORMAL")  # a killed process loses nothing
                return self._migrate()
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def _migrate(self) -> None:
        if self._version() == SCHEMA_VERSION:
            return
        with self.transaction():  # another process may be at it, so the version is read again
            version = self._version()
            for step in STEPS[version:]:
                for statement in step:
                    self.execute(statement)
            self.execute(f"PRAGMA user_version={SCHEMA_VERSION}")

    def _version(self) -> int:
        return check_schema(self._connection, self.file)


def check_schema(connection: sqlite3.Connection, file: Path) -> int:
    """Return the schema version of a file; 0 for an empty one. Raises StoreError for no store.

    It looks at the file's first pages only, so it costs the same for every size.
    """
    # In one statement, or another process could create the tables between the two answers.
    version, names = connection.execute(
        "SELECT (SELECT user_version FROM pragma_user_version), group_concat(name) "
        "FROM sqlite_master WHERE type='table'"
    ).fetchone()
    tables = set(names.split(",")) if names else set()
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"{file}: schema version {version}, expected {SCHEMA_VERSION}.\n"
            "  Use the pytest-fairmedagent that wrote it, or name another --fairmed-store."
        )
    if version == 0 and tables:
        raise StoreError(
            f"{file}: is a database of something else (tables {', '.join(sorted(tables))}), "
            "expected a store.\n  Name another --fairmed-store."
        )
    missing = frozenset().union(*TABLES[:version]) - tables
    if missing:
        raise StoreError(
            f"{file}: the store is damaged: it lacks the tables {', '.join(sorted(missing))} of "
            f"schema version {version}.\n  Restore a copy, or name another --fairmed-store."
        )
    return int(version)


def refuse_network(folder: Path) -> None:
    """Raise StoreError for a folder on a network disk. Known on Linux only."""
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return
    kind = kind_of_disk(folder.resolve(), mounts)
    if kind in NETWORK:
        raise StoreError(
            f"{folder}: lies on a network disk ({kind}), expected a local one: there a store that "
            "several processes write to can be corrupted without a sign.\n"
            "  Name a folder on a local disk with --fairmed-store. A finished store may be copied "
            "here, and is read from here with recorded/PATH and fairmed show."
        )


def kind_of_disk(path: Path, mounts: str) -> str:
    """Return the file system that an absolute path lies on, by the lines of /proc/mounts."""
    found, best = "", -1
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        place = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[1])
        depth = len(Path(place).parts)
        # Of two on the same place the later one hides the earlier.
        if depth >= best and path.is_relative_to(place):
            found, best = fields[2], depth
    return found
