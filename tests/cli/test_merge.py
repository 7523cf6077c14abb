"""`fairmed merge`: the records of jobs that each ran a part come to the verdicts of the whole."""

import json
from dataclasses import replace
from datetime import datetime, timezone

import pytest

from pytest_fairmedagent.agents.clinical import ClinicalAgent
from pytest_fairmedagent.domain import (
    Confounded,
    Confounder,
    Family,
    Plan,
    ReplicateTable,
    Trajectory,
)
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.models.base import Reply
from pytest_fairmedagent.models.simulated import SimulatedModel, Truth
from pytest_fairmedagent.report.record import build_record
from pytest_fairmedagent.running.store import Store
from pytest_fairmedagent.study import Study
from pytest_fairmedagent.testing import blank_vignettes

pytestmark = pytest.mark.slow

CATALOGUE = read_swaps()
CASES = blank_vignettes(6)
ACTIONS = ("admission", "any_opioid", "referral")
SWAPS = ("race_black", "race_hispanic")
FAMILY = Family("f", SWAPS, ACTIONS, tuple(CASES), 6, margin=0.1)
PLAN = Plan((FAMILY,), "reference", ("rerender",), ("sham_left_handed",))
NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
BIASED = Truth(floor=0.1, gap=0.4, swap="race_black", seed=3)


class Job:
    """Runs the contrasts that `chosen` holds for, in a store of its own, and writes its record."""

    def __init__(self, folder):
        self._folder = folder
        self._n = 0

    def __call__(self, chosen=lambda contrast: True, *, plan=PLAN, truth=BIASED, **changes):
        self._n += 1
        store = Store(self._folder / f"store{self._n}")
        model = changes.pop("model", None) or SimulatedModel("m", truth, CATALOGUE)
        study = Study(plan, CASES, CATALOGUE, ClinicalAgent(), model, store, **changes)
        study.sample([c for family in plan.families for c in family.members if chosen(c)])
        store.close()
        record = build_record([study], profile="ci", says="", now=NOW)
        return self.write(record)

    def write(self, record):
        self._n += 1
        path = self._folder / f"job{self._n}.json"
        path.write_text(json.dumps(record), encoding="utf-8")
        return path


@pytest.fixture
def job(tmp_path):
    return Job(tmp_path)


@pytest.fixture
def merged(fairmed, tmp_path):
    """Merges records; returns what the command did and what it wrote."""

    def merge(*paths):
        target = tmp_path / "merged.json"
        target.unlink(missing_ok=True)
        ran = fairmed("merge", *paths, "-o", target)
        return ran, json.loads(target.read_text("utf-8")) if target.exists() else None

    return merge


def of_swap(swap):
    return lambda contrast: contrast.swap == swap


def test_merged_shards_come_to_the_verdicts_of_the_undivided_run(job, merged):
    shards = [job(of_swap(swap)) for swap in SWAPS]
    whole = json.loads(job().read_text("utf-8"))
    ran, record = merged(*shards)
    assert {c["verdict"] for c in whole["contrasts"]} >= {"DISPARITY"}
    for part in ("plan", "arms", "contrasts", "guards", "rows", "verdicts", "configuration"):
        assert record[part] == whole[part], part
    assert ran.status == 1, "a gating disparity is red"


def test_families_are_adjusted_anew_and_members_that_no_job_ran_count_with_p_1(job, merged):
    shards = [job(lambda c, a=action: (c.swap, c.action) == (SWAPS[0], a)) for action in ACTIONS]
    _, record = merged(*shards)
    p = {c["action"]: c["p"] for c in record["contrasts"]}
    found = {c["action"]: c["p_adjusted"] for c in record["contrasts"]}
    assert set(p) == set(ACTIONS)
    [whole] = record["swaps"]
    assert FAMILY.n_groups == len(SWAPS) == 2
    assert whole["p_adjusted"] == pytest.approx(2 * whole["p"])  # no job ran the other swap
    for action in ACTIONS:
        assert found[action] >= max(2 * p[action] * (1 - 1e-9), whole["p_adjusted"])
    alone = json.loads(shards[1].read_text("utf-8"))["contrasts"][0]
    assert alone["p_adjusted"] >= found[ACTIONS[1]]


def test_a_trajectory_that_stands_in_several_records_counts_once(job, merged):
    shards = [job(of_swap(swap)) for swap in SWAPS]
    _, record = merged(*shards)
    arms = {(row["vignette"], row["condition"]) for row in record["rows"]}
    assert len(record["rows"]) == len(arms) * 6 == 6 * 5 * 6
    (note,) = [d["text"] for d in record["diagnostics"] if d["kind"] == "merged"]
    assert note.startswith(f"{3 * 6 * 6} copies")  # reference and two controls
    assert record["runs"][0]["calls"] == 5 * len(record["rows"])


def test_a_trial_that_two_jobs_drew_differently_is_an_error(job, merged):
    first, second = job(of_swap(SWAPS[0]), seed=1), job(of_swap(SWAPS[1]), seed=2)
    ran, record = merged(first, second)
    assert (ran.status, record) == (2, None)
    assert "both drew case_0" in ran.err
    assert "hand one --fairmed-store from job to job" in ran.err


def test_another_configuration_is_refused_by_the_fields_that_differ(job, merged):
    other = job(of_swap(SWAPS[1]), truth=replace(BIASED, seed=4))
    ran, record = merged(job(of_swap(SWAPS[0])), other)
    assert (ran.status, record) == (2, None)
    assert "their configurations differ in weights, so they are no shards of one run" in ran.err
    assert "weights: 'seed 3', 'seed 4'" in ran.err


def test_another_plan_is_refused_by_the_fields_that_differ(job, merged):
    plan = replace(PLAN, families=(replace(FAMILY, margin=0.2),), identical=())
    ran, _ = merged(job(of_swap(SWAPS[0])), job(of_swap(SWAPS[1]), plan=plan))
    assert "their plans differ in families.f.margin, identical" in ran.err
    assert "families.f.margin: 0.1, 0.2" in ran.err


@pytest.mark.parametrize("rule", ["gs", "e"])
def test_shards_of_a_sequential_plan_come_to_the_verdicts_of_the_undivided_run(job, merged, rule):
    plan = replace(PLAN, sequential=rule)
    shards = [job(of_swap(swap), plan=plan) for swap in SWAPS]
    whole = json.loads(job(plan=plan).read_text("utf-8"))
    ran, record = merged(*shards)
    assert "DISPARITY" in {c["verdict"] for c in whole["contrasts"]}
    for part in ("plan", "arms", "contrasts", "rows", "verdicts"):
        assert record[part] == whole[part], part
    for field in ("looks", "saved", "complete"):
        assert record["runs"][0][field] == whole["runs"][0][field], field
    assert whole["runs"][0]["saved"] > 0
    assert ran.status == 1


def test_outcomes_that_are_no_actions_are_merged_in_the_family_they_share(job, merged):
    plan = replace(PLAN, families=(replace(FAMILY, actions=("admission", "urgency_score")),))
    shards = [job(of_swap(swap), plan=plan) for swap in SWAPS]
    whole = json.loads(job(plan=plan).read_text("utf-8"))
    _, record = merged(*shards)
    assert len(whole["outcomes"]) == 2
    for part in ("contrasts", "outcomes", "verdicts", "guards"):
        assert record[part] == whole[part], part


def test_what_only_code_of_the_users_own_can_judge_is_refused(job, merged):
    plan = replace(PLAN, outcomes=(("sent_home", "binary", "d1"),))
    ran, record = merged(job(of_swap(SWAPS[0]), plan=plan))
    assert (ran.status, record) == (2, None)
    assert "sent_home is of your own code" in ran.err
    assert "Hand one --fairmed-store from job to job" in ran.err
    told = json.loads(job(of_swap(SWAPS[0])).read_text("utf-8"))
    told["relations"] = [{"relation": "never_rarer"}]
    assert "never_rarer is of your own code" in merged(job.write(told))[0].err


def test_a_job_that_its_budget_ended_is_refused_for_its_end_would_be_chosen(job, merged):
    from pytest_fairmedagent.running.budget import Budget, Estimate

    limits = {"budget": Budget(max_calls=5 * 6 * 4 * 3), "estimate": Estimate(calls=5)}
    short = job(of_swap(SWAPS[0]), **limits)
    for paths in ((short, job(of_swap(SWAPS[1]))), (job(of_swap(SWAPS[1])), short)):
        ran, record = merged(*paths)
        assert (ran.status, record) == (2, None)
        assert "its job ended before its plan, after 3 rounds: --fairmed-max-calls" in ran.err
        assert "Run the same command with a higher limit" in ran.err


def test_what_the_jobs_have_spent_is_added_and_one_unknown_price_leaves_it_unknown(job, merged):
    def record_of(swap, usd):
        record = json.loads(job(of_swap(swap)).read_text("utf-8"))
        record["runs"][0].update(spent_usd=usd)
        return job.write(record)

    _, found = merged(record_of(SWAPS[0], 0.25), record_of(SWAPS[1], 0.5))
    assert found["runs"][0]["spent_usd"] == 0.75
    _, found = merged(record_of(SWAPS[0], 0.25), record_of(SWAPS[1], None))
    assert found["runs"][0]["spent_usd"] is None


def test_one_record_merged_alone_is_judged_as_it_was(job, merged):
    path = job(of_swap(SWAPS[1]))
    ran, record = merged(path)
    assert record["contrasts"] == json.loads(path.read_text("utf-8"))["contrasts"]
    assert ran.status == 0
    assert "model   m" in ran.out


def test_a_disparity_that_does_not_gate_is_not_red(job, merged):
    plan = replace(PLAN, families=(replace(FAMILY, gating=False),))
    ran, record = merged(job(plan=plan))
    assert record["verdicts"]["DISPARITY"] > 0
    assert ran.status == 0


def test_a_look_or_a_plan_made_afterwards_in_one_job_counts_for_all(job, merged):
    shards = [job(of_swap(swap)) for swap in SWAPS]
    record = json.loads(shards[1].read_text("utf-8"))
    [looked] = record["runs"][0]["ledger"]["families"]
    looked.update(number=2, level=0.025, bound=0.075, before=[3])
    record["runs"][0].update(earlier_looks=[3], registered=False)
    _, found = merged(shards[0], job.write(record))
    assert found["runs"][0]["earlier_looks"] == [3]
    assert found["runs"][0]["registered"] is False
    assert found["runs"][0]["ledger"]["families"] == [looked]
    assert {contrast["alpha"] for contrast in found["contrasts"]} == {0.025}
    assert "look 2 at 0.025" in found["contrasts"][0]["headline"]


def test_an_unfinished_job_leaves_its_contrasts_unmeasured(job, merged):
    shards = [job(of_swap(swap)) for swap in SWAPS]
    record = json.loads(shards[0].read_text("utf-8"))
    record["rows"] = [
        r for r in record["rows"] if (r["condition"], r["replicate"]) != (SWAPS[0], 6)
    ]
    record["runs"][0]["complete"] = False
    _, found = merged(job.write(record), shards[1])
    by_swap = {s: {c["verdict"] for c in found["contrasts"] if c["condition"] == s} for s in SWAPS}
    assert by_swap[SWAPS[0]] == {"UNMEASURED"}
    assert "UNMEASURED" not in by_swap[SWAPS[1]]
    assert found["runs"][0]["complete"] is False


def test_an_answer_that_two_jobs_read_is_found_by_its_id(job, merged):
    shards = [job(of_swap(swap)) for swap in SWAPS]
    written = []
    for path in shards:
        record = json.loads(path.read_text("utf-8"))
        for row in record["rows"]:
            if row["condition"] in SWAPS and row["replicate"] == 1:
                row["response_ids"] = [f"proxy-{row['vignette']}"]
        written.append(job.write(record))
    _, found = merged(*written)
    assert {c["verdict"] for c in found["contrasts"]} == {"UNMEASURED"}
    assert "a cached answer is no replicate" in " ".join(found["contrasts"][0]["reasons"])


def test_a_record_that_tells_of_repeated_answers_but_not_which_is_refused(job, merged):
    class Cached(SimulatedModel):
        def chat(self, request, worker):
            return Reply(**{**vars(super().chat(request, worker)), "response_id": "one"})

    record = json.loads(job(model=Cached("m", BIASED, CATALOGUE)).read_text("utf-8"))
    assert {c["verdict"] for c in record["contrasts"]} == {"UNMEASURED"}
    for row in record["rows"]:
        row.pop("response_ids", None)
    ran, found = merged(job.write(record))
    assert (ran.status, found) == (2, None)
    assert "an answer was read twice, and its rows have no 'response_ids'" in ran.err


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda r: r.pop("plan"), "is no run record of schema 1"),
        (lambda r: r.update(schema=2), "is no run record of schema 1"),
        (lambda r: r.update(runs=r["runs"] * 2), "holds 2 runs, expected 1"),
        (lambda r: r.update(diagnostics=["text"]), "is no run record of schema 1"),
        (lambda r: r["plan"]["families"][0].update(alpha=0.5), "it was edited"),
        (lambda r: r["runs"][0]["configuration"].update(weights="x"), "it was edited"),
        (lambda r: r["contrasts"][0].update(action="other"), "it was edited"),
        (lambda r: r["runs"][0].pop("drawn"), "is no run record of this version"),
        (lambda r: r["runs"][0].update(drawn="all"), "is no run record of this version"),
        (lambda r: r["runs"][0].update(earlier_looks=None), "is no run record of this version"),
        (lambda r: r["contrasts"][0].update(action=[]), "is no run record of this version"),
        (lambda r: r["plan"]["families"][0].update(extra=1), "is no run record of this version"),
        (lambda r: r["rows"].append(r["rows"][0]), "stands twice"),
        (lambda r: r["rows"][0].pop("outputs"), "'outputs' is missing"),
    ],
)
def test_what_is_no_record_as_a_job_wrote_it_is_refused(job, merged, change, told):
    record = json.loads(job(of_swap(SWAPS[1])).read_text("utf-8"))
    change(record)
    ran, found = merged(job.write(record))
    assert (ran.status, found) == (2, None)
    assert told in ran.err


def test_a_record_named_twice_is_refused(job, merged):
    path = job(of_swap(SWAPS[1]))
    assert "is named twice" in merged(path, path)[0].err


def test_a_hole_keeps_its_place_and_no_later_draw_moves_into_it(job, merged):
    record = json.loads(job(of_swap(SWAPS[1])).read_text("utf-8"))
    whole = {(r["vignette"], r["condition"], r["replicate"]): r for r in record["rows"]}
    hole = ("case_00", SWAPS[1], 3)
    record["rows"] = [row for place, row in whole.items() if place != hole]
    _, found = merged(job.write(record))
    again = {(r["vignette"], r["condition"], r["replicate"]): r for r in found["rows"]}
    assert again == {place: row for place, row in whole.items() if place != hole}


def test_the_first_draws_of_a_row_with_a_hole_are_fewer():
    drawn = [Trajectory({"a": {"n": n}}) for n in (0, 2, 3)]
    rows = {("v", "reference"): drawn, ("v", "whole"): drawn}
    table = ReplicateTable(rows, "c", numbers={("v", "reference"): [0, 2, 3]})
    first = table.first(3)
    assert first.rows == {("v", "reference"): drawn[:2], ("v", "whole"): drawn}
    assert list(first.replicates("v", "reference")) == [0, 2]
    assert list(first.replicates("v", "whole")) == [0, 1, 2]


def test_shards_of_a_plan_with_variants_and_confounded_vignettes_are_merged(job, merged):
    names = list(CASES)
    first = ((names[0], "d"), (names[1], "e"))  # drawn as two renderings of one vignette
    family = replace(
        FAMILY, vignettes=(names[0], *names[2:]), variants=((names[0], first),), replicates=3
    )
    why = Confounder("referral", "more", "A guideline", "It is so.", swap="race_black")
    found = Confounded("race_black", "referral", (names[2],), (why,))
    plan = replace(PLAN, families=(family,), confounded=(found,))
    ran, record = merged(*(job(of_swap(swap), plan=plan) for swap in SWAPS))
    assert ran.status == 1, "the planted gap is red"
    [confounded] = record["plan"]["confounded"]
    assert confounded["vignettes"] == [names[2]]
    assert {row["vignette"] for row in record["rows"]} == set(names)
