"""The floors of one arm, per action and pooled, with what is reported beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_fairmedagent.domain import Counts, ReplicateTable
from pytest_fairmedagent.stats import (
    Floor,
    PooledFloor,
    normalised_floor,
    percentile_intervals,
    pooled_floor,
    vote_floor,
)

VOTES = (3, 5)
N_RESAMPLES = 5000
SEED = 42

# A resample holds every vignette: of very many vignettes, fewer resamples fit into memory.
_MOST_DRAWN = 5_000_000


@dataclass(frozen=True)
class ArmFloors:
    """Floors of all trajectories of one condition.

    `counts`, `votes` (by size of the vote), `normalised` and `percentile` have the order of
    `actions`; `votes_pooled` and `percentile_pooled` are over all actions. nan where not measured.
    """

    condition: str
    actions: tuple[str, ...]
    vignettes: tuple[str, ...]
    counts: tuple[Counts, ...]
    pooled: PooledFloor
    percentile_pooled: tuple[float, float]
    percentile: tuple[tuple[float, float], ...]
    n_resamples: int
    votes_pooled: Mapping[int, float]
    votes: Mapping[int, tuple[float, ...]]
    normalised: tuple[float, ...]
    n_trajectories: int
    n_incomplete: int
    replicates: tuple[int, int]  # fewest and most of a vignette

    @property
    def floors(self) -> tuple[Floor, ...]:
        return self.pooled.outcomes

    @property
    def k(self) -> list[list[int]]:
        """Positives, `(n_vignettes, n_actions)`."""
        return [list(row) for row in zip(*(c.k for c in self.counts), strict=True)]

    @property
    def n(self) -> list[list[int]]:
        """Answers, `(n_vignettes, n_actions)`."""
        return [list(row) for row in zip(*(c.n for c in self.counts), strict=True)]

    def rate(self, action: int) -> float:
        """Share of positive answers, in 0..1; nan without answers."""
        counts = self.counts[action]
        return sum(counts.k) / sum(counts.n) if sum(counts.n) else math.nan


def arm_floors(
    table: ReplicateTable,
    vignettes: Sequence[str],
    condition: str,
    actions: Sequence[str],
    *,
    seed: int = SEED,
) -> ArmFloors:
    """Return the floors of a condition over vignettes that all have trajectories under it."""
    counts = tuple(table.counts(vignettes, condition, action) for action in actions)
    k = [list(row) for row in zip(*(c.k for c in counts), strict=True)]
    n = [list(row) for row in zip(*(c.n for c in counts), strict=True)]
    sizes = [len(table.rows[vignette, condition]) for vignette in vignettes]
    n_resamples = max(200, min(N_RESAMPLES, _MOST_DRAWN // len(vignettes)))
    cases = table.clusters_of(vignettes)
    drawn = percentile_intervals(k, n, n_resamples=n_resamples, rng=seed, clusters=cases)
    # Missing answers may sit in a vote and abstain, as in the source study. That counts absent
    # trials as well, so it is done only where every vignette has equally many.
    replicates = sizes[0] if len(set(sizes)) == 1 else None
    votes_pooled = {v: vote_floor(k, n, votes=v, replicates=replicates).rate for v in VOTES}
    votes = {
        v: tuple(vote_floor(c.k, c.n, votes=v, replicates=replicates).rate for c in counts)
        for v in VOTES
    }
    return ArmFloors(
        condition,
        tuple(actions),
        tuple(vignettes),
        counts,
        pooled_floor(k, n, clusters=cases),
        drawn.pooled,
        drawn.outcomes,
        n_resamples,
        votes_pooled,
        votes,
        tuple(normalised_floor(c.k, c.n).rate for c in counts),
        sum(sizes),
        sum(table.incomplete(vignettes, condition).k),
        (min(sizes), max(sizes)),
    )
