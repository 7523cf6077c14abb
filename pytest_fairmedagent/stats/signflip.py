"""Would new vignettes show it? Tests whose unit is the vignette.

Replicates are evidence about these vignettes; only more vignettes are evidence about others. With
few vignettes these tests are weak, so they are reported and do not gate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ._check import Floats, Rng, as_arms, generator, whole
from ._convolution import SMALLEST, convolve_all
from ._result import Result

# Up to here all 2**n signs are tried; the largest table is 65,536 x 16.
_ENUMERATED = 16


@dataclass(frozen=True, repr=False, eq=False)
class SignFlip(Result):
    """A mean over vignettes and the probability of one so far from 0 if signs were random.

    `p` is two-sided, `p_greater` the upper tail. `method` is "exact" or "permutation" (then
    p = (1 + hits) / (1 + n_resamples)). Values of 0 carry no sign; with nothing else p = 1.
    """

    p: float
    p_greater: float
    mean: float
    n_vignettes: int
    method: str
    values: Floats

    def __str__(self) -> str:
        return (
            f"mean {self.mean:+.3f} over {self.n_vignettes} vignettes, "
            f"sign-flip p={self.p:.3g} ({self.method})"
        )


def sign_flip_test(values: ArrayLike, *, n_resamples: int = 9999, rng: Rng = 0) -> SignFlip:
    """Test that values per vignette, `(n_vignettes,)`, are symmetric about 0.

    For a signed gap that generalises give k_swap - k_ref at equal replicates; for excess beyond a
    sham give the difference of `Excess.cells`. Whole numbers are tested exactly at any length,
    others up to 16 that are not 0, beyond which signs are drawn, seeded. nan is left out.
    ValueError for infinite values, wrong shapes or nothing but nan.
    """
    draws, generate = whole("n_resamples", n_resamples), generator(rng)
    raw = np.asarray(values, dtype=np.float64)
    if raw.ndim != 1:
        raise ValueError(f"values: expected one value per vignette, got shape {raw.shape}")
    known = raw[~np.isnan(raw)]
    if not known.size or not np.isfinite(known).all():
        raise ValueError("values: expected at least one finite value and no infinity")
    size, mean = np.abs(known[known != 0]), math.fsum(known.tolist()) / known.size
    if not size.size:
        return SignFlip(1.0, 1.0, 0.0, int(known.size), "exact", raw)
    observed = math.fsum(known.tolist())
    method = "exact"
    if (size == np.rint(size)).all() and size.sum() < 200_000:
        greater, two_sided = _lattice(size, observed)
    elif size.size <= _ENUMERATED:
        signs = (np.arange(2**size.size)[:, None] >> np.arange(size.size)) & 1
        greater, two_sided = _tail_shares((2 * signs - 1) @ size, observed)
    else:
        method = "permutation"
        signs = generate.integers(0, 2, size=(draws, size.size))
        shares = _tail_shares((2 * signs - 1) @ size, observed)
        greater, two_sided = ((1 + share * draws) / (1 + draws) for share in shares)
    return SignFlip(min(1.0, two_sided), min(1.0, greater), mean, int(known.size), method, raw)


def standardised_differences(
    k_swap: ArrayLike, m_swap: ArrayLike, k_ref: ArrayLike, n_ref: ArrayLike
) -> Floats:
    """How far each vignette is from no change, in null standard deviations, `(n_vignettes,)`.

    For a list of vignettes that a person should look at. They are many, and testing them one by one
    needs Holm. nan where an arm is empty, 0 where nothing varies. ValueError for impossible counts.
    """
    k, m, j, n = as_arms(k_swap, m_swap, k_ref, n_ref)
    total, positive = m + n, k + j
    several = np.maximum(total, 2)
    share = positive / several
    variance = m * n * share * (1 - share) / (several - 1)
    distance = k - m * share
    values = np.divide(distance, np.sqrt(variance), out=np.zeros(k.shape), where=variance > 0)
    result: Floats = np.where((m > 0) & (n > 0), values, math.nan)
    return result


def _lattice(size: Floats, observed: float) -> tuple[float, float]:
    """Exact tails of the sum of randomly signed whole numbers."""
    laws = []
    for value, times in zip(*np.unique(size.astype(np.int64), return_counts=True), strict=True):
        pair = np.zeros(int(value) + 1)
        pair[[0, -1]] = 0.5  # each sign adds 0 or twice the value to the smallest sum
        laws.extend([pair] * int(times))
    law = convolve_all(laws)
    at = int((size.sum() + observed) / 2)
    mirror = law.size - 1 - at
    greater = max(SMALLEST, float(law[at:].sum()))
    return greater, 2 * max(SMALLEST, float(law[max(at, mirror) :].sum()))


def _tail_shares(sums: Floats, observed: float) -> tuple[float, float]:
    # A hair inside, since equal sums may differ in the last digit.
    slack = 1e-9 * max(1.0, abs(observed))
    greater = float(np.mean(sums >= observed - slack))
    return greater, float(np.mean(np.abs(sums) >= abs(observed) - slack))
