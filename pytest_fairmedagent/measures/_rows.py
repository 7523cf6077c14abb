"""Readings of a table, vignette by vignette."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_fairmedagent.domain import BINARY, OUTCOMES, Outcome, ReplicateTable
from pytest_fairmedagent.errors import PlanError, closest


def outcome_of(outcome: str | Outcome) -> Outcome:
    """Return a built-in outcome by its id, or the outcome that was given. PlanError for neither."""
    if isinstance(outcome, Outcome):
        return outcome
    if outcome not in OUTCOMES:
        raise PlanError(f"unknown outcome {outcome!r}.{closest(str(outcome), OUTCOMES)}")
    return OUTCOMES[outcome]


def binary(outcome: str | Outcome) -> Outcome:
    """Return the same, of an action. PlanError for an outcome of another kind."""
    found = outcome_of(outcome)
    if found.kind != BINARY:
        raise PlanError(
            f"{found.id!r} is of kind {found.kind!r}, expected an action: only these have rates."
            "\n  For numbers there is score_shift, for sets compare_orders and compare_flags."
        )
    return found


def readings(
    table: ReplicateTable, vignettes: Sequence[str], condition: str, outcome: Outcome
) -> list[list[Any]]:
    """Return the readings of an arm in order of draw, a list for each vignette, None if missing.

    PlanError for a condition or a vignette of which the table has no row: a misspelt one would read
    as an arm in which nothing ever happens.
    """
    if condition not in table.conditions:
        raise PlanError(
            f"the table has no condition {condition!r}.{closest(condition, table.conditions)}"
        )
    for vignette in vignettes:
        if vignette not in table.vignettes:
            raise PlanError(
                f"the table has no vignette {vignette!r}.{closest(str(vignette), table.vignettes)}"
            )
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
