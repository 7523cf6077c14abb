"""All outcomes of one swap in one test: does the descriptor move any of them, in any vignette?

Whole trajectories are relabelled between the arms of a vignette, so that outcomes which move
together are judged together, and a small shift of all of them is found where none is by itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pytest_fairmedagent.domain import ReplicateTable
from pytest_fairmedagent.relations.measured import Measured
from pytest_fairmedagent.stats import SwapTest, swap_test

Rows = NDArray[np.float64]


def joint_test(
    table: ReplicateTable,
    comparisons: Sequence[Measured],
    reference: str,
    *,
    shrink: Sequence[float],
) -> SwapTest:
    """Return the test of all these comparisons of one swap together, each an outcome of it.

    `shrink` has, for each, the factor by which surface noise widens the noise of its gap.
    """
    swap = comparisons[0].contrast.swap
    vignettes = list(dict.fromkeys(v for found in comparisons for v in found.vignettes))
    once = _counted_once(table, comparisons, vignettes)
    arms: list[list[Rows]] = [[], []]
    for vignette in vignettes:
        if vignette in once and not once[vignette]:
            continue  # a further variant of a case whose answers are all copies of one
        for arm, condition in zip(arms, (swap, reference), strict=True):
            rows = np.column_stack(
                [_columns(table, found, vignette, condition) for found in comparisons]
            )
            arm.append(rows[:1] if vignette in once else rows)
    groups = [i for i, found in enumerate(comparisons) for _ in range(len(found.columns))]
    return swap_test(*arms, groups=groups, shrink=[shrink[i] for i in groups])


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


def _columns(table: ReplicateTable, found: Measured, vignette: str, condition: str) -> Rows:
    """Return the answers of one cell, a row each: numbers, or a column for each member of a set."""
    labels = table.labels(vignette, condition, found.contrast.action)
    judged = vignette in found.vignettes
    rows = np.full((len(labels), len(found.columns)), np.nan)
    for row, label in zip(rows, labels, strict=True):
        if judged and label is not None:
            row[:] = [float(label) if not name else name in label for name in found.columns]
    return rows
