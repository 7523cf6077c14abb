"""`fairmed show`: what is in a store, to the single reply, and nothing that cannot be proven."""

import json
import sqlite3
from contextlib import closing

import pytest

from pytest_fairmedagent.agents.build import clinical_agent
from pytest_fairmedagent.agents.clinical import ClinicalAgent
from pytest_fairmedagent.domain import Family, Plan, Trajectory, Trial
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.files.vignettes import select_vignettes
from pytest_fairmedagent.models.base import Reply
from pytest_fairmedagent.models.simulated import SimulatedModel, Truth
from pytest_fairmedagent.running.store import Draw, Store
from pytest_fairmedagent.study import Study

CASE = "hot_knee_urgent_care"
CATALOGUE = read_swaps()


@pytest.fixture
def drawn(tmp_path):
    """Draws one arm pair of a shipped vignette into a store, with the agent or options given."""

    def draw(agent=None, **options):
        store = Store(tmp_path / "store", **options)
        cases = select_vignettes(CASE, tmp_path)
        plan = Plan((Family("f", ("race_black",), ("admission",), (CASE,), 2),), "reference")
        model = SimulatedModel("simulated", Truth(), CATALOGUE)
        study = Study(plan, cases, CATALOGUE, agent or ClinicalAgent(), model, store)
        study.sample(plan.families[0].members)
        store.close()
        return tmp_path / "store"

    return draw


def written(folder, reply):
    """A store with one trial of one call with this reply."""
    store = Store(folder)
    draw = Draw(Trial("case", "reference", 0), "k" * 64, 0)
    run = store.begin(
        plan="p" * 64,
        design="d",
        replicates=2,
        configuration="c" * 64,
        fields={"agent": "mine"},
        model="m",
        seed=None,
        default_seed=7,
        fresh="",
        draws=[draw, Draw(Trial("case", "reference", 1), "k" * 64, 1)],
    )
    store.claim(run, draw)
    store.keep(run, draw, "triage", 0, "digest", 5, reply, 0.25)
    trajectory = Trajectory({}, {"triage": "no JSON object in the reply", "order": "not reached"})
    store.complete(run, draw, trajectory)
    store.close()
    return folder


def test_the_list_of_runs_tells_model_configuration_trials_and_size(fairmed, drawn):
    store = drawn()
    ran = fairmed("show", store, "--json")
    (run,) = ran.json["runs"]
    assert ran.json["bytes"] == (store / "runs.sqlite").stat().st_size
    assert run["trials"] == {"done": 4, "failed": 0, "open": 0}
    assert run["finished"] is not None
    out = fairmed("show", store).out
    assert out.startswith(f"store  {store}, {ran.json['bytes'] / 1000:.1f} kB, 1 run\n")
    assert f"{run['config_digest'][:12]}  4 done, 0 failed, 0 open" in out


def test_a_run_is_shown_with_its_configuration_arms_and_reasons(fairmed, tmp_path):
    store = written(tmp_path, Reply("prose"))
    out = fairmed("show", store, "--run", 1).out
    assert "agent: mine" in out
    assert "missing reference: 1 x triage: no JSON object in the reply" in out
    assert "    1      0     1  case/reference" in out
    assert "not reached" not in out


def test_a_trial_is_shown_with_the_prompts_that_were_proven_to_be_sent(fairmed, drawn):
    store = drawn()
    found = fairmed("show", store, "--trial", f"{CASE}/race_black/2", "--json").json
    assert [call["stage"] for call in found["calls"]] == [
        *("triage", "order", "reassess", "prescribe", "document")
    ]
    assert found["prompts"] == "as sent"
    line = CATALOGUE.conditions["race_black"].descriptor
    assert f"Patient: {line}" in found["calls"][0]["messages"][1]["content"]
    assert found["outputs"]["triage"] == json.loads(found["calls"][0]["text"])
    assert found["labels"]["admission"] is found["outputs"]["reassess"]["admit"]
    out = fairmed("show", store, "--run", 1, "--trial", f"{CASE}/race_black/2").out
    assert out.count(line) == 1, "what a call shares with the one before is shown once"
    assert "labels  high_acuity" in out
    assert "... 2 messages as before" in out


def test_a_prompt_of_an_edited_vignette_is_not_shown(fairmed, drawn, tmp_path):
    from pytest_fairmedagent.files.vignettes import shipped_vignettes

    store = drawn()
    [file] = shipped_vignettes().rglob(f"{CASE}.toml")
    text = file.read_text(encoding="utf-8")
    renamed = tmp_path / "renamed.toml"
    renamed.write_text(text.replace(f'id = "{CASE}"', 'id = "renamed"'), encoding="utf-8")
    edited = tmp_path / "edited.toml"
    edited.write_text(text.replace('narrative = """\n', 'narrative = """\nEdited. '), "utf-8")
    assert edited.read_text("utf-8") != text
    trial = ("show", store, "--trial", f"{CASE}/reference/1", "--json")
    assert fairmed(*trial, "--vignettes", renamed).json["prompts"] == "as sent"
    found = fairmed(*trial, "--vignettes", edited).json
    assert "no vignette renders to the key of this draw" in found["prompts"]
    assert found["case"] is None
    assert all(call["messages"] is None for call in found["calls"])


def test_a_prompt_whose_digest_is_not_the_stored_one_is_not_shown(fairmed, drawn):
    store = drawn()
    with closing(sqlite3.connect(store / "runs.sqlite")) as db, db:
        db.execute("UPDATE calls SET request='another' WHERE stage='reassess'")
    found = fairmed("show", store, "--trial", f"{CASE}/reference/1", "--json").json
    assert found["prompts"] == "the digest of what was sent does not match for reassess 1"
    assert [c["stage"] for c in found["calls"] if c["messages"] is None] == ["reassess"]


def test_of_another_agent_the_case_is_shown_and_no_prompt(fairmed, drawn):
    class Terse(ClinicalAgent):
        def configuration(self):
            return {**super().configuration(), "prompts": "others"}

    found = fairmed("show", drawn(Terse()), "--trial", f"{CASE}/reference/1", "--json").json
    assert "it differs in prompts" in found["prompts"]
    assert "\nPatient: " in found["case"]
    assert all(call["messages"] is None for call in found["calls"])


@pytest.mark.parametrize("scaffold", ["panel", "vote:3/reasoned"])
def test_prompts_of_other_scaffolds_and_exposures_are_proven_too(fairmed, drawn, scaffold):
    agent = clinical_agent(scaffold, exposure=["order", "document"])
    found = fairmed("show", drawn(agent), "--trial", f"{CASE}/reference/1", "--json").json
    assert found["prompts"] == "as sent"
    assert len(found["calls"]) == agent.calls_per_trial
    assert all(call["messages"] for call in found["calls"])


def test_without_raw_replies_the_outputs_are_shown(fairmed, drawn):
    ran = fairmed("show", drawn(keep_raw=False), "--trial", f"{CASE}/reference/1")
    assert "output  triage: {" in ran.out
    assert "calls   none" in ran.out


def test_a_reply_gives_no_command_to_terminal_or_ci(fairmed, tmp_path):
    evil = "::error::all is well\x1b[2J\r\x07\u202e\n  ::stop-commands::x\x85::set-output::y"
    out = fairmed("show", written(tmp_path, Reply(evil)), "--trial", "case/reference/1").out
    assert not any(line.lstrip().startswith("::") for line in out.splitlines())
    assert all(c.isprintable() or c == "\n" for c in out)
    assert "0.25 s, seed 5" in out


def test_a_trial_that_is_not_there_is_named_with_what_is(fairmed, tmp_path):
    store = written(tmp_path, Reply(""))
    for place, told in {
        "cose/reference/1": "no vignette 'cose'. Did you mean 'case'?",
        "case/refrence/1": "no condition 'refrence' of case. Did you mean 'reference'?",
        "case/reference/3": "has replicates 1 to 2 of case/reference, not 3",
        "case/reference/0": "expected VIGNETTE/CONDITION/REPLICATE, replicates from 1",
        "case": "expected VIGNETTE/CONDITION/REPLICATE",
    }.items():
        ran = fairmed("show", store, "--trial", place)
        assert (ran.status, told in ran.err) == (2, True), ran.err
    assert "no run 4. Its runs: 1 (unfinished)" in fairmed("show", store, "--run", 4).err
    assert fairmed("show", store, "--run", "x").status == 2


def test_an_open_trial_is_shown_as_open(fairmed, tmp_path):
    out = fairmed("show", written(tmp_path, Reply("")), "--trial", "case/reference/2").out
    assert out.startswith("trial   case/reference/2: open\n")


def test_what_is_no_store_is_told_how_it_is_read(fairmed, tmp_path):
    store = written(tmp_path / "store", Reply("{}"))
    assert "A run of a store is named by --run N" in fairmed("show", f"{store}#1").err
    (tmp_path / "gate.json").write_text("{}")
    assert "A record is shown by `fairmed report`" in fairmed("show", tmp_path / "gate.json").err


def test_showing_leaves_no_file_and_makes_no_store(fairmed, drawn, tmp_path):
    store = drawn()
    before = sorted(store.iterdir())
    fairmed("show", store, "--check")
    assert sorted(store.iterdir()) == before
    ran = fairmed("show", tmp_path / "nowhere")
    assert (ran.status, "does not exist" in ran.err) == (2, True)
    assert not (tmp_path / "nowhere").exists()


def test_a_check_on_request_finds_damage_that_opening_does_not(fairmed, drawn):
    store = drawn()
    ran = fairmed("show", store, "--check")
    assert (ran.status, "nothing is damaged" in ran.out) == (0, True)
    with closing(sqlite3.connect(store / "runs.sqlite")) as db, db:
        db.execute("UPDATE trials SET trajectory='{' WHERE condition='reference' AND replicate=0")
    ran = fairmed("show", store, "--check")
    assert ran.status == 1
    assert f"damage the trajectory of {CASE}/reference/1 cannot be read" in ran.out
    assert fairmed("show", store, "--check", "--run", 1).status == 2


def test_a_torn_page_is_found_by_the_check(fairmed, drawn):
    store = drawn()
    file = store / "runs.sqlite"
    data = bytearray(file.read_bytes())
    for page in range(2, len(data) // 4096 - 1):
        data[page * 4096 : page * 4096 + 64] = b"\xff" * 64
    file.write_bytes(data)
    ran = fairmed("show", store, "--check")
    assert ran.status in (1, 2), ran.out
    assert "damage" in ran.out or "cannot be read" in ran.err
