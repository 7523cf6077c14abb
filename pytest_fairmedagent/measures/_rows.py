"""Readings of a table, vignette by vignette."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_fairmedagent.domain import OUTCOMES, Outcome, ReplicateTable


def outcome_of(outcome: str | Outcome) -> Outcome:
    """Return a built-in outcome by its id, or the outcome that was given. KeyError by its name."""
    return outcome if isinstance(outcome, Outcome) else OUTCOMES[outcome]


def readings(
    table: ReplicateTable, vignettes: Sequence[str], condition: str, outcome: Outcome
) -> list[list[Any]]:
    """Return the readings of an arm in order of draw, a list for each vignette, None if missing."""
    return [
        [outcome.read(trajectory) for trajectory in table.rows.get((vignette, condition), ())]
        for vignette in vignettes
    ]


def counts_of(
    table: ReplicateTable, vignettes: Sequence[str], condition: str, outcome: Outcome
) -> tuple[list[int], list[int]]:
    """Return positives and answers of an action in an arm, per vignette."""
    rows = readings(table, vignettes, condition, outcome)
    return [row.count(True) for row in rows], [len(row) - row.count(None) for row in rows]


def unanimous(
    vignettes: Sequence[str], k: Sequence[int], n: Sequence[int]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the vignettes where the answer was always yes, and where it was always no."""
    cells = list(zip(vignettes, k, n, strict=True))
    always = tuple(v for v, positive, total in cells if total and positive == total)
    never = tuple(v for v, positive, total in cells if total and not positive)
    return always, never
