"""Stopping early: the e-process, planned looks, futility."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate
from scipy import stats as scipy_stats

from pytest_fairmedagent import stats

LAWS = settings(deadline=None, max_examples=50)


@given(st.integers(0, 60), st.integers(0, 60))
@LAWS
def test_the_e_value_is_the_mixture_of_bets(b, c):
    found = stats.e_value(b, c)
    mixture, _ = integrate.quad(lambda x: (1 + x) ** b * (1 - x) ** c / 2, -1, 1)
    assert found == pytest.approx(mixture, rel=1e-6)
    n = b + c
    assert found == float(Fraction(2**n, (n + 1) * math.comb(n, b)))


@given(st.integers(1, 200), st.data())
@LAWS
def test_evidence_grows_with_the_imbalance(n, data):
    b = data.draw(st.integers(0, (n - 1) // 2))
    assert stats.e_value(b, n - b) >= stats.e_value(b + 1, n - b - 1)
    assert stats.e_value(b, n - b) == stats.e_value(n - b, b)


@given(st.integers(0, 30))
@LAWS
def test_under_a_fair_coin_the_e_value_has_mean_one(n):
    # A fair game: exactly 1 in expectation at any fixed number of discordant pairs.
    mean = sum(math.comb(n, b) * stats.e_value(b, n - b) for b in range(n + 1)) / 2**n
    assert mean == pytest.approx(1)


def test_eight_on_one_side_are_the_fewest_that_reach_twenty():
    assert stats.e_value(7, 0) < 20 <= stats.e_value(8, 0)
    assert stats.e_value(8, 0) == pytest.approx(256 / 9)
    assert stats.e_value(20, 8) == pytest.approx(2.9781474675)
    assert stats.e_value(5000, 0) == math.inf


def test_the_process_remembers_its_highest_evidence():
    run = stats.e_process([3, 3, 2, 0, 0], [0, 0, 0, 4, 4])
    assert list(run.e) == pytest.approx([stats.e_value(*x) for x in
                                         [(3, 0), (6, 0), (8, 0), (8, 4), (8, 8)]])  # fmt: skip
    assert run.first_rejection(0.05) == 3
    assert run.first_rejection(0.01) is None
    assert run.p[-1] == pytest.approx(9 / 256)
    assert (np.diff(run.p) <= 0).all()


def test_confidence_sequences_of_the_worked_examples():
    assert stats.confidence_sequence(8, 0, 24) == pytest.approx((0.0131, 0.5024), abs=5e-4)
    assert stats.confidence_sequence(20, 8, 132) == pytest.approx((-0.0258, 0.1825), abs=5e-4)
    assert stats.confidence_sequence(0, 0, 0) == (-1, 1)


@given(st.integers(0, 25), st.integers(0, 25), st.integers(0, 200))
@settings(deadline=None, max_examples=25)
def test_the_confidence_sequence_leaves_out_0_when_the_e_value_rejects(b, c, z):
    low, high = stats.confidence_sequence(b, c, z)
    mirrored = stats.confidence_sequence(c, b, z)
    assert mirrored == pytest.approx((-high, -low), abs=1e-6)
    if b + c + z:
        assert low <= (b - c) / (b + c + z) <= high
    e = stats.e_value(b, c)
    if abs(e - 20) > 1e-3:
        assert (low > 0 or high < 0) == (e > 20)


def test_margin_evidence_needs_both_sides():
    above, below = stats.margin_e_values(2, 2, 200, margin=0.1)
    assert above == pytest.approx(below)
    assert min(above, below) > 20
    above, below = stats.margin_e_values(40, 0, 160, margin=0.1)
    assert above > 20
    assert below < 1


def test_margin_evidence_is_fair_at_the_margin():
    # One vignette with gap exactly .2 = M: the expected wealth against "gap >= M" is at most 1.
    n, gap = 6, 0.2
    total = 0.0
    for b in range(n + 1):
        for c in range(n + 1 - b):
            chance = scipy_stats.multinomial.pmf([b, c, n - b - c], n, [0.3, 0.1, 0.6])
            total += chance * stats.margin_e_values(b, c, n - b - c, margin=gap)[1]
    assert total == pytest.approx(1, abs=1e-9)


def test_peeking_every_round_keeps_the_level():
    # Ville: at most .05; STATISTICS simulated .013. Two standard errors of 1,500 runs: .011.
    rng = np.random.default_rng(4)
    p = rng.beta(0.377, 0.377, (1500, 1, 16))
    swap, ref = rng.random((1500, 10, 16)) < p, rng.random((1500, 10, 16)) < p
    b, c = (swap & ~ref).sum(axis=2), (ref & ~swap).sum(axis=2)
    hits = sum(
        stats.e_process(x, y).first_rejection() is not None for x, y in zip(b, c, strict=True)
    )
    assert hits / 1500 < 0.05


def test_spending_levels_are_the_published_increments():
    obf = stats.spending_levels([2, 4, 6, 8, 10])
    assert obf == pytest.approx([1.2e-5, 0.0019, 0.0095, 0.0170, 0.0216], rel=0.03)
    for kind in ("obrien_fleming", "pocock"):
        levels = stats.spending_levels([3, 4, 9], alpha=0.01, kind=kind)
        assert math.fsum(levels) == pytest.approx(0.01)
        assert min(levels) > 0


def test_the_first_look_below_its_level_stops():
    plan = stats.group_sequential([2, 4, 6, 8, 10])
    assert plan.first_rejection([0.001, 0.0019, 0.5]) == 4
    assert plan.first_rejection([0.001, 0.01]) is None
    assert plan.first_rejection([]) is None
    assert "obrien_fleming" in str(plan)


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=5),
    st.sampled_from(["pocock", "obrien_fleming"]),
    st.floats(0.001, 0.4),
)
@LAWS
def test_the_adjusted_p_of_looks_rejects_as_the_levels_do(p, kind, alpha):
    looks = [2, 4, 6, 8, 10]
    adjusted = stats.group_sequential(looks, kind=kind).adjusted(p)
    plan = stats.group_sequential(looks, alpha=alpha, kind=kind)
    if abs(adjusted - alpha) > 1e-9:
        assert (adjusted < alpha) == (plan.first_rejection(p) is not None)


def test_a_hopeless_run_is_stopped_and_a_promising_one_is_not():
    runs = [5] * 16
    even = [0] * 6 + [5] * 6 + [2, 3, 2, 3]
    quiet = stats.stratified_test(even, runs, even, runs)
    found = stats.futility(quiet, share_done=0.5)
    assert found.stop
    assert math.isnan(found.equivalent)
    certified = stats.futility(quiet, share_done=0.5, margin=0.3)
    assert not certified.stop
    assert certified.equivalent > 0.9
    shifted = stats.stratified_test([min(5, k + 2) for k in even], runs, even, runs)
    assert not stats.futility(shifted, share_done=0.5).stop


def test_at_the_end_the_chance_of_a_verdict_is_0_or_1():
    runs = [10] * 16
    k, j = [10, 10, 10, 9, 7, 5, 4, 2, 1] + [0] * 7, [10, 10, 8, 6, 5, 2, 3] + [0] * 9
    test = stats.stratified_test(k, runs, j, runs)
    found = stats.futility(test, share_done=1, margin=0.5)
    assert (found.disparity, found.equivalent) == (1, 1)
    assert test.p < 0.05
