"""The file of a store: where it may lie, how an old one is renewed, what it refuses to be."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from contextlib import closing
from pathlib import Path

import pytest

from pytest_fairmedagent.domain import Trajectory, Trial
from pytest_fairmedagent.errors import StoreError
from pytest_fairmedagent.models.base import Reply
from pytest_fairmedagent.running import database
from pytest_fairmedagent.running.archive import Archive
from pytest_fairmedagent.running.database import FILE, SCHEMA_VERSION, kind_of_disk
from pytest_fairmedagent.running.store import Draw, Store

DRAW = Draw(Trial("case", "reference", 0), "k" * 64, 0)

# A store as schema version 1 was, written out: the steps of the code must lead on from it.
VERSION_1 = """
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, series INTEGER NOT NULL, created REAL NOT NULL, finished REAL,
    plan TEXT NOT NULL, design TEXT NOT NULL, replicates INTEGER NOT NULL,
    configuration TEXT NOT NULL, fields TEXT NOT NULL, model TEXT NOT NULL, seed INTEGER NOT NULL,
    fresh TEXT NOT NULL);
CREATE TABLE trials (
    series INTEGER NOT NULL, key TEXT NOT NULL, draw INTEGER NOT NULL, run INTEGER NOT NULL,
    vignette TEXT NOT NULL, condition TEXT NOT NULL, replicate INTEGER NOT NULL,
    state TEXT NOT NULL, owner TEXT, lease REAL, finished REAL, trajectory TEXT,
    PRIMARY KEY (series, key, draw)) WITHOUT ROWID;
CREATE TABLE calls (
    series INTEGER NOT NULL, key TEXT NOT NULL, draw INTEGER NOT NULL, stage TEXT NOT NULL,
    attempt INTEGER NOT NULL, request TEXT NOT NULL, seed INTEGER NOT NULL, reply TEXT NOT NULL,
    created REAL NOT NULL, duration REAL NOT NULL,
    PRIMARY KEY (series, key, draw, stage, attempt)) WITHOUT ROWID;
INSERT INTO runs VALUES (1, 1, 1000.0, NULL, 'p', 'd', 3, 'c', '{"a": 1}', 'm', 7, '');
INSERT INTO trials VALUES (1, '{key}', 0, 1, 'case', 'reference', 0, 'done', NULL, NULL, 1001.0,
    '{"outputs": {"a": {"x": 1}}, "missing": {}, "calls": 1, "response_ids": ["r"]}');
INSERT INTO calls VALUES (1, '{key}', 0, 'triage', 0, 'digest', 5, '{"text": "hi"}', 1000.5, 0.1);
PRAGMA user_version=1;
PRAGMA journal_mode=WAL;
""".replace("{key}", DRAW.key)


def begin(store, **changes):
    given = {
        "plan": "p",
        "design": "d",
        "replicates": 3,
        "configuration": "c",
        "fields": {"a": 1},
        "model": "m",
        "seed": None,
        "default_seed": 9,
        "fresh": "",
    }
    return store.begin(**{**given, **changes})


@pytest.fixture
def old(tmp_path):
    with closing(sqlite3.connect(tmp_path / FILE)) as db:
        db.executescript(VERSION_1)
    return tmp_path


def content(folder):
    with closing(sqlite3.connect(folder / FILE)) as db:
        tables = ("runs", "trials", "calls")
        return [db.execute(f"SELECT * FROM {table}").fetchall() for table in tables]


def version(folder):
    with closing(sqlite3.connect(folder / FILE)) as db:
        return db.execute("PRAGMA user_version").fetchone()[0]


def test_a_store_of_version_1_is_renewed_and_resumed_with_all_it_holds(old):
    before = content(old)
    store = Store(old)
    assert content(old) == before
    run = begin(store, draws=[DRAW])
    assert (run.id, run.seed, run.resumed) == (1, 7, True)
    trajectory = Trajectory({"a": {"x": 1}}, calls=1, response_ids=("r",))
    assert store.load(run, [DRAW])[DRAW] == (trajectory, 1, 1001.0)
    assert store.replies(run, DRAW) == {("triage", 0): ("digest", Reply("hi"))}
    store.close()
    assert version(old) == SCHEMA_VERSION
    with Archive(old) as archive:
        assert set(archive.trials(archive.run(1))) == {DRAW.trial}


def test_a_renewed_store_has_the_tables_of_a_new_one(old, tmp_path_factory):
    def tables(folder):
        Store(folder).close()
        with closing(sqlite3.connect(folder / FILE)) as db:
            names = [r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
            return {n: db.execute(f"PRAGMA table_info({n})").fetchall() for n in names}

    assert tables(old) == tables(tmp_path_factory.mktemp("new"))


def test_a_step_that_fails_leaves_the_old_store_as_it_was(old, monkeypatch):
    before = content(old)
    steps = (*database.STEPS, ("CREATE TABLE more (id)", "no SQL"))
    monkeypatch.setattr(database, "STEPS", steps)
    monkeypatch.setattr(database, "SCHEMA_VERSION", len(steps))
    with pytest.raises(StoreError, match="the store cannot be opened: near"):
        Store(old)
    assert (version(old), content(old)) == (1, before)
    monkeypatch.undo()
    Store(old).close()
    assert version(old) == SCHEMA_VERSION


@pytest.mark.parametrize("new", [True, False])
def test_processes_that_open_a_store_at_once_all_get_it(new, tmp_path):
    faults = []

    def work(folder):
        barrier.wait()
        try:
            Store(folder).close()
        except Exception as error:
            faults.append(error)

    for i in range(20):
        folder = tmp_path / str(i)
        if not new:
            folder.mkdir()
            with closing(sqlite3.connect(folder / FILE)) as db:
                db.executescript(VERSION_1)
        barrier = threading.Barrier(6)
        threads = [threading.Thread(target=work, args=(folder,)) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert faults == []


def test_a_lock_at_the_change_of_the_journal_is_waited_for(tmp_path, monkeypatch):
    left = ["database is locked"] * 3

    class Busy(database.Database):
        def execute(self, statement, values=()):
            if "journal_mode" in statement and left:
                raise sqlite3.OperationalError(left.pop())
            return super().execute(statement, values)

    Busy(tmp_path).close()
    assert version(tmp_path) == SCHEMA_VERSION
    monkeypatch.setattr(database, "TIMEOUT_S", 0.0)
    left += ["database is locked"] * 3
    with pytest.raises(StoreError, match="the store cannot be opened: database is locked"):
        Busy(tmp_path)


def test_another_programs_database_is_refused_and_not_touched(tmp_path):
    with closing(sqlite3.connect(tmp_path / FILE)) as db:
        db.execute("CREATE TABLE patients (id)")
    with pytest.raises(StoreError, match=r"database of something else \(tables patients\)"):
        Store(tmp_path)
    with closing(sqlite3.connect(tmp_path / FILE)) as db:
        assert db.execute("SELECT name FROM sqlite_master").fetchall() == [("patients",)]


def test_a_store_that_lost_a_table_is_refused_by_its_name(old):
    with closing(sqlite3.connect(old / FILE)) as db:
        db.execute("DROP TABLE calls")
    with pytest.raises(StoreError, match=r"damaged: it lacks the tables calls of schema version 1"):
        Store(old)


def test_the_file_alone_is_whole_once_a_process_has_closed_it(tmp_path):
    store, other = Store(tmp_path / "store"), Store(tmp_path / "store")
    run = begin(store)
    store.claim(run, DRAW)
    store.complete(run, DRAW, Trajectory({"a": {"x": 1}}))
    store.close()  # `other` keeps the log from being removed
    shutil.copy(tmp_path / "store" / FILE, tmp_path / "copy.sqlite")
    other.close()
    with Archive(tmp_path / "copy.sqlite") as archive:
        (found,) = archive.trials(archive.run()).values()
        assert found.trajectory.outputs == {"a": {"x": 1}}


def test_a_store_closes_twice_and_while_another_writes(tmp_path):
    store, other = Store(tmp_path), Store(tmp_path)
    with other._db.transaction():
        store.close()
        store.close()
    other.close()


def test_what_was_read_and_what_was_drawn_is_counted(tmp_path):
    other = Draw(DRAW.trial, DRAW.key, 1)
    for hits, misses, found, made in [(0, 1, 0, 1), (1, 1, 1, 0)]:
        store = Store(tmp_path)
        run = begin(store)
        store.load(run, [DRAW, other])
        draw = DRAW if not hits else other
        store.claim(run, draw)
        store.claim(run, draw)
        if not hits:
            store.keep(run, draw, "triage", 0, "digest", 5, Reply("hi"), 0.1)
            store.complete(run, draw, Trajectory({}))
            store.load(run, [DRAW])
        else:
            store.replies(run, DRAW)
        counted = (store.hits, store.misses, store.calls_found, store.calls_made)
        assert counted == (hits, misses, found, made)
        store.close()


MOUNTS = r"""
/dev/sda1 / ext4 rw 0 0
server:/home /home nfs4 rw 0 0
/dev/sdb1 /home/local xfs rw 0 0
//nas/x /mnt/two\040words cifs rw 0 0
me@host:/ /mnt/ssh fuse.sshfs rw 0 0
/dev/sdc1 /over ext4 rw 0 0
server:/over /over nfs rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/srv/project/.fairmed", "ext4"),
        ("/home/me/.fairmed", "nfs4"),
        ("/home/local/.fairmed", "xfs"),
        ("/homeward/.fairmed", "ext4"),
        ("/mnt/two words/a", "cifs"),
        ("/mnt/ssh", "fuse.sshfs"),
        ("/over/x", "nfs"),
    ],
)
def test_a_folder_lies_on_the_disk_that_is_mounted_deepest_above_it(path, kind):
    assert kind_of_disk(Path(path), MOUNTS) == kind


def test_no_known_disk_is_none():
    assert kind_of_disk(Path("/srv"), "") == ""


def test_a_folder_on_a_network_disk_is_refused_before_anything_is_made(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "kind_of_disk", lambda path, mounts: "nfs4")
    with pytest.raises(StoreError, match=r"lies on a network disk \(nfs4\), expected a local one"):
        Store(tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_a_store_on_a_network_disk_can_still_be_read(old, monkeypatch):
    monkeypatch.setattr(database, "kind_of_disk", lambda path, mounts: "nfs4")
    with Archive(old) as archive:
        assert archive.run().id == 1


@pytest.mark.skipif(os.name != "posix", reason="rights as POSIX has them")
def test_a_place_that_may_only_be_read_is_refused_for_runs_and_read_for_replay():
    # Root may write everywhere, so the process becomes another user's where the tests are root's,
    # which pytest's own folders would not let in.
    folder = Path(tempfile.mkdtemp())
    try:
        store = Store(folder / "store")
        run = begin(store)
        store.claim(run, DRAW)
        store.complete(run, DRAW, Trajectory({}))
        store.close()
        for path in (folder / "store" / FILE, folder / "store", folder):
            path.chmod(0o444 if path.is_file() else 0o555)
        script = (
            # What is imported later may lie where only root can read, so it is imported now.
            "import os, sys, traceback, urllib.parse, urllib.request; from pathlib import Path\n"
            "from pytest_fairmedagent.running.archive import Archive\n"
            "from pytest_fairmedagent.running.store import Store\n"
            "path = Path(sys.argv[1])\n"
            "if os.geteuid() == 0: os.setgroups([]); os.setegid(65534); os.seteuid(65534)\n"
            "with Archive(path) as archive: print(len(archive.trials(archive.run())), 'read')\n"
            "try: Store(path)\n"
            "except Exception as error: print(type(error).__name__, error)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", script, str(folder / "store")],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout.startswith("1 read\nStoreError "), done.stderr
        assert "a folder on a local disk that may be written to" in done.stdout
        assert f"--fairmed-model=recorded/{folder / 'store'}" in done.stdout
    finally:
        for path in (folder, folder / "store"):
            path.chmod(0o755)
        shutil.rmtree(folder)
