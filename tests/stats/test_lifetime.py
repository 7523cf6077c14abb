"""Evidence that adds up over runs: exact by enumeration, against brute force, and as a process."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats as sp

from pytest_fairmedagent.stats import (
    close_over_means,
    guarded_e,
    lifetime_e,
    moved_by_sham,
    rounds_evidence,
    run_evidence,
    runs_to_find,
    sampling_variance,
    stratified_test,
    surface_share,
)
from pytest_fairmedagent.stats.lifetime import BETS

SIZES = [(1, 1), (2, 2), (3, 3), (2, 4), (2, 5), (4, 2), (3, 7), (10, 10)]


def payoffs(k, m, j, n):
    return np.exp(run_evidence([k], [m], [j], [n]))


@pytest.mark.parametrize(("m", "n"), SIZES)
def test_every_bet_is_fair_given_the_margins_where_no_case_changes(m, n):
    for s in range(m + n + 1):
        law = sp.hypergeom(m + n, s, m)
        low, high = max(0, s - n), min(m, s)
        mean = sum(law.pmf(k) * payoffs(k, m, s - k, n) for k in range(low, high + 1))
        assert mean == pytest.approx(np.ones(41), rel=1e-12)


@pytest.mark.parametrize(("m", "n"), [(1, 1), (2, 2), (3, 3), (2, 4), (2, 5)])
@pytest.mark.parametrize(("p", "q"), [(0.1, 0.4), (0.5, 0.45), (0.9, 0.9), (0.0, 1.0)])
def test_a_bet_grows_by_the_gap_of_a_case_alone_so_that_cancelling_gaps_win_nothing(m, n, p, q):
    mean = sum(
        sp.binom.pmf(k, m, q) * sp.binom.pmf(j, n, p) * payoffs(k, m, j, n)
        for k in range(m + 1)
        for j in range(n + 1)
    )
    expected = (1 + BETS * (q - p)) ** m
    assert mean == pytest.approx(expected, rel=1e-12)
    assert (expected <= np.exp(BETS * m * (q - p)) + 1e-12).all()


@pytest.mark.parametrize(("k", "m", "j", "n"), [(2, 3, 1, 3), (1, 2, 2, 4), (2, 2, 3, 5)])
def test_a_payoff_is_the_mean_over_all_ways_to_pair_the_draws(k, m, j, n):
    swap, size = [1] * k + [0] * (m - k), n // m
    ways = [
        np.prod(
            [
                1 + BETS * (x - sum(order[i * size : (i + 1) * size]) / size)
                for i, x in enumerate(swap)
            ],
            axis=0,
        )
        for order in itertools.permutations([1] * j + [0] * (n - j))
    ]
    assert payoffs(k, m, j, n) == pytest.approx(np.mean(ways, axis=0), rel=1e-12)


def test_at_one_replicate_only_discordant_pairs_count_as_in_order_of_arrival():
    k, j, one = [1, 1, 1, 0, 0, 1], [0, 0, 1, 1, 0, 0], [1] * 6
    assert run_evidence(k, one, j, one) == pytest.approx(rounds_evidence(3, 1))


def test_changing_the_arms_changes_the_sign_of_every_bet_and_quiet_cases_pay_nothing():
    k, m, j, n = [2, 0, 3], [3, 3, 3], [1, 0, 3], [3, 3, 6]
    there, back = run_evidence(k, m, j, n), run_evidence(j, n, k, m)
    assert there == pytest.approx(back[::-1])
    assert run_evidence([0, 3], [3, 3], [0, 3], [3, 3]) == pytest.approx(np.zeros(41))
    assert run_evidence([0, 5], [0, 9], [2, 0], [4, 0]) == pytest.approx(np.zeros(41))


def test_cells_beyond_the_range_of_doubles_have_a_bet_too():
    assert payoffs(300, 500, 250, 500) == pytest.approx(1 + BETS * 0.1)


def test_runs_add_up_and_a_gap_that_comes_late_need_not_make_good_what_was_lost():
    logs = np.array([rounds_evidence(2, 3)] * 30 + [rounds_evidence(9, 2)] * 8)
    e = lifetime_e(logs)
    for n in (1, 7, 38):  # the mixture, written out
        since = [np.exp(logs[i:n].sum(axis=0)).mean() / ((i + 1) * (i + 2)) for i in range(n)]
        assert e[n - 1] == pytest.approx(1 / (n + 1) + sum(since))
    assert e == pytest.approx(lifetime_e(logs, shrink=np.ones((38, 38))))
    assert e[-1] > 20 > np.exp(logs.sum(axis=0)).mean()


def test_the_process_has_mean_1_while_no_run_has_a_gap():
    rng, ends = np.random.default_rng(3), []
    for _ in range(3000):
        b = rng.binomial(6, 0.5, 4)
        ends.append(lifetime_e(np.array([rounds_evidence(x, 6 - x) for x in b]))[-1])
    # Four standard errors; every bet has mean 1, so that no tail is cut off.
    assert np.mean(ends) == pytest.approx(1, abs=4 * np.std(ends) / math.sqrt(3000))


def test_closing_over_means_is_the_smallest_mean_of_all_sets_that_hold_a_member():
    rng = np.random.default_rng(1)
    for _ in range(30):
        e = np.round(rng.exponential(2, 6) ** 3, 2)
        every = [*e[:4], 1.0, 1.0]
        brute = [
            min(
                np.mean([every[i], *(every[x] for x in others)])
                for size in range(6)
                for others in itertools.combinations([x for x in range(6) if x != i], size)
            )
            for i in range(4)
        ]
        assert close_over_means(e[:4], n_members=6) == pytest.approx(brute)
    assert close_over_means([]).size == 0


def _line(rng, jitter, shift, *, shams=2, runs=12, cases=64):
    logit = sp.logistic.ppf(np.clip(rng.beta(0.105, 0.105, cases), 1e-9, 1 - 1e-9))
    rate = lambda more=0.0: sp.logistic.cdf(logit + more + jitter * rng.normal(size=cases))  # noqa: E731
    full = np.full(cases, 2)
    swap, base, arms = rate(shift), rate(), [rate() for _ in range(shams)]
    logs, moved, noise, sampling = [], [], [], []
    for _ in range(runs):
        k, j = rng.binomial(2, swap), rng.binomial(2, base)
        logs.append(run_evidence(k, full, j, full))
        sampling.append(sampling_variance(k, full, j, full))
        pairs = [moved_by_sham(rng.binomial(2, arm), full, j, full) for arm in arms]
        moved.append([far for far, _ in pairs] or np.zeros((0, cases)))
        noise.append([own for _, own in pairs] or np.zeros((0, cases)))
    return guarded_e(logs, np.array(moved), np.array(noise), sampling, bar=20)


def test_surface_noise_adds_up_like_a_gap_and_shams_keep_it_from_turning_red():
    rng = np.random.default_rng(4)
    lives = [_line(rng, 1.5, 0.0, runs=40) for _ in range(12)]
    assert sum(plain.max() >= 20 for plain, _ in lives) >= 4  # .6 expected without it
    assert sum(e.max() >= 20 for _, e in lives) <= 1
    plain, e = _line(rng, 0.0, 1.6)  # a gap that shams do not show
    assert plain.max() >= e.max() >= 20


def test_without_enough_sham_cells_nothing_is_more_than_surface_noise():
    rng = np.random.default_rng(4)
    for shams, cases in ((0, 64), (1, 40), (2, 24)):
        plain, e = _line(rng, 0.0, 3.0, shams=shams, cases=cases)
        assert plain.max() > 20
        assert e.max() <= 1


def test_a_share_is_the_sampling_part_of_the_variance_with_shams_that_move_by_a_known_amount():
    moved = np.tile([0.5, -0.5], (3, 2, 400))
    share = surface_share(moved, np.zeros_like(moved), np.full(3, 0.001), bar=20)
    for i, n in ((0, 0), (0, 2), (1, 2)):  # a = .25 / 800, known exactly
        s = 0.001 / (n - i + 1)
        assert share[i, n] == pytest.approx(s / (s + 0.25 / 800))
    assert share[2, 0] == 0


def test_sampling_variance_is_that_of_the_exact_test():
    k, m, j, n = [1, 2, 0], [2, 2, 2], [0, 1, 0], [2, 4, 2]
    test = stratified_test(k, m, j, n)
    assert sampling_variance(k, m, j, n) == pytest.approx(test.se() ** 2 - 0.25 / test.weight**2)
    assert math.isnan(sampling_variance([0], [0], [1], [2]))
    assert np.isnan(moved_by_sham([1], [1], [0], [2])[0]).all()


def test_a_larger_gap_is_foretold_earlier_and_one_that_is_not_found_is_said_so():
    near = runs_to_find(0.08, 0.087, 64, 2, n_members=18, n_datasets=15)
    far = runs_to_find(0.08, 0.087, 32, 2, n_members=18, n_datasets=15)
    assert near.runs < far.runs
    assert near.share >= 0.8
    assert (np.diff(near.found) >= 0).all()
    assert "is found by run" in str(near)
    none = runs_to_find(0.08, 0.087, 16, 2, n_members=18, n_datasets=3)  # too few cases for shams
    assert none.runs is None
    assert "is not found" in str(none)


def test_numbers_out_of_range_are_refused():
    with pytest.raises(ValueError, match="one row per run"):
        lifetime_e([1.0])
    with pytest.raises(ValueError, match="shrink"):
        lifetime_e(np.zeros((2, 41)), shrink=np.ones((1, 1)))
    with pytest.raises(ValueError, match="n_members"):
        close_over_means([1, 2], n_members=1)
    with pytest.raises(ValueError, match=">= 0"):
        close_over_means([-1])
    with pytest.raises(ValueError, match="moved, noise, sampling"):
        surface_share(np.zeros((2, 1, 3)), np.zeros((2, 1, 3)), [0.1])
