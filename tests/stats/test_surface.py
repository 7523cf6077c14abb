"""Surface noise as shams show it, and what it takes off a swap's z."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from pytest_fairmedagent import stats

nan = math.nan


def arms(seed, *, jitter=0.0, v=64, m=4, n=8, k=3, shams=2):
    rng = np.random.default_rng(seed)
    logit = rng.normal(0, 3, (v, 1, k))

    def arm(size, noise):
        at = logit + noise * rng.normal(size=(v, 1, k))
        return list((rng.random((v, size, k)) < 1 / (1 + np.exp(-at))).astype(float))

    return arm(m, jitter), arm(n, 0), [arm(m, jitter) for _ in range(shams)]


def counts(arm, column):
    return [int(rows[:, column].sum()) for rows in arm], [len(rows) for rows in arm]


@pytest.mark.parametrize("clusters", [None, [i // 3 for i in range(64)]])
def test_tau2_gap_and_sign_are_those_of_the_sham_guard(clusters):
    swap, reference, shams = arms(1, jitter=1.5)
    found = stats.surface_noise(swap, reference, shams, clusters=clusters)
    for column in range(3):
        guard = stats.sham_guard(
            *counts(swap, column),
            *counts(reference, column),
            [counts(sham, column) for sham in shams],
            clusters=clusters,
        )
        assert max(0, found.tau2[column]) == pytest.approx(guard.tau2)
        assert found.gap[column] == pytest.approx(guard.gap)
        assert found.same_sign[column] == guard.same_sign
        assert found.n_cases == guard.n_vignettes
        assert found.se[column] == pytest.approx(math.sqrt(guard.test.null_var) / guard.test.weight)


def test_noise_common_to_all_columns_is_one_ratio():
    swap, reference, shams = arms(2, jitter=2.0)
    found = stats.surface_noise(swap, reference, shams)
    # Equal replicates: the variance of a mean over vignettes is tau2 / V.
    expected = found.tau2.sum() / 64 / (found.se**2).sum()
    shared = found.ratio.min()
    assert shared == pytest.approx(expected)
    assert (found.shrink >= math.sqrt(1 + shared) - 1e-12).all()
    assert (found.df < 1000).all()


def test_one_noisy_outcome_does_not_hide_among_quiet_ones():
    swap, reference, shams = arms(3)
    _, _, noisy = arms(3, jitter=4.0)
    for arm, loud in zip(shams, noisy, strict=True):
        for rows, others in zip(arm, loud, strict=True):
            rows[:, 1] = others[:, 1]
    found = stats.surface_noise(swap, reference, shams)
    assert found.ratio[1] > 2 * found.ratio[0]
    own = found.tau2[1] / 64 / found.se[1] ** 2
    assert found.ratio[1] == pytest.approx(own)


def test_shams_equal_to_the_reference_take_nothing_off():
    swap, reference, _ = arms(4)
    found = stats.surface_noise(swap, reference, [reference, reference])
    assert list(found.ratio) == [0, 0, 0]
    assert list(found.shrink) == [1, 1, 1]
    plain = 2 * scipy_stats.norm.sf(np.abs(found.z))
    assert found.p == pytest.approx(plain, rel=1e-4)


def test_shrink_takes_z_to_where_its_t_is_among_normals():
    found = stats.surface_noise(*arms(5, jitter=2.0, v=16))
    t = np.abs(found.z) / np.sqrt(1 + found.ratio)
    tail = scipy_stats.norm.sf(np.abs(found.z) / found.shrink)
    assert tail == pytest.approx(scipy_stats.t.sf(t, found.df))
    assert found.p == pytest.approx(2 * tail)


def test_p_beyond_a_minimum_gap_is_that_of_the_two_ends():
    found = stats.surface_noise(*arms(6, jitter=1.0))
    assert found.p_beyond(0.0) == pytest.approx(found.p)
    noise = found.se * np.sqrt(1 + found.ratio)
    for margin in (0.02, 0.2):
        ends = [
            scipy_stats.t.sf((np.abs(found.gap) + s * margin) / noise, found.df) for s in (-1, 1)
        ]
        assert found.p_beyond(margin) == pytest.approx(sum(ends))
    assert (found.p_beyond(0.2) > found.p_beyond(0.02)).all()
    with pytest.raises(ValueError, match="minimum_gap"):
        found.p_beyond(-0.1)


def test_what_was_not_measured_passes_nothing():
    swap, reference, shams = arms(7, m=1, n=1)
    for found in (
        stats.surface_noise(swap, reference, shams),
        stats.surface_noise(*(a[:1] for a in arms(7)[:2]), [a[:1] for a in arms(7)[2]]),
    ):
        assert np.isinf(found.shrink).all()
        assert list(found.p) == [1, 1, 1]
    assert stats.swap_test(swap, reference, shrink=[math.inf] * 3).p == 1


def test_a_column_whose_shams_are_all_missing_is_not_measured():
    swap, reference, shams = arms(8)
    for arm in shams:
        for rows in arm:
            rows[:, 2] = nan
    found = stats.surface_noise(swap, reference, shams)
    assert np.isnan(found.tau2[2])
    assert list(np.isinf(found.shrink)) == [False, False, True]


def test_units_do_not_matter():
    swap, reference, shams = arms(9, jitter=2.0)
    scale = np.array([1.0, 60.0, 0.01])
    plain = stats.surface_noise(swap, reference, shams)
    scaled = stats.surface_noise(
        [r * scale for r in swap],
        [r * scale for r in reference],
        [[r * scale for r in a] for a in shams],
    )
    assert scaled.shrink == pytest.approx(plain.shrink)
    assert scaled.tau2 == pytest.approx(plain.tau2 * scale**2)


def test_shams_that_do_not_fit_are_refused():
    swap, reference, shams = arms(10)
    with pytest.raises(ValueError, match="at least one sham"):
        stats.surface_noise(swap, reference, [])
    with pytest.raises(ValueError, match="expected 64 vignettes"):
        stats.surface_noise(swap, reference, [shams[0][:5]])


def test_quiet_shams_leave_a_swap_to_its_reference():
    swap, reference, _ = arms(11)
    for rows in swap:
        rows[:, 0] = 1
    _, again, _ = arms(11)
    found = stats.swap_against_shams(swap, reference, [again, again])
    assert found.to_shams is None
    assert found.shift.p == 1
    assert found.test.p == stats.swap_test(swap, reference).p < 1e-6


def test_a_shift_that_every_edit_makes_is_not_held_against_the_swap():
    swap, reference, shams = arms(12)
    for arm in (swap, *shams):
        for rows in arm:
            rows[: len(rows) // 2] = 1
    found = stats.swap_against_shams(swap, reference, shams)
    noise = stats.surface_noise(swap, reference, shams)
    alone = stats.swap_test(swap, reference, shrink=noise.shrink)
    pooled = [np.concatenate(rows) for rows in zip(*shams, strict=True)]
    between = stats.swap_test(swap, pooled)
    assert alone.p < 1e-3
    assert found.shift.p < 1e-3
    assert found.test.p == max(alone.p, between.p) > 0.05
    assert found.test.p_outcomes == tuple(
        map(max, zip(alone.p_outcomes, between.p_outcomes, strict=True))
    )
    assert "shams move decisions too" in str(found)
