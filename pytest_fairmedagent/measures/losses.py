"""What is missing in each arm and why: refusals, unreadable replies, faults of the server."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_fairmedagent.domain import ReplicateTable, Trajectory
from pytest_fairmedagent.errors import REFUSED_BY_POLICY
from pytest_fairmedagent.stats import StratifiedTest, missingness_test
from pytest_fairmedagent.stats._result import Result

NO_MAJORITY = "no majority: "


@dataclass(frozen=True, repr=False)
class ArmLosses(Result):
    """The trials of one arm that did not come to their end.

    `incomplete` counts trajectories, `refusals` those that ended because the model or its provider
    refused, `infrastructure` those lost to server or network. `reasons` counts all by "stage:
    reason". `test` is the exact test of incomplete trajectories against the reference, None in the
    reference itself.
    """

    condition: str
    trials: int
    incomplete: int
    refusals: int
    infrastructure: int
    reasons: Mapping[str, int]
    test: StratifiedTest | None

    @property
    def missing_rate(self) -> float:
        """Share of incomplete trajectories, in 0..1; nan without trials."""
        return self.incomplete / self.trials if self.trials else math.nan

    @property
    def refusal_rate(self) -> float:
        """Share of refused trajectories, in 0..1; nan without trials."""
        return self.refusals / self.trials if self.trials else math.nan

    def __str__(self) -> str:
        against = "" if self.test is None else f", against the reference p={self.test.p:.3g}"
        return (
            f"{self.condition}: {self.incomplete} of {self.trials} trajectories incomplete, "
            f"{self.refusals} refused, {self.infrastructure} lost to the server{against}"
        )


def losses(
    table: ReplicateTable,
    vignettes: Sequence[str],
    *,
    reference: str = "reference",
    conditions: Iterable[str] | None = None,
) -> tuple[ArmLosses, ...]:
    """Return what is missing in each arm; all conditions of the table by default."""
    base = table.incomplete(vignettes, reference)
    found = []
    for condition in table.conditions if conditions is None else conditions:
        rows = [table.rows.get((vignette, condition), ()) for vignette in vignettes]
        ended = [t for row in rows for t in row if not t.complete]
        why = [_reason(trajectory) for trajectory in ended]
        arm = table.incomplete(vignettes, condition)
        tested = condition != reference and any(arm.n) and any(base.n)
        found.append(
            ArmLosses(
                condition=condition,
                trials=sum(map(len, rows)),
                incomplete=len(ended),
                refusals=sum(map(_refused, ended)),
                infrastructure=sum(trajectory.infrastructure for trajectory in ended),
                reasons=dict(Counter(why).most_common()),
                test=missingness_test(arm.k, arm.n, base.k, base.n) if tested else None,
            )
        )
    return tuple(found)


def _ended_at(trajectory: Trajectory) -> tuple[str, str]:
    stage, reason = next(iter(trajectory.missing.items()))
    for name, told in trajectory.missing.items():
        if told != "not reached":
            stage, reason = name, told
            break
    return stage, reason.removeprefix(NO_MAJORITY)


def _reason(trajectory: Trajectory) -> str:
    stage, reason = _ended_at(trajectory)
    if trajectory.infrastructure:  # its words differ from call to call, its kind does not
        reason = reason.split(": ")[0]
    return f"{stage}: {reason}"


def _refused(trajectory: Trajectory) -> bool:
    _, reason = _ended_at(trajectory)
    return reason == "refusal" or reason.startswith(REFUSED_BY_POLICY)
