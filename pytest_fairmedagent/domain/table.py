"""The replicate table: for each vignette and condition the trajectories, in order of draw."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pytest_fairmedagent.domain.outcome import ACTIONS, Outcome
from pytest_fairmedagent.domain.trajectory import Trajectory


@dataclass(frozen=True)
class Counts:
    """Per vignette of one arm: positives `k` among `n` answers, and how many are `missing`.

    All three have one entry per vignette of `vignettes`.
    """

    vignettes: tuple[str, ...]
    k: tuple[int, ...]
    n: tuple[int, ...]
    missing: tuple[int, ...]

    @property
    def missing_share(self) -> float:
        """Share of answers that are missing, in 0..1; 0 for an arm without trials."""
        total = sum(self.n) + sum(self.missing)
        return sum(self.missing) / total if total else 0.0


@dataclass(frozen=True)
class ReplicateTable:
    """Everything a run has drawn.

    `rows` maps (vignette, condition) to its trajectories in order of draw. `configuration` is the
    digest of the configuration they were drawn in: one table never mixes two. `numbers` has the
    replicates (from 0, rising) of the rows; a row that is not in it has no holes.
    """

    rows: Mapping[tuple[str, str], Sequence[Trajectory]]
    configuration: str
    outcomes: Mapping[str, Outcome] = field(default_factory=lambda: ACTIONS)
    numbers: Mapping[tuple[str, str], Sequence[int]] = field(default_factory=dict)

    @cached_property
    def conditions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(condition for _, condition in self.rows))

    def first(self, replicates: int) -> ReplicateTable:
        """Return the table of the first `replicates` draws of every arm.

        A draw that is not there is one of them all the same: no later one takes its place.
        """
        kept = {key: bisect_left(self.replicates(*key), replicates) for key in self.rows}
        rows = {key: row[: kept[key]] for key, row in self.rows.items()}
        numbers = {key: row[: kept[key]] for key, row in self.numbers.items()}
        return ReplicateTable(rows, self.configuration, self.outcomes, numbers)

    def replicates(self, vignette: str, condition: str) -> Sequence[int]:
        """Return the replicate, from 0, of each trajectory of a row."""
        key = (vignette, condition)
        return self.numbers.get(key) or range(len(self.rows[key]))

    def has(self, vignettes: Iterable[str], condition: str) -> bool:
        return all(self.rows.get((vignette, condition)) for vignette in vignettes)

    @cached_property
    def _labels(self) -> dict[tuple[str, str, str], tuple[bool | None, ...]]:
        return {}

    def labels(self, vignette: str, condition: str, action: str) -> tuple[bool | None, ...]:
        """Return the answers of one cell in order of draw, None where missing."""
        key = (vignette, condition, action)
        if key not in self._labels:
            read = self.outcomes[action].read
            row = self.rows.get((vignette, condition), ())
            self._labels[key] = tuple(read(trajectory) for trajectory in row)
        return self._labels[key]

    def counts(self, vignettes: Sequence[str], condition: str, action: str) -> Counts:
        """Return positives, answers and missing answers of one arm, per vignette."""
        cells = [self.labels(vignette, condition, action) for vignette in vignettes]
        return Counts(
            vignettes=tuple(vignettes),
            k=tuple(cell.count(True) for cell in cells),
            n=tuple(len(cell) - cell.count(None) for cell in cells),
            missing=tuple(cell.count(None) for cell in cells),
        )

    def incomplete(self, vignettes: Sequence[str], condition: str) -> Counts:
        """Return the same counts for "the trajectory is incomplete", which is never missing."""
        rows = [self.rows.get((vignette, condition), ()) for vignette in vignettes]
        return Counts(
            vignettes=tuple(vignettes),
            k=tuple(sum(not t.complete for t in row) for row in rows),
            n=tuple(len(row) for row in rows),
            missing=(0,) * len(rows),
        )

    def repeats(
        self, vignettes: Sequence[str], condition: str
    ) -> list[Mapping[str, Mapping[str, object]]] | None:
        """Return the one output of each vignette where whole outputs repeat, else None."""
        found: list[Mapping[str, Mapping[str, object]]] = []
        for vignette in vignettes:
            row = self.rows.get((vignette, condition), ())
            if len(row) < 3 or any(not t.complete or t.outputs != row[0].outputs for t in row):
                return None
            found.append(row[0].outputs)
        return found
