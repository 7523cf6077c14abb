"""How large a gap may be where nothing was seen to differ: the bound that IDENTICAL rests on."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ._check import as_counts, fraction


def identical_bound(m: ArrayLike, n: ArrayLike, alpha: float = 0.05) -> float:
    """One-sided upper bound, in 0..1, of |mean gap| over these vignettes when all answers agree.

    `m` and `n` are the replicates per vignette, `(n_vignettes,)`, of two arms in which every
    vignette gave one and the same answer throughout. At any mean gap of that size or more such
    data have a chance of at most alpha. Exact: a vignette with a gap d agrees with chance
    (1 - d)**min(m, n) at most (one arm certain), and of all ways to share a mean gap out the most
    likely to stay unseen is found; with r in the smaller arm everywhere that is
    1 - alpha**(1 / (r V)), Clopper and Pearson's bound for no event in r V trials. A vignette
    without answers in an arm says nothing: its gap may be 1. ValueError for counts that are none,
    unequal shapes, or alpha outside (0, 1).
    """
    ms, ns = as_counts("m", m), as_counts("n", n)
    if ms.shape != ns.shape:
        raise ValueError(f"m and n: expected equal shapes, got {ms.shape} and {ns.shape}")
    still = math.log(fraction("alpha", alpha))
    counts, times = np.unique(np.minimum(ms, ns), return_counts=True)
    silent = int(times[counts == 0].sum())
    counts, times = counts[counts > 0], times[counts > 0]
    if not counts.size:
        return 1.0

    def chance(share: float) -> float:
        """Log of the chance to see nothing where 1 - d is `share` times r, at most 1."""
        return math.fsum(times * counts * np.log(np.minimum(1.0, share * counts)))

    low, high = 0.0, 1.0 / float(counts.min())
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if chance(middle) < still else (low, middle)
    # `low` is on the side where the chance is below alpha, so the bound is not rounded inwards.
    gaps = 1 - np.minimum(1.0, low * counts)
    return float(min(1.0, (silent + float(times @ gaps)) / ms.size))
