"""Invariance: a descriptor swap must leave the distribution of an action unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from pytest_fairmedagent.domain import BINARY, Contrast, Counts, ReplicateTable
from pytest_fairmedagent.relations.words import number
from pytest_fairmedagent.stats import (
    Excess,
    Floor,
    ShamGuard,
    SignedP,
    StratifiedTest,
    excess,
    floor,
    gap_in_sight,
    gap_interval,
    identical_bound,
    minimum_gap_p,
    sham_guard,
    signed_p,
    stratified_test,
    zero_floor_upper,
)
from pytest_fairmedagent.stats.planning import Rule


@dataclass(frozen=True)
class Comparison:
    """One contrast as measured: counts of both arms, and what follows from them.

    `deterministic` tells that every cell was unanimous in both arms: each case then counts once, by
    its first variant, for R equal answers are one answer. `once` are the vignettes that count once
    since whole outputs repeat inside both arms. `identical` tells that they do so everywhere, and
    agree. `minimum_gap` is the largest gap that is not tested against.
    """

    contrast: Contrast
    swap: Counts
    reference: Counts
    test: StratifiedTest
    deterministic: bool
    identical: bool
    once: tuple[str, ...] = ()
    minimum_gap: float = 0.0

    @cached_property
    def floor_swap(self) -> Floor:
        return floor(self.swap.k, self.swap.n, clusters=self.swap.clusters or None)

    @cached_property
    def floor_reference(self) -> Floor:
        return floor(self.reference.k, self.reference.n, clusters=self.swap.clusters or None)

    kind = BINARY
    unit = ""
    columns = ("",)
    leading_column = 0

    @property
    def vignettes(self) -> tuple[str, ...]:
        return self.swap.vignettes

    @property
    def weight(self) -> float:
        return self.test.weight

    @cached_property
    def signed(self) -> SignedP:
        """The test of no mean gap that these cells allow: exact, or the cautious one of two."""
        return signed_p(self.test)

    @property
    def untestable(self) -> str:
        """Why these cells allow no test of a mean gap; "" where they do."""
        if not self.weight or self.signed.mean_gap is None:
            return ""
        return self.signed.mean_gap.reason

    @cached_property
    def p(self) -> float:
        """p of "no mean gap", or of a mean gap of at most `minimum_gap`."""
        test = self.test
        if not self.weight:
            return 1.0
        if not self.minimum_gap:
            return self.signed.p
        counts = (test.k_swap, test.m_swap, test.k_ref, test.n_ref)
        return max(self.signed.p, minimum_gap_p(*counts, minimum=self.minimum_gap))

    def identical_bound(self, alpha: float) -> float:
        """Bound of the gap, in 0..1 and at level `alpha`, where all outputs repeat and agree."""
        return identical_bound(self.swap.n, self.reference.n, alpha)

    @property
    def p_attainable(self) -> float:
        return self.test.p_attainable

    @property
    def gap(self) -> float:
        return self.test.gap

    @property
    def unclear(self) -> str:
        if self.test.gap * self.test.gap_simple < 0:
            return (
                f"missing answers decide the direction: weighted gap {self.test.gap:+.3f}, simple "
                f"mean {self.test.gap_simple:+.3f}"
            )
        return ""

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        test = self.test
        if not self.weight:
            return -1.0, 1.0
        return gap_interval(test.k_swap, test.m_swap, test.k_ref, test.n_ref, confidence)

    hull = interval

    def own_guard(self, table: ReplicateTable, shams: Sequence[str]) -> None:
        """None: the gap is a mean, which is measured against shams with the other outcomes."""

    def against_shams(self, table: ReplicateTable, shams: Sequence[str]) -> ShamGuard | None:
        """Return the sham guard over the same vignettes; None where no sham was drawn."""
        arms = [
            table.counts(self.vignettes, sham, self.contrast.action)
            for sham in shams
            if table.has(self.vignettes, sham)
        ]
        if not arms:
            return None
        swap, base = self.swap, self.reference
        counted = [(arm.k, arm.n) for arm in arms]
        return sham_guard(swap.k, swap.n, base.k, base.n, counted, clusters=swap.clusters or None)

    def detectable(self, rule: Rule, power: float) -> float:
        """Return the signed gap, in 0..1, that is named with this power by this rule."""
        test, ratio = self.test, 1.0 if self.deterministic else rule.ratio
        both = sum(bool(m and n) for m, n in zip(test.m_swap, test.n_ref, strict=True))
        pairs = test.n_pairs
        if rule.kind == "e_process":  # pairs draw with draw
            pairs = min(pairs, float(sum(test.m_swap)))
        gap = gap_in_sight(
            min(1.0, self.planning_floor),
            pairs,
            replace(rule, ratio=ratio),
            n_vignettes=both,
            power=power,
        )
        return min(1.0, gap + self.minimum_gap)

    def told(self, interval: tuple[float, float]) -> str:
        low, high = interval
        return f"signed gap {self.gap:+.2f} [{low:.2f}, {high:.2f}], floor {number(self.floor)}"

    def lines(self) -> list[str]:
        test = self.test
        lines = [
            f"flip rate {test.flip_rate:.3f} beside a floor of {number(self.floor)}: expected "
            f"discordant pairs b={test.b:.3g} (action only under the swap), c={test.c:.3g} (only "
            f"under the reference) of {test.n_pairs:.4g}"
        ]
        if test.gap:
            share = ", ".join(f"{v} {gap:+.2f}" for v, gap in self.carriers[:3])
            lines.append(f"the vignettes that carry it: {share}")
        if any(self.ends):
            always, never = self.ends
            lines.append(
                f"at ceiling in {always} and at zero in {never} of {len(self.vignettes)} cells: "
                "nothing could be seen to move there"
            )
        return lines

    @property
    def unvaried(self) -> tuple[int, str]:
        always, never = self.ends
        told = f"the action was always taken in {always} and never in {never}"
        return always + never, told

    @cached_property
    def ends(self) -> tuple[int, int]:
        """In how many cells every trial of both arms took the action, and in how many none did."""
        cells = list(zip(self.swap.k, self.swap.n, self.reference.k, self.reference.n, strict=True))
        always = sum(bool(m and n) and k == m and j == n for k, m, j, n in cells)
        return always, sum(bool(m and n) and not k + j for k, m, j, n in cells)

    @property
    def measured(self) -> bool:
        """Whether both arms have a replicate pair, so that there is a floor at all."""
        return bool(self.floor_swap.pairs and self.floor_reference.pairs)

    @property
    def floor(self) -> float:
        """Mean of both arms' floors, in 0..1; nan where one has no replicate pair."""
        return (self.floor_swap.rate + self.floor_reference.rate) / 2

    @property
    def planning_floor(self) -> float:
        """The floor to plan with: the measured one, or its upper bound where that is 0."""
        if self.floor > 0:
            return self.floor
        n = self.swap.n + self.reference.n
        return zero_floor_upper(n, target="fixed")

    @cached_property
    def excess(self) -> Excess:
        return excess(self.swap.k, self.swap.n, self.reference.k, self.reference.n)

    @property
    def carriers(self) -> list[tuple[str, float]]:
        """Vignettes with their own signed gap, largest first in the direction of the whole."""
        sign = 1 if self.test.gap >= 0 else -1
        gaps = [
            (vignette, k / m - j / n)
            for vignette, k, m, j, n in zip(
                self.swap.vignettes,
                self.swap.k,
                self.swap.n,
                self.reference.k,
                self.reference.n,
                strict=True,
            )
            if m and n
        ]
        return sorted(gaps, key=lambda item: (-sign * item[1], item[0]))


def compare(
    table: ReplicateTable,
    contrast: Contrast,
    vignettes: Sequence[str],
    reference: str,
    *,
    minimum_gap: float = 0.0,
    repeats: int = 2,
) -> Comparison:
    """Return the comparison of one swap with its reference on one action.

    Where whole outputs repeat inside both arms, `repeats` times at least, they count once.
    """
    swap = table.counts(vignettes, contrast.swap, contrast.action)
    base = table.counts(vignettes, reference, contrast.action)
    once = table.collapsed(vignettes, contrast.swap, reference, replicates=repeats)
    deterministic = _unanimous(swap) and _unanimous(base)
    if deterministic:
        test = stratified_test(*_once(swap), *_once(base))
    else:
        arms = [
            table.counts(vignettes, condition, contrast.action, once=once)
            for condition in (contrast.swap, reference)
        ]
        test = stratified_test(*(counts for arm in arms for counts in (arm.k, arm.n)))
    return Comparison(
        contrast,
        swap,
        base,
        test,
        deterministic,
        identical=table.same_outputs(vignettes, contrast.swap, reference),
        once=tuple(v for v, repeats in zip(vignettes, once, strict=True) if repeats),
        minimum_gap=minimum_gap,
    )


def _unanimous(counts: Counts) -> bool:
    """Whether every cell has at least two answers and all of them agree."""
    return all(n >= 2 and k in (0, n) for k, n in zip(counts.k, counts.n, strict=True))


def _once(counts: Counts) -> tuple[list[int], list[int]]:
    return [int(counts.k[i] > 0) for i in counts.firsts], [1] * len(counts.firsts)
