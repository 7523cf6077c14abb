"""Copies among the draws of a run: stored answers that are served again as if they were drawn."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from pytest_fairmedagent.domain import ReplicateTable, Trajectory, frozen
from pytest_fairmedagent.stats import (
    MOST_DRAWS,
    ArmRepeats,
    FieldRepeats,
    repeats_between,
    repeats_of_fields,
)

_TEXT = 40  # characters; what is longer than this is free text

Field = tuple[str, str]


def repeats_of_arms(
    table: ReplicateTable, vignettes: Sequence[str], condition: str, other: str
) -> ArmRepeats:
    """Return whether two arms of one text repeat each other's whole outputs as their own."""
    first, second = (
        [table.whole(vignette, arm, most=MOST_DRAWS) for vignette in vignettes]
        for arm in (condition, other)
    )
    return repeats_between(first, second)


def repeats_of_arm(
    table: ReplicateTable, vignettes: Sequence[str], condition: str, *, n_arms: int
) -> FieldRepeats:
    """Return whether one arm's draws are wholly alike or unlike, as picks from few answers are.

    `n_arms` is how many arms share a level: p is then resampled finely enough for all.
    """
    cells = [table.rows.get((vignette, condition), ())[:MOST_DRAWS] for vignette in vignettes]
    fields = _fields(cells)
    values = [
        [[frozen(t.get(*field)) for field in fields] if t.complete else None for t in cell]
        for cell in cells
    ]
    texts = [place for place in range(len(fields)) if _is_text(values, place)]
    return repeats_of_fields(values, texts=texts, n_resamples=max(1999, 200 * n_arms))


def _fields(cells: Sequence[Sequence[Trajectory]]) -> list[Field]:
    found = (
        (stage, name)
        for cell in cells
        for trajectory in cell
        for stage, output in trajectory.outputs.items()
        for name in output
    )
    return list(dict.fromkeys(found))


def _is_text(values: Sequence[Sequence[Sequence[Hashable] | None]], place: int) -> bool:
    return any(
        isinstance(draw[place], str) and len(str(draw[place])) > _TEXT
        for cell in values
        for draw in cell
        if draw is not None
    )
