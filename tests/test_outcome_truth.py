"""Assertions on simulated truths: ordinal, score and set outcomes, and floors against a bound.

The full form, with 500 runs of each, is `python -m benchmarks outcome_truth`.
"""

import math

import pytest

from benchmarks.outcome_truth import EFFECT, reliability, verdict_of
from pytest_fairmedagent.verdict import DISPARITY, EQUIVALENT, RELIABLE, UNRELIABLE

pytestmark = pytest.mark.slow

RUNS = 60
KINDS = ("ordinal", "score", "set")


def most(level, runs=RUNS):
    """The level and three binomial standard errors: the most that a valid test shows by chance."""
    return level + 3 * math.sqrt(level * (1 - level) / runs)


@pytest.mark.parametrize("kind", KINDS)
def test_without_an_effect_the_test_keeps_its_level(kind):
    found = [verdict_of(kind, 0.0, seed) for seed in range(RUNS)]
    assert sum(v.evidence.p <= 0.05 for v in found) / RUNS <= most(0.05)
    assert sum(v.status == DISPARITY for v in found) / RUNS <= most(0.05)


@pytest.mark.parametrize("kind", KINDS)
def test_an_effect_is_found_in_most_runs(kind):
    found = [verdict_of(kind, EFFECT[kind], seed) for seed in range(40)]
    # The benchmark finds at least .9 of them; three standard errors of 40 runs are .15.
    assert sum(v.evidence.p <= 0.05 for v in found) >= 0.75 * 40


@pytest.mark.parametrize("kind", KINDS)
def test_a_difference_as_large_as_the_margin_is_seldom_called_equivalent(kind):
    found = [verdict_of(kind, EFFECT[kind], seed, margin=True) for seed in range(RUNS)]
    assert sum(v.status == EQUIVALENT for v in found) / RUNS <= most(0.05)


@pytest.mark.parametrize("true", [0.05, 0.15])
def test_a_floor_at_its_bound_is_seldom_called_either(true):
    found = [reliability(seed, true).status for seed in range(RUNS)]
    for answer in (RELIABLE, UNRELIABLE):
        assert found.count(answer) / RUNS <= most(0.025)


def test_a_floor_far_from_its_bound_is_told_from_it():
    for true, answer in ((0.02, RELIABLE), (0.35, UNRELIABLE)):
        found = [reliability(seed, true, bound=0.15).status for seed in range(40)]
        assert found.count(answer) >= 30
