"""Whether a mean gap is larger than one that was declared beforehand not to matter."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from ._check import Floats, Ints, as_arms, fraction, positive, whole
from ._convolution import SMALLEST
from .mean_gap import parts

_NORMAL = NormalDist()


def minimum_gap_p(
    k_swap: ArrayLike,
    m_swap: ArrayLike,
    k_ref: ArrayLike,
    n_ref: ArrayLike,
    *,
    minimum: float,
) -> float:
    """Two-sided p in 0..1 of "the mean gap is at most `minimum` in size", for any replicates.

    The largest chance over |gap| <= minimum of a gap as far from 0 as the one seen or farther,
    which is that at `minimum`; Student's t with half a lattice step off, each arm of each vignette
    with its own variance: that of one pooled rate would count the gap itself as noise. Not exact;
    its size was simulated. 1 with fewer than two vignettes. For a minimum of 0 there is `signed_p`,
    which is sharper. ValueError for a minimum outside (0, 1) or counts as `stratified_test`.
    """
    k, m, j, n = as_arms(k_swap, m_swap, k_ref, n_ref)
    p = float(beyond(k, m, j, n, fraction("minimum", minimum)))
    return min(1.0, max(SMALLEST, p))


def beyond(k: Ints, m: Ints, j: Ints, n: Ints, minimum: float) -> Floats:
    """The p of `minimum_gap_p` for counts `(..., n_vignettes)`, not checked."""
    from scipy import special

    found = parts(k, m, j, n)
    se, gap = np.sqrt(found.own), np.abs(found.gap)
    kept = (m > 0) & (n > 0)
    steps = np.where(kept, 0.25 / np.maximum(m, 1) + 0.25 / np.maximum(n, 1), 0.0).sum(axis=-1)
    # The count of vignettes twice: once for the mean of the half steps, once for that of the gap.
    half = steps / np.maximum(found.n, 1) ** 2
    near, far = (gap - minimum - half) / se, (gap + minimum - half) / se
    p: Floats = special.stdtr(found.df, -near) + special.stdtr(found.df, -far)
    return np.where((found.n < 2) | (gap <= minimum), 1.0, np.minimum(p, 1.0))


def power_of_minimum_gap(
    gap: float,
    floor: float,
    n_pairs: float,
    *,
    minimum: float,
    replicates: int = 2,
    alpha: float = 0.05,
    n_members: int = 1,
) -> float:
    """Chance, in 0..1, that a signed gap is found to be beyond `minimum` with so many pairs.

    Two-sided level alpha / n_members, half a lattice step off. `floor` is the mean of both arms'
    floors at that gap; where it was measured as 0, plan with its upper bound. `replicates` of each
    arm of a vignette say how well its variance will be known. ValueError for numbers out of range.
    """
    floor, n_pairs = fraction("floor", floor, ends=True), positive("n_pairs", n_pairs)
    gap, minimum = fraction("gap", abs(gap), ends=True), fraction("minimum", minimum)
    level = fraction("alpha", alpha) / positive("n_members", n_members)
    spread = math.sqrt(floor * n_pairs + 1)
    # At the declared minimum nearly all of the level lies in one tail.
    df = (floor * n_pairs + 1) * max(2, whole("replicates", replicates) - 1)
    critical = _critical(minimum * n_pairs / spread, level, df)
    return _NORMAL.cdf((gap * n_pairs - 0.5) / spread - critical) + _NORMAL.cdf(
        (-gap * n_pairs - 0.5) / spread - critical
    )


def _critical(shift: float, level: float, df: float) -> float:
    """The c with P(|T + shift| > c) = level, for Student's T."""
    from scipy import special

    low, high = 0.0, shift + 1e4
    for _ in range(80):
        middle = (low + high) / 2
        tail = special.stdtr(df, shift - middle) + special.stdtr(df, -shift - middle)
        low, high = (middle, high) if tail > level else (low, middle)
    return high
