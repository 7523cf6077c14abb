"""Set outcomes: a swap must not make any one of the orders (or flags) more or less frequent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from pytest_fairmedagent.domain import Contrast, Readings, ReplicateTable
from pytest_fairmedagent.relations.scores import alike, unanimous
from pytest_fairmedagent.relations.words import number, p_value
from pytest_fairmedagent.stats import (
    StratifiedTest,
    gap_interval,
    holm,
    identical_bound,
    set_contrast,
    signed_p,
    stratified_test,
)
from pytest_fairmedagent.stats.planning import Rule


@dataclass(frozen=True)
class Element:
    """One member of the sets as a yes or no, on the vignettes where it occurs in either arm.

    `swap` and `reference` hold (how often it is there, of how many) per vignette of `vignettes`,
    whose variants count as one in `n_vignettes`. `p` is Holm's over all members that occur.
    """

    name: str
    vignettes: tuple[str, ...]
    n_vignettes: int
    swap: tuple[tuple[int, ...], tuple[int, ...]]
    reference: tuple[tuple[int, ...], tuple[int, ...]]
    test: StratifiedTest
    p: float

    def interval(self, confidence: float) -> tuple[float, float]:
        """Interval of the gap, in -1..1."""
        t = self.test
        if not t.weight:
            return -1.0, 1.0
        return gap_interval(t.k_swap, t.m_swap, t.k_ref, t.n_ref, confidence)


@dataclass(frozen=True)
class SetComparison:
    """One contrast of sets: a signed exact test for every member, Holm over them.

    Which members occur is known from both arms together and so is the same under any relabelling:
    the smallest adjusted p is a p-value of the whole. `gap` is that of its member, a rate in -1..1;
    the floor is the mean Jaccard distance of two replicates of one arm, in 0..1.
    """

    contrast: Contrast
    kind: str
    unit: str
    swap: Readings
    reference: Readings
    elements: tuple[Element, ...]
    deterministic: bool
    identical: bool
    once: tuple[str, ...] = ()

    @property
    def vignettes(self) -> tuple[str, ...]:
        return self.swap.vignettes

    @cached_property
    def leading(self) -> Element:
        """The member with the smallest p; where nothing was placed at all, one that never was."""
        return min(self.elements, key=lambda e: (e.p, e.test.p, -abs(e.test.gap), e.name))

    @property
    def weight(self) -> float:
        return self.leading.test.weight

    @cached_property
    def floor(self) -> float:
        found = set_contrast(self.swap.cells, self.reference.cells, n_resamples=1)
        return (found.within_swap + found.within_ref) / 2

    @property
    def measured(self) -> bool:
        return not math.isnan(self.floor)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(element.name for element in self.elements if element.name) or ("",)

    @property
    def leading_column(self) -> int:
        return self.columns.index(self.leading.name)

    @property
    def untestable(self) -> str:
        """Nothing: where arms are of unequal size, members are tested for no mean gap."""
        return ""

    def identical_bound(self, alpha: float) -> float:
        return identical_bound(self.swap.n, self.reference.n, alpha)

    @property
    def unvaried(self) -> tuple[int, str]:
        return alike(self.swap, self.reference)

    @property
    def p(self) -> float:
        return self.leading.p

    @property
    def p_attainable(self) -> float:
        return min(1.0, min(len(self.elements) * e.test.p_attainable for e in self.elements))

    @property
    def gap(self) -> float:
        return self.leading.test.gap

    @property
    def unclear(self) -> str:
        test = self.leading.test
        if test.gap * test.gap_simple < 0:
            return (
                f"missing answers decide the direction: weighted gap {test.gap:+.3f}, simple mean "
                f"{test.gap_simple:+.3f}"
            )
        return ""

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Interval of the leading member's gap, wide enough for having been picked."""
        return self.leading.interval(1 - (1 - confidence) / len(self.elements))

    def hull(self, confidence: float = 0.95) -> tuple[float, float]:
        """What holds the interval of every member: inside a margin, all of them are."""
        ends = [element.interval(confidence) for element in self.elements]
        return min(low for low, _ in ends), max(high for _, high in ends)

    def detectable(self, rule: Rule, power: float) -> None:
        """None: it hangs on how often each member is placed."""

    def own_guard(self, table: ReplicateTable, shams: Sequence[str]) -> None:
        """None: the gap is a mean, which is measured against shams with the other outcomes."""

    def told(self, interval: tuple[float, float]) -> str:
        low, high = interval
        first = self.leading
        what = f"'{first.name}' placed {self.gap:+.2f}" if first.name else "nothing placed +0.00"
        return (
            f"{what} [{low:.2f}, {high:.2f}] in {_cases(first.n_vignettes)}, "
            f"floor {number(self.floor)} (Jaccard distance within arms)"
        )

    def lines(self) -> list[str]:
        ordered = sorted(self.elements, key=lambda e: (e.p, e.test.p, e.name))[:3]
        shown = ", ".join(
            f"{e.name} {e.test.gap:+.2f} (p={p_value(e.p)})" for e in ordered if e.name
        )
        n = len(self.elements)
        return [f"{n} members were placed at all; smallest p, Holm over them: {shown}"]


def compare_sets(
    table: ReplicateTable,
    contrast: Contrast,
    vignettes: Sequence[str],
    reference: str,
    *,
    repeats: int = 2,
) -> SetComparison:
    """Return the comparison of one swap with its reference on a set outcome."""
    outcome = table.outcomes[contrast.action]
    swap = table.readings(vignettes, contrast.swap, contrast.action)
    base = table.readings(vignettes, reference, contrast.action)
    once = table.collapsed(vignettes, contrast.swap, reference, replicates=repeats)
    deterministic = unanimous(swap) and unanimous(base)
    if deterministic:
        elements = _elements(_first(swap), _first(base))
    else:
        elements = _elements(
            table.readings(vignettes, contrast.swap, contrast.action, once=once),
            table.readings(vignettes, reference, contrast.action, once=once),
        )
    return SetComparison(
        contrast,
        outcome.kind,
        outcome.unit,
        swap,
        base,
        elements,
        deterministic,
        identical=table.same_outputs(vignettes, contrast.swap, reference),
        once=tuple(v for v, repeats in zip(vignettes, once, strict=True) if repeats),
    )


def _elements(swap: Readings, base: Readings) -> tuple[Element, ...]:
    names = sorted({name for arm in (swap, base) for cell in arm.cells for s in cell for name in s})
    found = []
    for name in names or [""]:
        kept = [
            index
            for index, cells in enumerate(zip(swap.cells, base.cells, strict=True))
            if not name or any(name in members for cell in cells for members in cell)
        ]
        first, second = _only(swap, kept), _only(base, kept)
        x, y = _counted(first, name), _counted(second, name)
        at, n = first.vignettes, len(first.firsts)
        found.append(Element(name, at, n, x, y, stratified_test(*x, *y), 1.0))
    # Where arms are of unequal size the exact test alone would not be one of no mean gap.
    adjusted = holm([signed_p(e.test).p if e.test.weight else 1.0 for e in found])
    return tuple(replace(e, p=float(p)) for e, p in zip(found, adjusted, strict=True))


def _counted(arm: Readings, name: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple(sum(name in members for members in cell) for cell in arm.cells), arm.n


def _only(arm: Readings, kept: Sequence[int]) -> Readings:
    return Readings(
        tuple(arm.vignettes[i] for i in kept),
        tuple(arm.cells[i] for i in kept),
        tuple(arm.missing[i] for i in kept),
        tuple(arm.clusters[i] for i in kept) if arm.clusters else (),
    )


def _first(arm: Readings) -> Readings:
    """One answer of each case, that of its first variant."""
    first = _only(arm, arm.firsts)
    return replace(first, cells=tuple(cell[:1] for cell in first.cells))


def _cases(n: int) -> str:
    return f"{n} vignette{'s' if n != 1 else ''}"
