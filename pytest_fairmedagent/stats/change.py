"""What changed between two runs on the same vignettes: floors, and gaps.

Under "nothing changed" the replicates of one vignette under one condition are exchangeable between
the two runs. Given how many were positive in all, those of the one run are hypergeometric, and what
is counted here adds up over vignettes: its law is a convolution, as in `stratified_test`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ._check import Floats, Ints, Rng, as_arms, as_clusters, generator, whole
from ._convolution import SMALLEST, convolve_all, hypergeometric
from ._result import Result
from .bootstrap import FloorDifference, Interval, floor_difference
from .exact import StratifiedTest, stratified_test
from .floor import pooled_floor

Arm = tuple[Sequence[int], Sequence[int]]

# Above this the law of a floor's change is too long to be written out.
_LONGEST_LAW = 300_000
_N_RESAMPLES = 2000


@dataclass(frozen=True, repr=False, eq=False)
class FloorChange(Result):
    """Floor b minus floor a, in -1..1, over vignettes both were measured on.

    `p` is two-sided, that of `floor_change_test`; `beyond` asks that the interval excludes 0 as
    well. `interval` and `removed_interval` are percentile intervals over common draws of vignettes,
    too short with few of them. `removed` is
    the share of floor a that is gone in b (below 0 where b has more); nan where a has none. Where b
    shows no disagreement at all, its lower end goes by the zero rule of `zero_floor_upper`.
    """

    difference: float
    floor_a: float
    floor_b: float
    interval: Interval
    removed: float
    removed_interval: Interval
    p: float
    n_vignettes: int

    def beyond(self, p: float, alpha: float) -> bool:
        """Whether the floor changed by a (possibly adjusted) `p` at the level `alpha`."""
        low, high = self.interval
        return p <= alpha and (low > 0 or high < 0)

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"floor {self.floor_a:.3f} to {self.floor_b:.3f}: {self.difference:+.3f} "
            f"[{low:.3f}, {high:.3f}] over {self.n_vignettes} vignettes, p={self.p:.3g}"
        )


def floor_change(
    k_a: ArrayLike,
    n_a: ArrayLike,
    k_b: ArrayLike,
    n_b: ArrayLike,
    *,
    rng: Rng = 0,
    clusters: Sequence[Hashable] | None = None,
) -> FloorChange:
    """The change of a floor from run a to run b: `k` positives of `n`.

    `(n_vignettes,)` for one action or `(n_vignettes, n_outcomes)` for the pooled floor, which has
    no p (nan): outcomes of one trajectory depend on each other. `clusters` labels variants of one
    case alike, for the intervals. ValueError for impossible counts, unequal shapes, or a run
    without a replicate pair.
    """
    draw = generator(rng)
    found = floor_difference(k_b, n_b, k_a, n_a, n_resamples=_N_RESAMPLES, clusters=clusters)
    one = np.ndim(k_b) == 1
    case = as_clusters(clusters, len(found.k_a))
    removed, removed_interval = _removed(found, draw, case)
    measured = (found.n_a > 1).any(axis=1) & (found.n_b > 1).any(axis=1)
    return FloorChange(
        found.difference,
        found.rate_b,
        found.rate_a,
        found.interval,
        removed,
        removed_interval,
        floor_change_test(k_b, n_b, k_a, n_a, rng=draw) if one else math.nan,
        len(set(case[measured].tolist())),
    )


def floor_change_test(
    k_b: ArrayLike,
    n_b: ArrayLike,
    k_a: ArrayLike,
    n_a: ArrayLike,
    *,
    n_resamples: int = 9999,
    rng: Rng = 0,
) -> float:
    """Two-sided p in 0..1 of a floor's change, twice the smaller tail; arrays `(n_vignettes,)`.

    With n replicates in both runs and s positives in all, the disagreeing pairs of b less those of
    a are (n - s)(k_b - k_a): a weighted sum, so its law given the s is exact. With other replicates
    labels are permuted within vignettes, seeded. That law is of "nothing changed". A floor is the
    same at a rate of p and of 1 - p, so the counts of the rarer answer are tested as well, which
    such a turn leaves as they are, and the larger p of the two is returned. ValueError for
    impossible counts.
    """
    k, m, j, n = as_arms(k_b, n_b, k_a, n_a)
    n_resamples, draw = whole("n_resamples", n_resamples), generator(rng)
    exact = (m == n).all() and int((m * m).sum()) <= _LONGEST_LAW
    readings = ((k, j), (np.minimum(k, m - k), np.minimum(j, n - j)))
    found = max(
        _exact(b, m, a) if exact else _permuted(b, m, a, n, n_resamples, draw) for b, a in readings
    )
    return found if (m == n).all() else max(found, _over_vignettes(k, m, j, n))


def gap_change_test(swap_a: Arm, ref_a: Arm, swap_b: Arm, ref_b: Arm) -> StratifiedTest:
    """The exact test of a signed gap's change from run a to run b.

    Each arm is (positives, replicates), both `(n_vignettes,)`. Every arm of every vignette is a
    stratum in which b is set against a, and the reference's answers are counted the other way
    round: so `2 * gap` is the change of the gap where replicates are equal. Where they are not, the
    p is of "nothing changed" alone; `signed_p` of the result is of "the gap has not changed".
    ValueError for impossible counts.
    """
    (k, m), (j, n) = (_sides(arm) for arm in (swap_b, swap_a))
    (x, u), (y, v) = (_sides(arm) for arm in (ref_b, ref_a))
    return stratified_test(
        np.concatenate((k, u - x)),
        np.concatenate((m, u)),
        np.concatenate((j, v - y)),
        np.concatenate((n, v)),
    )


def _sides(arm: Arm) -> tuple[Ints, Ints]:
    return np.asarray(arm[0], dtype=np.int64), np.asarray(arm[1], dtype=np.int64)


def _exact(k: Ints, n: Ints, j: Ints) -> float:
    laws, seen, lowest = [], 0, 0
    for a, b, runs in zip(k.tolist(), j.tolist(), n.tolist(), strict=True):
        s = a + b
        weight = abs(runs - s)
        if not weight or not 0 < s < 2 * runs:
            continue
        sign = 1 if runs > s else -1
        low, law = hypergeometric(runs, runs, s)  # of the positives of b; symmetric about s / 2
        stretched = np.zeros((law.size - 1) * weight + 1)
        stretched[::weight] = law
        laws.append(stretched)
        # Where the weight is negative, the law is that of the positives of a, which is the same.
        seen += weight * (a if sign > 0 else b)
        lowest += weight * low
    law, at = convolve_all(laws), seen - lowest
    tail = min(float(law[at:].sum()), float(law[: at + 1].sum()))
    return min(1.0, max(SMALLEST, 2 * tail))


def _permuted(k: Ints, m: Ints, j: Ints, n: Ints, draws: int, rng: np.random.Generator) -> float:
    of_b, of_a = float((m * (m - 1)).sum()), float((n * (n - 1)).sum())
    if not (of_b and of_a):
        return 1.0
    s = k + j

    def change(x: Ints) -> Floats:
        b, a = x * (m - x), (s - x) * (n - s + x)
        found: Floats = b.sum(axis=-1) / of_b - a.sum(axis=-1) / of_a
        return found

    seen = float(change(k))
    drawn = change(rng.hypergeometric(s, m + n - s, m, size=(draws, k.size)).astype(np.int64))
    # A hair inside, since equal changes may differ in the last digit.
    above = (1 + int(np.count_nonzero(drawn >= seen - 1e-12))) / (1 + draws)
    below = (1 + int(np.count_nonzero(drawn <= seen + 1e-12))) / (1 + draws)
    return min(1.0, 2 * min(above, below))


def _over_vignettes(k: Ints, m: Ints, j: Ints, n: Ints) -> float:
    """Two-sided p of a floor's change by its spread over vignettes, which is never too small."""
    from scipy import special

    kept = (m > 1) & (n > 1)
    k, m, j, n = (x[kept].astype(float) for x in (k, m, j, n))
    if k.size < 2:
        return 1.0
    of_b, of_a = m * (m - 1) / 2, n * (n - 1) / 2
    apart_b, apart_a = k * (m - k), j * (n - j)
    b, a = apart_b.sum() / of_b.sum(), apart_a.sum() / of_a.sum()
    if b == a:
        return 1.0
    residual = (apart_b - b * of_b) / of_b.sum() - (apart_a - a * of_a) / of_a.sum()
    variance = k.size / (k.size - 1) * float(residual @ residual)
    if not variance:
        return SMALLEST
    return float(2 * special.stdtr(k.size - 1, -abs(b - a) / math.sqrt(variance)))


def _removed(
    found: FloorDifference, rng: np.random.Generator, case: Ints
) -> tuple[float, Interval]:
    """The share of the second floor that is gone in the first, with its percentile interval."""
    unknown = (math.nan, math.nan)
    if not found.rate_b > 0:
        return math.nan, unknown
    size = int(case.max()) + 1  # a case is drawn with all its variants
    times = rng.multinomial(size, [1 / size] * size, size=_N_RESAMPLES)[:, case]
    new, old = _rates(found.k_a, found.n_a, times), _rates(found.k_b, found.n_b, times)
    shares = np.sort(1 - new[old > 0] / old[old > 0])
    shares = shares[~np.isnan(shares)]
    if not shares.size:
        return 1 - found.rate_a / found.rate_b, unknown
    low, high = (float(shares[int(q * (shares.size - 1))]) for q in (0.025, 0.975))
    if not found.rate_a:  # "0 of 720 pairs" is no floor of 0: the zero rule bounds it
        upper = pooled_floor(found.k_a, found.n_a, clusters=case.tolist()).interval()[1]
        low = min(low, 1 - upper / found.rate_b)
    return 1 - found.rate_a / found.rate_b, (low, high)


def _rates(k: Ints, n: Ints, times: Ints) -> Floats:
    """Floors of resamples; `k` and `n` of shape `(n_vignettes, n_outcomes)`."""
    apart, pairs = times @ (k * (n - k)).sum(axis=1), times @ (n * (n - 1) / 2).sum(axis=1)
    rates: Floats = np.divide(apart, pairs, out=np.full(apart.shape, math.nan), where=pairs > 0)
    return rates
