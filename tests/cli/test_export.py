"""`fairmed export`: a run of a store as a record file that says the same."""

import json

import pytest

from pytest_fairmedagent.agents.clinical import ClinicalAgent
from pytest_fairmedagent.domain import Family, Plan, Trajectory, Trial
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.models.simulated import SimulatedModel, Truth
from pytest_fairmedagent.running.replay import open_recording
from pytest_fairmedagent.running.store import Draw, Store
from pytest_fairmedagent.study import Study
from pytest_fairmedagent.testing import blank_vignettes

CATALOGUE = read_swaps()
CASES = blank_vignettes(2)
PLAN = Plan((Family("f", ("race_black",), ("admission",), tuple(CASES), 3),), "reference")


@pytest.fixture
def study(tmp_path):
    store = Store(tmp_path / "store")
    model = SimulatedModel("m", Truth(), CATALOGUE)
    study = Study(PLAN, CASES, CATALOGUE, ClinicalAgent(), model, store)
    study.sample(PLAN.families[0].members)
    store.close()
    return study


def test_an_exported_run_is_replayed_with_equal_rows_and_configuration(fairmed, study, tmp_path):
    ran = fairmed("export", tmp_path / "store", "-o", tmp_path / "rows.jsonl")
    assert (ran.status, "12 trajectories written to" in ran.out) == (0, True)
    again = Study(PLAN, CASES, CATALOGUE, recording=open_recording("rows.jsonl", tmp_path))
    again.sample(PLAN.families[0].members)
    assert again.rows() == study.rows()
    assert again.info.config_digest == study.info.config_digest


def test_an_exported_run_is_analysed_as_it_is(fairmed, study, tmp_path):
    fairmed("export", tmp_path / "store", "-o", tmp_path / "rows.jsonl")
    found = fairmed("analyse", tmp_path / "rows.jsonl", "--json").json
    assert found["contrasts"][0]["reference"] == "reference"
    assert {arm["config_digest"] for arm in found["arms"]} == {study.info.config_digest}
    assert found["arms"][0]["model"] == "m"


def test_the_ids_of_answers_are_exported_and_read_back(fairmed, tmp_path):
    store = Store(tmp_path / "store")
    draws = [Draw(Trial("case", "reference", i), "k", i) for i in range(3)]
    run = store.begin(
        plan="p",
        design="d",
        replicates=3,
        configuration="c",
        fields={},
        model="m",
        seed=None,
        default_seed=7,
        fresh="",
        draws=draws,
    )
    lost = Trajectory({}, {"trial": "timeout"}, infrastructure=True)
    kept = [Trajectory({}, response_ids=("a", "b")), lost]
    for draw, trajectory in zip(draws, kept, strict=False):
        store.claim(run, draw)
        store.complete(run, draw, trajectory)
    store.close()
    ran = fairmed("export", tmp_path / "store", "-o", tmp_path / "rows.jsonl")
    assert ran.out.endswith("1 lost to the infrastructure, 1 open and left out\n")
    recording = open_recording("rows.jsonl", tmp_path)
    assert recording.trajectory(draws[0].trial).response_ids == ("a", "b")
    assert recording.trajectory(draws[1].trial).missing == {"trial": "timeout"}
    header = json.loads((tmp_path / "rows.jsonl").read_text("utf-8").splitlines()[0])
    assert (header["run"]["id"], header["run"]["open"]) == (1, 1)


def test_a_place_that_cannot_be_written_is_said_and_leaves_nothing(fairmed, study, tmp_path):
    ran = fairmed("export", tmp_path / "store", "-o", tmp_path / "no" / "rows.jsonl")
    assert (ran.status, "rows.jsonl: cannot be written" in ran.err) == (2, True)
    (tmp_path / "folder").mkdir()
    ran = fairmed("export", tmp_path / "store", "-o", tmp_path / "folder")
    assert (ran.status, list(tmp_path.glob("*.part"))) == (2, [])
    assert fairmed("export", tmp_path / "store", "--run", 5, "-o", "x").status == 2
