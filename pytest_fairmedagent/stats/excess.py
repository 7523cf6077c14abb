"""Excess over the floor: how much more often runs of two arms disagree than runs of one arm.

The share of discordant cross pairs is the mean of both arms' floors plus the mean squared
difference of their action rates (the source study's Eq. 2). The excess estimates that last part.
It has no direction: effects that cancel between vignettes, which a signed gap cannot see, show
here, and so does any other sensitivity to the text.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from ._check import Floats, Ints, Rng, as_arms, as_counts, generator, whole
from ._convolution import SMALLEST, convolve_all, hypergeometric, integer_coefficients
from ._result import Result

_LONGEST_LAW = 300_000


@dataclass(frozen=True, repr=False, eq=False)
class Excess(Result):
    """Eq. 2 by parts: flip_rate = (floor_swap + floor_ref) / 2 + mean.

    All are means over the `n_cells` vignettes with at least two replicates in both arms. `mean` is
    unbiased for the mean squared difference of action rates, in -1/2..1; it may be negative, and
    is never cut at 0, which would bias it. `cells` is per vignette, nan where unmeasured. With
    `n_cells` 0 all are nan.
    """

    mean: float
    flip_rate: float
    floor_swap: float
    floor_ref: float
    n_cells: int
    cells: Floats
    k_swap: Ints
    m_swap: Ints
    k_ref: Ints
    n_ref: Ints

    @property
    def mean_squared_difference(self) -> float:
        """The third part of Eq. 2, under its own name; equal to `mean`."""
        return self.mean

    def __str__(self) -> str:
        if not self.n_cells:
            return "excess not measured: no vignette has two replicates in both arms"
        return (
            f"flip rate {self.flip_rate:.3f} = floor {(self.floor_swap + self.floor_ref) / 2:.3f} "
            f"(swap {self.floor_swap:.3f}, reference {self.floor_ref:.3f}) {self.mean:+.3f} "
            f"excess, {self.n_cells} vignettes"
        )


def excess(k_swap: ArrayLike, m_swap: ArrayLike, k_ref: ArrayLike, n_ref: ArrayLike) -> Excess:
    """The excess over the floor per vignette and on average; arrays `(n_vignettes,)`.

    ValueError for impossible counts or unequal shapes.
    """
    k, m, j, n = as_arms(k_swap, m_swap, k_ref, n_ref)
    measured = (m > 1) & (n > 1)
    # Ones instead of small totals keep the arithmetic quiet; these cells are blanked below.
    ms, ns = np.where(measured, m, 2), np.where(measured, n, 2)
    crossed = (k * (ns - j) + j * (ms - k)) / (ms * ns)
    floor_swap = 2 * k * (ms - k) / (ms * (ms - 1))
    floor_ref = 2 * j * (ns - j) / (ns * (ns - 1))
    cells = np.where(measured, crossed - (floor_swap + floor_ref) / 2, math.nan)
    n_cells = int(np.count_nonzero(measured))

    def mean(values: Floats) -> float:
        return math.fsum(values[measured].tolist()) / n_cells if n_cells else math.nan

    return Excess(
        mean(cells), mean(crossed), mean(floor_swap), mean(floor_ref), n_cells, cells, k, m, j, n
    )


def excess_test(
    k_swap: ArrayLike,
    k_ref: ArrayLike,
    R: ArrayLike,
    n_ref: ArrayLike | None = None,
    *,
    n_resamples: int = 9999,
    rng: Rng = 0,
) -> float:
    """p-value in 0..1 of no change in any vignette against a mean squared difference above 0.

    `k_swap` and `k_ref` positives, `(n_vignettes,)`. `R` is the replicates of both arms, one number
    or one per vignette; with `n_ref` given, `R` is those of the swap arm alone. With one common R
    the excess grows with sum (k_swap - k_ref)**2, whose law given the margins is a convolution, and
    p is exact; above V R**2 = 300,000 that law is too long. Then, and for other replicates, labels
    are permuted within vignettes, seeded, and p = (1 + hits) / (1 + n_resamples); vignettes with
    fewer than two replicates in an arm are left out. At R = 1 the margins fix the statistic: p = 1,
    nothing can be learned. ValueError for impossible counts.
    """
    k, m, j, n = _arms_of_excess(k_swap, k_ref, R, n_ref)
    n_resamples, generate = whole("n_resamples", n_resamples), generator(rng)
    common = (m == m[0]).all() and (n == m[0]).all()
    if common and k.size * int(m[0]) ** 2 <= _LONGEST_LAW:
        laws, seen = [], 0
        for a, b in zip(k.tolist(), j.tolist(), strict=True):
            laws.append(_squared_law(int(m[0]), a + b))
            seen += ((a - b) ** 2 - (a + b) % 2) // 4
        law = convolve_all(laws)
        return min(1.0, max(SMALLEST, float(law[seen:].sum())))
    return _permuted(k, m, j, n, n_resamples, generate)


def excess_test_fraction(k_swap: ArrayLike, k_ref: ArrayLike, R: int) -> Fraction:
    """`excess_test` for one common number of replicates, as an exact fraction.

    ValueError for impossible counts.
    """
    k, m, j, _ = _arms_of_excess(k_swap, k_ref, R, None)
    replicates = int(m[0])
    factors, seen = [], 0
    for a, b in zip(k.tolist(), j.tolist(), strict=True):
        s = a + b
        values = [0] * (replicates * replicates // 4 + 1)
        for x in range(max(0, s - replicates), min(replicates, s) + 1):
            ways = math.comb(replicates, x) * math.comb(replicates, s - x)
            values[((2 * x - s) ** 2 - s % 2) // 4] += ways
        factors.append(values)
        seen += ((a - b) ** 2 - s % 2) // 4
    law = integer_coefficients(factors)
    return Fraction(sum(law[seen:]), sum(law))


def _arms_of_excess(
    k_swap: ArrayLike, k_ref: ArrayLike, m: ArrayLike, n: ArrayLike | None
) -> tuple[Ints, Ints, Ints, Ints]:
    shape = as_counts("k_swap", k_swap).shape
    swap = np.broadcast_to(as_counts("R", m, ndim=(0, 1)), shape) if np.ndim(m) == 0 else m
    ref = swap if n is None else n
    if np.ndim(ref) == 0:
        ref = np.broadcast_to(as_counts("n_ref", ref, ndim=(0, 1)), shape)
    return as_arms(k_swap, swap, k_ref, ref)


@lru_cache(maxsize=4096)
def _squared_law(replicates: int, s: int) -> Floats:
    """Law of ((2k - s)**2 - s % 2) / 4, a whole number, for k hypergeometric."""
    low, law = hypergeometric(replicates, replicates, s)
    at = ((2 * (low + np.arange(law.size)) - s) ** 2 - s % 2) // 4
    squared: Floats = np.bincount(at, weights=law).astype(np.float64)
    return squared


def _permuted(
    k: Ints, m: Ints, j: Ints, n: Ints, n_resamples: int, rng: np.random.Generator
) -> float:
    measured = (m > 1) & (n > 1)
    k, m, j, n = k[measured], m[measured], j[measured], n[measured]
    if not k.size:
        return 1.0
    s = k + j

    def total(a: Ints) -> Floats:
        share, other = a / m, (s - a) / n
        cells = (share - other) ** 2 - share * (1 - share) / (m - 1) - other * (1 - other) / (n - 1)
        summed: Floats = cells.sum(axis=-1)
        return summed

    hits, left = 0, n_resamples
    while left:  # in slices, so that memory does not grow with the resamples
        size = min(left, max(1, 1_000_000 // k.size))
        # A random relabelling of a vignette leaves a hypergeometric number of positives in an arm.
        drawn = rng.hypergeometric(s, m + n - s, m, size=(size, k.size)).astype(np.int64)
        # A hair below, since equal totals may differ in the last digit.
        hits += int(np.count_nonzero(total(drawn) >= total(k) - 1e-9))
        left -= size
    return (1 + hits) / (1 + n_resamples)
