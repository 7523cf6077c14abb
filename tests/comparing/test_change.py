"""The tests of a change: exact against enumeration, and their error rates on a known truth."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_fairmedagent.stats import (
    floor_change,
    floor_change_test,
    gap_change_test,
    signed_p,
    stratified_test,
)

CELLS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=4
)  # positives of b and of a, of 4 each


def enumerated(cells: list[tuple[int, int]], n: int) -> float:
    """The larger p of these counts and of those of the rarer answer."""
    rarer = [(min(k, n - k), min(j, n - j)) for k, j in cells]
    return max(of_all_splits(cells, n), of_all_splits(rarer, n))


def of_all_splits(cells: list[tuple[int, int]], n: int) -> float:
    """The two-sided p by trying every split of each vignette's positives, weighted by its ways."""

    def change(splits: tuple[tuple[int, int], ...]) -> int:
        return sum(k * (n - k) - j * (n - j) for k, j in splits)

    seen, above, below, total = change(tuple(cells)), 0, 0, 0
    choices = [[(x, k + j - x) for x in range(n + 1) if 0 <= k + j - x <= n] for k, j in cells]
    for splits in product(*choices):
        ways = math.prod(math.comb(n, x) * math.comb(n, y) for x, y in splits)
        total += ways
        above += ways * (change(splits) >= seen)
        below += ways * (change(splits) <= seen)
    return min(1.0, 2 * min(above, below) / total)


@given(CELLS)
def test_the_exact_law_of_a_floors_change_is_that_of_all_splits(cells):
    k, j = zip(*cells, strict=True)
    n = [4] * len(cells)
    assert floor_change_test(k, n, j, n) == pytest.approx(enumerated(cells, 4))


@given(CELLS)
def test_exchanging_the_runs_of_a_floors_change_leaves_its_p(cells):
    k, j = zip(*cells, strict=True)
    n = [4] * len(cells)
    assert floor_change_test(k, n, j, n) == pytest.approx(floor_change_test(j, n, k, n))


def test_unequal_replicates_are_permuted_and_come_near_the_exact_answer():
    k, j = [5, 3, 1, 9, 5], [0, 0, 10, 10, 1]
    exact = floor_change_test(k, [10] * 5, j, [10] * 5)
    near = floor_change_test(k, [10] * 5, [*j[:4], 1], [10, 10, 10, 10, 9])
    assert near == pytest.approx(exact, abs=0.01)


def test_the_floor_test_keeps_its_level_where_nothing_changed():
    rng, runs, hits = np.random.default_rng(3), 600, 0
    for _ in range(runs):
        p = rng.beta(0.1, 0.1, size=16)
        k, j = rng.binomial(10, p), rng.binomial(10, p)
        hits += floor_change_test(k, [10] * 16, j, [10] * 16) <= 0.05
    # Exact, so at most .05; three standard errors of 600 runs are .027.
    assert hits / runs <= 0.077


@pytest.mark.parametrize(("n_vignettes", "n"), [(4, 20), (16, 10), (40, 5)])
def test_rates_that_turn_at_equal_floors_are_no_change_of_a_floor(n_vignettes, n):
    rng, runs, hits = np.random.default_rng(5), 400, 0
    runs_of_each = [n] * n_vignettes
    for _ in range(runs):
        p = rng.beta(0.3, 0.3, size=n_vignettes)
        k, j = rng.binomial(n, 1 - p), rng.binomial(n, p)
        hits += floor_change_test(k, runs_of_each, j, runs_of_each) <= 0.05
    # At most .05, and three standard errors of 400 runs; by the plain law alone it is a third.
    assert hits / runs <= 0.083


def test_a_floor_that_rises_is_found_as_often_as_by_the_plain_law():
    rng, runs, hits, n = np.random.default_rng(6), 200, 0, [10] * 16
    for _ in range(runs):
        k, j = rng.binomial(10, 0.16, size=16), rng.binomial(10, 0.04, size=16)
        hits += floor_change_test(k, n, j, n) <= 0.05
    assert hits / runs > 0.85  # .955 of 1000


def test_the_gap_test_keeps_its_level_where_both_arms_move_alike():
    rng, runs, hits = np.random.default_rng(4), 600, 0
    for _ in range(runs):
        p = rng.uniform(0.2, 0.6, size=8)
        arms = [(rng.binomial(6, q), [6] * 8) for q in (p, p, p + 0.3, p + 0.3)]
        hits += gap_change_test(arms[0], arms[1], arms[2], arms[3]).p <= 0.05
    assert hits / runs <= 0.077


@pytest.mark.parametrize(("before", "after"), [(10, 2), (2, 10)])
def test_runs_of_unequal_replicates_that_differ_in_noise_alone_have_the_same_gap(before, after):
    rng, size, hits, exact = np.random.default_rng(5), 600, 0, 0
    certain, coins = np.arange(16) % 2.0, np.full(16, 0.5)
    noisy = min(before, after)
    for _ in range(size):
        swaps = [coins if runs == noisy else certain for runs in (before, after)]
        arms = [
            (rng.binomial(runs, rates).tolist(), [runs] * 16)
            for runs, swap in zip((before, after), swaps, strict=True)
            for rates in (swap, certain)
        ]
        test = gap_change_test(arms[0], arms[1], arms[2], arms[3])
        exact += test.p <= 0.05
        hits += signed_p(test).p <= 0.05
    assert exact / size > 0.1  # of "nothing changed", which is false here
    assert hits / size <= 0.077


@pytest.mark.parametrize(("before", "after"), [(3, 10), (10, 3)])
def test_runs_of_unequal_replicates_with_equal_floors_of_other_rates(before, after):
    rng, size, hits = np.random.default_rng(6), 300, 0
    flat, coins = np.full(16, (1 - 0.75**0.5) / 2), np.repeat([0.5, 0.0], [4, 12])
    for _ in range(size):
        k, j = rng.binomial(after, coins), rng.binomial(before, flat)
        p = floor_change_test(k, [after] * 16, j, [before] * 16, n_resamples=199, rng=rng)
        hits += p <= 0.05
    # Bound .05; .093 of 300 has a chance below .001 there. By permuted labels alone it was .09.
    assert hits / size <= 0.093


def test_a_floor_that_appears_is_found_at_unequal_replicates_too():
    rng = np.random.default_rng(7)
    k = rng.binomial(10, 0.5, 16)
    assert floor_change_test(k, [10] * 16, [0] * 16, [4] * 16) < 0.001
    assert floor_change_test([1], [2], [0], [4]) == 1


def test_the_change_of_a_gap_is_the_difference_of_the_gaps():
    n = [10, 10, 10]
    swap_a, ref_a = ([2, 3, 5], n), ([2, 4, 4], n)
    swap_b, ref_b = ([7, 8, 9], n), ([1, 4, 6], n)
    gaps = [stratified_test(*s, *r).gap for s, r in ((swap_a, ref_a), (swap_b, ref_b))]
    assert 2 * gap_change_test(swap_a, ref_a, swap_b, ref_b).gap == pytest.approx(gaps[1] - gaps[0])


def test_what_a_setting_removes_of_the_floor_and_never_for_certain():
    found = floor_change([5, 4, 6, 5], [10] * 4, [0, 0, 10, 10], [10] * 4)
    assert found.floor_b == 0
    assert found.removed == 1
    assert found.removed_interval[0] < 0.9  # 0 of 180 pairs is no floor of 0
    assert found.beyond(found.p, 0.05)
    half = floor_change([5, 5], [10, 10], [5, 0], [10, 10])
    assert half.removed == pytest.approx(0.5)


def test_variants_of_one_case_are_one_vignette_of_a_floors_change():
    k, n = [2, 1, 3], [5, 5, 5]
    assert floor_change(k, n, k, n, clusters=["a", "a", "b"]).n_vignettes == 2


def test_a_floor_that_was_never_there_has_nothing_to_remove():
    found = floor_change([0, 0], [5, 5], [2, 0], [5, 5])
    assert math.isnan(found.removed)
    assert found.difference > 0


def test_the_pooled_floor_has_no_p():
    k, n = [[1, 2], [3, 0]], [[5, 5], [5, 5]]
    found = floor_change(k, n, k, n)
    assert math.isnan(found.p)
    assert found.difference == 0


@pytest.mark.parametrize("k", [[6], [-1], [1, 2]])
def test_impossible_counts_are_refused(k):
    with pytest.raises(ValueError, match="k"):
        floor_change_test(k, [5], [1], [5])
