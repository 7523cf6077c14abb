"""The store: nothing drawn twice, nothing lost, nothing of another run taken for this one's."""

import os
import sqlite3
import stat
import subprocess
import sys
import threading

import pytest

from pytest_fairmedagent.domain import Trajectory, Trial
from pytest_fairmedagent.errors import StoreError
from pytest_fairmedagent.models.base import Reply
from pytest_fairmedagent.running.database import SCHEMA_VERSION
from pytest_fairmedagent.running.store import Draw, Store

DRAW = Draw(Trial("case", "reference", 0), "k" * 64, 0)


def begin(store, *, plan="p", design="d", replicates=3, configuration="c", seed=None, fresh=""):
    return store.begin(
        plan=plan,
        design=design,
        replicates=replicates,
        configuration=configuration,
        fields={},
        model="m",
        seed=seed,
        default_seed=7,
        fresh=fresh,
    )


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / ".fairmed")
    yield store
    store.close()


def test_a_trial_is_claimed_once(store):
    run = begin(store)
    assert store.claim(run, DRAW)
    assert not store.claim(run, DRAW)


def test_of_many_threads_and_connections_exactly_one_gets_each_trial(store):
    run = begin(store)
    other = Store(store.path)
    draws = [Draw(Trial("case", "reference", i), "k" * 64, i) for i in range(100)]
    got = []

    def work(which):
        for draw in draws:
            if which.claim(run, draw):
                got.append(draw)

    threads = [threading.Thread(target=work, args=(s,)) for s in (store, other) * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    other.close()
    assert sorted(got, key=lambda d: d.draw) == draws


def test_a_finished_trajectory_comes_back_as_it_was(store):
    run = begin(store)
    store.claim(run, DRAW)
    trajectory = Trajectory(
        {"triage": {"esi_acuity": 2}},
        {"order": "no JSON object in the reply"},
        calls=3,
        repairs=1,
        response_ids=("a", "b"),
    )
    store.complete(run, DRAW, trajectory)
    found, origin, _ = store.load(run, [DRAW])[DRAW]
    assert (found, origin) == (trajectory, run.id)


def test_the_first_completion_wins(store):
    run = begin(store)
    store.claim(run, DRAW)
    store.complete(run, DRAW, Trajectory({"a": {"x": 1}}))
    store.complete(run, DRAW, Trajectory({"a": {"x": 2}}))
    assert store.load(run, [DRAW])[DRAW][0].outputs == {"a": {"x": 1}}


def test_a_lease_that_ran_out_is_taken_over_and_the_first_completion_still_wins(store, monkeypatch):
    run, other = begin(store), Store(store.path)
    monkeypatch.setattr("pytest_fairmedagent.running.store.LEASE_S", -1.0)
    assert other.claim(run, DRAW)  # by a process that lives, and hangs
    assert store.claim(run, DRAW)
    store.keep(run, DRAW, "triage", 0, "digest", 5, Reply("first"), 0.1)
    store.complete(run, DRAW, Trajectory({"a": {"n": 1}}))
    other.keep(run, DRAW, "triage", 0, "digest", 5, Reply("late"), 0.1)
    other.complete(run, DRAW, Trajectory({"a": {"n": 2}}))
    other.close()
    assert store.load(run, [DRAW])[DRAW][0].outputs == {"a": {"n": 1}}
    assert store.replies(run, DRAW)["triage", 0][1].text == "first"


def test_a_renewed_lease_is_not_taken_over(store, monkeypatch):
    run, other = begin(store), Store(store.path)
    monkeypatch.setattr("pytest_fairmedagent.running.store.LEASE_S", -1.0)
    assert other.claim(run, DRAW)
    monkeypatch.setattr("pytest_fairmedagent.running.store.LEASE_S", 900.0)
    other.renew(run, DRAW)
    assert not store.claim(run, DRAW)
    store.renew(run, DRAW)  # a lease of another is not one's own to renew
    other.close()


def test_a_fault_of_the_infrastructure_leaves_the_trial_to_be_drawn_again(store):
    run = begin(store)
    store.claim(run, DRAW)
    store.complete(run, DRAW, Trajectory({}, {"trial": "timeout"}, infrastructure=True))
    assert store.load(run, [DRAW]) == {}
    assert store.load(run, [DRAW], failed=True)[DRAW][0].missing == {"trial": "timeout"}
    assert store.claim(run, DRAW)


def test_finished_calls_of_a_cut_trajectory_are_kept(store):
    run = begin(store)
    store.claim(run, DRAW)
    store.keep(run, DRAW, "triage", 0, "digest", 5, Reply("{}", response_id="r1"), 0.1)
    store.release(run, DRAW)
    assert store.claim(run, DRAW)
    assert store.replies(run, DRAW) == {("triage", 0): ("digest", Reply("{}", response_id="r1"))}


def test_without_raw_replies_only_the_decisions_stay(tmp_path):
    store = Store(tmp_path, keep_raw=False)
    run = begin(store)
    store.claim(run, DRAW)
    store.keep(run, DRAW, "triage", 0, "digest", 5, Reply("secret words"), 0.1)
    store.complete(run, DRAW, Trajectory({"triage": {"esi_acuity": 2}}))
    store.close()
    assert b"secret words" not in b"".join(p.read_bytes() for p in tmp_path.iterdir())


def test_the_trials_of_a_dead_process_are_given_back(store):
    run = begin(store)
    script = (
        "import os, sys; from pathlib import Path\n"
        "from pytest_fairmedagent.running.store import Draw, Store\n"
        "from pytest_fairmedagent.domain import Trial\n"
        "store = Store(Path(sys.argv[1]))\n"
        "run = store.begin(plan='p', design='d', replicates=3, configuration='c', fields={},"
        " model='m', seed=None, default_seed=7, fresh='')\n"
        "assert store.claim(run, Draw(Trial('case', 'reference', 0), 'k' * 64, 0))\n"
        "os._exit(9)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(store.path)], check=False)
    assert not store.claim(run, DRAW)
    store.release_dead()
    assert store.claim(run, DRAW)


def test_the_trials_of_a_living_process_are_not_given_back(store):
    run = begin(store)
    other = Store(store.path)
    assert other.claim(run, DRAW)
    store.release_dead()
    assert not store.claim(run, DRAW)
    other.close()


def test_the_same_plan_resumes_its_run_and_keeps_its_seed(store):
    first = begin(store)
    again = begin(store)
    assert (again.id, again.seed, again.resumed) == (first.id, 7, True)


def test_a_fresh_run_begins_a_series_that_all_its_processes_share(store):
    first = begin(store)
    one, two = begin(store, fresh="token"), begin(store, fresh="token")
    assert one.series != first.series
    assert (one.id, one.series) == (two.id, two.series)
    assert begin(store, fresh="another").series != one.series


def test_another_configuration_or_seed_shares_no_draws(store):
    first = begin(store)
    store.claim(first, DRAW)
    store.complete(first, DRAW, Trajectory({"a": {}}))
    assert store.load(begin(store, configuration="other"), [DRAW]) == {}
    assert store.load(begin(store, seed=8), [DRAW]) == {}
    assert store.load(begin(store, seed=7), [DRAW]) != {}


def test_more_replicates_after_a_finished_run_are_a_recorded_look(store):
    store.finish(begin(store, plan="p3", replicates=3))
    assert begin(store, plan="p10", replicates=10).earlier_looks == (3,)
    assert begin(store, plan="q", design="another", replicates=10).earlier_looks == ()


def test_a_plan_made_after_the_first_trial_is_not_registered_before_it(store):
    run = begin(store)
    store.claim(run, DRAW)
    store.complete(run, DRAW, Trajectory({"a": {}}))
    assert begin(store).registered_before_draws
    assert not begin(store, plan="afterthought", design="x").registered_before_draws


def test_the_file_is_private_and_ignored_by_git(store):
    mode = stat.S_IMODE(os.stat(store.path / "runs.sqlite").st_mode)
    assert mode == 0o600
    assert "*" in (store.path / ".gitignore").read_text().split()


def test_a_store_of_another_schema_is_refused_by_name(tmp_path):
    Store(tmp_path).close()
    with sqlite3.connect(tmp_path / "runs.sqlite") as db:
        db.execute("PRAGMA user_version=99")
    with pytest.raises(StoreError, match=f"schema version 99, expected {SCHEMA_VERSION}"):
        Store(tmp_path)


def test_a_store_that_is_no_database_is_refused_by_name(tmp_path):
    (tmp_path / "runs.sqlite").write_text("not a database, " * 100)
    with pytest.raises(StoreError, match=r"runs\.sqlite: the store cannot be opened"):
        Store(tmp_path)


def test_a_store_that_cannot_be_made_says_so(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="--fairmed-store"):
        Store(tmp_path / "file" / "store")
