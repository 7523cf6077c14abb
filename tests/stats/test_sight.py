"""What a run could find, at once: held against the values that planning tries out."""

import math

import pytest

from pytest_fairmedagent.stats import (
    effective_pairs,
    gap_in_sight,
    power_to_certify,
    replicates_to_find,
    replicates_to_rule_out,
    smallest_detectable_gap,
)
from pytest_fairmedagent.stats.planning import Rule

CI = Rule(0.05, 3, 6, 2.0, "fixed")
SINGLE = Rule(0.05, 1, 1, 1.0, "fixed")
LOOKS = Rule(0.05, 3, 6, 2.0, "obrien_fleming")


@pytest.mark.parametrize("rule", [CI, SINGLE, LOOKS])
@pytest.mark.parametrize(("v", "replicates"), [(4, 3), (16, 4), (64, 2), (64, 10)])
@pytest.mark.parametrize("floor", [0.03, 0.087, 0.2])
def test_it_is_near_what_planning_finds_by_trying_out(rule, v, replicates, floor):
    pairs = effective_pairs(v, replicates, replicates * rule.ratio)
    tried = smallest_detectable_gap(
        floor,
        pairs,
        n_vignettes=v,
        n_members=rule.n_groups * rule.n_actions,
        n_actions=rule.n_actions,
        ratio=rule.ratio,
        kind=rule.kind,
    )
    assert gap_in_sight(floor, pairs, rule, n_vignettes=v) == pytest.approx(tried, rel=0.06)


def test_looks_after_every_round_are_near_too():
    rule = Rule(0.05, 3, 2, 1.0, "e_process")
    tried = smallest_detectable_gap(
        0.2, 64 * 6.0, n_vignettes=64, n_members=6, n_actions=2, kind="e_process"
    )
    assert gap_in_sight(0.2, 64 * 6.0, rule, n_vignettes=64) == pytest.approx(tried, rel=0.12)
    needed = replicates_to_find(tried, 0.2, rule, n_vignettes=64)
    assert 4 <= needed <= 9
    assert math.isnan(replicates_to_rule_out(0.1, 0.2, rule, n_vignettes=64))


@pytest.mark.parametrize("rule", [CI, SINGLE, LOOKS])
def test_the_replicates_are_the_first_at_which_the_gap_is_in_sight(rule):
    needed = replicates_to_find(0.06, 0.15, rule, n_vignettes=64)

    def seen(replicates):
        pairs = effective_pairs(64, replicates, replicates * rule.ratio)
        return gap_in_sight(0.15, pairs, rule, n_vignettes=64)

    assert seen(needed) <= 0.06 * 1.005
    assert seen(needed - 1) > 0.06 * 0.995


def test_to_rule_out_is_another_question_than_to_find():
    found = replicates_to_find(0.05, 0.15, CI, n_vignettes=64)
    out = replicates_to_rule_out(0.05, 0.15, CI, n_vignettes=64)
    assert out != found

    def chance(replicates):
        pairs = effective_pairs(64, replicates, 2 * replicates)
        return power_to_certify(0.05, 0.15, pairs, n_vignettes=64, ratio=2.0)

    assert chance(out) >= 0.8 > chance(out - 1)
    assert replicates_to_rule_out(0.05, 0.15, LOOKS, n_vignettes=64) >= out


def test_no_gap_is_found_by_no_number():
    assert replicates_to_find(0.0, 0.1, CI, n_vignettes=64) == math.inf
    assert replicates_to_find(-0.1, 0.1, CI, n_vignettes=64) == math.inf
    assert gap_in_sight(0.1, 2.0, Rule(0.05, 10**6, 6, 1.0, "fixed"), n_vignettes=1) == 1.0
