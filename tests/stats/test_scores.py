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
from pytest_fairmedagent.stats import ESTIMANDS, MEAN, SUPERIORITY, _studentised

LAWS = settings(deadline=None, max_examples=40)
grades = st.lists(st.integers(1, 4), min_size=1, max_size=3)
designs = st.lists(st.tuples(grades, grades), min_size=1, max_size=3)


def studentised(rows, estimand):
    """The statistic as it is defined, stratum by stratum."""
    gaps, variances = [], []
    for x, y in rows:
        rises = np.subtract.outer(np.array(x, float), np.array(y, float))
        rises = rises if estimand == MEAN else np.sign(rises)
        gaps.append(rises.mean())
        if min(rises.shape) == 1:
            variances.append(gaps[-1] ** 2)
        else:
            m, n = rises.shape
            variances.append(
                rises.mean(axis=1).var(ddof=1) / m + rises.mean(axis=0).var(ddof=1) / n
            )
    total, variance = math.fsum(gaps), math.fsum(variances)
    if abs(total) < 1e-9:
        return 0.0
    return total / math.sqrt(variance) if variance > 1e-12 else math.copysign(math.inf, total)


def relabellings(x, y):
    pooled = [*x, *y]
    for chosen in itertools.combinations(range(len(pooled)), len(x)):
        rest = [pooled[i] for i in range(len(pooled)) if i not in chosen]
        yield [pooled[i] for i in chosen], rest


@pytest.mark.parametrize("estimand", ESTIMANDS)
@given(rows=designs)
@LAWS
def test_p_is_that_of_all_relabellings_listed(estimand, rows):
    listed = itertools.product(*(tuple(relabellings(x, y)) for x, y in rows))
    values = np.array([studentised(found, estimand) for found in listed])
    seen = studentised(rows, estimand)
    found = stats.score_test(*zip(*rows, strict=True), estimand=estimand)
    assert found.method == "exact"
    greater, less = np.mean(values >= seen - 1e-9), np.mean(values <= seen + 1e-9)
    assert found.relabelled == pytest.approx((greater, less))
    assert found.p_greater >= found.relabelled[0]
    assert found.p_less >= found.relabelled[1]
    assert found.p == min(1, 2 * min(found.p_greater, found.p_less))
    ends = np.mean(values >= values.max() - 1e-9), np.mean(values <= values.min() + 1e-9)
    assert found.p_attainable == pytest.approx(min(1, 2 * min(ends)))


@pytest.mark.parametrize("estimand", ESTIMANDS)
@given(rows=designs)
@LAWS
def test_swapping_the_arms_flips_the_signs(estimand, rows):
    swap, ref = zip(*rows, strict=True)
    found = stats.score_test(swap, ref, estimand=estimand)
    mirrored = stats.score_test(ref, swap, estimand=estimand)
    assert (mirrored.p_greater, mirrored.p_less) == pytest.approx((found.p_less, found.p_greater))
    assert (mirrored.gap, mirrored.se, mirrored.df) == pytest.approx(
        (-found.gap, found.se, found.df)
    )
    assert mirrored.difference == pytest.approx(-found.difference)
    assert mirrored.superiority == pytest.approx(-found.superiority)
    assert mirrored.absolute_difference == pytest.approx(found.absolute_difference)


def test_one_answer_an_arm_is_the_sign_flip_test():
    swap, ref = [5, 9, 2, 7, 7, 1], [3, 1, 4, 4, 2, 0]
    found = stats.score_test([[x] for x in swap], [[y] for y in ref])
    want = stats.sign_flip_test(np.subtract(swap, ref))
    assert (found.p, found.p_greater, found.gap) == pytest.approx(
        (want.p, want.p_greater, want.mean)
    )
    assert found.se == pytest.approx(math.sqrt(sum((np.subtract(swap, ref)) ** 2)) / 6)


X, Y = [1.0, 4.5, 6.0, 7.5, 7.5], [2.0, 3.0, 5.0, 0.5]


def test_one_stratum_is_welchs_statistic_and_that_of_brunner_and_munzel():
    found = stats.score_test([X], [Y])
    assert found.gap / found.se == pytest.approx(
        scipy_stats.ttest_ind(X, Y, equal_var=False).statistic
    )
    by_rank = stats.score_test([X], [Y], estimand=SUPERIORITY)
    assert by_rank.gap / by_rank.se == pytest.approx(
        -scipy_stats.brunnermunzel(X, Y).statistic, rel=1e-12
    )
    want = scipy_stats.mannwhitneyu(X, Y)
    assert by_rank.superiority == by_rank.gap == pytest.approx(2 * want.statistic / 20 - 1)


def test_degrees_of_freedom_are_right_on_average_where_each_variance_has_one():
    # 32 variances of one degree of freedom: naively Satterthwaite's formula gives 11.
    rng = np.random.default_rng(3)
    found = [stats.score_test(*rng.normal(size=(2, 16, 2)), n_resamples=1).df for _ in range(60)]
    assert np.mean(found) == pytest.approx(32, abs=4)
    assert stats.score_test([X], [Y]).df == pytest.approx(
        max(1, _satterthwaite(np.var(X, ddof=1) / 5, 5, np.var(Y, ddof=1) / 4, 4))
    )
    assert stats.score_test([[3]], [[1]]).df == 1
    assert stats.score_test([[3, 3], [1, 1], [2]], [[3, 3], [1, 1], [2]]).df == 2 + 2 + 1


def _satterthwaite(a, m, b, n):
    return (a + b) ** 2 / (a**2 / (m + 1) + b**2 / (n + 1)) - 2


def drawn(monkeypatch, **limits):
    for name, value in {"_LISTED": 1, **limits}.items():
        monkeypatch.setattr(_studentised, name, value)


@pytest.mark.parametrize("limits", [{}, {"_LAW": 1}], ids=["laws", "pools"])
@pytest.mark.parametrize("estimand", ESTIMANDS)
def test_where_relabellings_are_drawn_p_is_the_listed_one_but_for_chance(
    monkeypatch, estimand, limits
):
    rng = np.random.default_rng(4)
    swap, ref = rng.integers(0, 9, (3, 4)) + 1, rng.integers(0, 9, (3, 3))
    exact = stats.score_test(swap, ref, estimand=estimand)
    drawn(monkeypatch, **limits)
    found = stats.score_test(swap, ref, estimand=estimand, rng=1)
    assert (exact.method, found.method) == ("exact", "permutation")
    for p, drawn_p in zip(exact.relabelled, found.relabelled, strict=True):
        # Four standard errors, those of pools (20,000 labellings a stratum) included.
        assert drawn_p == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / 5000))
    again = [stats.score_test(swap, ref, estimand=estimand, rng=n).relabelled for n in (1, 2)]
    assert found.relabelled == again[0] != again[1]


def test_a_single_vignette_is_drawn_by_itself(monkeypatch):
    exact = stats.score_test([X], [Y])
    drawn(monkeypatch)
    found = stats.score_test([X], [Y])
    assert found.method == "permutation"
    (p, _), (drawn_p, _) = exact.relabelled, found.relabelled
    assert drawn_p == pytest.approx(p, abs=4 * math.sqrt(p / 5000))


def test_a_small_tail_is_counted_over_five_times_as_many_draws(monkeypatch):
    swap, ref = [[9, 8, 9, 7]] * 6, [[1, 2, 3, 2]] * 6
    found = stats.score_test(swap, ref, n_resamples=999)
    assert found.method == "permutation"
    assert found.relabelled == (1 / 5000, 1.0)
    assert found.p == found.p_attainable == 2 / 5000
    drawn(monkeypatch, _SMALL=0.0)
    assert stats.score_test(swap, ref, n_resamples=999).relabelled[0] == 1 / 1000


def test_the_smallest_p_of_few_different_scores_is_their_number_of_ways(monkeypatch):
    # One odd answer in each of two cells of four against four: highest in half of each.
    swap, ref = [[1, 1, 1, 2]] * 2, [[1, 1, 1, 1]] * 2
    assert stats.score_test(swap, ref).p_attainable == pytest.approx(0.5)
    drawn(monkeypatch)
    assert stats.score_test(swap, ref).p_attainable == pytest.approx(0.5)


def test_missing_scores_and_empty_strata_are_left_out():
    found = stats.score_test([[3, None, 5], [None]], [[1, math.nan], [2, 2]])
    assert (found.n_strata, found.n_dropped, found.m_total, found.n_total) == (1, 1, 2, 1)
    assert found.difference == found.gap == 3
    nothing = stats.score_test([[None]], [[1]])
    assert (nothing.p, nothing.p_attainable, nothing.weight) == (1, 1, 0)
    assert math.isnan(nothing.gap)
    assert nothing.interval() == (-math.inf, math.inf)
    assert nothing.p_beyond(1) == 1


def test_strata_labels_merge_rows():
    merged = stats.score_test([[1], [2]], [[3], [4]], strata=["a", "a"])
    assert merged.p == stats.score_test([[1, 2]], [[3, 4]]).p


def test_p_is_the_larger_of_relabelling_and_t():
    swap, ref = [[5, 9], [6, 8], [9, 9], [7, 8]], [[4, 1], [3, 3], [5, 4], [2, 6]]
    exact = stats.score_test(swap, ref)
    assert (exact.p_greater, exact.p_less) == exact.relabelled  # one of 1,296 ways
    found = stats.score_test(swap, ref, unit=20)
    law, step = scipy_stats.t(found.df), found.gap / found.error()
    assert found.p_greater == pytest.approx(law.sf(step))
    assert found.p_greater > found.relabelled[0]
    assert found.p == pytest.approx(2 * found.p_greater)
    # The interval and p agree, where t decides.
    assert found.interval(1 - found.p)[0] == pytest.approx(0, abs=1e-9)
    mirrored = stats.score_test(ref, swap, unit=20)
    assert mirrored.p_less == pytest.approx(found.p_greater)
    once = stats.score_test([[5], [6], [9]], [[1], [2], [4]], unit=20)
    assert (once.p_greater, once.p_less) == once.relabelled


def test_all_vignettes_count_alike_however_many_scores_they_have():
    found = stats.score_test([[4] * 9, [1, 3]], [[2] * 9, [2, 2]])
    assert found.gap == pytest.approx((2 + 0) / 2)


def test_the_interval_adds_one_pair_and_is_of_the_estimand():
    found = stats.score_test([X], [Y])
    low, high = found.interval(0.9)
    reach = scipy_stats.t(found.df).ppf(0.95) * math.hypot(found.se, 1 / (2 * 20 / 9))
    assert (low, high) == pytest.approx((found.gap - reach, found.gap + reach))
    wide = stats.score_test([X], [Y], unit=10)
    assert wide.error() == pytest.approx(math.hypot(found.se, 10 / (2 * 20 / 9)))
    levels = stats.score_test([[2, 3]], [[1, 1]], estimand=SUPERIORITY, unit=10)
    assert (levels.gap, levels.unit) == (1, 1)
    assert levels.interval()[1] == 1
    assert stats.score_test([[1, 1]], [[2, 3]], estimand=SUPERIORITY).interval()[0] == -1


def test_p_beyond_a_minimum_is_that_at_its_border():
    found = stats.score_test([X], [Y])
    law = scipy_stats.t(found.df)
    steps = [(found.gap - 0.5) / found.error(), (found.gap + 0.5) / found.error()]
    assert found.p_beyond(0.5) == pytest.approx(law.sf(steps[0]) + law.sf(steps[1]))
    mirrored = stats.score_test([Y], [X])
    assert mirrored.p_beyond(0.5) == pytest.approx(found.p_beyond(0.5))
    assert found.p_beyond(100) == pytest.approx(1)


def test_floors_are_of_the_estimand():
    swap, ref = [[1, 4, 4], [2]], [[5, 5], [1, 2]]
    means = stats.score_test(swap, ref)
    assert (means.floor_swap, means.floor_ref) == (2, 0.5)
    levels = stats.score_test(swap, ref, estimand=SUPERIORITY)
    assert (levels.floor_swap, levels.floor_ref) == pytest.approx((2 / 3, 1 / 2))
    assert math.isnan(stats.score_test([[1]], [[1]]).floor)


@pytest.mark.parametrize("estimand", ESTIMANDS)
def test_the_gap_of_a_stratum_has_an_unbiased_variance(estimand):
    rng = np.random.default_rng(8)
    swap, ref = rng.integers(0, 4, (4000, 3)), rng.integers(0, 5, (4000, 2))
    gaps, variances = np.array(stats.stratum_gaps(swap, ref, estimand=estimand)).T
    assert variances.mean() == pytest.approx(gaps.var(), rel=0.07)
    nothing, one = stats.stratum_gaps([[None], [1]], [[2, 3], [3, 3]], estimand=estimand)
    assert all(map(math.isnan, nothing))
    assert one[0] == pytest.approx(-2 if estimand == MEAN else -1)
    assert math.isnan(one[1])


def test_scores_of_which_nothing_differs_reject_no_more_than_the_level():
    # 120 null data sets of urgency scores at .05: three standard errors are .06.
    rng = np.random.default_rng(10)
    hits = 0
    for _ in range(120):
        centre = rng.normal(50, 20, (8, 1))
        x, y = (np.rint(rng.normal(centre, 10, (8, 3)) / 5) for _ in range(2))
        hits += stats.score_test(x, y, n_resamples=199).p <= 0.05
    assert hits / 120 < 0.11


def test_equal_means_of_a_skewed_arm_are_not_told_apart():
    # The rank test, reported as a mean difference, rejects every one of these.
    rng = np.random.default_rng(11)
    hits = 0
    for _ in range(30):
        x, y = 80.0 * (rng.random((16, 10)) < 0.1), 8 + rng.normal(0, 1, (16, 10))
        hits += stats.score_test(x, y, n_resamples=199).p <= 0.05
    assert hits <= 5  # three standard errors above .05


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
