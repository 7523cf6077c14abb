"""The exact stratified test and its interval."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from scipy.stats.contingency import odds_ratio as scipy_odds_ratio

from pytest_fairmedagent.stats import (
    logit_shift,
    odds_ratio,
    rate_law,
    stratified_test,
    tost,
)

LAWS = settings(deadline=None, max_examples=60)


@st.composite
def designs(draw, max_vignettes=8, max_replicates=6, equal=False):
    """(k, m, j, n) with any replicates, or the same number everywhere."""
    size = draw(st.integers(1, max_vignettes))
    runs = st.integers(1, max_replicates)
    if equal:
        m = n = [draw(runs)] * size
    else:
        m, n = draw(st.lists(st.tuples(runs, runs), min_size=size, max_size=size).map(unzip))
    k = [draw(st.integers(0, most)) for most in m]
    j = [draw(st.integers(0, most)) for most in n]
    return k, m, j, n


def unzip(pairs):
    return [list(column) for column in zip(*pairs, strict=True)]


def relabellings(k, m, j, n):
    """Laws of T by listing every way to hand the outcomes of a vignette to its two arms."""
    law = {0: Fraction(1)}
    for a, size, b, other in zip(k, m, j, n, strict=True):
        outcomes = [1] * (a + b) + [0] * (size + other - a - b)
        ways = list(itertools.combinations(outcomes, size))
        stratum = {}
        for chosen in ways:
            stratum[sum(chosen)] = stratum.get(sum(chosen), 0) + Fraction(1, len(ways))
        longer = {}
        for t, p in law.items():
            for x, q in stratum.items():
                longer[t + x] = longer.get(t + x, 0) + p * q
        law = longer
    return law


@given(designs(max_vignettes=3, max_replicates=4))
@LAWS
def test_p_values_are_those_of_all_relabellings_listed(design):
    law = relabellings(*design)
    test = stratified_test(*design, fractions=True)
    t = sum(design[0])
    greater = sum(p for x, p in law.items() if x >= t)
    less = sum(p for x, p in law.items() if x <= t)
    assert test.p_greater_fraction == greater
    assert test.p_less_fraction == less
    assert test.p_fraction == min(1, 2 * min(greater, less))
    assert test.mid_p_fraction == min(1, 2 * min(greater, less) - law[t])
    assert test.p_attainable_fraction == min(1, 2 * min(law[min(law)], law[max(law)]))
    mean = sum(x * p for x, p in law.items())
    assert test.null_mean == pytest.approx(float(mean))
    assert test.null_var == pytest.approx(float(sum((x - mean) ** 2 * p for x, p in law.items())))


@given(designs(max_vignettes=12, max_replicates=10))
@LAWS
def test_floats_agree_with_exact_fractions(design):
    test = stratified_test(*design, fractions=True)
    for name in ("p", "p_greater", "p_less", "mid_p", "p_attainable"):
        exact = float(getattr(test, f"{name}_fraction"))
        assert getattr(test, name) == pytest.approx(exact, rel=1e-11)


@given(designs(), st.randoms(use_true_random=False))
@LAWS
def test_the_order_of_vignettes_changes_not_a_digit(design, random):
    rows = list(zip(*design, strict=True))
    random.shuffle(rows)
    before, after = stratified_test(*design), stratified_test(*unzip(rows))
    for name in ("p", "gap", "mid_p", "null_var", "b", "c", "gap_simple"):
        assert getattr(before, name) == getattr(after, name)
    assert before.interval() == after.interval()


@given(designs())
@LAWS
def test_swapping_the_arms_flips_the_sign_and_keeps_p(design):
    k, m, j, n = design
    test, mirrored = stratified_test(k, m, j, n), stratified_test(j, n, k, m)
    assert mirrored.gap == pytest.approx(-test.gap)
    assert mirrored.p == pytest.approx(test.p, rel=1e-12)
    assert mirrored.p_greater == pytest.approx(test.p_less, rel=1e-12)
    assert (mirrored.b, mirrored.c) == pytest.approx((test.c, test.b))
    low, high = test.interval()
    assert mirrored.interval() == pytest.approx((-high, -low))


@given(designs(), st.booleans(), st.integers(1, 6))
@LAWS
def test_a_unanimous_vignette_leaves_p_alone(design, positive, runs):
    k, m, j, n = design
    count = runs * positive
    wider = stratified_test([*k, count], [*m, runs], [*j, count], [*n, runs])
    test = stratified_test(*design)
    assert (wider.p, wider.mid_p, wider.p_attainable) == (test.p, test.mid_p, test.p_attainable)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 5), st.integers(0, 5))
@LAWS
def test_with_one_replicate_it_is_the_exact_mcnemar_test(b, c, both, neither):
    assume(b + c + both + neither)
    k = [1] * b + [0] * c + [1] * both + [0] * neither
    j = [0] * b + [1] * c + [1] * both + [0] * neither
    ones = [1] * len(k)
    test = stratified_test(k, ones, j, ones)
    want = scipy_stats.binomtest(b, b + c).pvalue if b + c else 1.0
    assert test.p == pytest.approx(want, rel=1e-10)
    assert (test.b, test.c) == (b, c)
    assert test.gap == pytest.approx((b - c) / len(k))
    assert test.flip_rate == pytest.approx((b + c) / len(k))


def test_statsmodels_mcnemar_and_mantel_haenszel_agree():
    contingency = pytest.importorskip("statsmodels.stats.contingency_tables")
    found = contingency.mcnemar([[20, 9], [1, 10]], exact=True)
    k, j = [1] * 9 + [0], [0] * 9 + [1]
    assert stratified_test(k, [1] * 10, j, [1] * 10).p == pytest.approx(found.pvalue)
    k, m, j, n = [4, 2, 3], [5, 4, 3], [2, 2, 0], [5, 5, 2]
    tables = [[[a, x - a], [b, y - b]] for a, x, b, y in zip(k, m, j, n, strict=True)]
    chi2 = contingency.StratifiedTable(tables).test_null_odds().statistic
    test = stratified_test(k, m, j, n)
    assert (test.statistic - test.null_mean) ** 2 / test.null_var == pytest.approx(chi2)


@given(designs(equal=True))
@LAWS
def test_one_pair_per_block_gives_the_mcnemar_test_of_the_pairs(design):
    k, m, j, _ = design
    pairs = [
        (int(r < a), int(r < b)) for a, size, b in zip(k, m, j, strict=True) for r in range(size)
    ]
    rows = [list(column) for column in zip(*pairs, strict=True)]
    ones = [1] * len(pairs)
    blocked = stratified_test(rows[0], ones, rows[1], ones, strata=range(len(pairs)))
    b, c = pairs.count((1, 0)), pairs.count((0, 1))
    want = scipy_stats.binomtest(b, b + c).pvalue if b + c else 1.0
    assert blocked.p == pytest.approx(want, rel=1e-10)
    # Labels by vignette put the same rows together again.
    labels = [v for v, size in enumerate(m) for _ in range(size)]
    merged = stratified_test(rows[0], ones, rows[1], ones, strata=labels)
    assert merged.p == stratified_test(*design).p
    assert merged.n_strata == len(k)


@given(designs(equal=True))
@LAWS
def test_the_null_variance_is_the_floor_of_the_pooled_runs(design):
    k, m, j, _ = design
    replicates = m[0]
    both = [a + b for a, b in zip(k, j, strict=True)]
    runs = 2 * replicates
    pooled = math.fsum(2 * s * (runs - s) / (runs * (runs - 1)) for s in both)
    test = stratified_test(*design)
    assert 4 * test.null_var == pytest.approx(replicates * pooled, abs=1e-12)
    assert test.floor_pooled == pytest.approx(pooled / len(k), abs=1e-12)
    # Expected discordant pairs, and the gap between them.
    b = math.fsum(x * (replicates - y) / replicates for x, y in zip(k, j, strict=True))
    assert test.b == pytest.approx(b)
    assert test.gap == pytest.approx((test.b - test.c) / (len(k) * replicates), abs=1e-12)
    assert test.gap == pytest.approx(test.gap_simple, abs=1e-12)
    assert test.imbalance == 1


def test_one_stratum_is_fishers_exact_test():
    # 2 P(T >= 9), hypergeometric(20, 12, 10): 83/4199 by hand.
    test = stratified_test([9], [10], [3], [10], fractions=True)
    assert test.p_fraction == Fraction(83, 4199)
    fisher = scipy_stats.fisher_exact([[9, 1], [3, 7]], alternative="greater")
    assert test.p_greater == pytest.approx(fisher.pvalue)


@pytest.mark.parametrize(
    ("design", "p", "mid_p"),
    [
        # 2 (1/2)**4, the smallest p of four discordant pairs
        (([1] * 4 + [0] * 4, [1] * 8, [0] * 8, [1] * 8), "1/8", "1/16"),
        # 2 (1 + 10) / 1024
        (([1] * 9 + [0], [1] * 10, [0] * 9 + [1], [1] * 10), "11/512", "3/256"),
        # +3 and -3 cancel
        (([3, 0], [3, 3], [0, 3], [3, 3]), "1", "1"),
        (([3, 2, 1], [3] * 3, [1, 0, 1], [3] * 3), "4/25", "11/125"),
        (([4, 2, 3], [5, 4, 3], [2, 2, 0], [5, 5, 2]), "166/1323", "191/2646"),
        # one swap run against five of the reference: each stratum is Bernoulli(s/6)
        (([1, 1, 1, 0, 1, 1], [1] * 6, [1, 0, 2, 0, 4, 1], [5] * 6), "5/324", "5/648"),
    ],
)
def test_small_cases_done_by_hand(design, p, mid_p):
    test = stratified_test(*design, fractions=True)
    assert (test.p_fraction, test.mid_p_fraction) == (Fraction(p), Fraction(mid_p))
    assert test.p == pytest.approx(float(Fraction(p)))


def test_the_interval_is_the_pooled_floor_plus_one_discordant_pair():
    # Nine discordant of 40 pairs one way, one the other: sd sqrt(10 + 1) / 40.
    k, j = [1] * 9 + [0] * 31, [0] * 9 + [1] + [0] * 30
    test = stratified_test(k, [1] * 40, j, [1] * 40)
    assert test.se() == pytest.approx(math.sqrt(11) / 40)
    assert test.interval() == pytest.approx((0.0374883715, 0.3625116285))
    assert test.interval(0.9)[0] == pytest.approx(0.2 - 1.644853627 * math.sqrt(11) / 40)


def test_without_variance_nothing_can_be_said_but_the_interval_stays_open():
    test = stratified_test([1, 0], [1, 1], [1, 0], [1, 1])
    assert (test.p, test.p_attainable, test.mid_p, test.gap) == (1, 1, 1, 0)
    low, high = test.interval()
    assert low < 0 < high


def test_strata_without_an_arm_are_dropped_and_counted():
    test = stratified_test([1, 2, 0], [1, 3, 0], [0, 0, 2], [1, 0, 4])
    assert (test.n_strata, test.n_dropped, test.m_total, test.n_total) == (1, 2, 1, 1)
    assert test.gap == 1
    empty = stratified_test([0, 1], [0, 1], [1, 0], [1, 0])
    assert (empty.n_strata, empty.p, empty.p_attainable) == (0, 1, 1)
    assert math.isnan(empty.gap)
    assert empty.interval() == (-1, 1)
    assert "no vignette has outcomes in both arms" in str(empty)


def test_far_tails_keep_their_relative_accuracy():
    test = stratified_test([10] * 30, [10] * 30, [0] * 30, [10] * 30)
    log10 = math.log10(2) - 30 * math.log10(math.comb(20, 10))
    assert math.log10(test.p) == pytest.approx(log10, rel=1e-12)
    beyond = stratified_test([10] * 300, [10] * 300, [0] * 300, [10] * 300)
    assert 0 < beyond.p < 1e-300


def test_thousands_of_discordant_pairs_do_not_underflow():
    k = [1] * 1600 + [0] * 1400
    j = [0] * 1600 + [1] * 1400
    ones = [1] * 3000
    want = scipy_stats.binomtest(1600, 3000).pvalue
    assert stratified_test(k, ones, j, ones).p == pytest.approx(want, rel=1e-9)


@given(st.integers(1, 9), st.integers(1, 9), st.data())
@settings(deadline=None, max_examples=25)
def test_the_odds_ratio_of_one_table_is_scipys(m, n, data):
    k, j = data.draw(st.integers(0, m)), data.draw(st.integers(0, n))
    assume(0 < k + j < m + n)
    found = odds_ratio(stratified_test([k], [m], [j], [n]))
    want = scipy_odds_ratio([[k, m - k], [j, n - j]])
    low, high = want.confidence_interval(0.95)
    assert found.estimate == pytest.approx(want.statistic, rel=1e-5)
    assert found.low == pytest.approx(low, rel=1e-5)
    assert found.high == pytest.approx(high, rel=1e-5)


@given(designs())
@settings(deadline=None, max_examples=30)
def test_the_odds_ratio_interval_leaves_out_1_when_the_test_rejects(design):
    test = stratified_test(*design)
    found = odds_ratio(test, confidence=0.95)
    assume(abs(test.p - 0.05) > 1e-6)
    assert (found.low > 1 or found.high < 1) == (test.p < 0.05)


def test_an_odds_ratio_needs_variation():
    found = odds_ratio(stratified_test([1], [1], [1], [1]))
    assert math.isnan(found.estimate)
    assert (found.low, found.high) == (0, math.inf)


@given(designs(), st.floats(0.01, 0.99), st.sampled_from([0.01, 0.05, 0.1]))
@LAWS
def test_equivalent_is_the_interval_inside_the_margin(design, margin, alpha):
    test = stratified_test(*design)
    found = tost(test, margin=margin, alpha=alpha)
    low, high = found.interval
    assume(min(abs(low + margin), abs(high - margin)) > 1e-9)
    assert found.equivalent == (-margin < low and high < margin)
    assert found.interval == test.interval(1 - 2 * alpha)


@pytest.mark.parametrize("margin", [0, -0.1, 1, None, math.nan])
def test_never_equivalent_without_a_margin(margin):
    test = stratified_test([5] * 40, [10] * 40, [5] * 40, [10] * 40)
    assert tost(test, margin=0.2).equivalent
    with pytest.raises(ValueError, match="margin"):
        tost(test, margin=margin)


@given(designs())
@settings(deadline=None, max_examples=20)
def test_results_read_as_sentences(design):
    test = stratified_test(*design)
    assert repr(test) == f"<StratifiedTest: {test}>"
    assert f"{test.n_strata} strata" in str(test)
    assert f"p={test.p:.3g}" in str(test)
    assert np.array_equal(test.k_swap, design[0])


@pytest.mark.parametrize(("gap", "floor"), [(0.0, 0.087), (0.25, 0.215)])
def test_the_interval_covers_the_mean_gap_of_these_vignettes(gap, floor):
    # STATISTICS simulated .966 and .972; 600 data sets have a standard error of .008.
    rng = np.random.default_rng(12)
    a, b = rate_law(floor)
    odds = math.exp(logit_shift(gap, a, b))
    runs, hits = np.full(16, 10), 0
    for _ in range(600):
        p = rng.beta(a, b, 16)
        q = p * odds / (1 - p + p * odds)
        low, high = stratified_test(rng.binomial(10, q), runs, rng.binomial(10, p), runs).interval()
        hits += low <= (q - p).mean() <= high
    assert hits / 600 > 0.94
