"""Surface noise: how far meaningless edits move a case, and what that leaves of a swap's z.

Any edit moves each case a little in some direction, so "no case changes" is false for every swap.
Shams say how much; their measure enters the p-values of `swap_test` through `shrink`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._check import Floats, added, as_clusters
from ._relabel import cells
from ._result import Result

Arm = Sequence[ArrayLike]

# Noise counts from so many standard errors above 0. Quiet shams give a positive estimate half of
# the time; counted from 0 it costs honest power and guards against nothing. The second number is
# for one outcome alone, when all together are quieter. benchmarks/results/swap_level.md.
_SEEN, _SEEN_ALONE = 0.75, 1.5
_LEAST_DF, _MOST_DF = 3.0, 1e6
_SMALL = 1e-6  # below it the quotient of two z is rounding error


@dataclass(frozen=True, repr=False, eq=False)
class SurfaceNoise(Result):
    """What shams leave of the gaps of one swap; arrays `(C,)`, one number per column.

    `tau2` is the mean square by which a sham moves a case, sampling taken off: it may be negative,
    and is nan with fewer than two replicates. `ratio` is the variance that surface noise adds to
    the gap, in units of its sampling variance; 0 where no noise was seen, inf where it could not
    be measured. `df` are the degrees of freedom of the two together. `shrink` (at least 1, for
    `swap_test`) turns the z of the swap into one that accounts for both. `same_sign`: against
    every sham the swap keeps the sign of its gap.
    """

    tau2: Floats
    ratio: Floats
    df: Floats
    z: Floats
    shrink: Floats
    gap: Floats
    se: Floats
    same_sign: NDArray[np.bool_]
    n_cases: int
    n_shams: int

    @property
    def p(self) -> Floats:
        """Two-sided p of a gap beyond sampling and surface noise, in 0..1, `(C,)`."""
        return self.p_beyond(0.0)

    def p_beyond(self, minimum_gap: float) -> Floats:
        """p of |gap| <= `minimum_gap`, at least 0, in 0..1, `(C,)`, by the t law."""
        from scipy import special

        if not minimum_gap >= 0:
            raise ValueError(f"minimum_gap: expected at least 0, got {minimum_gap}")
        noise = self.se * np.sqrt(1 + self.ratio)
        with np.errstate(invalid="ignore", divide="ignore"):
            near = (np.abs(self.gap) - minimum_gap) / noise
            far = (np.abs(self.gap) + minimum_gap) / noise
        p = special.stdtr(self.df, -near) + special.stdtr(self.df, -far)
        known = np.isfinite(self.ratio) & (self.se > 0)
        beyond: Floats = np.where(known, np.minimum(1.0, p), 1.0)
        return beyond

    def __str__(self) -> str:
        if np.isinf(self.ratio).all():
            return "surface noise not measured: no case has two replicates of shams and reference"
        finite = self.ratio[np.isfinite(self.ratio)]
        return (
            f"surface noise from {self.n_shams} shams in {self.n_cases} cases: "
            f"up to {finite.max():.2f} of the sampling variance"
        )


def surface_noise(
    swap: Arm,
    reference: Arm,
    shams: Sequence[Arm],
    *,
    clusters: Sequence[Hashable] | None = None,
) -> SurfaceNoise:
    """Measure surface noise for a swap by sham arms on the same vignettes.

    Arms as in `swap_test`: `(m_v, C)` rows of trajectories per vignette, nan for missing.
    `clusters` labels variants of one case alike.

    Per column, the mean over cases and shams of the squared difference between sham and
    reference, less its sampling variance, is an estimate of `tau2`. What it adds to the variance of
    the swap's sum is taken over all columns together, relative to the sampling variance, each in
    units of its range; one column alone counts where it is larger and clearly seen. Degrees of
    freedom are Satterthwaite's, from the spread over cases. Assumes that the swap's surface noise
    has the variance of the shams': match length, rarity and position. ValueError for no shams,
    unequal numbers of vignettes or columns.
    """
    arms = [[np.asarray(rows, dtype=np.float64) for rows in arm] for arm in (swap, reference)]
    edits = [[np.asarray(rows, dtype=np.float64) for rows in arm] for arm in shams]
    if not edits:
        raise ValueError("shams: expected at least one sham arm, got none")
    for i, arm in enumerate(edits):
        if len(arm) != len(arms[1]) or len(arms[0]) != len(arms[1]):
            raise ValueError(f"shams[{i}]: expected {len(arms[1])} vignettes, got {len(arm)}")
    case = as_clusters(clusters, len(arms[1]))
    base, own = _Moments.of(arms[1]), _Moments.of(arms[0])
    others = [_Moments.of(arm) for arm in edits]
    weights = own.n * base.n / np.maximum(1, own.n + base.n)
    squares = (added(weights, case) ** 2).sum(axis=0)
    found = cells(*arms)
    variance = sum((cell.variance for cell in found), np.zeros(base.n.shape[1]))
    total = sum((cell.total for cell in found), np.zeros(variance.size))
    scale = 1 / _ranges(arms[0] + arms[1]) ** 2
    per_case = [_moved(other, base, case) for other in others]
    surface = _mean(np.stack(per_case))  # (cases, C)
    n_cases = int(np.count_nonzero(added(weights.sum(axis=1), case)))
    tau2 = _mean(np.stack([_mean(rows) for rows in per_case]))
    ratio, df = _ratio(tau2, surface, squares * scale, variance * scale, n_cases)
    z = np.divide(total, np.sqrt(variance), out=np.zeros_like(total), where=variance > 0)
    sums = weights.sum(axis=0)
    gaps = [_gap(own, other) for other in others]
    return SurfaceNoise(
        tau2=tau2,
        ratio=ratio,
        df=df,
        z=z,
        shrink=_shrink(z, ratio, df),
        gap=np.divide(total, sums, out=np.full_like(total, math.nan), where=sums > 0),
        se=np.divide(np.sqrt(variance), sums, out=np.zeros_like(sums), where=sums > 0),
        same_sign=np.all([gap * total > 0 for gap in gaps], axis=0),
        n_cases=n_cases,
        n_shams=len(edits),
    )


@dataclass(frozen=True)
class _Moments:
    """Per vignette and column: how many are known, their mean, the variance of that mean."""

    n: Floats
    mean: Floats
    noise: Floats

    @classmethod
    def of(cls, arm: Sequence[Floats]) -> _Moments:
        n = np.array([(~np.isnan(rows)).sum(axis=0) for rows in arm], dtype=np.float64)
        sums = np.array([np.nansum(rows, axis=0) for rows in arm])
        mean = sums / np.where(n > 0, n, math.nan)
        off = np.array(
            [np.nansum((rows - m) ** 2, axis=0) for rows, m in zip(arm, mean, strict=True)]
        )
        return cls(n, mean, off / np.where(n > 1, n * (n - 1), math.nan))


def _moved(arm: _Moments, base: _Moments, case: NDArray[np.int64]) -> Floats:
    """Mean square by which an arm moves each case, sampling taken off, `(cases, C)`; nan unseen."""
    moved, noise = arm.mean - base.mean, arm.noise + base.noise
    seen = ~np.isnan(moved + noise)
    rows = added(seen.astype(np.float64), case)
    total = added(np.where(seen, moved, 0.0), case)
    found = total**2 - added(np.where(seen, noise, 0.0), case)
    result: Floats = found / np.where(rows > 0, rows, math.nan) ** 2
    return result


def _ratio(
    tau2: Floats, surface: Floats, squares: Floats, variance: Floats, n_cases: int
) -> tuple[Floats, Floats]:
    """Added variance over sampling variance, and degrees of freedom, `(C,)` each."""
    measured = ~np.isnan(tau2) & (variance > 0)
    if n_cases < 2 or not measured.any():
        return np.full(tau2.size, math.inf), np.full(tau2.size, _LEAST_DF)
    # An unmeasured case of a column stands at that column's mean: it adds no spread.
    filled = np.where(np.isnan(surface), tau2, surface)[:, measured] * squares[measured]
    own = variance[measured]
    together, spread = _estimate(filled.sum(axis=1), float(own.sum()))
    shared = together if together > _SEEN * spread else 0.0
    shared_df = _degrees(shared, spread) if shared else _MOST_DF
    ratio, df = np.full(tau2.size, shared), np.full(tau2.size, shared_df)
    ratio[np.isnan(tau2) & (variance > 0)] = math.inf
    for column, values, sampling in zip(np.flatnonzero(measured), filled.T, own, strict=True):
        alone, spread = _estimate(values, float(sampling))
        if alone > max(shared, _SEEN_ALONE * spread):
            ratio[column], df[column] = alone, _degrees(alone, spread)
    return ratio, df


def _estimate(values: Floats, sampling: float) -> tuple[float, float]:
    """Mean over cases and its standard error, in units of the sampling variance."""
    mean = math.fsum(values.tolist()) / values.size
    square = math.fsum(((values - mean) ** 2).tolist()) / max(1, values.size - 1)
    return mean / sampling, math.sqrt(square / values.size) / sampling


def _degrees(ratio: float, spread: float) -> float:
    if not spread:
        return _MOST_DF
    return min(_MOST_DF, max(_LEAST_DF, 2 * (1 + ratio) ** 2 / spread**2))


def _shrink(z: Floats, ratio: Floats, df: Floats) -> Floats:
    """Factors, at least 1, by which |z| falls to the normal value as far out as its t is."""
    from scipy import special

    size = np.abs(z)
    inflated = size / np.sqrt(1 + ratio)
    normal = -special.ndtri(np.maximum(special.stdtr(df, -inflated), np.finfo(float).tiny))
    with np.errstate(invalid="ignore", divide="ignore"):
        factor = size / normal
    factor = np.where((size > _SMALL) & (inflated > 0), factor, np.sqrt(1 + ratio))
    result: Floats = np.where(ratio > 0, np.maximum(1.0, factor), 1.0)
    return result


def _gap(one: _Moments, other: _Moments) -> Floats:
    weights = one.n * other.n / np.maximum(1, one.n + other.n)
    total: Floats = np.nansum(weights * (one.mean - other.mean), axis=0)
    return total


def _ranges(rows: Sequence[Floats]) -> Floats:
    stacked = np.concatenate(rows)
    with np.errstate(invalid="ignore"):
        known = np.isnan(stacked)
        low = np.where(known, math.inf, stacked).min(axis=0)
        high = np.where(known, -math.inf, stacked).max(axis=0)
    found: Floats = np.where(high > low, high - low, 1.0)
    return found


def _mean(values: Floats) -> Floats:
    """Mean over the first axis of what is known; nan where nothing is."""
    known = ~np.isnan(values)
    count = known.sum(axis=0)
    result: Floats = np.where(known, values, 0.0).sum(axis=0) / np.where(count > 0, count, math.nan)
    return result
