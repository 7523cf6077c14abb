"""The signed gap where cells are not balanced: a test of "no mean gap", and an interval.

The exact test asks whether any vignette changes. With as many replicates in both arms of every
vignette it may also claim a mean gap; with unequal ones its variance, that of one pooled rate, is
wrong where a swap makes an agent noisier without moving its mean (Behrens and Fisher's problem).
Here each arm of each vignette has a variance of its own (Welch 1938), and the gap is the plain mean
over vignettes, so that no vignette counts more for having more replicates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ._check import Floats, Ints, as_arms, fraction
from ._convolution import SMALLEST
from ._result import Result

# Degrees of freedom of the discordant pair that is added. Of a few unanimous cells hardly more is
# known than that pair, and with a normal law two coins that fell alike would be a finding.
_PAIR_DF = 5

# The skewness of the gap is minded up to this size, and as far out as this many standard errors.
_MOST_SKEW, _FARTHEST = 0.75, 4.0


class Parts(NamedTuple):
    """The mean gap and what its variance is made of; all of the shape of the counts but the last.

    `own` has each arm of each vignette its own variance and is right whatever the arms do; `pooled`
    is that of one rate per vignette, right where no vignette changes. Both hold one discordant pair
    more than was seen, so that neither is ever 0. `df` are the degrees of freedom of `own`, `third`
    is the third cumulant of the gap.
    """

    gap: Floats
    own: Floats
    pooled: Floats
    df: Floats
    third: Floats
    n: Ints


@dataclass(frozen=True, repr=False, eq=False)
class MeanGapTest(Result):
    """The plain mean of the vignettes' signed gaps, in -1..1, tested against 0.

    `p` is two-sided, of Student's t with `df` degrees of freedom, minding skewness; not exact, its
    size was simulated. `se` is that of the test, `se_pooled` that of one rate per vignette.
    `n_strata` vignettes have answers in both arms; with fewer than two there is no mean over
    vignettes, p = 1 and `reason` says so.
    """

    p: float
    gap: float
    se: float
    se_pooled: float
    df: float
    n_strata: int
    reason: str = ""

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Interval of the mean signed gap over these vignettes, clipped to -1..1.

        gap +- z times the larger standard error. (-1, 1) where `reason` is not empty.
        """
        return _interval(self.gap, max(self.se, self.se_pooled), confidence)

    def __str__(self) -> str:
        if self.reason:
            return f"no mean gap: {self.reason}"
        low, high = self.interval()
        return (
            f"mean gap {self.gap:+.3f} [{low:.3f}, {high:.3f}] over {self.n_strata} strata, "
            f"t({self.df:.3g}), p={self.p:.3g}"
        )


def mean_gap_test(
    k_swap: ArrayLike, m_swap: ArrayLike, k_ref: ArrayLike, n_ref: ArrayLike
) -> MeanGapTest:
    """The test of "the mean gap over these vignettes is 0", whatever the replicates of each.

    Arrays as `stratified_test`. A vignette without an answer in an arm is left out. One with a
    single answer in an arm has no variance of its own there: its squared gap, which is larger on
    average, stands in. ValueError as `stratified_test`.
    """
    k, m, j, n = as_arms(k_swap, m_swap, k_ref, n_ref)
    found = parts(k, m, j, n)
    size = int(found.n)
    if size < 2:
        reason = f"{size} vignettes have answers in both arms, a mean over vignettes needs two"
        return MeanGapTest(1.0, float(found.gap), math.inf, math.inf, math.nan, size, reason)
    p = float(two_sided(found))
    return MeanGapTest(
        min(1.0, max(SMALLEST, p)),
        float(found.gap),
        math.sqrt(found.own),
        math.sqrt(found.pooled),
        float(found.df),
        size,
    )


def gap_interval(
    k_swap: ArrayLike,
    m_swap: ArrayLike,
    k_ref: ArrayLike,
    n_ref: ArrayLike,
    confidence: float = 0.95,
) -> tuple[float, float]:
    """Interval of the mean signed gap over these vignettes, clipped to -1..1, for any replicates.

    gap +- z se with the larger of the pooled and the unpooled standard error, each with one
    discordant pair added. (-1, 1) where no vignette has answers in both arms. ValueError as
    `stratified_test`.
    """
    found = parts(*as_arms(k_swap, m_swap, k_ref, n_ref))
    if not found.n:
        return -1.0, 1.0
    return _interval(float(found.gap), float(larger_se(found)), confidence)


def parts(k: Ints, m: Ints, j: Ints, n: Ints) -> Parts:
    """The mean gap with its variances; counts of shape `(..., n_vignettes)`, not checked."""
    kept = (m > 0) & (n > 0)
    size = kept.sum(axis=-1)
    m, n = np.where(kept, m, 1), np.where(kept, n, 1)
    q, p = np.where(kept, k / m, 0.0), np.where(kept, j / n, 0.0)
    delta, single = q - p, (m == 1) | (n == 1)
    # A vignette that was left out counts as "single" here, with a gap of 0.
    of_swap = np.where(single, 0.0, q * (1 - q) / np.maximum(m - 1, 1))
    of_ref = np.where(single, 0.0, p * (1 - p) / np.maximum(n - 1, 1))
    alone = np.where(single, delta * delta, 0.0)
    seen = (of_swap + of_ref + alone).sum(axis=-1)
    # The variance of a cell's estimate is at most its square: two degrees of freedom at least.
    spread = (
        of_swap**2 / np.maximum(m - 1, 2) + of_ref**2 / np.maximum(n - 1, 2) + alone**2 / 2
    ).sum(axis=-1)
    s, both = np.where(kept, k + j, 0), m + n
    hyper = s * (both - s) / (m * n * (both - 1.0))
    divisor = np.maximum(size, 1)
    pair = np.where(kept, 1.0 / np.minimum(m, n) ** 2, 0.0).sum(axis=-1) / divisor
    square = divisor.astype(float) ** 2
    df = (seen + pair) ** 2 / np.maximum(spread + pair**2 / _PAIR_DF, SMALLEST)
    return Parts(
        delta.sum(axis=-1) / divisor,
        (seen + pair) / square,
        (hyper.sum(axis=-1) + pair) / square,
        np.maximum(df, 1.0),
        (_third(q, m) - _third(p, n)).sum(axis=-1) / (square * divisor),
        size,
    )


def larger_se(found: Parts) -> Floats:
    """The larger standard error of the two."""
    larger: Floats = np.sqrt(np.maximum(found.own, found.pooled))
    return larger


def two_sided(found: Parts) -> Floats:
    """Two-sided p of "the mean gap is 0".

    Student's t, taken back where the gap lies in the short tail of its law: there few positives
    have a small variance as well, and would count for more than they are (Johnson 1978).
    """
    from scipy import special

    se = np.sqrt(found.own)
    t = np.abs(found.gap) / se
    skew = -np.sign(found.gap) * found.third / (found.own * se)
    skew = np.clip(skew, 0.0, _MOST_SKEW)
    t = t * (1 - skew * np.minimum(t, _FARTHEST) / 6)
    p: Floats = 2 * special.stdtr(found.df, -t)
    return p


def _third(rate: Floats, runs: Ints) -> Floats:
    """Unbiased third cumulant of a rate out of so many runs; 0 where three are not there."""
    return np.where(
        runs > 2, rate * (1 - rate) * (1 - 2 * rate) / np.maximum((runs - 1.0) * (runs - 2.0), 1), 0
    )


def _interval(gap: float, se: float, confidence: float) -> tuple[float, float]:
    from statistics import NormalDist

    confidence = fraction("confidence", confidence)
    if not math.isfinite(se):
        return -1.0, 1.0
    reach = NormalDist().inv_cdf((1 + confidence) / 2) * se
    return max(-1.0, gap - reach), min(1.0, gap + reach)
