"""Evidence: what a contrast shows at a look, by the rule of how often its data are looked at.

One look at the end may use the exact p-value and the ordinary interval. Looks that may end a run
must pay for themselves: planned looks by spending the level in steps (STATISTICS section 7, exact
version), looks after every round by an e-process and its confidence sequence.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from pytest_fairmedagent.domain import Contrast, Family, Plan, ReplicateTable
from pytest_fairmedagent.relations.measured import Guarded, Measured
from pytest_fairmedagent.stats import (
    GroupSequential,
    confidence_sequence,
    e_process,
    group_sequential,
    margin_e_values,
)

OFF, GS, E = "off", "gs", "e"
RULES = (OFF, GS, E)
N_LOOKS = 5


class Evidence(Protocol):
    """What one contrast shows at one look.

    `p` (in 0..1) may enter Holm at this look whatever was seen at earlier ones, `interval` (of
    the gap, in its units) holds with chance 1 - alpha over all looks together, and so does
    `equivalent`: the gap is inside the margin. `spent` is the level (in 0..1) that this look may
    use by itself. `sham` is what sham edits of the same line do; its p is a part of `p`.
    """

    @property
    def p(self) -> float: ...

    @property
    def interval(self) -> tuple[float, float]: ...

    @property
    def equivalent(self) -> bool: ...

    @property
    def spent(self) -> float: ...

    @property
    def sham(self) -> Guarded | None: ...

    @property
    def basis(self) -> str:
        """What `equivalent` rests on, in words."""


@dataclass(frozen=True)
class AtLook:
    """Evidence of the test at this look, which may use the level `spent`."""

    test: Measured
    p: float
    margin: float | None
    spent: float
    confidence: float
    sham: Guarded | None = None

    @property
    def interval(self) -> tuple[float, float]:
        return self.test.interval(self.confidence)

    @property
    def inner(self) -> tuple[float, float]:
        return self.test.hull(1 - 2 * self.spent)

    @property
    def equivalent(self) -> bool:
        low, high = self.inner
        return self.margin is not None and -self.margin < low and high < self.margin

    @property
    def basis(self) -> str:
        low, high = self.inner
        share = f"{100 * (1 - 2 * self.spent):.4g} % interval"
        unit = f" {self.test.unit}".rstrip()
        return f"{share} [{low:.2f}, {high:.2f}] inside ±{self.margin:g}{unit}"


@dataclass(frozen=True)
class AtAnyRound:
    """Evidence of pairs in order of arrival: `b`, `c`, `z` as in `stats.e_process`, per round."""

    b: tuple[int, ...]
    c: tuple[int, ...]
    z: tuple[int, ...]
    margin: float | None
    spent: float
    sham: Guarded | None = None

    @cached_property
    def p(self) -> float:
        p = float(e_process(self.b, self.c).p[-1]) if self.b else 1.0
        return p if self.sham is None else max(p, self.sham.p)

    @property
    def _sums(self) -> tuple[int, int, int]:
        return sum(self.b), sum(self.c), sum(self.z)

    @cached_property
    def interval(self) -> tuple[float, float]:
        return confidence_sequence(*self._sums, alpha=self.spent)

    @cached_property
    def equivalent(self) -> bool:
        if self.margin is None:
            return False
        return min(margin_e_values(*self._sums, margin=self.margin)) >= 1 / self.spent

    @property
    def basis(self) -> str:
        return f"both one-sided e-processes at ±{self.margin:g} have crossed 1/{self.spent:g}"


def looks_of(rule: str, replicates: int) -> tuple[int, ...]:
    """Return the replicates at which the data are looked at, rising; the last is the plan's.

    Five planned looks for `gs`, every round for `e`; never before the second, for one replicate has
    no floor.
    """
    if rule == OFF or replicates < 2:
        return (replicates,)
    if rule == E:
        return tuple(range(2, replicates + 1))
    return tuple(sorted({max(2, -(-replicates * i // N_LOOKS)) for i in range(1, N_LOOKS + 1)}))


def evidence(
    table: ReplicateTable,
    comparison: Measured,
    family: Family,
    plan: Plan,
    *,
    sham: Guarded | None = None,
    earlier: Sequence[float] = (),
) -> Evidence:
    """Return what a contrast shows at a look, from the `table` of all that was drawn until it.

    `earlier` has, of planned looks, what `surely` returned at each of those before.
    """
    if plan.sequential == E:
        return _anytime(table, comparison, family, plan.reference, sham)
    margin, p = family.margin_of(comparison.contrast.action), surely(comparison, sham)
    if plan.sequential == OFF:
        return AtLook(comparison, p, margin, family.alpha, 0.95, sham)
    spending = spending_of(family)
    spent = spending.levels[len(earlier)]
    return AtLook(comparison, spending.adjusted([*earlier, p]), margin, spent, 1 - spent, sham)


def spending_of(family: Family) -> GroupSequential:
    """Return the planned looks of a family, and what each may spend of its alpha."""
    return group_sequential(looks_of(GS, family.replicates), alpha=family.alpha)


def surely(comparison: Measured, sham: Guarded | None) -> float:
    """Return the larger p of chance and of surface noise: a gap must exceed both."""
    return comparison.p if sham is None else max(comparison.p, sham.p)


def _anytime(
    table: ReplicateTable,
    comparison: Measured,
    family: Family,
    reference: str,
    sham: Guarded | None,
) -> AtAnyRound:
    vignettes = comparison.vignettes
    if comparison.deterministic:  # equal answers of one case are one answer, and so one round
        vignettes = tuple(vignettes[place] for place in comparison.swap.firsts)
    once = vignettes if comparison.deterministic else comparison.once
    rounds = _rounds(table, comparison.contrast, vignettes, reference, once)
    b, c, z = zip(*rounds, strict=True) if rounds else ((), (), ())
    return AtAnyRound(b, c, z, family.margin, family.alpha, sham)


def _rounds(
    table: ReplicateTable,
    contrast: Contrast,
    vignettes: Sequence[str],
    reference: str,
    once: Collection[str],
) -> list[tuple[int, int, int]]:
    """Return per round the pairs with the action under the swap only, the reference only, neither.

    Replicate r of one arm is paired with replicate r of the other: fixed before the data. Where
    answers are copies of one, as in the vignettes of `once`, only the first round counts.
    """
    cells = [
        (
            table.labels(vignette, contrast.swap, contrast.action),
            table.labels(vignette, reference, contrast.action),
        )
        for vignette in vignettes
    ]
    n_rounds = min((min(len(x), len(y)) for x, y in cells), default=0)
    rounds = []
    for index in range(n_rounds):
        pairs = [
            (x[index], y[index])
            for vignette, (x, y) in zip(vignettes, cells, strict=True)
            if not index or vignette not in once
        ]
        b, c = pairs.count((True, False)), pairs.count((False, True))
        same = pairs.count((True, True)) + pairs.count((False, False))
        rounds.append((b, c, same))
    return rounds
