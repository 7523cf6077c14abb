"""A contrast as measured, whatever the kind of its outcome."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from pytest_fairmedagent.domain import BINARY, ORDINAL, SCORE, SET, Contrast, ReplicateTable
from pytest_fairmedagent.relations.invariance import compare
from pytest_fairmedagent.relations.scores import compare_scores
from pytest_fairmedagent.relations.sets import compare_sets
from pytest_fairmedagent.stats.planning import Rule


class Arm(Protocol):
    """What was read of one arm, per vignette."""

    @property
    def vignettes(self) -> tuple[str, ...]: ...
    @property
    def n(self) -> tuple[int, ...]: ...
    @property
    def missing(self) -> tuple[int, ...]: ...
    @property
    def missing_share(self) -> float: ...
    @property
    def clusters(self) -> tuple[str, ...]: ...
    @property
    def firsts(self) -> list[int]: ...


class Guarded(Protocol):
    """A gap against what sham edits of the same line do, told by its str.

    `p` (in 0..1) is of "no more than chance and sham edits do together".
    """

    @property
    def p(self) -> float: ...


class Measured(Protocol):
    """A swap against its reference on one outcome: a test, a gap in the outcome's units, a floor.

    `p` and `p_attainable` are in 0..1; `gap`, `floor` and intervals are in `unit`: "" for the rates
    of actions and orders. `interval` is of the gap; `hull` holds every gap that the outcome has,
    each at the confidence given (for one gap the same). `weight` is 0 where nothing was drawn in
    both arms, `measured` tells that both arms have a replicate pair. `once` are the vignettes whose
    answers are copies of one in each arm. `columns` are the members of a set outcome, and one ""
    for any other.
    """

    @property
    def contrast(self) -> Contrast: ...
    @property
    def kind(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def swap(self) -> Arm: ...
    @property
    def reference(self) -> Arm: ...
    @property
    def vignettes(self) -> tuple[str, ...]: ...
    @property
    def weight(self) -> float: ...
    @property
    def measured(self) -> bool: ...
    @property
    def deterministic(self) -> bool: ...
    @property
    def identical(self) -> bool: ...
    @property
    def once(self) -> tuple[str, ...]: ...
    @property
    def columns(self) -> tuple[str, ...]: ...
    @property
    def leading_column(self) -> int:
        """The place in `columns` of the one whose gap is told."""

    @property
    def untestable(self) -> str:
        """Why these cells allow no test of a mean gap; "" where they do."""

    def identical_bound(self, alpha: float) -> float:
        """Bound of the gap at level `alpha` where all outputs repeat and agree."""

    @property
    def unvaried(self) -> tuple[int, str]:
        """In how many vignettes no answer of both arms varied, and what they all were in words."""

    @property
    def p(self) -> float: ...
    @property
    def p_attainable(self) -> float: ...
    @property
    def gap(self) -> float: ...
    @property
    def floor(self) -> float: ...
    @property
    def unclear(self) -> str:
        """Why the gap has no clear direction; "" where it has."""

    def interval(self, confidence: float = 0.95) -> tuple[float, float]: ...

    def hull(self, confidence: float = 0.95) -> tuple[float, float]: ...

    def detectable(self, rule: Rule, power: float) -> float | None:
        """The gap that is named with this power by this rule; None where not defined."""

    def own_guard(self, table: ReplicateTable, shams: Sequence[str]) -> Guarded | None:
        """Return the gap against shams where it is of another estimand than a mean; else None."""

    def told(self, interval: tuple[float, float]) -> str:
        """The gap with its interval beside the floor, in words and units."""

    def lines(self) -> list[str]:
        """What else a failure says, a line each."""


_BY_KIND: dict[str, Callable[..., Measured]] = {
    ORDINAL: compare_scores,
    SCORE: compare_scores,
    SET: compare_sets,
}


def measure(
    table: ReplicateTable,
    contrast: Contrast,
    vignettes: Sequence[str],
    reference: str,
    *,
    minimum_gap: float = 0.0,
    repeats: int = 2,
) -> Measured:
    """Return the comparison of a swap with its reference, by the kind of the outcome.

    `repeats` is how many equal whole outputs of a cell, in both arms, are taken for copies of one.
    """
    kind = table.outcomes[contrast.action].kind
    if kind == BINARY:
        return compare(
            table, contrast, vignettes, reference, minimum_gap=minimum_gap, repeats=repeats
        )
    return _BY_KIND[kind](table, contrast, vignettes, reference, repeats=repeats)
