"""The floor, its intervals, and what is made of it."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pytest_fairmedagent import stats, strategies

LAWS = settings(deadline=None, max_examples=60)


def cells():
    """(k, n) of up to 10 vignettes with up to 10 answers each, some with none."""
    return strategies.counts().map(lambda counts: (list(counts.k), list(counts.n)))


def pairs_apart(k, n):
    outcomes = [1] * k + [0] * (n - k)
    return [a != b for a, b in itertools.combinations(outcomes, 2)]


@given(cells())
@LAWS
def test_the_floor_is_the_share_of_replicate_pairs_that_disagree(counts):
    listed = [pairs_apart(k, n) for k, n in zip(*counts, strict=True)]
    found = stats.floor(*counts)
    assert found.disagreements == sum(map(sum, listed))
    assert found.pairs == sum(map(len, listed))
    for value, apart in zip(found.cells, listed, strict=True):
        assert value == pytest.approx(np.mean(apart)) if apart else math.isnan(value)
    if found.pairs:
        assert found.rate == found.disagreements / found.pairs
    else:
        assert math.isnan(found.rate)
        assert found.interval() == (0, 1)
        assert "not measured" in str(found)


@given(cells(), st.randoms(use_true_random=False), st.sampled_from(["population", "fixed"]))
@LAWS
def test_the_interval_holds_the_floor_whatever_the_order(counts, shuffler, target):
    k, n = counts
    found = stats.floor(k, n)
    low, high = found.interval(target=target)
    assert 0 <= low <= high <= 1
    if found.pairs:
        assert low <= found.rate <= high
    order = list(range(len(k)))
    shuffler.shuffle(order)
    again = stats.floor([k[i] for i in order], [n[i] for i in order])
    assert again.interval(target=target) == pytest.approx((low, high), abs=1e-9)


@given(cells())
@LAWS
def test_positive_and_negative_are_only_names(counts):
    k, n = counts
    mirrored = stats.floor([b - a for a, b in zip(k, n, strict=True)], n)
    found = stats.floor(k, n)
    assert mirrored.disagreements == found.disagreements
    assert mirrored.interval() == found.interval()


def test_the_interval_of_the_worked_example():
    k = [10, 10, 8, 6, 5, 2, 3, 0, 0, 0, 0, 0, 0, 3, 3, 9]
    found = stats.floor(k, [10] * 16)
    assert found.rate == pytest.approx(0.2125)
    assert found.interval() == pytest.approx((0.093815837, 0.353239091), abs=1e-6)
    low, high = found.interval(0.99)
    assert low < 0.0938
    assert high > 0.3533


def test_statsmodels_gives_the_same_clopper_pearson_on_the_effective_size():
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    scipy_stats = pytest.importorskip("scipy.stats")
    k = np.array([10, 10, 8, 6, 5, 2, 3, 0, 0, 0, 0, 0, 0, 3, 3, 9])
    scale = 10 / 18
    share = 2 * k * (10 - k) / 90 / scale
    variance = share.var(ddof=1) / 16
    shrink = scipy_stats.norm.ppf(0.975) / scipy_stats.t.ppf(0.975, 15)
    size = share.mean() * (1 - share.mean()) / variance * shrink**2
    want = proportion.proportion_confint(share.mean() * size, size, 0.05, method="beta")
    assert stats.floor(k, [10] * 16).interval() == pytest.approx([scale * end for end in want])


def test_all_unanimous_is_not_a_floor_of_zero():
    # 0 of 720: below .037 for these vignettes, .086 for vignettes like these, one-sided.
    quiet = stats.floor([0] * 8 + [10] * 8, [10] * 16)
    assert (quiet.rate, quiet.pairs) == (0, 720)
    runs = [10] * 16
    assert stats.zero_floor_upper(runs, target="fixed") == pytest.approx(0.0364101274)
    assert stats.zero_floor_upper(runs) == pytest.approx(0.0855419356)
    assert quiet.interval(target="fixed") == (0, stats.zero_floor_upper(runs, target="fixed"))
    assert quiet.interval() == (0, stats.zero_floor_upper(runs, confidence=0.975))


@given(st.lists(st.integers(2, 12), min_size=1, max_size=20), st.sampled_from([0.9, 0.95, 0.99]))
@LAWS
def test_the_zero_rule_puts_the_chance_of_silence_at_alpha(runs, confidence):
    x = stats.zero_floor_upper(runs, confidence=confidence)
    silent = math.prod(1 - 2 * x * (1 - 2.0 ** (1 - n)) for n in runs)
    assert silent == pytest.approx(1 - confidence, rel=1e-6) or x == 0.5
    x = stats.zero_floor_upper(runs, confidence=confidence, target="fixed")
    p = (1 - math.sqrt(1 - 2 * x)) / 2
    silent = math.prod(p**n + (1 - p) ** n for n in runs)
    assert silent == pytest.approx(1 - confidence, rel=1e-6) or x == 0.5


def test_one_vignette_says_nothing_about_a_population():
    assert stats.floor([3], [10]).interval() == (0, 1)
    low, high = stats.floor([3], [10]).interval(target="fixed")
    assert 0 < low < high < 1


def test_two_replicates_count_as_pairs_not_as_trials():
    # Four vignettes whose two runs disagree are four pairs: p = 1/2 gives this one time in 16.
    low, high = stats.floor([1] * 4, [2] * 4).interval()
    assert low < 0.5
    assert high == 1


@pytest.mark.parametrize(("floor", "n_vignettes"), [(0.087, 16), (0.215, 16), (0.087, 40)])
def test_the_population_interval_covers_at_its_level(floor, n_vignettes):
    # 500 data sets: the standard error at .95 is .01, so .92 is three of them below.
    rng = np.random.default_rng(20)
    a, b = stats.rate_law(floor)
    hits = 0
    for _ in range(500):
        k = rng.binomial(10, rng.beta(a, b, n_vignettes))
        low, high = stats.floor(k, np.full(n_vignettes, 10)).interval()
        hits += low <= floor <= high
    assert hits / 500 > 0.92


def test_the_percentile_interval_of_quiet_data_is_empty_and_says_so_nowhere_else():
    assert stats.percentile_interval([0, 0, 0], [10] * 3) == (0, 0)
    assert all(map(math.isnan, stats.percentile_interval([0, 1], [1, 1])))


def test_a_seed_draws_vignettes_as_pythons_choice_does():
    k, n, draws = [1, 5, 2, 0, 9], [10, 10, 9, 10, 10], 400
    chooser = random.Random(42)
    rates = []
    for _ in range(draws):
        chosen = [chooser.choice(range(5)) for _ in range(5)]
        apart = sum(k[v] * (n[v] - k[v]) for v in chosen)
        rates.append(apart / sum(math.comb(n[v], 2) for v in chosen))
    rates.sort()
    want = rates[int(0.025 * draws)], rates[int(0.975 * draws)]
    assert stats.percentile_interval(k, n, n_resamples=draws, rng=42) == want


def test_pooled_and_single_intervals_come_from_the_same_draws():
    rng = np.random.default_rng(1)
    k, n = rng.binomial(10, 0.4, (12, 3)), np.full((12, 3), 10)
    found = stats.percentile_intervals(k, n, n_resamples=500)
    assert found.pooled == stats.percentile_interval(k, n, n_resamples=500)
    for action in range(3):
        want = stats.percentile_interval(k[:, action], n[:, action], n_resamples=500)
        assert found.outcomes[action] == pytest.approx(want)
    generator = stats.percentile_interval(k, n, n_resamples=500, rng=np.random.default_rng(3))
    assert generator == pytest.approx(found.pooled, abs=0.05)


@given(cells())
@LAWS
def test_a_floor_does_not_differ_from_itself(counts):
    assume(stats.floor(*counts).pairs)
    found = stats.floor_difference(*counts, *counts, n_resamples=50)
    assert found.difference == 0
    assert found.interval in ((0, 0), pytest.approx((math.nan, math.nan), nan_ok=True))


def test_differences_of_models_and_of_actions_use_the_vignette_as_the_unit():
    rng = np.random.default_rng(5)
    quiet, noisy = rng.binomial(10, 0.05, (30, 6)), rng.binomial(10, 0.4, (30, 6))
    runs = np.full((30, 6), 10)
    models = stats.floor_difference(noisy, runs, quiet, runs, n_resamples=500)
    assert models.difference == pytest.approx(0.48 - 0.095, abs=0.05)
    assert models.interval[0] > 0.3
    actions = stats.floor_difference(
        noisy[:, 0], runs[:, 0], noisy[:, 1], runs[:, 1], n_resamples=500
    )
    assert actions.interval[0] < 0 < actions.interval[1]


def test_leaving_out_the_only_noisy_vignette_leaves_a_quiet_floor():
    found = stats.leave_one_out([0, 5, 0, 10], [10] * 4)
    assert found.rate == pytest.approx(25 / 180)
    assert (found.low, found.most_influential) == (0, 1)
    assert found.high == pytest.approx(25 / 135)
    assert list(found.rates) == pytest.approx([25 / 135, 0, 25 / 135, 25 / 135])


@given(st.integers(1, 4), st.integers(2, 3), st.data())
@LAWS
def test_a_pooled_floor_weights_pairs_and_keeps_its_outcomes(vignettes, actions, data):
    n = data.draw(st.lists(st.lists(st.integers(0, 6), min_size=actions, max_size=actions),
                           min_size=vignettes, max_size=vignettes))  # fmt: skip
    k = [[data.draw(st.integers(0, most)) for most in row] for row in n]
    found = stats.pooled_floor(k, n)
    listed = [
        apart
        for row, runs in zip(k, n, strict=True)
        for a, b in zip(row, runs, strict=True)
        for apart in pairs_apart(a, b)
    ]
    assert (found.disagreements, found.pairs) == (sum(listed), len(listed))
    for action, single in enumerate(found.outcomes):
        alone = stats.floor([row[action] for row in k], [row[action] for row in n])
        assert single.disagreements == alone.disagreements
    low, high = found.interval()
    assert 0 <= low <= high <= 1


def test_copies_of_an_action_do_not_narrow_the_pooled_interval():
    rng = np.random.default_rng(2)
    k = rng.binomial(10, rng.beta(0.4, 0.4, 16))
    runs = np.full(16, 10)
    once = stats.floor(k, runs).interval()
    sixfold = stats.pooled_floor(np.tile(k[:, None], 6), np.tile(runs[:, None], 6)).interval()
    assert sixfold == pytest.approx(once)
    quiet = np.zeros((16, 6), dtype=int)
    silent = stats.pooled_floor(quiet, np.full((16, 6), 10)).interval()
    assert silent == stats.floor([0] * 16, runs).interval()


@pytest.mark.parametrize(
    ("replicates", "votes", "by_k"),
    [
        (10, 3, {0: "0", 1: "0", 2: "2/15", 3: "11/30", 4: "61/105", 5: "2/3"}),
        (6, 3, {1: "0", 2: "2/5", 3: "1"}),
    ],
)
def test_the_vote_floor_is_that_of_all_disjoint_sets(replicates, votes, by_k):
    for k, want in by_k.items():
        assert stats.vote_cell(k, replicates, votes) == Fraction(want)
        assert stats.vote_cell(replicates - k, replicates, votes) == Fraction(want)


@given(st.integers(2, 8), st.integers(0, 2), st.sampled_from([1, 3]), st.data())
@settings(deadline=None, max_examples=40)
def test_abstaining_votes_are_those_of_listed_sets(n, missing, votes, data):
    assume(2 * votes <= n + missing)
    k = data.draw(st.integers(0, n))
    outcomes = [1] * k + [-1] * (n - k) + [0] * missing
    everyone = set(range(len(outcomes)))
    apart = decided = 0
    for first in itertools.combinations(everyone, votes):
        for second in itertools.combinations(sorted(everyone - set(first)), votes):
            one, two = sum(outcomes[i] for i in first), sum(outcomes[i] for i in second)
            if one and two:
                decided += 1
                apart += (one > 0) != (two > 0)
    found = stats.vote_floor([k], [n], votes=votes, replicates=n + missing).rate
    assert found == pytest.approx(apart / decided) if decided else math.isnan(found)


def test_one_vote_is_the_floor_itself():
    k, n = [0, 3, 5, 9], [10, 10, 9, 10]
    found = stats.vote_floor(k, n, votes=1)
    assert list(found.cells) == pytest.approx(list(stats.floor(k, n).cells))


@given(st.integers(1, 8), st.integers(1, 8), st.data())
@LAWS
def test_rarefied_flags_and_pass_hat_k_are_shares_of_listed_subsets(n, draws, data):
    k = data.draw(st.integers(0, n))
    flags, passes = (f([k], [n], draws=draws)[0] for f in (stats.rarefied_flags, stats.pass_hat_k))
    if draws > n:
        assert math.isnan(flags)
        assert math.isnan(passes)
        return
    subsets = list(itertools.combinations([1] * k + [0] * (n - k), draws))
    assert flags == pytest.approx(np.mean([0 < sum(s) < draws for s in subsets]))
    assert passes == pytest.approx(np.mean([sum(s) == draws for s in subsets]))


def test_two_draws_are_flagged_as_often_as_the_floor_says():
    k, n = [0, 3, 5, 9], [10] * 4
    assert list(stats.rarefied_flags(k, n, draws=2)) == pytest.approx(list(stats.floor(k, n).cells))


def test_the_normalised_floor_is_one_minus_krippendorffs_alpha():
    found = stats.normalised_floor([10, 8, 5, 0, 1, 10], [10] * 6)
    assert found.rate == pytest.approx(0.3707893413775767)
    assert found.rate_simple == pytest.approx(0.37707390648567124)
    assert found.alpha == 1 - found.rate
    assert math.isnan(stats.normalised_floor([0, 0], [10, 10]).rate)
    # Reliability data of Krippendorff 2011 restated as two raters: alpha = 1 - 9 * 14 / ... by hand
    # below: units 2/2, 2/2, 1/2, 0/2, 0/2; Do = 1/5, De = 2 * 5 * 5 / 90.
    small = stats.normalised_floor([2, 2, 1, 0, 0], [2] * 5)
    assert small.rate == pytest.approx((1 / 5) / (50 / 90))


def test_the_simple_normalised_floor_is_one_minus_fleiss_kappa():
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
    k, n = np.array([10, 8, 5, 0, 1, 10, 3]), 10
    kappa = inter_rater.fleiss_kappa(np.stack((k, n - k), axis=1))
    assert stats.normalised_floor(k, [n] * 7).rate_simple == pytest.approx(1 - kappa)
