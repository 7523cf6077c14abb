"""Scores, sets, rank correlation and kappa."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from pytest_fairmedagent import stats

LAWS = settings(deadline=None, max_examples=40)
grades = st.lists(st.integers(1, 5), min_size=1, max_size=4)


@st.composite
def binary_designs(draw):
    size = draw(st.integers(1, 6))
    rows = st.lists(
        st.lists(st.sampled_from([0, 1]), min_size=1, max_size=6), min_size=size, max_size=size
    )
    return draw(rows), draw(rows)


@given(binary_designs())
@LAWS
def test_for_a_binary_score_it_is_the_exact_signed_test(design):
    swap, ref = design
    test = stats.stratified_test(
        [sum(x) for x in swap], [len(x) for x in swap], [sum(y) for y in ref], [len(y) for y in ref]
    )
    found = stats.stratified_wilcoxon(swap, ref)
    assert found.method == "exact"
    for name in ("p", "p_greater", "p_less"):
        assert getattr(found, name) == pytest.approx(getattr(test, name), rel=1e-9)
    assert found.superiority == pytest.approx(test.gap, abs=1e-12)
    assert found.difference == pytest.approx(test.gap, abs=1e-12)
    assert found.absolute_difference == pytest.approx(test.flip_rate)
    assert found.floor_swap == pytest.approx(
        stats.floor([sum(x) for x in swap], [len(x) for x in swap]).rate, nan_ok=True
    )
    low, high = found.interval()
    assert (max(low, -1), min(high, 1)) == pytest.approx(test.interval())


@given(st.lists(st.tuples(grades, grades), min_size=1, max_size=2))
@LAWS
def test_p_is_that_of_all_relabellings_listed(rows):
    laws, observed = [], Fraction(0)
    for x, y in rows:
        pooled = x + y
        ranks = [Fraction(sum(v < u for v in pooled) * 2 + sum(v == u for v in pooled) + 1, 2)
                 for u in pooled]  # fmt: skip
        sums = [sum(c) / len(pooled) for c in itertools.combinations(ranks, len(x))]
        laws.append([Fraction(s) for s in sums])
        observed += Fraction(sum(ranks[: len(x)])) / len(pooled)
    totals = [sum(combination) for combination in itertools.product(*laws)]
    found = stats.stratified_wilcoxon(*zip(*rows, strict=True))
    assert found.p_greater == pytest.approx(np.mean([t >= observed for t in totals]))
    assert found.p_less == pytest.approx(np.mean([t <= observed for t in totals]))


@given(st.lists(st.tuples(grades, grades), min_size=1, max_size=4))
@LAWS
def test_swapping_the_arms_flips_the_signs(rows):
    swap, ref = zip(*rows, strict=True)
    found, mirrored = stats.stratified_wilcoxon(swap, ref), stats.stratified_wilcoxon(ref, swap)
    assert mirrored.p == pytest.approx(found.p)
    assert mirrored.difference == pytest.approx(-found.difference)
    assert mirrored.superiority == pytest.approx(-found.superiority)
    assert mirrored.absolute_difference == pytest.approx(found.absolute_difference)


def test_one_stratum_without_ties_is_mann_whitney():
    x, y = [1.0, 4.5, 6.0, 7.5], [2.0, 3.0, 5.0, 5.5, 0.5]
    want = scipy_stats.mannwhitneyu(x, y, alternative="greater", method="exact")
    found = stats.stratified_wilcoxon([x], [y])
    assert found.p_greater == pytest.approx(want.pvalue)
    assert found.superiority == pytest.approx(2 * want.statistic / 20 - 1)


def test_permutation_takes_over_where_no_lattice_is_short_enough():
    rng = np.random.default_rng(6)
    sizes = [7, 8, 9, 10, 11, 12, 13]
    swap = [rng.integers(0, 100, n).tolist() for n in sizes]
    ref = [rng.integers(0, 100, 10).tolist() for _ in sizes]
    found = stats.stratified_wilcoxon(swap, ref, rng=1)
    assert found.method == "permutation"
    assert found.p == stats.stratified_wilcoxon(swap, ref, rng=1).p
    exact = stats.stratified_wilcoxon([row[:7] for row in swap], ref)
    assert exact.method == "exact"
    assert 0 < found.p <= 1


def test_missing_scores_and_empty_strata_are_left_out():
    found = stats.stratified_wilcoxon([[3, None, 5], [None]], [[1, math.nan], [2, 2]])
    assert (found.n_strata, found.n_dropped, found.m_total, found.n_total) == (1, 1, 2, 1)
    assert found.difference == 3
    nothing = stats.stratified_wilcoxon([[None]], [[1]])
    assert nothing.p == 1
    assert math.isnan(nothing.difference)
    assert nothing.interval() == (-math.inf, math.inf)


def test_strata_labels_merge_rows():
    merged = stats.stratified_wilcoxon([[1], [2]], [[3], [4]], strata=["a", "a"])
    assert merged.p == stats.stratified_wilcoxon([[1, 2]], [[3, 4]]).p


def test_scores_under_the_null_reject_no_more_than_the_level():
    # 400 null data sets of urgency scores at .05: three standard errors are .033.
    rng = np.random.default_rng(10)
    hits = 0
    for _ in range(400):
        centre = rng.normal(50, 20, (8, 1))
        x, y = (np.rint(rng.normal(centre, 10, (8, 5)) / 5) for _ in range(2))
        hits += stats.stratified_wilcoxon(x.tolist(), y.tolist()).p <= 0.05
    assert hits / 400 < 0.083


def test_sets_that_never_change_have_no_excess_and_changed_ones_do():
    stable = [[{"ecg", "troponin"}] * 4] * 6
    found = stats.set_contrast(stable, stable)
    assert (found.excess, found.crossed, found.p) == (0, 0, 1)
    fewer = [[{"ecg"}] * 4] * 6
    found = stats.set_contrast(fewer, stable)
    assert found.crossed == pytest.approx(0.5)
    assert found.excess == pytest.approx(0.5)
    assert found.p < 0.01
    assert [e.element for e in found.elements] == ["troponin", "ecg"]
    troponin = found.elements[0]
    assert troponin.test.gap == -1
    assert troponin.p_adjusted == min(1, 2 * troponin.test.p)


@given(st.lists(st.tuples(st.lists(st.sampled_from([0, 1]), min_size=2, max_size=4),
                          st.lists(st.sampled_from([0, 1]), min_size=2, max_size=4)),
                min_size=1, max_size=4))  # fmt: skip
@LAWS
def test_sets_of_one_possible_order_are_a_binary_outcome(rows):
    swap = [[{"x"} if a else set() for a in x] for x, _ in rows]
    ref = [[{"x"} if b else set() for b in y] for _, y in rows]
    found = stats.set_contrast(swap, ref, n_resamples=9)
    want = stats.excess(
        [sum(x) for x, _ in rows],
        [len(x) for x, _ in rows],
        [sum(y) for _, y in rows],
        [len(y) for _, y in rows],
    )
    assert found.excess == pytest.approx(want.mean, abs=1e-12)
    assert found.crossed == pytest.approx(want.flip_rate)


def test_vignettes_with_one_replicate_have_no_excess_but_count_for_elements():
    found = stats.set_contrast([[{"a"}], [None]], [[{"b"}], [{"b"}]])
    assert (found.n_vignettes, found.n_dropped, found.p) == (0, 2, 1)
    assert math.isnan(found.excess)
    assert {e.element for e in found.elements} == {"a", "b"}


@pytest.mark.parametrize(
    ("x", "y", "rho", "p"),
    [
        ([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 6, 5], 0.9428571428571428, "1/60"),
        ([1, 2, 3, 4, 5, 6], [1, 2, 4, 3, 6, 5], 0.8857142857142857, "1/30"),
        ([1, 2, 2, 4, 5, 6], [2, 2, 3, 1, 5, 6], 0.6029411764705882, "19/90"),
        ([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6], 1.0, "1/360"),
    ],
)
def test_spearman_over_all_orders(x, y, rho, p):
    found = stats.spearman(x, y)
    assert found.rho == pytest.approx(rho)
    assert found.p_fraction == Fraction(p)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=3, max_size=12))
@LAWS
def test_spearmans_rho_is_scipys(pairs):
    x, y = ([pair[i] for pair in pairs] for i in (0, 1))
    assume(len(set(x)) > 1 and len(set(y)) > 1)
    found = stats.spearman(x, y, n_resamples=9)
    assert found.rho == pytest.approx(scipy_stats.spearmanr(x, y).statistic)
    assert 0 < found.p <= 1


def test_spearman_needs_variation_to_mean_anything():
    found = stats.spearman([1, 1, 1], [1, 2, 3])
    assert math.isnan(found.rho)
    assert found.p == 1


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
def test_kappa_and_its_standard_error_are_statsmodels(weights):
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
    table = np.array([[20, 5, 1], [3, 15, 4], [0, 6, 9]])
    name = {"none": None, "linear": "linear", "quadratic": "quadratic"}[weights]
    want = inter_rater.cohens_kappa(table, wt=name)
    found = stats.kappa(table, weights=weights)
    assert found.value == pytest.approx(want.kappa)
    assert found.se == pytest.approx(want.std_kappa)
    assert found.interval() == pytest.approx((want.kappa_low, want.kappa_upp))


def test_kappa_by_hand():
    # po = 35/50 = .7, pe = .5: kappa .4
    found = stats.kappa([[20, 5], [10, 15]])
    assert found.value == pytest.approx(0.4)
    assert found.agreement == pytest.approx(0.7)
    assert stats.kappa([[5, 0], [0, 5]]).value == 1
    constant = stats.kappa([[5, 0], [0, 0]])
    assert math.isnan(constant.value)
    assert constant.interval() == (-1, 1)


def test_kappa_of_labels_orders_numbers_as_numbers():
    a, b = [1, 2, 10, None, 2], [1, 10, 10, 1, 2]
    found = stats.kappa_of(a, b, weights="linear")
    assert found.n == 4
    assert found.table.tolist() == [[1, 0, 0], [0, 1, 1], [0, 0, 1]]
    wide = stats.kappa_of(a, b, labels=[1, 2, 3, 10], weights="linear")
    assert wide.table.shape == (4, 4)
