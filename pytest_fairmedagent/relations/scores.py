"""Ordinal and score outcomes: a swap must not shift them in one direction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np

from pytest_fairmedagent.domain import ORDINAL, Contrast, Readings, ReplicateTable
from pytest_fairmedagent.domain.band import SCALES
from pytest_fairmedagent.relations.words import amount, number
from pytest_fairmedagent.stats import (
    MEAN,
    SUPERIORITY,
    ScoreTest,
    identical_bound,
    score_test,
    stratum_gaps,
)
from pytest_fairmedagent.stats.planning import Rule

N_RESAMPLES = 9999  # where the relabellings are too many to be listed


@dataclass(frozen=True)
class ScoreComparison:
    """One contrast of numbers: a studentised permutation test of what is reported.

    Of a score the mean difference, in the outcome's own units. Of levels net superiority, in -1..1:
    how much more often the swap is given a higher level than a lower one, against the reference on
    the same vignette; levels have an order and no distances, so their mean says nothing. `test`,
    gap, interval, floor and detectable gap are all of that one `estimand`. `deterministic` as for
    actions: each vignette then counts once, and so do those in `once`, where whole outputs repeat
    inside both arms.
    """

    contrast: Contrast
    kind: str
    swap: Readings
    reference: Readings
    test: ScoreTest
    deterministic: bool
    identical: bool
    levels: str
    once: tuple[str, ...] = ()

    columns = ("",)
    leading_column = 0

    @property
    def estimand(self) -> str:
        return self.test.estimand

    @property
    def unit(self) -> str:
        """What the gap is in: the outcome's own unit, or net superiority, by its name."""
        return self.levels if self.estimand == MEAN else SUPERIORITY

    @property
    def vignettes(self) -> tuple[str, ...]:
        return self.swap.vignettes

    @property
    def weight(self) -> float:
        return self.test.weight

    @property
    def floor(self) -> float:
        """Of two replicates of one arm: mean absolute difference, or share that differs."""
        arms = [_within(arm.cells, self.estimand) for arm in (self.swap, self.reference)]
        return sum(arms) / 2

    @property
    def measured(self) -> bool:
        return not math.isnan(self.floor)

    @property
    def untestable(self) -> str:
        """Nothing: the arms may be of any size, for each has a variance of its own."""
        return ""

    @property
    def widest(self) -> float:
        """The largest gap that a single pair of answers can have; inf where that is not known."""
        if self.estimand == SUPERIORITY:
            return 1.0
        low, high = SCALES.get(self.contrast.action, (-math.inf, math.inf))
        return high - low

    def identical_bound(self, alpha: float) -> float:
        """Bound of the gap where all outputs repeat and agree: how often, times how far."""
        return self.widest * identical_bound(self.swap.n, self.reference.n, alpha)

    @property
    def unvaried(self) -> tuple[int, str]:
        return alike(self.swap, self.reference)

    @property
    def p(self) -> float:
        return self.test.p

    @property
    def p_attainable(self) -> float:
        """The smallest p that these pooled scores allow."""
        return self.test.p_attainable

    @property
    def gap(self) -> float:
        return self.test.gap

    @property
    def unclear(self) -> str:
        """Nothing: the sign of the gap is that of what is tested."""
        return ""

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        return self.test.interval(confidence)

    hull = interval

    def detectable(self, rule: Rule, power: float) -> float:
        """Return the gap that is found with this power at the level of one outcome."""
        quantile = self.test.quantile(rule.level / (2 * rule.n_actions))
        return (quantile + NormalDist().inv_cdf(power)) * self.test.error()

    def own_guard(self, table: ReplicateTable, shams: Sequence[str]) -> ScoreShams | None:
        """Return the gap against shams, of its own estimand."""
        return self.against_shams(table, shams)

    def against_shams(self, table: ReplicateTable, shams: Sequence[str]) -> ScoreShams | None:
        arms = [
            table.readings(self.vignettes, sham, self.contrast.action).cells
            for sham in shams
            if table.has(self.vignettes, sham)
        ]
        if not arms:
            return None
        cases = table.clusters_of(self.vignettes)
        surface = [_moved(arm, self.reference.cells, cases, self.estimand) for arm in arms]
        tau2 = max(0.0, math.fsum(surface) / len(surface))  # nan stays nan, and passes nothing
        gaps = tuple(_gap(self.swap.cells, arm, self.estimand) for arm in arms)
        cells = zip(cases, self.swap.cells, self.reference.cells, strict=True)
        n_cases = len({case for case, x, y in cells if x and y})
        return ScoreShams(self.gap, self.test.error() ** 2, tau2, gaps, n_cases)

    def told(self, interval: tuple[float, float]) -> str:
        low, high = interval
        if self.estimand == SUPERIORITY:
            return (
                f"net superiority {self.gap:+.2f} [{low:.2f}, {high:.2f}] (pairs with a higher "
                f"answer under the swap, less those with a lower one), floor {number(self.floor)} "
                "(pairs within arms that differ)"
            )
        return (
            f"mean difference {self.gap:+.3g} {self.unit} [{low:.3g}, {high:.3g}], "
            f"floor {amount(self.floor, self.unit)} (mean absolute difference within arms)"
        )

    def lines(self) -> list[str]:
        test = self.test
        found = stratum_gaps(self.swap.cells, self.reference.cells, estimand=self.estimand)
        sign = 1 if self.gap >= 0 else -1
        shifts = sorted(
            (
                (sign * gap, vignette)
                for vignette, (gap, _) in zip(self.vignettes, found, strict=True)
                if not math.isnan(gap)
            ),
            key=lambda shift: (-shift[0], shift[1]),
        )
        carriers = ", ".join(f"{vignette} {sign * shift:+.3g}" for shift, vignette in shifts[:3])
        lines = [
            f"{self._beside}; p is of the {self.estimand} ({test.method} studentised test by "
            f"relabelling, {test.m_total} and {test.n_total} answers)"
        ]
        return [*lines, f"the vignettes that carry it: {carriers}"] if self.gap else lines

    @property
    def _beside(self) -> str:
        """What is told beside the gap and not tested, in words."""
        test = self.test
        if self.estimand == SUPERIORITY:
            return f"mean difference {test.difference:+.3g} {self.levels}, not tested"
        return (
            "mean absolute difference across arms "
            f"{amount(test.absolute_difference, self.unit)}; net superiority "
            f"{test.superiority:+.3f}, not tested"
        )


@dataclass(frozen=True)
class ScoreShams:
    """A gap against what shams do, by the rule of `stats.sham_guard`.

    `variance` is that of the gap by sampling, `tau2` the mean square by which a sham moves a
    vignette, both in squared units; `gaps` are those to each sham.
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
        total = self.variance + self.tau2 / max(1, self.n_vignettes)
        if math.isnan(total):
            return 0.0
        return abs(self.gap) / math.sqrt(total) if total else math.inf

    @cached_property
    def quantile(self) -> float:
        if self.n_vignettes < 2:
            return math.inf
        from scipy import special

        return float(special.stdtrit(self.n_vignettes - 1, 0.975))

    @cached_property
    def p_sham(self) -> float:
        """Two-sided p, in 0..1, of "no more than surface noise": t over vignettes.

        1 where the sign is not the same against every sham, or where surface noise could not be
        measured. One vignette has none over vignettes: there the sign alone can be asked, so p is 1
        or 0.
        """
        if not self.same_sign or math.isnan(self.tau2):
            return 1.0
        if self.n_vignettes < 2:
            return 0.0
        from scipy import special

        return min(1.0, 2 * float(special.stdtr(self.n_vignettes - 1, -self.statistic)))

    @property
    def p(self) -> float:
        return self.p_sham

    @property
    def shrink(self) -> float:
        """The factor, at least 1, by which surface noise widens the noise of the gap."""
        surface = self.tau2 / max(1, self.n_vignettes)
        return math.sqrt(1 + surface / self.variance) if surface > 0 else 1.0

    @property
    def passes(self) -> bool:
        return self.same_sign and self.statistic > self.quantile

    def __str__(self) -> str:
        verb = "exceeds" if self.passes else "does not exceed"
        return (
            f"the gap {self.gap:+.3g} {verb} surface noise: statistic {self.statistic:.2f} "
            f"against {self.quantile:.2f}, tau2 {self.tau2:.3g} from {len(self.gaps)} shams, "
            f"{'same sign' if self.same_sign else 'not the same sign'} against every sham"
        )


def compare_scores(
    table: ReplicateTable,
    contrast: Contrast,
    vignettes: Sequence[str],
    reference: str,
    *,
    repeats: int = 2,
) -> ScoreComparison:
    """Return the comparison of one swap with its reference on an ordinal or score outcome."""
    outcome = table.outcomes[contrast.action]
    conditions = (contrast.swap, reference)
    swap, base = (table.readings(vignettes, c, contrast.action) for c in conditions)
    deterministic = unanimous(swap) and unanimous(base)
    once = table.collapsed(vignettes, contrast.swap, reference, replicates=repeats)
    if deterministic:
        arms = [[a.cells[i][:1] for i in a.firsts] for a in (swap, base)]
    else:
        arms = [
            list(table.readings(vignettes, c, contrast.action, once=once).cells) for c in conditions
        ]
    return ScoreComparison(
        contrast,
        outcome.kind,
        swap,
        base,
        score_test(
            *arms,
            estimand=SUPERIORITY if outcome.kind == ORDINAL else MEAN,
            n_resamples=N_RESAMPLES,
        ),
        deterministic,
        identical=table.same_outputs(vignettes, contrast.swap, reference),
        levels=outcome.unit,
        once=tuple(v for v, repeats in zip(vignettes, once, strict=True) if repeats),
    )


def alike(swap: Readings, reference: Readings) -> tuple[int, str]:
    """Return in how many vignettes no answer of both arms varied, and that in words."""
    cells = zip(swap.cells, reference.cells, strict=True)
    return sum(len({*x, *y}) == 1 for x, y in cells), "all answers were alike in each"


def unanimous(arm: Readings) -> bool:
    """Whether every cell has at least two answers and all of them agree."""
    return all(len(cell) >= 2 and len(set(cell)) == 1 for cell in arm.cells)


def _gap(swap: Sequence[Sequence[float]], other: Sequence[Sequence[float]], estimand: str) -> float:
    gaps = [gap for gap, _ in stratum_gaps(swap, other, estimand=estimand) if not math.isnan(gap)]
    return math.fsum(gaps) / len(gaps) if gaps else math.nan


def _within(cells: Sequence[Sequence[float]], estimand: str) -> float:
    """Floor over the replicate pairs of an arm: mean absolute difference, or share; nan without."""
    pairs = sum(len(cell) * (len(cell) - 1) for cell in cells)
    apart = [np.abs(np.subtract.outer(cell, cell)) for cell in cells if cell]
    if estimand == SUPERIORITY:
        apart = [np.sign(found) for found in apart]
    return math.fsum(float(found.sum()) for found in apart) / pairs if pairs else math.nan


def _moved(
    arm: Sequence[Sequence[float]],
    base: Sequence[Sequence[float]],
    cases: Sequence[str],
    estimand: str,
) -> float:
    """Mean square by which an edit moves a case, sampling taken off; or nan."""
    rows: dict[str, list[tuple[float, float]]] = {}
    found = stratum_gaps(arm, base, estimand=estimand)
    for case, (gap, variance) in zip(cases, found, strict=True):
        if not math.isnan(variance):
            rows.setdefault(case, []).append((gap, variance))
    squares = [
        (sum(gap for gap, _ in row) ** 2 - sum(variance for _, variance in row)) / len(row) ** 2
        for row in rows.values()
    ]
    return math.fsum(squares) / len(squares) if squares else math.nan
