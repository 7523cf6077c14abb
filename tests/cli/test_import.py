"""`fairmed import`: what was drawn elsewhere as a run of a store, and never as one's own draws."""

import json

import pytest

from pytest_fairmedagent.agents.clinical import ClinicalAgent
from pytest_fairmedagent.domain import Family, Plan, Trial
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.models.simulated import SimulatedModel, Truth
from pytest_fairmedagent.report.record import build_record
from pytest_fairmedagent.running.archive import Archive
from pytest_fairmedagent.running.replay import open_recording
from pytest_fairmedagent.running.store import Store
from pytest_fairmedagent.study import Study
from pytest_fairmedagent.testing import blank_vignettes

CATALOGUE = read_swaps()
CASES = blank_vignettes(2)
PLAN = Plan((Family("f", ("race_black",), ("admission",), tuple(CASES), 3),), "reference")


def sampled(folder, **changes):
    store = Store(folder)
    model = SimulatedModel("m", Truth(), CATALOGUE)
    study = Study(PLAN, CASES, CATALOGUE, ClinicalAgent(), model, store, **changes)
    study.sample(PLAN.families[0].members)
    store.close()
    return study


def replayed(name, base):
    study = Study(PLAN, CASES, CATALOGUE, recording=open_recording(name, base))
    study.sample(PLAN.families[0].members)
    return study


def write(path, header, rows):
    lines = [*([header] if header else []), *rows]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    return path


def row(replicate=1, **more):
    return {
        "vignette": "case",
        "condition": "reference",
        "replicate": replicate,
        "outputs": {"reassess": {"admit": True}},
        **more,
    }


def test_an_exported_run_comes_back_as_it_was(fairmed, tmp_path):
    drawn = sampled(tmp_path / "there")
    fairmed("export", tmp_path / "there", "-o", tmp_path / "rows.jsonl")
    ran = fairmed("import", tmp_path / "rows.jsonl", "--store", tmp_path / "here")
    assert ran.status == 0
    assert "12 trajectories of m, written. Replay it with --fairmed-model=recorded/" in ran.out
    again = replayed("here#1", tmp_path)
    assert again.rows() == drawn.rows()
    assert again.info.config_digest == drawn.info.config_digest
    assert again.info.since == pytest.approx(drawn.info.since, abs=1)
    fairmed("export", tmp_path / "here", "-o", tmp_path / "again.jsonl")
    first, second = (
        (tmp_path / name).read_text("utf-8").splitlines()[1:]
        for name in ("rows.jsonl", "again.jsonl")
    )
    assert first == second


def test_a_run_record_is_taken_in_with_its_configuration_and_plan(fairmed, tmp_path):
    drawn = sampled(tmp_path / "there")
    record = build_record([drawn], profile="ci", says="")
    (tmp_path / "gate.json").write_text(json.dumps(record), "utf-8")
    fairmed("import", tmp_path / "gate.json", "--store", tmp_path / "here")
    with Archive(tmp_path / "here") as archive:
        run = archive.run(1)
    assert run.imported
    assert (run.plan, run.configuration) == (PLAN.digest, drawn.info.config_digest)
    assert run.fields == json.loads(json.dumps(drawn.info.configuration))
    assert replayed("here", tmp_path).rows() == drawn.rows()


def test_own_draws_never_continue_an_imported_run(fairmed, tmp_path):
    sampled(tmp_path / "there")
    fairmed("export", tmp_path / "there", "-o", tmp_path / "rows.jsonl")
    fairmed("import", tmp_path / "rows.jsonl", "--store", tmp_path / "here")
    own = sampled(tmp_path / "here")  # the very same plan, configuration and seed
    assert (own.info.id, own.info.drawn, own.info.earlier) == (2, 12, 0)
    assert own.info.registered
    assert sampled(tmp_path / "here").info.earlier == 12  # while its own run is found again
    assert sampled(tmp_path / "here", fresh="imported").info.drawn == 12


def test_a_file_is_taken_in_once(fairmed, tmp_path):
    file = write(tmp_path / "rows.jsonl", None, [row()])
    for _ in range(2):
        ran = fairmed("import", file, "--store", tmp_path / "store")
    assert ran.out.startswith("run 1 of ")
    assert "there from before, nothing written" in ran.out
    write(file, None, [row(), row(2)])
    assert fairmed("import", file, "--store", tmp_path / "store").out.startswith("run 2 of ")


def test_blocks_and_configurations_of_a_file_become_runs_of_their_own(fairmed, tmp_path):
    rows = [
        *(row(block="pilot", config="a"), row(block="main", config="a")),
        *(row(block="main", config="b"), row(block="main", config={"model": "x"})),
    ]
    file = write(tmp_path / "rows.jsonl", {"model": "some-model"}, rows)
    ran = fairmed("import", file, "--store", tmp_path / "store")
    assert len(ran.out.splitlines()) == 4
    shown = fairmed("show", tmp_path / "store", "--json").json["runs"]
    assert [run["model"] for run in shown] == [
        *("some-model, block pilot", "some-model, block main"),
        *("some-model, block main", "some-model, block main"),
    ]
    assert [run["config_digest"] for run in shown[:3]] == ["a", "a", "b"]
    assert all(run["imported"] for run in shown)


def test_an_imported_run_is_shown_as_imported_and_trial_by_trial(fairmed, tmp_path):
    rows = [
        row(drawn="2026-01-02T03:04:05Z"),
        row(2, missing={"trial": "timeout: late"}, infrastructure=True),
        row(3, drawn="last Tuesday", input_tokens="many"),
    ]
    file = write(tmp_path / "rows.jsonl", {"model": "m"}, rows)
    fairmed("import", file, "--store", tmp_path / "store")
    assert "m (imported)" in fairmed("show", tmp_path / "store").out
    one = fairmed("show", tmp_path / "store", "--run", 1).out
    assert ", imported 20" in one
    assert "2 done, 1 failed, 0 open" in one
    trial = fairmed("show", tmp_path / "store", "--trial", "case/reference/1").out
    assert "drawn by run 1 at 2026-01-02 03:04" in trial
    assert "labels  admission yes" not in trial  # labels are of all six actions
    assert "admission yes" in trial
    recording = open_recording("store#1", tmp_path)
    assert recording.trajectory(Trial("case", "reference", 1)).infrastructure


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([row(), row()], "case, reference, replicate 1 stands twice"),
        ([row(), {**row(2), "outputs": 5}], "'outputs' is 5"),
        ([], "holds no trajectories"),
    ],
)
def test_a_file_with_a_fault_writes_nothing(fairmed, tmp_path, rows, told):
    file = write(tmp_path / "rows.jsonl", {"model": "m"}, rows)
    ran = fairmed("import", file, "--store", tmp_path / "store")
    assert (ran.status, told in ran.err) == (2, True)
    assert not (tmp_path / "store").exists()


def test_a_store_is_not_imported_but_exported_first(fairmed, tmp_path):
    sampled(tmp_path / "there")
    ran = fairmed("import", tmp_path / "there", "--store", tmp_path / "here")
    assert ran.status == 2
    assert "is a store and no record file.\n  Write its runs with `fairmed export" in ran.err
