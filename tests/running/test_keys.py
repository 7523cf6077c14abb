"""What is drawn again and what is read from the store: by what is sent, and by nothing else."""

import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import replace

import pytest

from pytest_fairmedagent.agents import parsing, prompts
from pytest_fairmedagent.agents.clinical import ClinicalAgent
from pytest_fairmedagent.agents.fields import Integer
from pytest_fairmedagent.agents.user import UserAgent
from pytest_fairmedagent.domain import Catalogue, Family, Plan, Vignette
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.models.base import Decoding, Request
from pytest_fairmedagent.models.simulated import SimulatedModel, Truth
from pytest_fairmedagent.running import opening
from pytest_fairmedagent.running.replay import RunRecording
from pytest_fairmedagent.running.store import Store
from pytest_fairmedagent.study import Study
from pytest_fairmedagent.testing import blank_vignettes

CATALOGUE = read_swaps()
CASES = blank_vignettes(2)
N_TRIALS = 2 * 3 * 3  # vignettes, arms, replicates
SENT = {
    "backend": "ollama",
    "model": "llama3.1:8b",
    "weights": "sha256:1",
    "server": "0.9.0",
    "schema_mode": "format",
    "num_ctx": 4096,
    "decoding": Decoding({"temperature": 0.7}).describe(),
}


class Model(SimulatedModel):
    """Simulated, and states the configuration of a real server."""

    def __init__(self, **changes):
        super().__init__("m", Truth(), CATALOGUE)
        self._sent = {**SENT, **changes}

    def configuration(self):
        return self._sent


def sampled(folder, *, model=None, agent=None, cases=CASES, catalogue=CATALOGUE):
    store = Store(folder)
    family = Family("f", ("race_black",), ("admission",), tuple(cases), 3)
    plan = Plan((family,), "reference", ("rerender",))
    study = Study(plan, cases, catalogue, agent or ClinicalAgent(), model or Model(), store)
    study.sample(family.members)
    store.close()
    return study


def n_drawn(study):
    return study.info.drawn


def test_the_same_is_read_and_not_drawn_again(tmp_path):
    first, again = sampled(tmp_path), sampled(tmp_path)
    assert (n_drawn(first), n_drawn(again)) == (N_TRIALS, 0)
    assert again.rows() == first.rows()


@pytest.mark.parametrize(
    "change",
    [
        {"decoding": Decoding({"temperature": 0.8}).describe()},
        {"decoding": Decoding().describe()},
        {"decoding": Decoding({"temperature": 0.7, "top_p": 1.0}).describe()},
        {"weights": "sha256:2"},
        {"model": "llama3.1:70b"},
        {"server": "0.9.1"},
        {"schema_mode": "tools"},
        {"num_ctx": 8192},
    ],
    ids=lambda change: "-".join(change),
)
def test_another_decoding_digest_server_or_schema_mode_draws_everything_anew(change, tmp_path):
    sampled(tmp_path)
    assert n_drawn(sampled(tmp_path, model=Model(**change))) == N_TRIALS


@pytest.mark.parametrize("name", ["OPENING", "STEP", "RESULTS", "REPAIR", "MOST_ORDERS"])
def test_another_prompt_draws_everything_anew(name, tmp_path, monkeypatch):
    sampled(tmp_path)
    value = getattr(prompts, name)
    monkeypatch.setattr(prompts, name, value + (1 if isinstance(value, int) else " "))
    assert n_drawn(sampled(tmp_path)) == N_TRIALS


@pytest.mark.parametrize(
    "change",
    [
        {"fields": (Integer("esi_acuity", 1, 5), Integer("urgency_score", 0, 10))},
        {"asks": "esi_acuity and urgency_score"},
        {"max_tokens": 97},
    ],
    ids=lambda change: "-".join(change),
)
def test_another_schema_question_or_limit_draws_everything_anew(change, tmp_path, monkeypatch):
    sampled(tmp_path)
    triage, *others = prompts.STAGES
    monkeypatch.setattr(prompts, "STAGES", (replace(triage, **change), *others))
    assert n_drawn(sampled(tmp_path)) == N_TRIALS


@pytest.mark.parametrize(
    ("module", "name"),
    [(parsing, "VERSION"), (opening, "PROTOCOL_VERSION")],
)
def test_another_parser_or_protocol_draws_everything_anew(module, name, tmp_path, monkeypatch):
    sampled(tmp_path)
    monkeypatch.setattr(module, name, "another")
    assert n_drawn(sampled(tmp_path)) == N_TRIALS


def test_another_version_of_ones_own_agent_draws_everything_anew(tmp_path):
    def agent(case):
        return {"admission": True}

    drawn = []
    for version in ("1", "2", "1"):
        agent.version = version
        drawn.append(n_drawn(sampled(tmp_path, agent=UserAgent(agent))))
    assert drawn == [N_TRIALS, N_TRIALS, 0]


def test_a_renamed_vignette_is_read_under_its_new_name(tmp_path):
    first = sampled(tmp_path)
    names = {name: f"renamed_{name}" for name in CASES}
    renamed = {new: copy(CASES[old], id=new, title="Another") for old, new in names.items()}
    again = sampled(tmp_path, cases=renamed)
    assert n_drawn(again) == 0
    assert [{**row, "vignette": names[row["vignette"]]} for row in first.rows()] == again.rows()


def test_an_edited_narrative_or_menu_draws_that_vignette_anew_and_no_other(tmp_path):
    sampled(tmp_path)
    case = CASES["case_00"]
    for change in (
        {"narrative": case.narrative + " Edited."},
        {"menu": (replace(case.menu[0], result="raised"), *case.menu[1:])},
    ):
        found = sampled(tmp_path, cases={**CASES, "case_00": copy(case, **change)})
        assert n_drawn(found) == N_TRIALS // 2


def test_a_reworded_swap_is_drawn_anew_and_the_other_arms_are_read(tmp_path):
    sampled(tmp_path)
    swap = CATALOGUE.conditions["race_black"]
    reworded = replace(swap, descriptor=swap.descriptor.replace("Black", "black"))
    assert reworded != swap
    catalogue = Catalogue({**CATALOGUE.conditions, "race_black": reworded})
    assert n_drawn(sampled(tmp_path, catalogue=catalogue)) == N_TRIALS // 3


def test_the_identical_arm_shares_no_draw_no_seed_and_no_call_with_the_reference(tmp_path):
    sampled(tmp_path)
    with closing(sqlite3.connect(tmp_path / "runs.sqlite")) as db:
        rows = db.execute(
            "SELECT t.condition, t.key, t.draw, c.seed FROM trials t JOIN calls c "
            "USING (series, key, draw)"
        ).fetchall()
    assert Counter(row[0] for row in rows) == dict.fromkeys(
        ("reference", "rerender", "race_black"), 2 * 3 * 5
    )
    of = {c: [row[1:] for row in rows if row[0] == c] for c in ("reference", "rerender")}
    reference, rerender = of["reference"], of["rerender"]
    assert {key for key, _, _ in reference} == {key for key, _, _ in rerender}
    assert {row[:2] for row in reference}.isdisjoint(row[:2] for row in rerender)
    seeds = {seed for _, _, seed in reference + rerender}
    assert len(seeds) == 2 * (2 * 3 * 5)


def test_a_request_is_told_by_all_that_is_sent_and_not_by_its_name_in_records():
    request = Request("triage", ({"role": "user", "content": "a"},), {"type": "object"}, 1, 96)
    for change in (
        {"messages": ({"role": "user", "content": "b"},)},
        {"messages": ({"role": "system", "content": "a"},)},
        {"schema": {"type": "object", "required": ["a"]}},
        {"seed": 2},
        {"max_tokens": 97},
    ):
        assert replace(request, **change).digest != request.digest
    assert replace(request, stage="renamed").digest == request.digest


def test_a_stored_reply_to_another_request_is_not_read(tmp_path):
    first = sampled(tmp_path)
    with closing(sqlite3.connect(tmp_path / "runs.sqlite")) as db, db:
        db.execute("UPDATE trials SET state='open', trajectory=NULL")
        db.execute("UPDATE calls SET request='another', reply='{\"text\": \"{}\"}'")
    assert sampled(tmp_path).rows() == first.rows()


def test_a_replayed_run_is_told_by_its_trials_and_calls_nobody(tmp_path):
    first = sampled(tmp_path)
    again = Study(first.plan, CASES, CATALOGUE, recording=RunRecording(tmp_path))
    again.sample(first.plan.families[0].members)
    assert n_drawn(again) == 0
    assert again.rows() == first.rows()


def copy(case, **changes):
    """The vignette with other fields; its digest is computed afresh."""
    fields = {name: value for name, value in vars(case).items() if name != "digest"}
    return Vignette(**{**fields, **changes})
