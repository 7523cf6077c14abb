"""What a run has in its store: the trajectories of its trials, their table, and what they cost."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pytest_fairmedagent.domain import ReplicateTable, Trajectory, Trial
from pytest_fairmedagent.running.budget import Spent, spent_by
from pytest_fairmedagent.running.store import Draw, Run, Store


@dataclass(frozen=True)
class Drawn:
    """The trials of a run as they stand in its store, read anew whenever they are asked for.

    Args:
        places: every trial of the run's plan with its place in the store.
        clusters: of the vignettes that are variants of a case.
    """

    store: Store
    run: Run
    places: Mapping[Trial, Draw]
    configuration: str
    clusters: Mapping[str, str]

    def found(self) -> dict[Draw, tuple[Trajectory, int, float]]:
        """Return what is there, also what was lost to the infrastructure: trajectory, run, time."""
        return self.store.load(self.run, self.places.values(), failed=True)

    def table(self, asked: Collection[Draw]) -> ReplicateTable:
        """Return the table of the trials that were asked for and are there."""
        found = self.found()
        rows: dict[tuple[str, str], list[Trajectory]] = {}
        numbers: dict[tuple[str, str], list[int]] = {}
        for trial in sorted(self.places, key=lambda t: (t.vignette, t.condition, t.replicate)):
            arm, place = (trial.vignette, trial.condition), self.places[trial]
            row, there = rows.setdefault(arm, []), numbers.setdefault(arm, [])
            if place in found and place in asked:
                row.append(found[place][0])
                there.append(trial.replicate)
        clusters = dict(self.clusters)
        return ReplicateTable(rows, self.configuration, numbers=numbers, clusters=clusters)

    def spent(self) -> list[Spent]:
        """Return what each trial of this run has cost; those of earlier runs are paid."""
        return spent_by([t for t, origin, _ in self.found().values() if origin == self.run.id])
