"""A store as a recording: any run of it, read and never written."""

import json
import os
import shutil
import sqlite3
import time
from contextlib import closing

import pytest

from pytest_fairmedagent.agents.clinical import ClinicalAgent
from pytest_fairmedagent.domain import Family, Plan, Trajectory, Trial
from pytest_fairmedagent.errors import StoreError
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.models.simulated import SimulatedModel, Truth
from pytest_fairmedagent.running.replay import RunRecording, open_recording
from pytest_fairmedagent.running.store import Draw, Store
from pytest_fairmedagent.study import Study
from pytest_fairmedagent.testing import blank_vignettes

CATALOGUE = read_swaps()
CASES = blank_vignettes(2)


def plan(replicates=3):
    family = Family("f", ("race_black",), ("admission",), tuple(CASES), replicates)
    return Plan((family,), "reference", ("rerender",))


def sampled(folder, replicates=3, **changes):
    store = Store(folder)
    model = SimulatedModel("m", Truth(), CATALOGUE)
    study = Study(plan(replicates), CASES, CATALOGUE, ClinicalAgent(), model, store, **changes)
    study.sample(study.plan.families[0].members)
    store.close()
    return study


def replayed(recording, replicates=3):
    study = Study(plan(replicates), CASES, CATALOGUE, recording=recording)
    study.sample(study.plan.families[0].members)
    return study


def begin(store, draws, **changes):
    given = {
        "plan": "p",
        "design": "d",
        "replicates": 3,
        "configuration": "c",
        "fields": {"model": "m"},
        "model": "m",
        "seed": None,
        "default_seed": 7,
        "fresh": "",
    }
    return store.begin(**{**given, **changes}, draws=draws)


def finish(store, run, draw, value=1):
    store.claim(run, draw)
    store.complete(run, draw, Trajectory({"a": {"x": value}}))


def test_a_replayed_run_has_the_rows_verdicts_and_configuration_of_the_run(tmp_path):
    drawn = sampled(tmp_path / "store")
    again = replayed(open_recording("store", tmp_path))
    assert again.rows() == drawn.rows()
    assert again.info.config_digest == drawn.info.config_digest
    assert [str(v) for v in again.judge().verdicts] == [str(v) for v in drawn.judge().verdicts]
    assert again.info.model.endswith("store#1")


def test_the_file_of_a_store_is_replayed_under_any_name(tmp_path):
    drawn = sampled(tmp_path / "store")
    shutil.copy(tmp_path / "store" / "runs.sqlite", tmp_path / "kept.db")
    assert replayed(open_recording("kept.db", tmp_path)).rows() == drawn.rows()


def test_replaying_changes_no_byte_and_leaves_no_file(tmp_path):
    sampled(tmp_path / "store")
    file = tmp_path / "store" / "runs.sqlite"
    file.chmod(0o444)
    file.parent.chmod(0o555)
    before = (file.read_bytes(), file.stat().st_mtime_ns, sorted(os.listdir(file.parent)))
    replayed(open_recording("store", tmp_path))
    assert (file.read_bytes(), file.stat().st_mtime_ns, sorted(os.listdir(file.parent))) == before
    file.parent.chmod(0o755)


def test_what_another_process_has_just_written_is_replayed_too(tmp_path):
    store = Store(tmp_path)
    draw = Draw(Trial("case", "reference", 0), "k", 0)
    run = begin(store, [draw])
    finish(store, run, draw)
    store.finish(run)
    assert (tmp_path / "runs.sqlite-wal").stat().st_size > 0
    assert RunRecording(tmp_path).trajectory(draw.trial).outputs == {"a": {"x": 1}}
    store.close()


def test_the_newest_finished_run_is_replayed_and_another_by_its_number(tmp_path):
    first = sampled(tmp_path / "store", seed=1)
    second = sampled(tmp_path / "store", seed=2)
    store = Store(tmp_path / "store")
    begin(store, [])
    store.close()
    assert first.rows() != second.rows()
    assert replayed(open_recording("store", tmp_path)).rows() == second.rows()
    assert replayed(open_recording("store#1", tmp_path)).rows() == first.rows()
    with pytest.raises(StoreError, match=r"no run 9. Its runs: 1, 2, 3 \(unfinished\)"):
        open_recording("store#9", tmp_path)


def test_a_store_without_a_finished_run_asks_for_its_number(tmp_path):
    store = Store(tmp_path / "store")
    draws = [Draw(Trial("case", "reference", i), "k", i) for i in range(2)]
    finish(store, begin(store, draws), draws[0])
    store.close()
    with pytest.raises(StoreError, match=r"no finished run. Its runs: 1 \(unfinished\)"):
        open_recording("store", tmp_path)
    recording = open_recording("store#1", tmp_path)
    assert abs(recording.since - time.time()) < 60
    assert recording.trajectory(draws[0].trial).outputs == {"a": {"x": 1}}
    with pytest.raises(StoreError, match=r"an unfinished trajectory of case, .* 2\."):
        recording.trajectory(draws[1].trial)
    with pytest.raises(StoreError, match="no trajectory of case, sham, replicate 1"):
        recording.trajectory(Trial("case", "sham", 0))


def test_a_run_is_replayed_with_the_draws_it_took_over_from_an_earlier_one(tmp_path):
    sampled(tmp_path / "store", replicates=2)
    ten = sampled(tmp_path / "store", replicates=4)
    assert ten.info.earlier == 2 * 3 * 2
    assert replayed(open_recording("store", tmp_path), replicates=4).rows() == ten.rows()


def test_a_renamed_vignette_is_replayed_by_the_name_it_had_in_the_run(tmp_path):
    store = Store(tmp_path)
    old, new = (Draw(Trial(name, "reference", 0), "k", 0) for name in ("old", "new"))
    run = begin(store, [old])
    finish(store, run, old)
    store.finish(run)
    renamed = begin(store, [new], plan="renamed")
    assert set(store.load(renamed, [new])) == {new}
    store.finish(renamed)
    store.close()
    assert RunRecording(tmp_path).trajectory(new.trial).outputs == {"a": {"x": 1}}
    assert RunRecording(tmp_path, 1).trajectory(old.trial).outputs == {"a": {"x": 1}}
    with pytest.raises(StoreError, match="no trajectory of old"):
        RunRecording(tmp_path).trajectory(old.trial)


def test_an_edited_vignette_is_replayed_as_it_was_in_each_run(tmp_path):
    store = Store(tmp_path)
    for key, value in (("before", 1), ("after", 2)):
        draw = Draw(Trial("case", "reference", 0), key, 0)
        run = begin(store, [draw], plan=key)
        finish(store, run, draw, value)
        store.finish(run)
    store.close()
    trial = Trial("case", "reference", 0)
    assert RunRecording(tmp_path, 1).trajectory(trial).outputs == {"a": {"x": 1}}
    assert RunRecording(tmp_path, 2).trajectory(trial).outputs == {"a": {"x": 2}}


def test_a_run_that_went_on_with_an_edited_vignette_is_replayed_with_the_edited_one(tmp_path):
    store = Store(tmp_path)
    trial = Trial("case", "reference", 0)
    for key, value in (("before", 1), ("after", 2)):
        draw = Draw(trial, key, 0)
        finish(store, begin(store, [draw]), draw, value)
    store.close()
    assert RunRecording(tmp_path, 1).trajectory(trial).outputs == {"a": {"x": 2}}


def test_a_trial_lost_to_the_infrastructure_is_replayed_as_missing(tmp_path):
    store = Store(tmp_path)
    draw = Draw(Trial("case", "reference", 0), "k", 0)
    run = begin(store, [draw])
    store.claim(run, draw)
    store.complete(run, draw, Trajectory({}, {"trial": "timeout"}, infrastructure=True))
    store.close()
    assert RunRecording(tmp_path, run.id).trajectory(draw.trial).missing == {"trial": "timeout"}


def test_a_store_of_schema_version_1_is_replayed_without_being_changed(tmp_path):
    drawn = sampled(tmp_path)
    file = tmp_path / "runs.sqlite"
    with closing(sqlite3.connect(file)) as db:
        db.executescript("DROP TABLE places; PRAGMA user_version=1; PRAGMA journal_mode=DELETE;")
    before = file.read_bytes()
    assert replayed(RunRecording(tmp_path)).rows() == drawn.rows()
    assert file.read_bytes() == before


def test_a_folder_without_a_store_and_a_foreign_database_are_refused_by_name(tmp_path):
    with pytest.raises(StoreError, match=r"holds no store. Expected a folder with runs\.sqlite"):
        open_recording("", tmp_path)
    with closing(sqlite3.connect(tmp_path / "other.db")) as db:
        db.execute("CREATE TABLE patients (id)")
    with pytest.raises(StoreError, match=r"is a database of something else \(tables patients\)"):
        open_recording("other.db", tmp_path)


@pytest.mark.parametrize("name", ["nowhere", "nowhere#1", "nowhere.json"])
def test_a_path_with_nothing_is_told_what_may_be_there(tmp_path, name):
    with pytest.raises(StoreError, match=r"does not exist, expected a record file .* or a store"):
        open_recording(name, tmp_path)


def test_a_record_file_is_still_a_recording_and_has_no_runs(tmp_path):
    row = '{"vignette": "v", "condition": "c", "replicate": 1, "outputs": {}}\n'
    (tmp_path / "rows.jsonl").write_text(row)
    (tmp_path / "rows#2").write_text(row)
    for name in ("rows.jsonl", "rows#2"):
        assert open_recording(name, tmp_path).trajectory(Trial("v", "c", 0)).outputs == {}
    with pytest.raises(StoreError, match="is no store, so it has no run 2"):
        open_recording("rows.jsonl#2", tmp_path)


def test_a_row_that_was_recorded_as_cut_is_replayed_without_what_it_says(tmp_path):
    row = {
        "vignette": "v",
        "condition": "c",
        "replicate": 1,
        "outputs": {"reassess": {"admit": True}},
    }
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({**row, "complete": False}) + "\n")
    trajectory = open_recording("rows.jsonl", tmp_path).trajectory(Trial("v", "c", 0))
    assert trajectory.outputs == {}
    assert trajectory.missing == {"trial": "recorded as incomplete"}
    path.write_text(json.dumps({**row, "complete": True}) + "\n")
    assert open_recording("rows.jsonl", tmp_path).trajectory(Trial("v", "c", 0)).complete
