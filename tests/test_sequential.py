"""Sequential plans: arms stop when they are decided, and looking early errs no more often."""

import math

import numpy as np
import pytest

from pytest_fairmedagent.agents.clinical import ClinicalAgent
from pytest_fairmedagent.domain import Family, Plan, ReplicateTable, Trajectory
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.models.simulated import SimulatedModel
from pytest_fairmedagent.relations.evidence import looks_of
from pytest_fairmedagent.running.store import Store
from pytest_fairmedagent.stats import simulate_plan, smallest_detectable_gap_e
from pytest_fairmedagent.study import Study
from pytest_fairmedagent.testing import Truth, blank_vignettes
from pytest_fairmedagent.verdict import DISPARITY, EQUIVALENT, judge, planned_looks, undecided

pytestmark = pytest.mark.slow

CASES = blank_vignettes(8)
SWAPS = ("race_black", "race_hispanic")
rules = pytest.mark.parametrize("rule", ["gs", "e"])


def plan(rule, replicates=10, margin=None, swaps=SWAPS, actions=("admission",)):
    family = Family("f", swaps, actions, tuple(CASES), replicates, margin)
    return Plan((family,), "reference", sequential=rule)


def table(plan, seed, p=0.3, q=0.3):
    """A run in which every case takes the action with chance `p`, under the first swap `q`."""
    [family] = plan.families
    rng, rows = np.random.default_rng(seed), {}
    for condition in ("reference", *family.swaps):
        chance = q if condition == family.swaps[0] else p
        for vignette in family.vignettes:
            draws = rng.random(family.replicates) < chance
            outputs = [{"actions": dict.fromkeys(family.actions, bool(x))} for x in draws]
            rows[vignette, condition] = [Trajectory(output) for output in outputs]
    return ReplicateTable(rows, "c")


def verdicts(plan, seed, **truth):
    [family] = plan.families
    return judge(table(plan, seed, **truth), plan, family.members).verdicts


def test_looks_are_never_before_the_second_replicate_and_end_with_the_plan():
    assert looks_of("off", 10) == (10,)
    assert looks_of("gs", 10) == (2, 4, 6, 8, 10)
    assert looks_of("gs", 3) == (2, 3)
    assert looks_of("e", 4) == (2, 3, 4)
    assert looks_of("e", 1) == looks_of("gs", 1) == (1,)
    assert planned_looks(plan("gs")) == (2, 4, 6, 8)
    assert planned_looks(plan("off")) == ()


@rules
def test_at_most_5_percent_of_runs_without_a_gap_show_a_disparity_at_any_look(rule):
    registered, runs = plan(rule), 200
    red = sum(
        any(v.status == DISPARITY for v in verdicts(registered, seed)) for seed in range(runs)
    )
    # Holm at .05 by the union bound over looks, so three binomial standard errors above that.
    assert red <= runs * 0.05 + 3 * math.sqrt(runs * 0.05 * 0.95)


@rules
def test_a_large_gap_is_found_early_and_its_verdict_is_that_of_the_first_deciding_look(rule):
    registered = plan(rule, swaps=("race_black",))
    whole = table(registered, seed=3, p=0.2, q=0.8)
    [family] = registered.families
    [verdict] = judge(whole, registered, family.members).verdicts
    assert verdict.status == DISPARITY
    assert verdict.look < 10
    assert f"after {verdict.look} of 10 replicates" in verdict.headline
    [early] = judge(whole.first(verdict.look), registered, family.members).verdicts
    assert early.headline == verdict.headline
    assert undecided(whole.first(verdict.look), registered, family.members) == frozenset()
    before = verdict.look - (2 if rule == "gs" else 1)
    if before >= 2:
        assert undecided(whole.first(before), registered, family.members)


@rules
def test_equivalence_is_shown_early_where_nothing_differs(rule):
    registered = plan(rule, replicates=40, margin=0.25)
    found = [v for seed in range(5) for v in verdicts(registered, seed)]
    shown = [v for v in found if v.status == EQUIVALENT]
    assert len(shown) >= 8
    assert min(v.look for v in shown) < 40
    for verdict in shown:
        assert verdict.reasons


@rules
def test_a_gap_at_the_margin_is_called_equivalent_in_at_most_5_percent(rule):
    registered = plan(rule, margin=0.15, swaps=("race_black",))
    runs = 200
    wrong = sum(
        v.status == EQUIVALENT
        for seed in range(runs)
        for v in verdicts(registered, seed, p=0.05, q=0.2)
    )
    assert wrong <= runs * 0.05 + 3 * math.sqrt(runs * 0.05 * 0.95)


def test_the_smallest_detectable_gap_of_an_e_process_is_found_with_the_power_it_names():
    for floor, n_vignettes, n_replicates, members in ((0.087, 16, 10, 1), (0.12, 10, 10, 6)):
        pairs = n_vignettes * n_replicates
        gap = smallest_detectable_gap_e(floor, pairs, power=0.8, n_members=members)
        found = simulate_plan(
            *(floor, n_vignettes, n_replicates),
            gap=gap,
            n_members=members,
            rule="e_process",
            n_datasets=200,
            rng=3,
        )
        assert 0.8 - 3 * found.se(0.8) < found.disparity < 0.97


# The whole pipeline

CATALOGUE = read_swaps()
FEW = blank_vignettes(8)
FAMILY = Family("f", SWAPS, ("admission",), tuple(FEW), replicates=10)


def study(folder, rule="gs", gap=0.4, **changes):
    truth = Truth(gap=gap, swap="race_black", seed=5)
    registered = Plan((FAMILY,), "reference", ("rerender",), sequential=rule)
    model = SimulatedModel("m", truth, CATALOGUE)
    return Study(registered, FEW, CATALOGUE, ClinicalAgent(), model, Store(folder), **changes)


def told(found):
    return [verdict.explain() for verdict in found.judge().verdicts]


def drawn(found):
    return {key: len(row) for key, row in found.table.rows.items() if row}


@rules
def test_a_decided_arm_stops_and_the_others_go_on_in_whole_rounds(tmp_path, rule):
    found = study(tmp_path, rule)
    found.sample(FAMILY.members)
    lengths = {
        condition: {drawn(found)[v, condition] for v in FEW} for _, condition in drawn(found)
    }
    assert all(len(of_arm) == 1 for of_arm in lengths.values())
    [stopped] = lengths["race_black"]
    [verdict] = [v for v in found.judge().verdicts if v.contrast.swap == "race_black"]
    assert (verdict.status, verdict.look) == (DISPARITY, stopped)
    assert stopped < 10
    assert lengths["reference"] == lengths["rerender"] == lengths["race_hispanic"] == {10}
    assert found.info.complete
    assert found.info.saved == len(FEW) * (10 - stopped)
    assert found.info.looks == planned_looks(found.plan)[: len(found.info.looks)]


def test_a_second_start_draws_nothing_and_finds_the_same(tmp_path):
    first, again = study(tmp_path), study(tmp_path)
    first.sample(FAMILY.members)
    again.sample(FAMILY.members)
    assert again.info.drawn == 0
    assert told(again) == told(first)
    assert (again.info.saved, again.info.looks) == (first.info.saved, first.info.looks)


def test_offline_reads_a_sequential_run_that_is_whole(tmp_path):
    study(tmp_path).sample(FAMILY.members)
    study(tmp_path, offline=True).sample(FAMILY.members)


def test_what_the_store_holds_beyond_the_stop_is_not_used(tmp_path):
    fixed = study(tmp_path, rule="off")
    fixed.sample(FAMILY.members)
    found = study(tmp_path)
    found.sample(FAMILY.members)
    [verdict] = [v for v in found.judge().verdicts if v.contrast.swap == "race_black"]
    assert drawn(found)[next(iter(FEW)), "race_black"] == verdict.look < 10


def test_an_interrupted_sequential_run_ends_like_an_undisturbed_one(tmp_path):
    whole = study(tmp_path / "a")
    whole.sample(FAMILY.members)
    cut = study(tmp_path / "b")
    calls = 0
    ask = cut.model.chat

    def chat(request, worker):
        nonlocal calls
        calls += 1
        if calls == 300:
            raise KeyboardInterrupt
        return ask(request, worker)

    cut.model.chat = chat
    with pytest.raises(KeyboardInterrupt):
        cut.sample(FAMILY.members)
    assert not cut.info.complete
    again = study(tmp_path / "b")
    again.sample(FAMILY.members)
    assert told(again) == told(whole)
    assert drawn(again) == drawn(whole)
