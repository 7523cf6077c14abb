"""Floors under resampling of vignettes: the source study's percentile interval, and its kin.

A seed (42 unless given) reproduces the source's own draws, those of Python's random.choice, so its
published intervals come out to the last digit; a numpy Generator is used as it is.

The vignette is the cluster: it is drawn with all its replicates and outcomes, and a case with all
its variants (`clusters` labels their rows alike). With few or quiet
vignettes the percentile interval is too short and too low (at 16 vignettes it covers .77 to .93
where it says .95); it is kept for comparison with published numbers. `Floor.interval` is the one
to rely on.
"""

from __future__ import annotations

import math
import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ._check import Floats, Ints, Rng, added, as_clusters, as_pair, fraction, whole
from ._result import Result

Interval = tuple[float, float]

SOURCE_SEED = 42


@dataclass(frozen=True, repr=False, eq=False)
class PercentileIntervals(Result):
    """Percentile intervals of a pooled floor and of each outcome, from the same vignette draws."""

    pooled: Interval
    outcomes: tuple[Interval, ...]
    confidence: float
    n_resamples: int

    def __str__(self) -> str:
        low, high = self.pooled
        return (
            f"{self.confidence:.0%} percentile interval [{low:.3f}, {high:.3f}] "
            f"({self.n_resamples} resamples of vignettes)"
        )


@dataclass(frozen=True, repr=False, eq=False)
class FloorDifference(Result):
    """Floor a minus floor b, in -1..1, over vignettes both were measured on.

    `interval` is the percentile interval over common draws of vignettes, so that what the two
    share cancels.
    """

    difference: float
    rate_a: float
    rate_b: float
    interval: Interval
    confidence: float
    n_vignettes: int
    n_resamples: int
    k_a: Ints
    n_a: Ints
    k_b: Ints
    n_b: Ints

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"floors {self.rate_a:.3f} and {self.rate_b:.3f}: difference {self.difference:+.3f} "
            f"[{low:.3f}, {high:.3f}] over {self.n_vignettes} vignettes"
        )


@dataclass(frozen=True, repr=False, eq=False)
class LeaveOneOut(Result):
    """Floors without each vignette in turn: `rates` `(n_vignettes,)`, and their range.

    `most_influential` is the index of the vignette whose absence moves the floor most.
    """

    rate: float
    low: float
    high: float
    most_influential: int
    rates: Floats
    k: Ints
    n: Ints

    def __str__(self) -> str:
        return (
            f"floor {self.rate:.3f}, from {self.low:.3f} to {self.high:.3f} without one vignette "
            f"(most without vignette {self.most_influential})"
        )


def percentile_interval(
    k: ArrayLike,
    n: ArrayLike,
    *,
    confidence: float = 0.95,
    n_resamples: int = 5000,
    rng: Rng = SOURCE_SEED,
) -> Interval:
    """Percentile cluster bootstrap interval of a floor, in 0..1.

    `k` positives of `n` replicates, `(n_vignettes,)` for one action or
    `(n_vignettes, n_outcomes)` for the pooled floor. Index convention of the source study: of the
    B sorted resampled floors, those at int((1 - confidence) / 2 * B) and
    int((1 + confidence) / 2 * B), counted from 0. At 5,000 resamples an end still moves by some
    .002 to .005 with the seed. Unanimous data give (0, 0), which is not evidence of a zero floor.
    (nan, nan) without pairs. ValueError as `floor`.
    """
    return percentile_intervals(
        k, n, confidence=confidence, n_resamples=n_resamples, rng=rng
    ).pooled


def percentile_intervals(
    k: ArrayLike,
    n: ArrayLike,
    *,
    confidence: float = 0.95,
    n_resamples: int = 5000,
    rng: Rng = SOURCE_SEED,
    clusters: Sequence[Hashable] | None = None,
) -> PercentileIntervals:
    """As `percentile_interval`, with one interval per outcome as well, from the same draws.

    ValueError as `floor`.
    """
    counts = _two_dimensional("k", k, "n", n)
    case = as_clusters(clusters, len(counts[0]))
    apart, pairs = (added(cells, case) for cells in _cells(*counts))
    draws = _draws(len(apart), whole("n_resamples", n_resamples), rng)
    confidence = fraction("confidence", confidence)
    rates = _ratio(draws @ apart, draws @ pairs)
    pooled = _ratio(draws @ apart.sum(axis=1), draws @ pairs.sum(axis=1))
    return PercentileIntervals(
        _percentiles(pooled, confidence),
        tuple(_percentiles(column, confidence) for column in rates.T),
        confidence,
        n_resamples,
    )


def floor_difference(
    k_a: ArrayLike,
    n_a: ArrayLike,
    k_b: ArrayLike,
    n_b: ArrayLike,
    *,
    confidence: float = 0.95,
    n_resamples: int = 5000,
    rng: Rng = SOURCE_SEED,
    clusters: Sequence[Hashable] | None = None,
) -> FloorDifference:
    """Difference of two floors measured on the same vignettes: two actions, or two models.

    Shapes as `percentile_interval`; row v must be the same vignette in both. ValueError for
    impossible counts, different vignettes, or no pair in one of them.
    """
    counts_a = _two_dimensional("k_a", k_a, "n_a", n_a)
    counts_b = _two_dimensional("k_b", k_b, "n_b", n_b)
    n_vignettes = len(counts_a[0])
    if n_vignettes != len(counts_b[0]):
        raise ValueError(
            f"k_a and k_b: expected the same vignettes, got {n_vignettes} and {len(counts_b[0])}"
        )
    case = as_clusters(clusters, n_vignettes)
    n_vignettes = int(case.max()) + 1
    draws = _draws(n_vignettes, whole("n_resamples", n_resamples), rng)
    confidence = fraction("confidence", confidence)
    rates = []
    resampled = []
    for name, counts in (("n_a", counts_a), ("n_b", counts_b)):
        apart, pairs = (added(cells, case) for cells in _cells(*counts))
        if not pairs.any():
            raise ValueError(f"{name}: expected at least one replicate pair, got none")
        rates.append(float(apart.sum() / pairs.sum()))
        resampled.append(_ratio(draws @ apart.sum(axis=1), draws @ pairs.sum(axis=1)))
    return FloorDifference(
        rates[0] - rates[1],
        rates[0],
        rates[1],
        _percentiles(resampled[0] - resampled[1], confidence),
        confidence,
        n_vignettes,
        n_resamples,
        *counts_a,
        *counts_b,
    )


def leave_one_out(k: ArrayLike, n: ArrayLike) -> LeaveOneOut:
    """The floor without each vignette, shapes as `percentile_interval`.

    ValueError as `floor`, and for fewer than two vignettes with pairs: one cannot be spared.
    """
    ks, ns = _two_dimensional("k", k, "n", n)
    apart, pairs = (cells.sum(axis=1) for cells in _cells(ks, ns))
    if np.count_nonzero(pairs) < 2:
        raise ValueError(
            f"n: expected replicate pairs in at least two vignettes, got {np.count_nonzero(pairs)}"
        )
    rate = float(apart.sum() / pairs.sum())
    rates = (apart.sum() - apart) / (pairs.sum() - pairs)
    farthest = int(np.argmax(np.abs(rates - rate)))
    return LeaveOneOut(rate, float(rates.min()), float(rates.max()), farthest, rates, ks, ns)


def _two_dimensional(name_k: str, k: ArrayLike, name_n: str, n: ArrayLike) -> tuple[Ints, Ints]:
    ks, ns = as_pair(name_k, k, name_n, n, ndim=(1, 2))
    return (ks[:, None], ns[:, None]) if ks.ndim == 1 else (ks, ns)


def _cells(k: Ints, n: Ints) -> tuple[Floats, Floats]:
    return (k * (n - k)).astype(np.float64), (n * (n - 1) / 2).astype(np.float64)


def _draws(n_vignettes: int, n_resamples: int, rng: Rng) -> Floats:
    """How often each vignette was drawn, `(n_resamples, n_vignettes)`."""
    size = n_resamples * n_vignettes
    if isinstance(rng, np.random.Generator):
        drawn = rng.integers(0, n_vignettes, size=size)
    else:
        drawn = _choices(n_vignettes, size, whole("rng", rng, least=0))
    drawn += np.repeat(np.arange(n_resamples) * n_vignettes, n_vignettes)
    times = np.bincount(drawn, minlength=size)
    return times.reshape(n_resamples, n_vignettes).astype(np.float64)


def _choices(below: int, size: int, seed: int) -> Ints:
    """What random.Random(seed).choice gives `size` times for a list of `below` items.

    It takes the top bits of one word of the Mersenne twister and throws away what is too large.
    """
    *words_of_state, position = random.Random(seed).getstate()[1]
    twister = np.random.RandomState()
    twister.set_state(("MT19937", np.array(words_of_state, dtype=np.uint32), position, 0, 0.0))
    unused = np.uint32(32 - below.bit_length())
    found: list[Ints] = []
    missing = size
    while missing > 0:
        words = np.frombuffer(twister.bytes(4 * (2 * missing + 64)), dtype="<u4") >> unused
        found.append(words[words < below][:missing].astype(np.int64))
        missing -= found[-1].size
    return np.concatenate(found)


def _ratio(apart: Floats, pairs: Floats) -> Floats:
    rates: Floats = np.divide(apart, pairs, out=np.full(apart.shape, math.nan), where=pairs > 0)
    return rates


def _percentiles(values: Floats, confidence: float) -> Interval:
    """Ends by the source's index convention; resamples without a pair are left out."""
    known = np.sort(values[~np.isnan(values)])
    if not known.size:
        return math.nan, math.nan
    at = [int((1 - confidence) / 2 * known.size), int((1 + confidence) / 2 * known.size)]
    return float(known[at[0]]), float(known[min(at[1], known.size - 1)])
