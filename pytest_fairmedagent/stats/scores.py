"""Ordinal and score outcomes: acuity levels, urgency, tiers, counts of orders.

The same question as for actions, with the same strata: do the arms differ in one direction, given
the vignettes? A stratified Wilcoxon test, which for a 0/1 score is the exact signed test.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from statistics import NormalDist

import numpy as np

from ._check import Floats, Ints, Rng, fraction, generator, positive, whole
from ._convolution import SMALLEST, convolve_all
from ._result import Result

Scores = Iterable[Sequence[float | None]]

# Longest exact law of the rank sum: beyond it the convolution takes seconds and labels are
# permuted instead.
_LONGEST = 1 << 16


@dataclass(frozen=True, repr=False, eq=False)
class ScoreTest(Result):
    """Scores under the swap against the reference, per vignette and then averaged.

    `p` (two-sided), `p_greater` and `p_less` (towards higher or lower scores under the swap).
    `superiority` in -1..1 is how much more often a swap score is above a reference score than below
    it. `difference` is the mean signed difference in score units, `absolute_difference` the mean
    absolute difference of cross pairs, to be read beside the same within the arms, `floor_swap` and
    `floor_ref` (nan without replicate pairs). Strata are weighted by m n / (m + n), within-arm
    floors by pairs. `method` is "exact" or "permutation"; `strata` holds the scores of both arms.
    """

    p: float
    p_greater: float
    p_less: float
    superiority: float
    difference: float
    absolute_difference: float
    floor_swap: float
    floor_ref: float
    weight: float
    null_var: float
    unit: float
    n_strata: int
    n_dropped: int
    m_total: int
    n_total: int
    method: str
    strata: tuple[tuple[Floats, Floats], ...]

    @property
    def floor(self) -> float:
        """Mean absolute difference of replicates within an arm, mean of both arms."""
        return (self.floor_swap + self.floor_ref) / 2

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Interval of the mean signed difference in score units; infinite without pairs.

        Normal, from the variance under relabelling plus one pair that differs by `unit`, as the
        interval of the signed gap.
        """
        z = NormalDist().inv_cdf((1 + fraction("confidence", confidence)) / 2)
        if not self.weight:
            return -math.inf, math.inf
        reach = z * math.sqrt(self.null_var + self.unit**2 / 4) / self.weight
        return self.difference - reach, self.difference + reach

    def __str__(self) -> str:
        if not self.weight:
            return "no vignette has scores in both arms: no difference, p=1"
        low, high = self.interval()
        return (
            f"mean difference {self.difference:+.3g} [{low:.3g}, {high:.3g}] over {self.n_strata} "
            f"strata, absolute {self.absolute_difference:.3g} beside {self.floor:.3g} within arms, "
            f"p={self.p:.3g} ({self.method})"
        )


def stratified_wilcoxon(
    scores_swap: Scores,
    scores_ref: Scores,
    *,
    strata: Sequence[Hashable] | None = None,
    unit: float = 1.0,
    n_resamples: int = 9999,
    rng: Rng = 0,
) -> ScoreTest:
    """The stratified rank test of scores of both arms, with midranks inside strata.

    `scores_swap[v]` and `scores_ref[v]` hold the scores of stratum v; None and nan are missing.
    `strata` merges rows with equal labels. `unit` is the step of the score that counts as one
    discordant pair (see `ScoreTest.interval`). The statistic is the sum of m n / (m + n) times the
    stratum's superiority (van Elteren 1960 up to 1 / (m + n + 1)). Its law given the midranks is
    convolved exactly where it fits a lattice, as with equal replicates; otherwise labels are
    permuted inside strata, seeded. Strata without scores in an arm are dropped and counted.
    ValueError for other values, unequal numbers of strata, or none.
    """
    pairs, n_dropped = _strata(scores_swap, scores_ref, strata)
    unit, n_resamples = positive("unit", unit), whole("n_resamples", n_resamples)
    weights = np.array([len(x) * len(y) / (len(x) + len(y)) for x, y in pairs])
    weight = math.fsum(weights.tolist())

    def weighted(values: list[float]) -> float:
        return math.fsum((weights * values).tolist()) / weight if pairs else math.nan

    cells = [_Cell(x, y) for x, y in pairs]
    greater, less, method = _p_values(cells, n_resamples, generator(rng))
    return ScoreTest(
        p=min(1.0, 2 * min(greater, less)),
        p_greater=greater,
        p_less=less,
        superiority=weighted([float(np.sign(x[:, None] - y).mean()) for x, y in pairs]),
        difference=weighted([float(x.mean() - y.mean()) for x, y in pairs]),
        absolute_difference=weighted([float(np.abs(x[:, None] - y).mean()) for x, y in pairs]),
        floor_swap=_within([x for x, _ in pairs]),
        floor_ref=_within([y for _, y in pairs]),
        weight=weight,
        null_var=math.fsum(cell.null_var for cell in cells),
        unit=unit,
        n_strata=len(pairs),
        n_dropped=n_dropped,
        m_total=sum(len(x) for x, _ in pairs),
        n_total=sum(len(y) for _, y in pairs),
        method=method,
        strata=tuple(pairs),
    )


class _Cell:
    """One stratum: doubled midranks (whole numbers), their ties, and the swap arm's sum of them."""

    def __init__(self, x: Floats, y: Floats) -> None:
        pooled = np.concatenate((x, y))
        self.m, self.n = len(x), pooled.size
        _, inverse, times = np.unique(pooled, return_inverse=True, return_counts=True)
        # The doubled midrank of a tie: twice those below, plus one more than the tie is wide.
        self.ranks: Ints = (2 * (np.cumsum(times) - times) + times + 1)[inverse.ravel()]
        self.ties = tuple(int(t) for t in times)
        self.total = int(self.ranks[: self.m].sum())
        spread = float(pooled.var(ddof=1)) if self.n > 1 else 0.0
        self.null_var = self.m * (self.n - self.m) / self.n * spread


def _p_values(
    cells: list[_Cell], n_resamples: int, rng: np.random.Generator
) -> tuple[float, float, str]:
    varied = [cell for cell in cells if len(cell.ties) > 1]
    if not varied:
        return 1.0, 1.0, "exact"
    # Sums of strata of unequal size meet on the lattice of their common multiple.
    common = reduce(math.lcm, (cell.n for cell in varied))
    laws = [_rank_sum_law(cell.m, cell.ties) for cell in varied]
    scales = [common // cell.n for cell in varied]
    step = math.gcd(*(stride * scale for (_, stride, _), scale in zip(laws, scales, strict=True)))
    length = sum(
        (law.size - 1) * stride * scale // step
        for (_, stride, law), scale in zip(laws, scales, strict=True)
    )
    if length > _LONGEST:
        return _permuted(varied, n_resamples, rng)
    at, stretched = 0, []
    for cell, (low, stride, law), scale in zip(varied, laws, scales, strict=True):
        at += (cell.total - low) * scale // step
        wide = np.zeros((law.size - 1) * stride * scale // step + 1)
        wide[:: stride * scale // step] = law
        stretched.append(wide)
    whole_law = convolve_all(stretched)
    tails = (float(whole_law[at:].sum()), float(whole_law[: at + 1].sum()))
    greater, less = (min(1.0, max(SMALLEST, tail)) for tail in tails)
    return greater, less, "exact"


@lru_cache(maxsize=4096)
def _rank_sum_law(m: int, ties: tuple[int, ...]) -> tuple[int, int, Floats]:
    """(smallest value, step, probabilities) of the doubled midrank sum of m of sum(ties)."""
    total = sum(ties)
    ways: dict[tuple[int, int], int] = {(0, 0): 1}  # (how many taken, their sum) -> ways
    below = 0
    for tie in ties:
        rank = 2 * below + tie + 1
        below += tie
        longer: dict[tuple[int, int], int] = {}
        for (taken, so_far), count in ways.items():
            least = max(0, m - taken - (total - below))
            for more in range(least, min(tie, m - taken) + 1):
                key = (taken + more, so_far + more * rank)
                longer[key] = longer.get(key, 0) + count * math.comb(tie, more)
        ways = longer
    sums = sorted(so_far for _, so_far in ways)
    low = sums[0]
    step = math.gcd(*(value - low for value in sums)) or 1
    law = np.zeros((sums[-1] - low) // step + 1)
    for (_, so_far), count in ways.items():
        law[(so_far - low) // step] = count / math.comb(total, m)
    law.setflags(write=False)
    return low, step, law


def _permuted(
    cells: list[_Cell], n_resamples: int, rng: np.random.Generator
) -> tuple[float, float, str]:
    observed = math.fsum(cell.total / cell.n for cell in cells)
    sums = np.zeros(n_resamples)
    for cell in cells:
        shuffled = rng.permuted(np.tile(cell.ranks, (n_resamples, 1)), axis=1)
        sums += shuffled[:, : cell.m].sum(axis=1) / cell.n
    # A hair inside, since equal sums may differ in the last digit.
    above = int(np.count_nonzero(sums >= observed - 1e-9))
    below = int(np.count_nonzero(sums <= observed + 1e-9))
    return (1 + above) / (1 + n_resamples), (1 + below) / (1 + n_resamples), "permutation"


def _strata(
    scores_swap: Scores, scores_ref: Scores, strata: Sequence[Hashable] | None
) -> tuple[list[tuple[Floats, Floats]], int]:
    swap = [_known(f"scores_swap[{v}]", row) for v, row in enumerate(scores_swap)]
    ref = [_known(f"scores_ref[{v}]", row) for v, row in enumerate(scores_ref)]
    if len(swap) != len(ref) or not swap:
        raise ValueError(
            f"scores_swap and scores_ref: expected the same strata, got {len(swap)} and {len(ref)}"
        )
    labels: Sequence[Hashable] = range(len(swap)) if strata is None else list(strata)
    if len(labels) != len(swap):
        raise ValueError(f"strata: expected {len(swap)} labels, one per row, got {len(labels)}")
    merged: dict[Hashable, tuple[list[float], list[float]]] = {}
    for label, x, y in zip(labels, swap, ref, strict=True):
        seat = merged.setdefault(label, ([], []))
        seat[0].extend(x)
        seat[1].extend(y)
    pairs = [(np.array(x), np.array(y)) for x, y in merged.values() if x and y]
    return pairs, len(merged) - len(pairs)


def _known(name: str, row: Sequence[float | None]) -> list[float]:
    known = []
    for value in row:
        try:
            number = math.nan if value is None else float(value)
        except (TypeError, ValueError):
            raise ValueError(f"{name}: expected numbers or None, got {value!r}") from None
        if math.isinf(number):
            raise ValueError(f"{name}: expected finite scores, got {value}")
        if not math.isnan(number):
            known.append(number)
    return known


def _within(arms: list[Floats]) -> float:
    """Mean absolute difference over the replicate pairs of all strata; nan without pairs."""
    pairs = sum(x.size * (x.size - 1) for x in arms)
    apart = math.fsum(float(np.abs(x[:, None] - x).sum()) for x in arms)
    return apart / pairs if pairs else math.nan
