"""The signed gap where cells are not balanced. The sizes at large are in benchmarks/balance.py."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_fairmedagent.stats import (
    gap_interval,
    imbalance_of_cells,
    mean_gap_test,
    signed_p,
    stratified_test,
)
from pytest_fairmedagent.stats.mean_gap import parts, two_sided

cells = st.integers(1, 9).flatmap(
    lambda m: st.integers(1, 9).flatmap(
        lambda n: st.tuples(st.integers(0, m), st.just(m), st.integers(0, n), st.just(n))
    )
)
tables = st.lists(cells, min_size=2, max_size=8)


def columns(rows):
    return tuple(np.array(column) for column in zip(*rows, strict=True))


def by_hand(rows):
    """Gap, squared standard error, degrees of freedom and skewness, a vignette at a time."""
    size, seen, spread, third = len(rows), 0.0, 0.0, 0.0
    for k, m, j, n in rows:
        q, p = k / m, j / n
        for rate, runs, sign in ((q, m, 1), (p, n, -1)):
            if runs > 2:
                # The k-statistic of the answers, over runs squared: the third cumulant of a mean.
                sample = [1] * round(rate * runs) + [0] * (runs - round(rate * runs))
                sums = sum((x - rate) ** 3 for x in sample)
                third += sign * runs * sums / ((runs - 1) * (runs - 2)) / runs**2
        if min(m, n) == 1:
            seen += (q - p) ** 2
            spread += (q - p) ** 4 / 2
            continue
        for rate, runs in ((q, m), (p, n)):
            variance = rate * (1 - rate) / (runs - 1)
            seen += variance
            spread += variance**2 / max(runs - 1, 2)
    pair = sum(1 / min(m, n) ** 2 for _, m, _, n in rows) / size
    gap = sum(k / m - j / n for k, m, j, n in rows) / size
    df = (seen + pair) ** 2 / (spread + pair**2 / 5)
    variance = (seen + pair) / size**2
    return gap, variance, df, third / size**3 / variance**1.5


@given(tables)
def test_the_statistic_is_the_welch_one_with_one_discordant_pair_and_its_skewness(rows):
    from scipy import stats

    found = mean_gap_test(*columns(rows))
    gap, variance, df, skew = by_hand(rows)
    t = abs(gap) / math.sqrt(variance)
    # Only where the gap lies against the skewness, that is in the short tail.
    against = min(0.75, max(0.0, -skew if gap > 0 else skew))
    t *= 1 - against * min(t, 4) / 6
    assert found.gap == pytest.approx(gap)
    assert found.se == pytest.approx(math.sqrt(variance))
    assert found.df == pytest.approx(max(1, df))
    wanted = 2 * stats.t.sf(t, max(1, df))
    assert found.p == pytest.approx(min(1, wanted))


@given(tables)
def test_swapping_the_arms_turns_the_gap_and_keeps_the_p(rows):
    k, m, j, n = columns(rows)
    one, other = mean_gap_test(k, m, j, n), mean_gap_test(j, n, k, m)
    assert one.gap == pytest.approx(-other.gap)
    assert one.p == pytest.approx(other.p)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=8))
def test_with_equal_replicates_the_pooled_error_is_that_of_the_exact_test(rows):
    k, j = columns(rows)
    runs = np.full(len(rows), 5)
    found, exact = mean_gap_test(k, runs, j, runs), stratified_test(k, runs, j, runs)
    assert found.gap == pytest.approx(exact.gap)
    assert found.se_pooled == pytest.approx(exact.se())
    assert found.interval(0.9) == pytest.approx(gap_interval(k, runs, j, runs, 0.9))


def test_a_vignette_without_answers_in_an_arm_is_left_out():
    whole = mean_gap_test([3, 4], [5, 5], [1, 2], [4, 4])
    assert mean_gap_test([3, 2, 4], [5, 5, 5], [1, 0, 2], [4, 0, 4]).p == whole.p
    assert whole.n_strata == 2


def test_one_vignette_has_no_mean_gap_and_says_so():
    found = mean_gap_test([3, 2], [5, 5], [1, 0], [4, 0])
    assert (found.p, found.n_strata) == (1.0, 1)
    assert "1 vignettes have answers" in str(found)
    assert found.interval() == (-1.0, 1.0)
    assert gap_interval([0], [0], [0], [0]) == (-1.0, 1.0)


def test_balance_is_judged_by_cell_and_not_by_totals():
    m, n = [2, 20, 2, 20], [20, 2, 20, 2]
    assert stratified_test([1] * 4, m, [1] * 4, n).imbalance == 1
    found = imbalance_of_cells(m, n)
    assert (found.equal, found.worst) == (False, 10)


@pytest.mark.parametrize(
    ("m", "n", "ratio", "equal", "worst", "single"),
    [
        ([5, 5], [5, 5], 1, True, 1, 0),
        ([5, 4], [5, 4], 1, False, 1, 0),  # equal in each, but not of equal weight
        ([5, 5], [10, 10], 2, False, 1, 0),
        ([5, 5], [10, 8], 2, False, 1.25, 0),
        ([1, 5], [2, 10], 2, False, 1, 1),
        ([1, 1], [1, 1], 1, True, 1, 2),
        ([5, 0], [5, 5], 1, True, 1, 0),
    ],
)
def test_the_balance_of_cells_against_what_was_planned(m, n, ratio, equal, worst, single):
    found = imbalance_of_cells(m, n, ratio)
    assert (found.equal, found.worst, found.n_single) == (equal, pytest.approx(worst), single)


def test_no_cell_has_no_balance_and_nonsense_is_refused():
    assert math.isnan(imbalance_of_cells([0], [3]).worst)
    with pytest.raises(ValueError, match="expected equal shapes"):
        imbalance_of_cells([1, 2], [3])
    with pytest.raises(ValueError, match="planned_ratio"):
        imbalance_of_cells([1], [3], 0)


def test_equal_cells_keep_the_exact_p_and_others_the_larger_of_both():
    equal = stratified_test([5, 5, 4], [5] * 3, [1, 0, 1], [5] * 3)
    assert (signed_p(equal).p, signed_p(equal).basis) == (equal.p, "exact")
    assert signed_p(equal).mean_gap is None
    noisier = stratified_test([2] * 9 + [1], [2] * 10, [14] * 10, [20] * 10)
    found = signed_p(noisier, 10)
    assert found.basis == "larger"
    assert found.p == max(found.exact, found.mean_gap.p) >= noisier.p
    alone = stratified_test([2], [2], [0], [20])
    assert (signed_p(alone).p, signed_p(alone).basis) == (alone.p, "exact")
    assert signed_p(stratified_test([0], [0], [0], [3])).p == 1


def sizes(m, n, p, q, rng, size):
    ms, ns = np.tile(m, (size, 1)), np.tile(n, (size, 1))
    k, j = rng.binomial(ms, q), rng.binomial(ns, p)
    found = parts(k, ms, j, ns)
    mean = two_sided(found)
    exact = np.array([stratified_test(k[i], m, j[i], n).p for i in range(size)])
    return (exact <= 0.05).mean(), (np.maximum(exact, mean) <= 0.05).mean()


@pytest.mark.parametrize(
    ("m", "n"),
    [(2, 20), (3, 10), (1, 10), ((2, 20), (20, 2))],
    ids=["2v20", "3v10", "1v10", "mixed"],
)
def test_a_swap_that_is_only_noisier_is_no_mean_gap(m, n):
    ms, ns = np.resize(m, 32), np.resize(n, 32)
    certain = (np.arange(32) // 2 % 2).astype(float)
    # The noise sits where there are fewer answers: in the swap, or in the reference.
    p, q = np.where(ns < ms, 0.5, certain), np.where(ms < ns, 0.5, certain)
    before, after = sizes(ms, ns, p, q, np.random.default_rng(1), 1000)
    assert before > 0.09  # what the exact test alone does
    # Bound .05; more than .074 of 1,000 has a chance below .001 there.
    assert after <= 0.074


def test_the_search_for_a_gap_costs_little_where_the_reference_is_drawn_twice():
    rng = np.random.default_rng(2)
    rates = np.where(rng.random(64) < 0.3, 0.5, 0.0)
    more = np.where(np.arange(64) < 58, rates, 1.0)
    m, n = np.full(64, 2), np.full(64, 4)
    before, after = sizes(m, n, rates, more, rng, 300)
    assert before >= 0.4
    assert after >= before - 0.06


def test_few_positives_with_their_small_variance_are_no_finding_at_the_level_of_a_family():
    rng, size = np.random.default_rng(3), 20_000
    m, n = np.full((size, 64), 3), np.full((size, 64), 10)
    certain = (np.arange(64) < 8) * 1.0
    k, j = rng.binomial(m, 1 / 8), rng.binomial(n, np.tile(certain, (size, 1)))
    found = (two_sided(parts(k, m, j, n)) <= 0.05 / 18).mean()
    # Bound .0028; .0041 of 20,000 has a chance below .001 there. Without the skewness it is .0044.
    assert found <= 0.0041


def test_a_larger_gap_has_a_smaller_p_however_skewed():
    m, n = [10] * 20, [20] * 20
    found = [mean_gap_test([k] * 20, m, [19] * 20, n).p for k in range(9, -1, -1)]
    assert found == sorted(found, reverse=True)
    assert found[-1] < 1e-6
