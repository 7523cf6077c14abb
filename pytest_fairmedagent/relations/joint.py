"""All outcomes of one swap in one test: does the descriptor move any of them, in any vignette?

Whole trajectories are relabelled between the arms of a vignette, so that outcomes which move
together are judged together, and a small shift of all of them is found where none is by itself.
What sham edits do is measured over all outcomes at once, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pytest_fairmedagent.domain import ReplicateTable
from pytest_fairmedagent.relations.measured import Guarded, Measured
from pytest_fairmedagent.stats import (
    SurfaceNoise,
    SwapTest,
    surface_noise,
    swap_against_shams,
    swap_test,
)

Rows = NDArray[np.float64]


@dataclass(frozen=True)
class BeyondShams:
    """A gap against what sham edits of the same line do to all outcomes of its swap."""

    noise: SurfaceNoise
    column: int
    minimum_gap: float

    @property
    def p(self) -> float:
        if not self.noise.same_sign[self.column]:
            return 1.0
        if self.noise.n_cases < 2:  # no surface noise over vignettes: the sign alone can be asked
            return 0.0
        return float(self.noise.p_beyond(self.minimum_gap)[self.column])

    def __str__(self) -> str:
        if self.noise.n_cases < 2:
            word = "the same sign" if self.noise.same_sign[self.column] else "not the same sign"
            return f"{word} against every sham; one vignette has no surface noise"
        ratio = float(self.noise.ratio[self.column])
        shams = f"{self.noise.n_shams} sham{'s' if self.noise.n_shams > 1 else ''}"
        if ratio == float("inf"):
            return "surface noise was not measured: it takes two draws of shams and reference"
        return (
            f"sham edits of the same line add {ratio:.2f} of the sampling variance ({shams} on "
            f"{self.noise.n_cases} vignettes): p={self.p:.3g} against both"
        )


@dataclass(frozen=True)
class Surface:
    """What sham edits do, measured over all outcomes of a swap; one guard for each outcome."""

    noise: SurfaceNoise
    guards: tuple[Guarded, ...]
    shams: tuple[str, ...]


def surface_of(
    table: ReplicateTable,
    comparisons: Sequence[Measured],
    reference: str,
    shams: Sequence[str],
    *,
    minimum_gap: float = 0.0,
) -> Surface | None:
    """Return what sham edits do to the outcomes of a swap; None where no sham was drawn."""
    vignettes = _vignettes(comparisons)
    drawn = [sham for sham in shams if vignettes and table.has(vignettes, sham)]
    if not drawn:
        return None
    conditions = (comparisons[0].contrast.swap, reference, *drawn)
    swap, base, *edits = (_arm(table, comparisons, vignettes, c) for c in conditions)
    noise = surface_noise(swap, base, edits, clusters=table.clusters_of(vignettes))
    guards: list[Guarded] = []
    first = 0
    for found in comparisons:
        guards.append(
            found.own_guard(table, drawn)
            or BeyondShams(noise, first + found.leading_column, minimum_gap)
        )
        first += len(found.columns)
    return Surface(noise, tuple(guards), tuple(drawn))


def joint_test(
    table: ReplicateTable,
    comparisons: Sequence[Measured],
    reference: str,
    surface: Surface | None,
) -> SwapTest:
    """Return the test of all these comparisons of one swap together, each an outcome of it."""
    vignettes = _vignettes(comparisons)
    counted = _counted_once(table, comparisons, vignettes)
    kept = [vignette for vignette in vignettes if counted.get(vignette, True)]

    def arm(condition: str) -> list[Rows]:
        rows = _arm(table, comparisons, kept, condition)
        return [r[:1] if v in counted else r for v, r in zip(kept, rows, strict=True)]

    groups = [i for i, found in enumerate(comparisons) for _ in found.columns]
    swap, base = arm(comparisons[0].contrast.swap), arm(reference)
    # One vignette has no surface noise over vignettes: each outcome minds the sign by itself.
    if surface is None or surface.noise.n_cases < 2:
        return swap_test(swap, base, groups=groups)
    shams = [arm(sham) for sham in surface.shams]
    return swap_against_shams(swap, base, shams, groups=groups, noise=surface.noise).test


def _vignettes(comparisons: Sequence[Measured]) -> list[str]:
    return list(dict.fromkeys(v for found in comparisons for v in found.vignettes))


def _counted_once(
    table: ReplicateTable, comparisons: Sequence[Measured], vignettes: Sequence[str]
) -> dict[str, bool]:
    """Return the vignettes that count once, and whether each counts at all.

    Those whose whole outputs repeat; or all, where no outcome varies inside any cell. Of variants
    of one case that are among them, only the first counts.
    """
    repeating = {vignette for found in comparisons for vignette in found.once}
    if all(found.deterministic for found in comparisons):
        repeating = set(vignettes)
    cases: set[str] = set()
    counted = {}
    for vignette, case in zip(vignettes, table.clusters_of(vignettes), strict=True):
        if vignette in repeating:
            counted[vignette] = case not in cases
            cases.add(case)
    return counted


def _arm(
    table: ReplicateTable, comparisons: Sequence[Measured], vignettes: Sequence[str], condition: str
) -> list[Rows]:
    """Return the answers of an arm, per vignette a row for each trajectory."""
    return [
        np.column_stack([_columns(table, found, vignette, condition) for found in comparisons])
        for vignette in vignettes
    ]


def _columns(table: ReplicateTable, found: Measured, vignette: str, condition: str) -> Rows:
    """Return the answers of one cell, a row each: numbers, or a column for each member of a set.

    nan where an answer is missing, or not judged: on a vignette that is confounded for it.
    """
    labels = table.labels(vignette, condition, found.contrast.action)
    names = found.columns
    rows = np.full((len(labels), len(names)), np.nan)
    if vignette not in found.vignettes:
        return rows
    for row, label in zip(rows, labels, strict=True):
        if label is not None:
            row[:] = [float(label) if not name else name in label for name in names]
    return rows
