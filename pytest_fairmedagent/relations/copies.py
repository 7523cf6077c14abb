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
    kept = [[t for t in cell if t.complete] for cell in cells]
    fields = _fields([t for cell in kept for t in cell])
    values = [[[frozen(t.get(*field)) for field in fields] for t in cell] for cell in kept]
    every = [draw for cell in values for draw in cell]
    texts = [place for place in range(len(fields)) if any(_is_text(draw[place]) for draw in every)]
    return repeats_of_fields(values, texts=texts, n_resamples=max(1999, 200 * n_arms))


def _fields(trajectories: Sequence[Trajectory]) -> list[Field]:
    """Return the fields of all outputs; of those that always say the same, the first alone."""
    named = dict.fromkeys(
        (stage, name)
        for trajectory in trajectories
        for stage, output in trajectory.outputs.items()
        for name in output
    )
    said: dict[tuple[str, ...], Field] = {}
    for field in named:
        said.setdefault(tuple(str(t.get(*field)) for t in trajectories), field)
    return list(said.values())


def _is_text(value: Hashable) -> bool:
    return isinstance(value, str) and len(value) > _TEXT
