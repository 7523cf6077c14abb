"""Strategies of what a run leaves: trajectories, counts, replicate tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from pytest_fairmedagent.agents import prompts
from pytest_fairmedagent.agents.fields import Boolean, Choices, Field, Integer
from pytest_fairmedagent.domain import ACTIONS, Counts, Order, ReplicateTable, Trajectory
from pytest_fairmedagent.strategies.cases import Size

Shares = tuple[float, float]


def _values(field: Field) -> st.SearchStrategy[Any]:
    if isinstance(field, Integer):
        return st.integers(field.low, field.high)
    if isinstance(field, Boolean):
        return st.booleans()
    assert isinstance(field, Choices)  # noqa: S101 - decisions have no other kind of field
    chosen = st.sets(st.sampled_from(field.ids), max_size=field.most)
    return chosen.map(lambda ids: [name for name in field.ids if name in ids])


@st.composite
def trajectories(
    draw: st.DrawFn, *, menu: Sequence[Order] = (), complete: bool | None = None
) -> Trajectory:
    """Trajectories of the six-stage agent on a case with this menu.

    `complete=False` gives those that end before the last stage, with the reason; None either.
    """
    stages = prompts.stages_of(tuple(menu))
    n_stages = len(stages)
    ends = {True: st.just(n_stages), False: st.integers(0, n_stages - 1), None: None}[complete]
    end = draw(st.integers(0, n_stages) if ends is None else ends)
    outputs = {
        stage.name: {
            field.name: draw(_values(field)) for field in prompts.fields_of(stage, tuple(menu))
        }
        for stage in stages[:end]
    }
    missing = {stage.name: "not reached" for stage in stages[end:]}
    if missing:
        missing[stages[end].name] = draw(
            st.sampled_from(("no JSON object in the reply", "refusal"))
        )
    calls = min(n_stages, end + 2) if missing else n_stages
    return Trajectory(outputs, missing, calls=max(calls, 1), repairs=int(bool(missing)))


@st.composite
def counts(
    draw: st.DrawFn,
    *,
    n_vignettes: Size = (1, 10),
    n_replicates: Size = (0, 10),
    rate: Shares = (0.0, 1.0),
    missing_share: float = 0.0,
) -> Counts:
    """Counts of one arm: positives `k` of `n` answers on every vignette.

    Args:
        n_vignettes, n_replicates: how many; each vignette has replicates of its own.
        rate: smallest and largest share of positives, rounded to whole answers.
        missing_share: largest share of replicates that are missing, in 0..1.
    """
    drawn = draw(
        st.lists(st.integers(*n_replicates), min_size=n_vignettes[0], max_size=n_vignettes[1])
    )
    missing = [draw(st.integers(0, int(missing_share * total))) for total in drawn]
    n = [total - lost for total, lost in zip(drawn, missing, strict=True)]
    k = [draw(_positives(answers, rate)) for answers in n]
    names = tuple(f"case_{i}" for i in range(len(n)))
    return Counts(names, tuple(k), tuple(n), tuple(missing))


def _positives(n: int, rate: Shares) -> st.SearchStrategy[int]:
    return st.integers(round(rate[0] * n), round(rate[1] * n))


@st.composite
def replicate_tables(
    draw: st.DrawFn,
    *,
    n_vignettes: Size = (1, 4),
    n_replicates: Size = (1, 6),
    conditions: Sequence[str] = ("reference", "race_black"),
    actions: Sequence[str] = tuple(ACTIONS),
    rates: Mapping[str, Shares] | None = None,
    missing_share: float = 0.0,
) -> ReplicateTable:
    """Replicate tables: all arms of every vignette, with equal replicates.

    Args:
        n_vignettes, n_replicates: how many.
        conditions, actions: ids; answers are stated as actions.
        rates: smallest and largest share of "yes" on every vignette, by condition, rounded to whole
            answers; (0, 1) for a condition that is not named.
        missing_share: largest share of trajectories of an arm that are missing, in 0..1.
    """
    size, total = draw(st.integers(*n_vignettes)), draw(st.integers(*n_replicates))
    rows: dict[tuple[str, str], list[Trajectory]] = {}
    for vignette in range(size):
        for condition in conditions:
            n_missing = draw(st.integers(0, int(missing_share * total)))
            n = total - n_missing
            answers = [
                _placed(draw, n, draw(_positives(n, (rates or {}).get(condition, (0.0, 1.0)))))
                for _ in actions
            ]
            row = [
                Trajectory({"actions": dict(zip(actions, stated, strict=True))})
                for stated in zip(*answers, strict=True)
            ]
            lost = [Trajectory({}, {"trial": "missing"}) for _ in range(n_missing)]
            order = draw(st.permutations(range(total))) if n_missing else range(total)
            rows[f"case_{vignette}", condition] = [(row + lost)[i] for i in order]
    return ReplicateTable(rows, "made by hypothesis")


def _placed(draw: st.DrawFn, n: int, positives: int) -> list[bool]:
    """Return `positives` times yes among `n` answers, at places of chance."""
    if positives in (0, n):
        return [positives > 0] * n
    return list(draw(st.permutations([False] * (n - positives) + [True] * positives)))
