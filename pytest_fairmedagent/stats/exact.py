"""The exact conditional test of a signed gap, stratified by vignette.

Under invariance the outcomes of one vignette are exchangeable between the two arms, so given how
many were positive in all, the positives of the swap arm are hypergeometric. Their sum over
vignettes, T, has the convolution of these laws. With one replicate per arm this is the exact
McNemar test; in general it is the exact form of Cochran-Mantel-Haenszel (Mantel and Haenszel 1959;
exact2x2 in R). Only counts enter: the order of replicates cannot matter.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from ._check import Floats, Ints, as_arms, fraction
from ._convolution import SMALLEST, integer_coefficients, sum_of_hypergeometrics
from ._result import Result

Groups = list[tuple[tuple[int, int, int], int]]

# Up to so many rows are taken as they are; of more, equal ones are counted in at most so many bins.
_FEW, _BINS = 32, 20_000


@dataclass(frozen=True, repr=False, eq=False)
class StratifiedTest(Result):
    """A signed gap (swap minus reference, in -1..1) with its exact p-values.

    `p` is two-sided, twice the smaller tail; `p_greater` is the tail towards more positives under
    the swap. `mid_p` is smaller than `p` and not guaranteed: print it, never gate on it.
    `p_attainable` is the smallest `p` these margins allow: above the level, the check cannot fail.
    `gap` weights vignettes by m n / (m + n), `gap_simple` equally; with equal replicates they
    agree. `b` and `c` are the expected discordant pairs (swap positive only, reference positive
    only) when replicates are paired at random; whole numbers at one replicate per arm.
    Probabilities below 2.2e-308 are given as that number, never as 0.
    """

    statistic: int
    null_mean: float
    null_var: float
    p: float
    p_greater: float
    p_less: float
    mid_p: float
    p_attainable: float
    gap: float
    gap_simple: float
    weight: float
    imbalance: float
    b: float
    c: float
    n_strata: int
    n_dropped: int
    m_total: int
    n_total: int
    k_swap: Ints
    m_swap: Ints
    k_ref: Ints
    n_ref: Ints
    margins: Groups
    p_fraction: Fraction | None = None
    p_greater_fraction: Fraction | None = None
    p_less_fraction: Fraction | None = None
    mid_p_fraction: Fraction | None = None
    p_attainable_fraction: Fraction | None = None

    @property
    def n_pairs(self) -> float:
        """Effective replicate pairs, 2 sum m n / (m + n): vignettes x replicates when equal."""
        return 2 * self.weight

    @property
    def flip_rate(self) -> float:
        """Share of discordant cross pairs, (b + c) / n_pairs, in 0..1; nan without pairs."""
        return (self.b + self.c) / self.n_pairs if self.weight else math.nan

    @property
    def floor_pooled(self) -> float:
        """The floor this test set the gap against: null_var n_pairs / weight**2, nan without pairs.

        At equal replicates it is the floor of the pooled runs of both arms.
        """
        return self.n_pairs * self.null_var / self.weight**2 if self.weight else math.nan

    def se(self) -> float:
        """Standard error of `gap` with one discordant pair added, so it is never 0.

        inf without pairs. Agresti and Min 2005 at one replicate per arm.
        """
        return math.sqrt(self.null_var + 0.25) / self.weight if self.weight else math.inf

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Interval of the mean signed gap over these vignettes, clipped to -1..1.

        "Pooled floor plus one": gap +- z se(). Where it disagrees with `p` about 0, `p` decides.
        Without pairs it is (-1, 1): nothing is known.
        """
        confidence = fraction("confidence", confidence)
        if not self.weight:
            return -1.0, 1.0
        reach = NormalDist().inv_cdf((1 + confidence) / 2) * self.se()
        return max(-1.0, self.gap - reach), min(1.0, self.gap + reach)

    def __str__(self) -> str:
        if not self.weight:
            return "no vignette has outcomes in both arms: no gap, p=1"
        low, high = self.interval()
        return (
            f"signed gap {self.gap:+.3f} [{low:.3f}, {high:.3f}] over {self.n_strata} strata "
            f"({self.m_total} against {self.n_total} outcomes), b={self.b:.3g}, c={self.c:.3g}, "
            f"p={self.p:.3g} (smallest attainable {self.p_attainable:.3g})"
        )


def stratified_test(
    k_swap: ArrayLike,
    m_swap: ArrayLike,
    k_ref: ArrayLike,
    n_ref: ArrayLike,
    *,
    strata: Sequence[Hashable] | None = None,
    fractions: bool = False,
) -> StratifiedTest:
    """The exact test of equal action rates in both arms, given the vignettes.

    All four arrays have shape `(n_strata,)`: `k_swap` positives of `m_swap` outcomes under the
    swap, `k_ref` of `n_ref` under the reference. A row is a stratum: a vignette, or with blocks a
    (vignette, block). `strata` gives each row a label and adds up rows that share one. Rows that
    end with no outcome in an arm carry nothing and are dropped (`n_dropped`); if none is left, or
    if no stratum can vary, the answer is p = 1 and p_attainable = 1.

    The test is valid for "no vignette changes" with any replicates, and for "no mean gap" with
    equal replicates; at an `imbalance` above 1.25 only the former may be claimed.
    `fractions` adds the exact rational p-values (slow above some 1,000 outcomes).

    ValueError for negative, fractional or NaN counts, counts above their total, unequal shapes, no
    rows.
    """
    k, m, j, n = as_arms(k_swap, m_swap, k_ref, n_ref)
    if strata is not None:
        k, m, j, n = _merge(k, m, j, n, strata)
    statistic = smallest = m_total = n_total = n_dropped = 0
    margins: dict[tuple[int, int, int], int] = {}
    columns: list[tuple[float, ...]] = []
    for (x, runs, y, others), times in _distinct(k, m, j, n):
        if not (runs and others):
            n_dropped += times
            continue
        total, positive, product = runs + others, x + y, runs * others
        only_swap, only_ref = x * (others - y), y * (runs - x)  # discordant cross pairs
        statistic += times * x
        smallest += times * max(0, positive - others)
        m_total += times * runs
        n_total += times * others
        columns.append(
            (
                times * product / total,
                times * 2 * only_swap / total,
                times * 2 * only_ref / total,
                times * (only_swap - only_ref) / product,
                times * runs * positive / total,
                times * product * positive * (total - positive) / (total * total * (total - 1)),
            )
        )
        if 0 < positive < total:
            key = (runs, others, positive)
            margins[key] = margins.get(key, 0) + times
    # fsum rounds once, so that the order of the vignettes cannot change a digit.
    sums = [math.fsum(column) for column in zip(*columns, strict=True)] or [0.0] * 6
    weight, b, c, gaps, null_mean, null_var = sums
    if n_dropped:
        kept = (m > 0) & (n > 0)
        k, m, j, n = k[kept], m[kept], j[kept], n[kept]

    at, groups = statistic - smallest, sorted(margins.items())
    tails = _tails(sum_of_hypergeometrics(groups), at)
    exact = _exact_tails(groups, at) if fractions else (None,) * 5

    return StratifiedTest(
        statistic=statistic,
        null_mean=null_mean,
        null_var=null_var,
        p=tails[0],
        p_greater=tails[1],
        p_less=tails[2],
        mid_p=tails[3],
        p_attainable=tails[4],
        gap=(b - c) / (2 * weight) if weight else math.nan,
        gap_simple=gaps / k.size if k.size else math.nan,
        weight=weight,
        imbalance=max(m_total / n_total, n_total / m_total) if k.size else math.nan,
        b=b,
        c=c,
        n_strata=int(k.size),
        n_dropped=n_dropped,
        m_total=m_total,
        n_total=n_total,
        k_swap=k,
        m_swap=m,
        k_ref=j,
        n_ref=n,
        margins=groups,
        p_fraction=exact[0],
        p_greater_fraction=exact[1],
        p_less_fraction=exact[2],
        mid_p_fraction=exact[3],
        p_attainable_fraction=exact[4],
    )


def _merge(
    k: Ints, m: Ints, j: Ints, n: Ints, strata: Sequence[Hashable]
) -> tuple[Ints, Ints, Ints, Ints]:
    labels = list(strata)
    if len(labels) != k.size:
        raise ValueError(f"strata: expected {k.size} labels, one per row, got {len(labels)}")
    seat: dict[Hashable, int] = {}
    where = np.array([seat.setdefault(label, len(seat)) for label in labels])
    merged = np.zeros((4, len(seat)), dtype=np.int64)
    for row, counts in zip(merged, (k, m, j, n), strict=True):
        np.add.at(row, where, counts)
    return merged[0], merged[1], merged[2], merged[3]


def _distinct(
    k: Ints, m: Ints, j: Ints, n: Ints
) -> Iterable[tuple[tuple[int, int, int, int], int]]:
    """The rows, equal ones once with their number where finding them pays."""
    if k.size > _FEW:
        base = int(max(m.max(), n.max())) + 1
        if base**4 <= _BINS:
            often = np.bincount(((k * base + m) * base + j) * base + n)
            for code in np.flatnonzero(often).tolist():
                code_j, others = divmod(code, base)
                code_m, y = divmod(code_j, base)
                x, runs = divmod(code_m, base)
                yield (x, runs, y, others), int(often[code])
            return
    for row in zip(k.tolist(), m.tolist(), j.tolist(), n.tolist(), strict=True):
        yield row, 1


def _tails(law: Floats, at: int) -> list[float]:
    """p, p_greater, p_less, mid_p and p_attainable of the value at index `at`."""
    greater, less = min(1.0, float(law[at:].sum())), min(1.0, float(law[: at + 1].sum()))
    doubled = 2 * min(greater, less)
    least = 2 * min(float(law[0]), float(law[-1]))
    values = (doubled, greater, less, doubled - float(law[at]), least)
    return [min(1.0, max(SMALLEST, value)) for value in values]


def _exact_tails(groups: Groups, at: int) -> tuple[Fraction, ...]:
    """The same five, in whole numbers."""
    factors = [
        [math.comb(m, x) * math.comb(n, s - x) for x in range(max(0, s - n), min(m, s) + 1)]
        for (m, n, s), times in groups
        for _ in range(times)
    ]
    law = integer_coefficients(factors)
    total = sum(law)
    greater, less = sum(law[at:]), sum(law[: at + 1])
    doubled, least = 2 * min(greater, less), 2 * min(law[0], law[-1])
    values = (doubled, greater, less, doubled - law[at], least)
    return tuple(min(Fraction(1), Fraction(value, total)) for value in values)
