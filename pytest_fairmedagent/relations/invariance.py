"""Invariance: a descriptor swap must leave the distribution of an action unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pytest_fairmedagent.domain import Contrast, Counts, ReplicateTable
from pytest_fairmedagent.stats import (
    Excess,
    Floor,
    StratifiedTest,
    excess,
    floor,
    stratified_test,
    zero_floor_upper,
)

LARGEST_IMBALANCE = 1.25  # above it the test is exact for "no vignette changes" only


@dataclass(frozen=True)
class Comparison:
    """One contrast as measured: counts of both arms, and what follows from them.

    `deterministic` tells that every cell was unanimous in both arms: each vignette then counts
    once, for R equal answers are one answer. `identical` tells that whole outputs repeated in both
    arms and agreed.
    """

    contrast: Contrast
    swap: Counts
    reference: Counts
    test: StratifiedTest
    deterministic: bool
    identical: bool

    @cached_property
    def floor_swap(self) -> Floor:
        return floor(self.swap.k, self.swap.n)

    @cached_property
    def floor_reference(self) -> Floor:
        return floor(self.reference.k, self.reference.n)

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
    table: ReplicateTable, contrast: Contrast, vignettes: Sequence[str], reference: str
) -> Comparison:
    """Return the comparison of one swap with its reference on one action."""
    swap = table.counts(vignettes, contrast.swap, contrast.action)
    base = table.counts(vignettes, reference, contrast.action)
    deterministic = _unanimous(swap) and _unanimous(base)
    if deterministic:
        test = stratified_test(*_once(swap), *_once(base))
    else:
        test = stratified_test(swap.k, swap.n, base.k, base.n)
    outputs = table.repeats(vignettes, contrast.swap)
    identical = outputs is not None and outputs == table.repeats(vignettes, reference)
    return Comparison(contrast, swap, base, test, deterministic, identical)


def _unanimous(counts: Counts) -> bool:
    """Whether every cell has at least two answers and all of them agree."""
    return all(n >= 2 and k in (0, n) for k, n in zip(counts.k, counts.n, strict=True))


def _once(counts: Counts) -> tuple[list[int], list[int]]:
    return [int(k > 0) for k in counts.k], [1] * len(counts.k)
