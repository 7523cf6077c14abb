"""Rank correlation of a handful of numbers: do two models order their actions alike?

With six actions it says little. The smallest p is 2 / 720, so a table of 15 model pairs can hardly
survive Holm: describe with it, do not test with it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike

from ._check import Floats, Ints, Rng, generator, whole
from ._result import Result

# All orders are tried up to here: 40,320 of them.
_ENUMERATED = 8


@dataclass(frozen=True, repr=False, eq=False)
class Spearman(Result):
    """Rank correlation in -1..1 with its two-sided permutation p in 0..1.

    `p_fraction` is exact up to eight values; beyond, orders are drawn and it is None. `rho` is nan
    when one side has no variation, and then p = 1.
    """

    rho: float
    p: float
    p_fraction: Fraction | None
    n: int
    x: Floats
    y: Floats

    def __str__(self) -> str:
        exact = f" ({self.p_fraction})" if self.p_fraction is not None else ""
        return f"Spearman rho {self.rho:.3f} over {self.n} values, p={self.p:.3g}{exact}"


def spearman(x: ArrayLike, y: ArrayLike, *, n_resamples: int = 9999, rng: Rng = 0) -> Spearman:
    """Spearman's correlation of `x` and `y`, both `(n,)`, with midranks for ties.

    Exact two-sided p over all n! orders up to n = 8, else over `n_resamples` drawn orders, seeded.
    ValueError for NaN, unequal lengths or fewer than two values.
    """
    xs, ys = _values("x", x), _values("y", y)
    if xs.size != ys.size:
        raise ValueError(f"x and y: expected equal lengths, got {xs.size} and {ys.size}")
    a, b = _centred(xs), _centred(ys)
    draws, generate = whole("n_resamples", n_resamples), generator(rng)
    n, observed = int(a.size), int(a @ b)
    spread = math.sqrt(int(a @ a)) * math.sqrt(int(b @ b))
    if not spread:
        return Spearman(math.nan, 1.0, Fraction(1), n, xs, ys)
    # Whole numbers throughout, so that ties between orders are ties.
    if n <= _ENUMERATED:
        sums = b[np.array(list(permutations(range(n))))] @ a
        p = Fraction(int(np.count_nonzero(np.abs(sums) >= abs(observed))), math.factorial(n))
        return Spearman(observed / spread, float(p), p, n, xs, ys)
    sums = generate.permuted(np.tile(b, (draws, 1)), axis=1) @ a
    hits = int(np.count_nonzero(np.abs(sums) >= abs(observed)))
    return Spearman(observed / spread, (1 + hits) / (1 + draws), None, n, xs, ys)


def _values(name: str, values: ArrayLike) -> Floats:
    raw: Floats = np.asarray(values, dtype=np.float64)
    if raw.ndim != 1 or raw.size < 2:
        raise ValueError(f"{name}: expected at least two values in one row, got shape {raw.shape}")
    if np.isnan(raw).any():
        raise ValueError(f"{name}: expected numbers, got NaN")
    return raw


def _centred(values: Floats) -> Ints:
    """Doubled midranks less their mean: whole numbers that add up to 0."""
    below = (values[:, None] > values).sum(axis=1)
    alike = (values[:, None] == values).sum(axis=1)
    centred: Ints = (2 * below + alike + 1 - (values.size + 1)).astype(np.int64)
    return centred
