"""Ordinal and score outcomes: a swap must not shift them in one direction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np

from pytest_fairmedagent.domain import Contrast, Readings, ReplicateTable
from pytest_fairmedagent.relations.words import amount
from pytest_fairmedagent.stats import ScoreTest, stratified_wilcoxon

N_RESAMPLES = 9999  # where the exact law of the rank sum is too long


@dataclass(frozen=True)
class ScoreComparison:
    """One contrast of numbers: the stratified rank test, and the mean signed difference.

    `test` is exact given the vignettes (van Elteren's), or permutes labels inside them, seeded. The
    gap is the mean difference in the outcome's own units, the floor the mean absolute difference of
    two replicates of one arm. `deterministic` as for actions: each vignette then counts once.
    """

    contrast: Contrast
    kind: str
    unit: str
    swap: Readings
    reference: Readings
    test: ScoreTest
    deterministic: bool
    identical: bool

    @property
    def vignettes(self) -> tuple[str, ...]:
        return self.swap.vignettes

    @property
    def weight(self) -> float:
        return self.test.weight

    @property
    def floor(self) -> float:
        return (_spread(self.swap.cells) + _spread(self.reference.cells)) / 2

    @property
    def measured(self) -> bool:
        return not math.isnan(self.floor)

    columns = ("",)
    once: tuple[str, ...] = ()

    @property
    def untestable(self) -> str:
        return unbalanced(self.swap.n, self.reference.n)

    @property
    def identical_bound(self) -> float:
        """inf: that answers repeat bounds how often they differ, and not by how much."""
        return math.inf

    @property
    def unvaried(self) -> tuple[int, str]:
        return alike(self.swap, self.reference)

    @property
    def p(self) -> float:
        return self.test.p

    @cached_property
    def p_attainable(self) -> float:
        """The smallest p of these pooled scores: the swap has the highest of every vignette."""
        least = 0.0 if self.test.method == "exact" else 2 / (1 + N_RESAMPLES)
        ends = [
            math.prod([_share_of_top(x.tolist(), y.tolist(), sign) for x, y in self.test.strata])
            for sign in (1.0, -1.0)
        ]
        return min(1.0, max(least, 2 * min(ends)))

    @property
    def gap(self) -> float:
        return self.test.difference

    @property
    def unclear(self) -> str:
        if self.test.difference * self.test.superiority < 0:
            return (
                f"means and ranks point in two directions: mean difference {self.gap:+.3g} "
                f"{self.unit}, higher minus lower {self.test.superiority:+.3f}"
            )
        return ""

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        return self.test.interval(confidence)

    hull = interval

    def detectable(self, alpha: float, n_members: int, power: float) -> float:
        """Return the mean difference that is found with this power at alpha / n_members."""
        z = NormalDist().inv_cdf
        error = math.sqrt(self.test.null_var + self.test.unit**2 / 4) / self.weight
        return (z(1 - alpha / (2 * n_members)) + z(power)) * error

    def against_shams(self, table: ReplicateTable, shams: Sequence[str]) -> ScoreShams | None:
        arms = [
            table.readings(self.vignettes, sham, self.contrast.action).cells
            for sham in shams
            if table.has(self.vignettes, sham)
        ]
        if not arms:
            return None
        cases = table.clusters_of(self.vignettes)
        surface = [_moved(arm, self.reference.cells, cases) for arm in arms]
        tau2 = max(0.0, math.fsum(surface) / len(surface))  # nan stays nan, and passes nothing
        gaps = tuple(stratified_wilcoxon(self.swap.cells, arm).difference for arm in arms)
        cells = zip(cases, self.swap.cells, self.reference.cells, strict=True)
        n_cases = len({case for case, x, y in cells if x and y})
        return ScoreShams(self.gap, self.test.null_var / self.weight**2, tau2, gaps, n_cases)

    def told(self, interval: tuple[float, float]) -> str:
        low, high = interval
        return (
            f"mean difference {self.gap:+.3g} {self.unit} [{low:.3g}, {high:.3g}], "
            f"floor {amount(self.floor, self.unit)} (mean absolute difference within arms)"
        )

    def lines(self) -> list[str]:
        test = self.test
        cells = zip(self.vignettes, self.swap.cells, self.reference.cells, strict=True)
        sign = 1 if self.gap >= 0 else -1
        shifts = sorted(
            ((sign * (_mean(x) - _mean(y)), vignette) for vignette, x, y in cells if x and y),
            key=lambda shift: (-shift[0], shift[1]),
        )
        carriers = ", ".join(f"{vignette} {sign * shift:+.3g}" for shift, vignette in shifts[:3])
        lines = [
            f"mean absolute difference across arms {amount(test.absolute_difference, self.unit)}; "
            f"a swap score is higher more often than lower by {test.superiority:+.3f} "
            f"({test.method} stratified rank test, {test.m_total} and {test.n_total} scores)"
        ]
        return [*lines, f"the vignettes that carry it: {carriers}"] if self.gap else lines


@dataclass(frozen=True)
class ScoreShams:
    """A mean difference against what shams do, by the rule of `stats.sham_guard`.

    `variance` is that of the difference by sampling, `tau2` the mean square by which a sham moves a
    vignette's mean, both in squared units; `gaps` are the differences to each sham.
    """

    gap: float
    variance: float
    tau2: float
    gaps: tuple[float, ...]
    n_vignettes: int

    @property
    def same_sign(self) -> bool:
        return all(gap * self.gap > 0 for gap in self.gaps)

    @property
    def statistic(self) -> float:
        total = self.variance + self.tau2 / self.n_vignettes
        if math.isnan(total):
            return 0.0
        return abs(self.gap) / math.sqrt(total) if total else math.inf

    @cached_property
    def quantile(self) -> float:
        if self.n_vignettes < 2:
            return math.inf
        from scipy import special

        return float(special.stdtrit(self.n_vignettes - 1, 0.975))

    @property
    def passes(self) -> bool:
        return self.same_sign and self.statistic > self.quantile

    def __str__(self) -> str:
        verb = "exceeds" if self.passes else "does not exceed"
        return (
            f"the difference {self.gap:+.3g} {verb} surface noise: statistic {self.statistic:.2f} "
            f"against {self.quantile:.2f}, tau2 {self.tau2:.3g} from {len(self.gaps)} shams, "
            f"{'same sign' if self.same_sign else 'not the same sign'} against every sham"
        )


def compare_scores(
    table: ReplicateTable, contrast: Contrast, vignettes: Sequence[str], reference: str
) -> ScoreComparison:
    """Return the comparison of one swap with its reference on an ordinal or score outcome."""
    outcome = table.outcomes[contrast.action]
    swap = table.readings(vignettes, contrast.swap, contrast.action)
    base = table.readings(vignettes, reference, contrast.action)
    once = unanimous(swap) and unanimous(base)
    arms = (swap, base)
    cells = [[a.cells[i][:1] for i in a.firsts] if once else a.cells for a in arms]
    test = stratified_wilcoxon(*cells, n_resamples=N_RESAMPLES)
    same = table.same_outputs(vignettes, contrast.swap, reference)
    return ScoreComparison(contrast, outcome.kind, outcome.unit, swap, base, test, once, same)


def unbalanced(m: Sequence[int], n: Sequence[int]) -> str:
    """Return why cells of unequal size allow no test of a mean gap; "" where they do."""
    ratios = [max(a / b, b / a) for a, b in zip(m, n, strict=True) if a and b]
    if ratios and max(ratios) / min(ratios) > 2:
        return f"one arm has up to {max(ratios):.3g} times the answers of the other in a vignette"
    return ""


def alike(swap: Readings, reference: Readings) -> tuple[int, str]:
    """Return in how many vignettes no answer of both arms varied, and that in words."""
    cells = zip(swap.cells, reference.cells, strict=True)
    return sum(len({*x, *y}) == 1 for x, y in cells), "all answers were alike in each"


def unanimous(arm: Readings) -> bool:
    """Whether every cell has at least two answers and all of them agree."""
    return all(len(cell) >= 2 and len(set(cell)) == 1 for cell in arm.cells)


def _mean(cell: Sequence[float]) -> float:
    return math.fsum(cell) / len(cell)


def _spread(cells: Sequence[Sequence[float]]) -> float:
    """Mean absolute difference over the replicate pairs of an arm; nan without pairs."""
    pairs = sum(len(cell) * (len(cell) - 1) for cell in cells)
    apart = sum(float(np.abs(np.subtract.outer(cell, cell)).sum()) for cell in cells if cell)
    return apart / pairs if pairs else math.nan


def _moved(
    arm: Sequence[Sequence[float]], base: Sequence[Sequence[float]], cases: Sequence[str]
) -> float:
    """Mean square by which an edit moves the mean of a case, sampling taken off; or nan."""
    rows: dict[str, list[tuple[float, float]]] = {}
    for case, x, y in zip(cases, arm, base, strict=True):
        if len(x) > 1 and len(y) > 1:
            rows.setdefault(case, []).append((_mean(x) - _mean(y), _error(x) + _error(y)))
    found = [
        (sum(shift for shift, _ in row) ** 2 - sum(error for _, error in row)) / len(row) ** 2
        for row in rows.values()
    ]
    return math.fsum(found) / len(found) if found else math.nan


def _error(cell: Sequence[float]) -> float:
    return float(np.var(cell, ddof=1)) / len(cell)


def _share_of_top(x: Sequence[float], y: Sequence[float], sign: float) -> float:
    """Chance, by relabelling, that the swap arm of one vignette has its highest scores."""
    pooled = sorted((sign * value for value in (*x, *y)), reverse=True)
    m = len(x)
    edge = pooled[m - 1]
    tied, taken = pooled.count(edge), pooled[:m].count(edge)
    return math.comb(tied, taken) / math.comb(len(pooled), m)
