"""A minimum gap, and how large a gap may be where nothing differs."""

import numpy as np
import pytest

from pytest_fairmedagent.stats import (
    identical_bound,
    mean_gap_test,
    minimum_gap_p,
    power_of_minimum_gap,
)
from pytest_fairmedagent.stats.minimum_gap import beyond


def test_a_gap_within_the_minimum_has_p_1_and_one_beyond_it_has_less():
    m = [10] * 16
    small = minimum_gap_p([6] * 16, m, [5] * 16, m, minimum=0.1)
    large = minimum_gap_p([9] * 16, m, [5] * 16, m, minimum=0.1)
    assert small == 1
    assert large < 1e-6
    assert minimum_gap_p([5] * 16, m, [9] * 16, m, minimum=0.1) == pytest.approx(large)


def test_the_p_is_the_sum_of_both_tails_half_a_step_off():
    from scipy import stats

    k, m, j, n = [4, 5, 3, 5], [5] * 4, [1, 2, 3, 1], [10] * 4
    found = mean_gap_test(k, m, j, n)
    half = 0.25 * (1 / 5 + 1 / 10) / 4
    tails = [(found.gap + sign * 0.05 - half) / found.se for sign in (-1, 1)]
    wanted = sum(stats.t.sf(tail, found.df) for tail in tails)
    assert minimum_gap_p(k, m, j, n, minimum=0.05) == pytest.approx(wanted)


def test_a_smaller_minimum_has_a_smaller_p():
    k, j, m = [9, 8, 7, 9, 6, 9], [5, 5, 4, 6, 5, 3], [10] * 6
    found = [minimum_gap_p(k, m, j, m, minimum=x) for x in (0.01, 0.05, 0.1, 0.2)]
    assert found == sorted(found)
    assert found[0] < found[-1]


def test_one_vignette_and_nonsense():
    assert minimum_gap_p([9], [9], [0], [9], minimum=0.1) == 1
    for minimum in (0, 1, -0.1):
        with pytest.raises(ValueError, match="minimum"):
            minimum_gap_p([1, 1], [2, 2], [1, 1], [2, 2], minimum=minimum)


@pytest.mark.parametrize(("v", "r"), [(16, 10), (64, 2)])
def test_a_gap_of_exactly_the_minimum_is_found_at_most_as_often_as_allowed(v, r):
    rng = np.random.default_rng(3)
    p = np.tile(np.where(np.arange(v) % 4, 0.1, 0.5), (4000, 1))
    m = np.full(p.shape, r)
    k, j = rng.binomial(m, p + 0.1), rng.binomial(m, p)
    # Bound .05; .062 of 4,000 has a chance below .001 there.
    assert (beyond(k, m, j, m, 0.1) <= 0.05).mean() <= 0.062


@pytest.mark.parametrize(("v", "r", "gap"), [(64, 2, 0.2), (16, 10, 0.15)])
def test_the_power_of_a_minimum_gap_is_what_simulation_gives(v, r, gap):
    rng = np.random.default_rng(4)
    p = np.tile(np.where(np.arange(v) % 4, 0.05, 0.4), (4000, 1))
    m = np.full(p.shape, r)
    k, j = rng.binomial(m, p + gap), rng.binomial(m, p)
    floor = float((p * (1 - p) + (p + gap) * (1 - p - gap)).mean())
    for members in (1, 18):
        planned = power_of_minimum_gap(
            gap, floor, v * r, minimum=0.05, replicates=r, n_members=members
        )
        found = (beyond(k, m, j, m, 0.05) <= 0.05 / members).mean()
        assert planned == pytest.approx(found, abs=0.05)


@pytest.mark.parametrize(("v", "r"), [(4, 3), (16, 10), (64, 2), (1, 1)])
def test_the_bound_of_equal_replicates_is_clopper_and_pearsons(v, r):
    from scipy import stats

    wanted = stats.binomtest(0, v * r).proportion_ci(0.9, "exact").high
    assert identical_bound([r] * v, [r] * v) == pytest.approx(wanted)


def test_the_bound_of_unequal_replicates_is_the_largest_gap_that_may_stay_unseen():
    from scipy import optimize

    m, n = [10, 4, 1, 3], [10, 12, 5, 3]
    runs = np.minimum(m, n)
    found = optimize.minimize(
        lambda still: -np.mean(1 - still),
        np.full(4, 0.9),
        bounds=[(1e-9, 1)] * 4,
        constraints={"type": "ineq", "fun": lambda x: (runs * np.log(x)).sum() - np.log(0.05)},
    )
    assert identical_bound(m, n) == pytest.approx(-found.fun, abs=1e-6)


@pytest.mark.parametrize(("m", "n"), [(1, 1), (3, 3), (2, 4), (1, 6), (10, 10)])
def test_no_pair_of_rates_agrees_more_often_than_one_certain_arm(m, n):
    p = np.linspace(0, 1, 401)
    for gap in np.linspace(0, 1, 41):
        low = p[p <= 1 - gap]
        high = np.minimum(low + gap, 1)
        agree = low**n * high**m + (1 - low) ** n * (1 - high) ** m
        assert agree.max() <= (1 - gap) ** min(m, n) + 1e-12


def test_an_agent_of_four_cases_by_three_is_not_shown_to_have_no_gap_of_eight_in_a_hundred():
    assert identical_bound([3] * 4, [3] * 4) > 0.2
    assert identical_bound([10] * 16, [10] * 16) < 0.05


def test_a_vignette_without_answers_may_hide_a_gap_of_one():
    assert identical_bound([0, 0], [3, 3]) == 1
    assert identical_bound([3, 0], [3, 3]) == pytest.approx((1 - 0.05 ** (1 / 3) + 1) / 2)
    with pytest.raises(ValueError, match="expected equal shapes"):
        identical_bound([3], [3, 3])
    with pytest.raises(ValueError, match="alpha"):
        identical_bound([3], [3], 1.0)
