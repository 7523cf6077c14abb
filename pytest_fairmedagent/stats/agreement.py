"""Agreement beyond chance: floors on the scale of their action's prevalence, and Cohen's kappa."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from ._check import Floats, Ints, as_counts, as_pair, fraction, one_of
from ._result import Result


@dataclass(frozen=True, repr=False, eq=False)
class NormalisedFloor(Result):
    """An instability floor over what unrelated answers of the same prevalence would show.

    0: replicates always agree. 1: the vignette says nothing about the answer. `rate` is
    1 - Krippendorff's alpha; `rate_simple`, floor / (2 p (1 - p)), is 1 - Fleiss' kappa at equal
    replicates. Both are nan when the action never varies. A rare action has a low floor without
    being any more reproducible, so actions are compared on this scale.
    """

    rate: float
    rate_simple: float
    alpha: float
    prevalence: float
    floor: float
    k: Ints
    n: Ints

    @property
    def n_vignettes(self) -> int:
        """Vignettes with at least two replicates: the others are not in `k` and `n`."""
        return int(self.n.size)

    def __str__(self) -> str:
        return (
            f"floor {self.floor:.3f} is {self.rate:.3f} of chance disagreement at prevalence "
            f"{self.prevalence:.3f} ({self.n_vignettes} vignettes)"
        )


def normalised_floor(k: ArrayLike, n: ArrayLike) -> NormalisedFloor:
    """The prevalence-normalised floor of `k` positives of `n` replicates, `(n_vignettes,)`.

    Vignettes with fewer than two replicates are left out, as in Krippendorff 2011. ValueError for
    impossible counts.
    """
    ks, ns = as_pair("k", k, "n", n)
    ks, ns = ks[ns > 1], ns[ns > 1]
    total, positive = int(ns.sum()), int(ks.sum())
    if not total:
        nan = math.nan
        return NormalisedFloor(nan, nan, nan, nan, nan, ks, ns)
    apart = ks * (ns - ks)
    pairs = int((ns * (ns - 1) // 2).sum())
    floor, prevalence = int(apart.sum()) / pairs, positive / total
    by_chance = 2 * positive * (total - positive) / (total * (total - 1))
    if not by_chance:
        return NormalisedFloor(math.nan, math.nan, math.nan, prevalence, floor, ks, ns)
    # Krippendorff weights a vignette by its replicates, the floor by its pairs.
    observed = math.fsum((2 * apart / (ns - 1)).tolist()) / total
    rate = observed / by_chance
    simple = floor / (2 * prevalence * (1 - prevalence))
    return NormalisedFloor(rate, simple, 1 - rate, prevalence, floor, ks, ns)


@dataclass(frozen=True, repr=False, eq=False)
class Kappa(Result):
    """Cohen's kappa in -1..1 with its large-sample standard error.

    nan when chance alone would agree always (both sides gave one and the same label).
    """

    value: float
    se: float
    agreement: float
    n: int
    weights: str
    table: Ints

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Normal interval clipped to -1..1; (-1, 1) where kappa is nan."""
        z = NormalDist().inv_cdf((1 + fraction("confidence", confidence)) / 2)
        if math.isnan(self.value):
            return -1.0, 1.0
        return max(-1.0, self.value - z * self.se), min(1.0, self.value + z * self.se)

    def __str__(self) -> str:
        low, high = self.interval()
        return (
            f"kappa ({self.weights}) {self.value:.3f} [{low:.3f}, {high:.3f}] over {self.n} pairs, "
            f"agreement {self.agreement:.3f}"
        )


def kappa(table: ArrayLike, *, weights: str = "none") -> Kappa:
    """Kappa of a square table of counts, rows one rater, columns the other, labels in order.

    `weights`: "none", "linear" or "quadratic" in the distance of labels, for ordinal ones. Standard
    error of Fleiss, Cohen and Everitt 1969. ValueError for tables that are not square, smaller than
    2 x 2 or empty, and for unknown weights.
    """
    counts = as_counts("table", table, ndim=(2,))
    one_of("weights", weights, ("none", "linear", "quadratic"))
    size, n = len(counts), int(counts.sum())
    if counts.shape != (size, size) or size < 2:
        raise ValueError(f"table: expected a square table of at least 2 x 2, got {counts.shape}")
    if not n:
        raise ValueError("table: expected at least one pair, got none")
    apart = np.abs(np.subtract.outer(np.arange(size), np.arange(size))) / (size - 1)
    credit: Floats = np.eye(size)
    if weights != "none":
        credit = 1 - (apart if weights == "linear" else apart**2)
    p = counts / n
    rows, columns = p.sum(axis=1), p.sum(axis=0)
    agreement, chance = float((credit * p).sum()), float(rows @ credit @ columns)
    if 1 - chance < 1e-12:
        return Kappa(math.nan, math.nan, agreement, n, weights, counts)
    value = (agreement - chance) / (1 - chance)
    margins = np.add.outer(credit @ columns, rows @ credit)
    second = float((p * (credit - margins * (1 - value)) ** 2).sum())
    variance = (second - (value - chance * (1 - value)) ** 2) / (n * (1 - chance) ** 2)
    return Kappa(value, math.sqrt(max(0.0, variance)), agreement, n, weights, counts)


def kappa_of(
    a: Sequence[Hashable],
    b: Sequence[Hashable],
    *,
    labels: Sequence[Hashable] | None = None,
    weights: str = "none",
) -> Kappa:
    """Kappa of two sequences of labels of the same cases; a pair with None is left out.

    `labels` gives all labels in their order, which weights need; by default those found, sorted.
    ValueError for unequal lengths, unlisted labels, or no complete pair.
    """
    if len(a) != len(b):
        raise ValueError(f"a and b: expected the same cases, got {len(a)} and {len(b)}")
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
    found = {label for pair in pairs for label in pair}
    if not pairs:
        raise ValueError("a and b: expected at least one complete pair, got none")
    order = sorted(found, key=_by_value) if labels is None else list(labels)
    if not found <= set(order):
        raise ValueError(f"labels: expected all labels, {found - set(order)} missing")
    seat = {label: i for i, label in enumerate(order)}
    # One label on both sides still needs a second, unused one to be a table.
    table = np.zeros((max(2, len(order)),) * 2, dtype=np.int64)
    for x, y in pairs:
        table[seat[x], seat[y]] += 1
    return kappa(table, weights=weights)


def _by_value(label: Hashable) -> tuple[int, float, str]:
    if isinstance(label, int | float):
        return 0, float(label), ""
    return 1, 0.0, str(label)
