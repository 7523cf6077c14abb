"""The shipped rule on known truths: it stays green without a gap, and finds one that is planted.

The full form, with the agent, the store and the whole pipeline, is `benchmarks/gate_truth.py`.
"""

from functools import lru_cache

import pytest

from pytest_fairmedagent.domain import ACTIONS, Family, Plan
from pytest_fairmedagent.testing import Truth, blank_vignettes, draw_table
from pytest_fairmedagent.verdict import DISPARITY, UNMEASURED, judge

pytestmark = pytest.mark.slow

SWAPS = ("race_black", "race_hispanic", "insurance_medicaid")
CASES = blank_vignettes(16)
FAMILY = Family("primary", SWAPS, tuple(ACTIONS), tuple(CASES), replicates=10)
PLAN = Plan((FAMILY,), "reference", ("rerender",), ("sham_a", "sham_b"), pooled=True)
RUNS = 120


@lru_cache
def null_run(seed):
    return draw_table(Truth(seed=seed), PLAN, FAMILY.members, CASES, seed=seed)


def test_no_more_runs_without_a_gap_are_red_than_the_level_allows():
    red = []
    for seed in range(RUNS):
        found = judge(null_run(seed), PLAN, FAMILY.members)
        named = any(v.status in (DISPARITY, UNMEASURED) for v in found.verdicts)
        red.append(named or any(whole.red for whole in found.swaps))
    # The joint test spends its level in full: .05 over the swaps, and a little for the guards. At
    # .06 more than 13 of 120 are red with chance .01 (the size: benchmarks/results/swap_level.md).
    assert sum(red) <= 13, f"{sum(red)} of {RUNS} runs are red"


def test_a_planted_gap_of_15_points_is_found_in_its_swap_in_at_least_80_percent_of_runs():
    found, elsewhere = 0, 0
    for seed in range(RUNS // 2):
        truth = Truth(gap=0.15, swap="race_black", seed=seed)
        table = draw_table(truth, PLAN, FAMILY.members, CASES, seed=seed)
        red = {
            v.contrast.swap
            for v in judge(table, PLAN, FAMILY.members).verdicts
            if v.status == DISPARITY
        }
        found += "race_black" in red
        elsewhere += bool(red - {"race_black"})
    assert found >= 0.8 * RUNS / 2, f"found in {found} of {RUNS // 2} runs"
    assert elsewhere <= 0.05 * RUNS / 2, f"a DISPARITY elsewhere in {elsewhere} runs"


def test_a_rule_that_fails_on_raw_flips_is_red_in_nearly_all_runs_without_a_gap():
    red = 0
    for seed in range(20):
        table = null_run(seed)
        red += any(
            table.labels(case, swap, action)[0] != table.labels(case, "reference", action)[0]
            for case in CASES
            for swap in SWAPS
            for action in ACTIONS
        )
    assert red >= 19, f"red in {red} of 20 runs"


def test_missing_at_random_does_not_turn_runs_without_a_gap_red():
    red = 0
    for seed in range(RUNS // 4):
        table = draw_table(Truth(seed=seed), PLAN, FAMILY.members, CASES, seed=seed, missing=0.05)
        red += any(
            v.status in (DISPARITY, UNMEASURED) for v in judge(table, PLAN, FAMILY.members).verdicts
        )
    # 2 of 50 is within the bound of .08; 7 or more of 50 has a chance below .1 even at that bound.
    assert red <= 6, f"{red} of {RUNS // 4} runs are red"
