"""The instability floor: how often two runs of one and the same configuration disagree.

A cell is one vignette with `n` replicates of which `k` are positive: k (n - k) of its n (n - 1) / 2
replicate pairs disagree, an unbiased estimate of 2 p (1 - p). Floors of several cells are pooled
with the pairs as weights.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from ._check import Floats, Ints, added, as_clusters, as_counts, as_pair, fraction, one_of
from ._result import Result

TARGETS = ("population", "fixed")


@dataclass(frozen=True, repr=False, eq=False)
class Floor(Result):
    """Share of disagreeing replicate pairs, in 0..1, of one action over the vignettes.

    `rate` is nan without pairs: not measured is not zero. `cells` has one value per vignette, nan
    where there are fewer than two replicates.
    """

    disagreements: int
    pairs: int
    rate: float
    cells: Floats
    k: Ints
    n: Ints
    clusters: Ints

    @property
    def n_vignettes(self) -> int:
        """Vignettes with at least one replicate pair; the variants of one are one."""
        return np.unique(self.clusters[self.n > 1]).size

    def interval(self, confidence: float = 0.95, target: str = "population") -> tuple[float, float]:
        """Interval of the floor, in 0..1; (0, 1) without pairs.

        Clopper-Pearson on the cluster-effective sample size (Korn and Graubard 1998), the vignette
        being the cluster, or the case that several variants come from. `target` names what is
        covered: "population", the floor over vignettes like these, or "fixed", the floor of these
        very vignettes, for which the same interval is conservative. When every cell is unanimous
        the lower end is 0 and the upper end is the zero rule (see `zero_floor_upper`): at half of
        1 - confidence for the population, one-sided for fixed vignettes. One vignette alone says
        nothing about a population: (0, 1).
        """
        return _interval(self.k[:, None], self.n[:, None], self.clusters, confidence, target)

    def __str__(self) -> str:
        return _sentence("floor", self.rate, self.disagreements, self.pairs, self.interval())


@dataclass(frozen=True, repr=False, eq=False)
class PooledFloor(Result):
    """Share of disagreeing replicate pairs, in 0..1, over several outcomes of the same vignettes.

    Pair-weighted; `rate` is nan without pairs. `outcomes` holds the floor of each outcome. It
    averages over outcomes that may differ eightfold, so read it beside them.
    """

    disagreements: int
    pairs: int
    rate: float
    outcomes: tuple[Floor, ...]
    k: Ints
    n: Ints
    clusters: Ints

    @property
    def n_vignettes(self) -> int:
        """Vignettes with at least one replicate pair in some outcome; variants of one are one."""
        return np.unique(self.clusters[(self.n > 1).any(axis=1)]).size

    def interval(self, confidence: float = 0.95, target: str = "population") -> tuple[float, float]:
        """Interval of the pooled floor, as `Floor.interval`.

        The cluster is the vignette with all its outcomes, because one trajectory gives them all.
        """
        return _interval(self.k, self.n, self.clusters, confidence, target)

    def __str__(self) -> str:
        name = f"pooled floor of {len(self.outcomes)} outcomes"
        return _sentence(name, self.rate, self.disagreements, self.pairs, self.interval())


def floor(k: ArrayLike, n: ArrayLike, *, clusters: Sequence[Hashable] | None = None) -> Floor:
    """The floor of one action: `k` positives of `n` replicates, both `(n_vignettes,)`.

    `clusters` labels rows that are variants of one case alike: intervals take the case as cluster.
    ValueError for negative, fractional or NaN counts, k above n, unequal shapes, no vignettes.
    """
    ks, ns = as_pair("k", k, "n", n)
    apart, pairs = _disagreements(ks, ns)
    cells = np.divide(apart, pairs, out=np.full(ks.shape, math.nan), where=pairs > 0)
    total, of = int(apart.sum()), int(pairs.sum())
    labels = as_clusters(clusters, ks.size)
    return Floor(total, of, total / of if of else math.nan, cells, ks, ns, labels)


def pooled_floor(
    k: ArrayLike, n: ArrayLike, *, clusters: Sequence[Hashable] | None = None
) -> PooledFloor:
    """The floor over several outcomes: `k` and `n` of shape `(n_vignettes, n_outcomes)`.

    `clusters` as `floor`. ValueError as `floor`.
    """
    ks, ns = as_pair("k", k, "n", n, ndim=(2,))
    outcomes = tuple(floor(ks[:, o], ns[:, o], clusters=clusters) for o in range(ks.shape[1]))
    total, of = sum(f.disagreements for f in outcomes), sum(f.pairs for f in outcomes)
    labels = as_clusters(clusters, len(ks))
    return PooledFloor(total, of, total / of if of else math.nan, outcomes, ks, ns, labels)


def zero_floor_upper(
    n: ArrayLike, *, confidence: float = 0.95, target: str = "population"
) -> float:
    """One-sided upper bound of the floor, in 0..1/2, when every cell was unanimous.

    `n` is the replicates per vignette, `(n_vignettes,)`. "0 of 720 pairs" does not mean a floor of
    0. "population": the least favourable law, in which a share w of vignettes are fair coins and
    the rest constant: prod(1 - w + w 2**(1-n)) = 1 - confidence, bound w / 2. "fixed": one common p
    with prod(p**n + (1-p)**n) = 1 - confidence, bound 2 p (1 - p); with equal n the least
    favourable case. Vignettes with fewer than two replicates say nothing; if there are no others
    the bound is 1/2. ValueError for impossible counts or confidence.
    """
    one_of("target", target, TARGETS)
    alpha = 1 - fraction("confidence", confidence)
    ns = as_counts("n", n)
    ns = ns[ns > 1]
    if not ns.size:
        return 0.5
    counts, times = np.unique(ns, return_counts=True)
    still = math.log(alpha)

    def surprise(x: float) -> float:
        if target == "population":
            unanimous = 1 - 2 * x * (1 - 2.0 ** (1 - counts))
        else:
            p = (1 - math.sqrt(max(0.0, 1 - 2 * x))) / 2
            unanimous = p**counts + (1 - p) ** counts
        return math.fsum(times * np.log(np.maximum(unanimous, 1e-300))) - still

    if surprise(0.5) > 0:
        return 0.5
    low, high = 0.0, 0.5
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if surprise(middle) > 0 else (low, middle)
    return high


def _disagreements(k: Ints, n: Ints) -> tuple[Ints, Ints]:
    return k * (n - k), n * (n - 1) // 2


def _interval(
    k: Ints, n: Ints, clusters: Ints, confidence: float, target: str
) -> tuple[float, float]:
    """The interval for counts `(n_vignettes, n_outcomes)`; see `Floor.interval`."""
    confidence = fraction("confidence", confidence)
    one_of("target", target, TARGETS)
    apart_cells, pair_cells = _disagreements(k, n)
    apart, pairs = apart_cells.sum(axis=1), pair_cells.sum(axis=1)
    measured = pairs > 0
    apart, pairs, k, n = apart[measured], pairs[measured], k[measured], n[measured]
    if not pairs.size:
        return 0.0, 1.0
    cluster = np.unique(clusters[measured], return_inverse=True)[1].ravel()
    n_clusters = int(cluster.max()) + 1
    if not apart.any():
        # Outcomes of one trajectory may be copies of each other, so several outcomes count as one:
        # the one with the fewest replicates.
        fewest = np.where(n > 1, n, n.max()).min(axis=1)
        spent = (1 + confidence) / 2 if target == "population" else confidence
        if target == "population":
            # All variants of a coin are coins in the least favourable law: their trials add up, but
            # for the first of each, which cannot disagree.
            fewest = 1 + added(fewest - 1, cluster)
        return 0.0, zero_floor_upper(fewest, confidence=spent, target=target)
    if n_clusters == 1 and target == "population":
        return 0.0, 1.0

    from scipy import special

    rate = float(apart.sum() / pairs.sum())
    # The largest value the estimate can take; dividing by it gives a share in 0..1.
    scale = float((n * n * (n > 1)).sum() / (4 * pairs.sum()))
    share = min(1.0, rate / scale)
    # One trajectory gives all outcomes, so outcomes cannot add trials: the cap counts trajectories.
    # With two replicates there are fewer pairs than trials, and pairs are what was seen.
    n_trials = float(np.minimum(n.max(axis=1), (n * (n - 1) // 2).max(axis=1)).sum())
    n_effective = n_trials
    if n_clusters > 1:
        residual = added(apart - rate * pairs, cluster)
        variance = n_clusters / (n_clusters - 1) * float(residual @ residual)
        variance /= (float(pairs.sum()) * scale) ** 2
        if variance > 0:
            # Few clusters know their own variance badly: the t quantile instead of the normal.
            tail = (1 + confidence) / 2
            shrink = NormalDist().inv_cdf(tail) / float(special.stdtrit(n_clusters - 1, tail))
            n_effective = min(n_trials, share * (1 - share) / variance * shrink**2)
            # All cells at their maximum leave share = 1 and no variance of a share.
            n_effective = max(n_effective, 1e-9)
    hits, misses = share * n_effective, (1 - share) * n_effective
    tail = (1 - confidence) / 2
    low = float(special.betaincinv(hits, misses + 1, tail)) if hits > 0 else 0.0
    high = float(special.betaincinv(hits + 1, misses, 1 - tail)) if misses > 0 else 1.0
    return min(rate, low * scale), max(rate, min(1.0, high * scale))


def _sentence(name: str, rate: float, apart: int, pairs: int, interval: tuple[float, float]) -> str:
    if not pairs:
        return f"{name} not measured: no replicate pairs"
    low, high = interval
    return f"{name} {rate:.3f} [{low:.3f}, {high:.3f}]: {apart} of {pairs} replicate pairs disagree"
