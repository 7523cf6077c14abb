"""The floors of an arm, action by action, also on the scale of the action's prevalence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_fairmedagent.domain import ACTIONS, Outcome, ReplicateTable
from pytest_fairmedagent.measures._rows import binary, counts_of, unanimous
from pytest_fairmedagent.stats import Floor, NormalisedFloor, floor, normalised_floor
from pytest_fairmedagent.stats._result import Result


@dataclass(frozen=True, repr=False)
class ActionFloor(Result):
    """The instability floor of an action in one arm.

    `normalised` is the floor over what unrelated answers of the same prevalence would show: actions
    are compared on it. `always` and `never` name the vignettes without any variation.
    """

    action: str
    condition: str
    floor: Floor
    normalised: NormalisedFloor
    always: tuple[str, ...]
    never: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{self.action} under {self.condition}: {self.floor}; {self.normalised.rate:.3f} of "
            f"chance; {len(self.always)} vignettes at ceiling, {len(self.never)} at zero"
        )


def floors(
    table: ReplicateTable,
    vignettes: Sequence[str],
    condition: str = "reference",
    actions: Iterable[str | Outcome] = tuple(ACTIONS),
) -> tuple[ActionFloor, ...]:
    """Return the floor of each action in one arm.

    ValueError without vignettes, PlanError for an unknown name or an outcome of another kind.
    """
    found = []
    for outcome in map(binary, actions):
        k, n = counts_of(table, vignettes, condition, outcome)
        always, never = unanimous(vignettes, k, n)
        measured = floor(k, n, clusters=table.clusters_of(vignettes))
        found.append(
            ActionFloor(outcome.id, condition, measured, normalised_floor(k, n), always, never)
        )
    return tuple(found)
