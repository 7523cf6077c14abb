"""The test of a swap over all its outcomes, against full enumeration and the exact single test."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from pytest_fairmedagent import stats
from pytest_fairmedagent.stats import _relabel

nan = math.nan


def drawn(seed, v=3, m=2, n=2, k=2, missing=0.0, rate=0.5):
    rng = np.random.default_rng(seed)

    def arm(size):
        rows = (rng.random((v, size, k)) < rate).astype(float)
        rows[rng.random(rows.shape) < missing] = nan
        return list(rows)

    return arm(m), arm(n)


def relabellings(swap, reference):
    """Every data set that relabelling within vignettes can give, the one given among them."""
    choices = []
    for x, y in zip(swap, reference, strict=True):
        both, size = np.concatenate((x, y)), len(x) + len(y)
        choices.append(
            [
                (both[list(c)], np.delete(both, list(c), axis=0))
                for c in itertools.combinations(range(size), len(x))
            ]
        )
    for pairs in itertools.product(*choices):
        yield [a for a, _ in pairs], [b for _, b in pairs]


def sums(swap, reference):
    total = 0.0
    for x, y in zip(swap, reference, strict=True):
        both = np.concatenate((x, y))
        known = ~np.isnan(both)
        mean = np.where(known, both, 0).sum(axis=0) / np.maximum(1, known.sum(axis=0))
        total = total + np.nansum(x - mean, axis=0)
    return total


def by_hand(swap, reference):
    """p of the swap and of its outcomes, from the list of all relabellings alone."""
    every = np.array([sums(*arms) for arms in relabellings(swap, reference)])
    sd = np.sqrt((every**2).mean(axis=0))  # their mean is 0
    size = np.abs(every) / np.where(sd > 0, sd, 1)
    seen = np.abs(sums(swap, reference)) / np.where(sd > 0, sd, 1)

    def p(values, at):
        return np.array([(values >= one - 1e-9).mean() for one in np.atleast_1d(at)])

    largest, squares = size.max(axis=1), (size**2).sum(axis=1)
    together = 2 / p(largest, largest) + 1 / p(squares, squares)
    own = 2 / p(largest, seen.max()) + 1 / p(squares, (seen**2).sum())
    omnibus = (together >= own * (1 - 1e-9)).mean()
    steps, last = {}, 0.0
    order = sorted(range(len(seen)), key=lambda k: -seen[k])
    for at, k in enumerate(order):
        last = max(last, p(size[:, order[at:]].max(axis=1), seen[k])[0])
        steps[k] = last
    return omnibus, [steps[k] for k in range(len(seen))]


@pytest.mark.parametrize("seed", range(12))
def test_few_relabellings_are_enumerated_and_agree_with_the_list_of_all(seed):
    arms = drawn(seed, m=1 + seed % 2, k=2 + seed % 2, missing=0.15 * (seed % 3))
    found = stats.swap_test(*arms)
    omnibus, steps = by_hand(*arms)
    assert found.method in ("enumeration", "none")
    assert found.p == pytest.approx(omnibus, abs=1e-12)
    assert found.p_outcomes == pytest.approx(steps, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_over_all_relabellings_p_is_at_most_x_in_a_share_of_at_most_x(seed):
    arms = drawn(seed, k=3, missing=0.1)
    tests = [stats.swap_test(*relabelled) for relabelled in relabellings(*arms)]
    for values in ([t.p for t in tests], [min(t.p_outcomes) for t in tests]):
        ranked = np.sort(values)
        assert (ranked >= (np.searchsorted(ranked, ranked, "right") / len(ranked)) - 1e-9).all()


def test_one_yes_or_no_takes_the_exact_conditional_test():
    rng = np.random.default_rng(1)
    for _ in range(20):
        arms = drawn(int(rng.integers(1e6)), v=6, m=3, n=5, k=1, missing=0.1)
        counts = [[np.nansum(rows) for rows in arm] for arm in arms]
        known = [[int((~np.isnan(rows)).sum()) for rows in arm] for arm in arms]
        exact = stats.stratified_test(counts[0], known[0], counts[1], known[1])
        found = stats.swap_test(*arms)
        assert found.method == "exact"
        assert found.p == found.p_outcomes[0] == pytest.approx(exact.p, rel=1e-9)


def test_sampled_relabellings_agree_with_the_convolution():
    # Two equal columns: whatever the statistic, it grows with |z| alone.
    x, y = drawn(2, v=12, m=8, n=8, k=1)
    twice = stats.swap_test([np.hstack((r, r)) for r in x], [np.hstack((r, r)) for r in y])
    exact = stats.swap_test(x, y).p
    assert twice.method == "Monte Carlo"
    assert 0.01 < exact < 0.5
    assert twice.p == pytest.approx(exact, abs=4 * math.sqrt(exact / 9999))


def test_monte_carlo_agrees_with_enumeration(monkeypatch):
    arms = drawn(3, v=4, k=3)
    exact = stats.swap_test(*arms)
    monkeypatch.setattr(_relabel, "_ENUMERATED", 0)
    found = stats.swap_test(*arms)
    assert (exact.method, found.method) == ("enumeration", "Monte Carlo")
    for a, b in zip(exact.chain, found.chain, strict=True):
        assert a == pytest.approx(b, abs=4 * math.sqrt(a / 9999) + 2e-4)


def test_neither_the_order_of_vignettes_nor_of_replicates_nor_the_run_changes_a_digit():
    x, y = drawn(7, v=20, m=6, n=12, k=4, missing=0.05)
    rng = np.random.default_rng(0)
    order = rng.permutation(20)
    again = stats.swap_test(
        [rng.permutation(x[v]) for v in order], [rng.permutation(y[v]) for v in order]
    )
    found = stats.swap_test(x, y)
    assert found.method == "Monte Carlo"
    assert (again.p, again.p_outcomes, again.z) == (found.p, found.p_outcomes, found.z)


def test_the_seed_comes_from_the_data():
    # Pinned: another generator, another order of drawing or of sorting shows here.
    found = stats.swap_test(*drawn(11, v=16, m=2, n=4, k=6))
    assert (round(10_000 * found.p), found.method) == (1864, "Monte Carlo")


def test_a_plain_effect_is_not_held_at_one_over_the_relabellings():
    x, y = drawn(2, v=40, m=3, n=3, k=3, rate=0.5)
    for rows, others in zip(x, y, strict=True):
        rows[:, 0], others[:, 0] = 1, 0
    found = stats.swap_test(x, y)
    exact = stats.swap_test([r[:, :1] for r in x], [r[:, :1] for r in y]).p
    assert found.method == "tail bound"
    assert found.p == pytest.approx(3 * exact)
    assert found.p_outcomes[0] == pytest.approx(3 * exact)
    assert min(found.p_outcomes[1:]) > 0.01
    assert found.order[0] == 0


def test_where_nothing_varies_nothing_is_found():
    ones = [np.ones((2, 3))] * 4
    found = stats.swap_test(ones, ones)
    assert (found.p, found.p_outcomes, found.method) == (1.0, (1.0,) * 3, "none")
    empty = stats.swap_test([np.ones((0, 2))], [np.zeros((3, 2))])
    assert (empty.p, empty.n_vignettes) == (1.0, 0)


def test_an_outcome_that_never_varies_has_p_of_one_and_costs_the_others_nothing():
    x, y = drawn(4, v=12, m=2, n=2, k=2)
    wide = (
        [np.hstack((r, np.ones((2, 1)))) for r in x],
        [np.hstack((r, np.ones((2, 1)))) for r in y],
    )
    found, plain = stats.swap_test(*wide), stats.swap_test(x, y)
    assert found.p == plain.p
    assert found.p_outcomes == (*plain.p_outcomes, 1.0)


def test_surface_noise_only_ever_raises_p():
    arms = drawn(13, v=30, m=2, n=4, k=3)
    for rows in arms[0]:
        rows[:, 0] = 1
    chains = [stats.swap_test(*arms, shrink=[f] * 3).p for f in (1, 1.2, 2, 5, math.inf)]
    assert chains == sorted(chains)
    assert chains[0] < 1e-3
    assert chains[-1] == 1
    one = [[r[:, :1] for r in arm] for arm in arms]
    singles = [stats.swap_test(*one, shrink=[f]).p for f in (1, 1.2, 2, math.inf)]
    assert singles == sorted(singles)
    assert singles[-1] == 1


def test_the_members_of_a_set_are_one_outcome_with_the_largest_z():
    x, y = drawn(6, v=4, m=2, n=2, k=3)
    for rows in x:
        rows[:, 2] = 1
    every = np.array([sums(*arms) for arms in relabellings(x, y)])
    size = np.abs(every) / np.sqrt((every**2).mean(axis=0))
    seen = np.abs(sums(x, y)) / np.sqrt((every**2).mean(axis=0))
    found = stats.swap_test(x, y, groups=[0, 1, 1])
    assert len(found.z) == len(found.p_outcomes) == 2
    assert found.columns == (0, 2)
    assert found.order == (1, 0)
    assert found.p_outcomes[1] == pytest.approx((size.max(axis=1) >= seen.max() - 1e-9).mean())


def test_scores_are_tested_by_their_mean():
    x, y = [np.array([[3.0], [4]])] * 3, [np.array([[1.0], [2]])] * 3
    found = stats.swap_test(x, y)
    # Largest of 6 ** 3 sums, and its mirror image.
    assert found.p == pytest.approx(2 / 216)
    assert found.method == "enumeration"


def test_the_unit_of_a_score_does_not_matter():
    x, y = drawn(8, v=10, m=2, n=3, k=3, missing=0.05)
    scale = np.array([1.0, 1e6, 1e-7])
    found = stats.swap_test([rows * scale for rows in x], [rows * scale for rows in y])
    plain = stats.swap_test(x, y)
    assert found.chain == pytest.approx(plain.chain, abs=1e-12)
    assert found.z == pytest.approx(plain.z)


def test_what_cannot_be_tested_is_refused():
    one = [np.ones((2, 2))]
    for wrong in (([], []), (one, one * 2), (one, [np.ones((2, 3))]), (one, [np.ones(2)])):
        with pytest.raises(ValueError, match="swap and reference"):
            stats.swap_test(*wrong)
    with pytest.raises(ValueError, match="finite"):
        stats.swap_test(one, [np.full((2, 2), math.inf)])
    for groups in ([0], [0, 2], [1, 1]):
        with pytest.raises(ValueError, match="groups"):
            stats.swap_test(one, one, groups=groups)
    for shrink in ([1], [1, 0.9], [1, nan]):
        with pytest.raises(ValueError, match="shrink"):
            stats.swap_test(one, one, shrink=shrink)
    with pytest.raises(ValueError, match="n_relabellings"):
        stats.swap_test(one, one, n_relabellings=0)
