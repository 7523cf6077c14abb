"""Excess over the floor, several arms at once, and tests whose unit is the vignette."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from pytest_fairmedagent import stats, strategies

LAWS = settings(deadline=None, max_examples=50)


def equal_designs(max_replicates=6):
    """(k, j, R): positives of swap and reference, with R replicates on up to 8 vignettes."""

    def design(table):
        vignettes = list(dict.fromkeys(vignette for vignette, _ in table.rows))
        swap, ref = (table.counts(vignettes, c, "referral") for c in ("race_black", "reference"))
        return list(swap.k), list(ref.k), swap.n[0]

    return strategies.replicate_tables(
        n_vignettes=(1, 8), n_replicates=(1, max_replicates), actions=["referral"]
    ).map(design)


@given(equal_designs(max_replicates=8))
@LAWS
def test_the_flip_rate_is_both_floors_halved_plus_the_squared_difference(design):
    k, j, replicates = design
    runs = [replicates] * len(k)
    found = stats.excess(k, runs, j, runs)
    if replicates < 2:
        assert found.n_cells == 0
        assert math.isnan(found.mean)
        return
    assert found.flip_rate == pytest.approx(
        (found.floor_swap + found.floor_ref) / 2 + found.mean_squared_difference
    )
    assert found.floor_swap == pytest.approx(stats.floor(k, runs).rate)
    assert found.flip_rate == pytest.approx(stats.stratified_test(k, runs, j, runs).flip_rate)
    # (k/m - j/n)**2 less the unbiased variance of either share, the other form of the same.
    p, q = np.array(k) / replicates, np.array(j) / replicates
    other = (p - q) ** 2 - (p * (1 - p) + q * (1 - q)) / (replicates - 1)
    assert found.cells == pytest.approx(other)


def test_the_excess_is_unbiased_for_the_squared_difference():
    # All outcomes of one vignette with p = .3 and q = .6, weighted by their probability.
    m, n, p, q = 3, 4, 0.3, 0.6
    total = 0.0
    for k in range(m + 1):
        for j in range(n + 1):
            chance = scipy_stats.binom.pmf(k, m, p) * scipy_stats.binom.pmf(j, n, q)
            total += chance * stats.excess([k], [m], [j], [n]).mean
    assert total == pytest.approx((p - q) ** 2)


def test_effects_that_cancel_show_in_the_excess_and_not_in_the_gap():
    found = stats.excess([3, 0], [3, 3], [0, 3], [3, 3])
    assert (found.mean, found.flip_rate) == (1, 1)
    assert stats.stratified_test([3, 0], [3, 3], [0, 3], [3, 3]).p == 1
    # Only 2 of 20 relabellings of a vignette are as extreme: (2/20)**2.
    assert stats.excess_test_fraction([3, 0], [0, 3], 3) == Fraction(1, 100)
    assert stats.excess_test([3, 0], [0, 3], 3) == pytest.approx(0.01)
    assert stats.excess_test_fraction([4, 1, 2], [1, 4, 2], 4) == Fraction(83, 1715)


@given(equal_designs())
@LAWS
def test_the_float_p_of_the_excess_is_the_exact_fraction(design):
    assert stats.excess_test(*design) == pytest.approx(
        float(stats.excess_test_fraction(*design)), rel=1e-11
    )


def test_unequal_replicates_are_permuted_to_nearly_the_exact_p():
    k, j = [4, 1, 2, 0], [1, 4, 2, 3]
    exact = stats.excess_test(k, j, 4)
    permuted = stats.excess_test([*k, 0], [*j, 0], [4] * 4 + [5], [4] * 4 + [4])
    # A unanimous vignette of unequal size adds nothing but forces permutation: se .002.
    assert permuted == pytest.approx(exact, abs=0.01)
    again = stats.excess_test([*k, 0], [*j, 0], [4] * 4 + [5], [4] * 4 + [4])
    assert permuted == again


def test_one_replicate_cannot_show_an_excess():
    assert stats.excess_test([1, 1, 1, 1], [0, 0, 0, 0], 1) == 1
    assert stats.excess_test([1, 1], [0, 1], [1, 1], [2, 1]) == 1


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=6))
@LAWS
def test_two_arms_at_arity_two_have_the_flip_rate_and_the_floor_of_pooled_runs(pairs):
    k, n = np.array(pairs), np.full((len(pairs), 2), 5)
    found = stats.arity_matched(k, n, n_resamples=19)
    test = stats.stratified_test(k[:, 0], n[:, 0], k[:, 1], n[:, 1])
    assert found.rate == pytest.approx(test.flip_rate, abs=1e-12)
    assert found.expected == pytest.approx(stats.floor(k.sum(axis=1), n.sum(axis=1)).rate)
    assert found.excess == pytest.approx(found.rate - found.expected)


def test_the_null_of_several_arms_is_the_mean_over_all_relabellings():
    outcomes = [1, 1, 0, 0, 0, 1]
    rates = []
    for order in itertools.permutations(outcomes):
        k = [[sum(order[:2]), sum(order[2:4]), sum(order[4:])]]
        rates.append(stats.arity_matched(k, [[2, 2, 2]], n_resamples=1).rate)
    found = stats.arity_matched([[2, 0, 1]], [[2, 2, 2]], n_resamples=4000)
    assert found.expected == pytest.approx(np.mean(rates))
    exact = np.mean(np.array(rates) >= found.rate - 1e-9)
    assert found.p == pytest.approx(exact, abs=0.03)


def test_looking_at_more_arms_of_one_configuration_finds_more_flips_and_no_excess():
    rng = np.random.default_rng(7)
    p = rng.beta(0.4, 0.4, 40)
    k = rng.binomial(10, p[:, None], (40, 6))
    runs = np.full((40, 6), 10)
    two = stats.arity_matched(k[:, :2], runs[:, :2], n_resamples=499)
    six = stats.arity_matched(k, runs, n_resamples=499)
    assert six.rate > 1.5 * two.rate
    assert six.p > 0.05
    assert abs(six.excess) < 0.05


def test_arms_without_outcomes_drop_the_vignette():
    found = stats.arity_matched([[1, 0], [0, 0]], [[2, 2], [2, 0]], n_resamples=9)
    assert (found.n_vignettes, found.n_dropped) == (1, 1)
    assert stats.arity_matched([[0, 0]], [[2, 0]], n_resamples=9).p == 1


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
@LAWS
def test_the_sign_flip_p_is_that_of_all_signs_listed(values):
    found = stats.sign_flip_test(values)
    observed = sum(values)
    sums = [
        sum(s * abs(v) for s, v in zip(signs, values, strict=True))
        for signs in itertools.product((-1, 1), repeat=len(values))
    ]
    assert found.p == pytest.approx(np.mean([abs(s) >= abs(observed) for s in sums]))
    assert found.p_greater == pytest.approx(np.mean([s >= observed for s in sums]))
    halves = stats.sign_flip_test([v / 2 for v in values])
    assert halves.p == pytest.approx(found.p)


def test_drawn_signs_come_near_the_exact_p():
    rng = np.random.default_rng(0)
    values = rng.integers(-3, 5, 20)
    exact = stats.sign_flip_test(values)
    drawn = stats.sign_flip_test(values * 0.37)
    assert (exact.method, drawn.method) == ("exact", "permutation")
    assert drawn.p == pytest.approx(exact.p, abs=0.02)


def test_standardised_differences_square_to_the_test_of_one_vignette():
    k, m, j, n = [9, 3, 0, 0], [10, 4, 5, 0], [3, 2, 0, 1], [10, 5, 5, 2]
    values = stats.standardised_differences(k, m, j, n)
    for i in (0, 1):
        test = stats.stratified_test([k[i]], [m[i]], [j[i]], [n[i]])
        want = (test.statistic - test.null_mean) / math.sqrt(test.null_var)
        assert values[i] == pytest.approx(want)
    assert values[2] == 0
    assert math.isnan(values[3])
