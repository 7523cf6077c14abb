"""The replicate table: for each vignette and condition the trajectories, in order of draw."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

from pytest_fairmedagent.domain.counts import Counts, Readings
from pytest_fairmedagent.domain.outcome import OUTCOMES, Outcome
from pytest_fairmedagent.domain.trajectory import Trajectory, frozen


@dataclass(frozen=True)
class ReplicateTable:
    """Everything a run has drawn.

    `rows` maps (vignette, condition) to its trajectories in order of draw. `configuration` is the
    digest of the configuration they were drawn in: one table never mixes two. `numbers` has the
    replicates (from 0, rising) of the rows; a row that is not in it has no holes. `clusters` has
    the case of each vignette that is a variant of one; the case is the cluster of all statistics.
    `reread` are conditions of which it is known that an answer stands in them twice. `blocks` has
    the sizes of the arms that a row was pooled from, in order; a row that is not in it is one arm.
    """

    rows: Mapping[tuple[str, str], Sequence[Trajectory]]
    configuration: str
    outcomes: Mapping[str, Outcome] = field(default_factory=lambda: OUTCOMES)
    numbers: Mapping[tuple[str, str], Sequence[int]] = field(default_factory=dict)
    clusters: Mapping[str, str] = field(default_factory=dict)
    reread: frozenset[str] = frozenset()
    blocks: Mapping[tuple[str, str], Sequence[int]] = field(default_factory=dict)

    @cached_property
    def conditions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(condition for _, condition in self.rows))

    @cached_property
    def vignettes(self) -> frozenset[str]:
        return frozenset(vignette for vignette, _ in self.rows)

    def first(self, replicates: int) -> ReplicateTable:
        """Return the table of the first `replicates` draws of every arm.

        A draw that is not there is one of them all the same: no later one takes its place.
        """
        kept = {key: bisect_left(self.replicates(*key), replicates) for key in self.rows}
        rows = {key: row[: kept[key]] for key, row in self.rows.items()}
        numbers = {key: row[: kept[key]] for key, row in self.numbers.items()}
        return ReplicateTable(
            rows, self.configuration, self.outcomes, numbers, self.clusters, self.reread
        )

    def pooled(self, reference: str, others: Sequence[str]) -> ReplicateTable:
        """Return the table in which draws of `others` follow those of the reference.

        For arms whose text is the reference's own: what they draw is one more draw of it.
        """
        rows = dict(self.rows)
        blocks: dict[tuple[str, str], tuple[int, ...]] = {}
        for condition in others:
            for vignette in [v for v, c in self.rows if c == condition]:
                key = (vignette, reference)
                if key in self.rows:
                    row = self.rows[vignette, condition]
                    blocks[key] = (*blocks.get(key, (len(self.rows[key]),)), len(row))
                    rows[key] = [*rows[key], *row]
        numbers = {key: row for key, row in self.numbers.items() if key[1] != reference}
        return ReplicateTable(
            rows,
            self.configuration,
            self.outcomes,
            numbers,
            self.clusters,
            self.reread,
            blocks,
        )

    def replicates(self, vignette: str, condition: str) -> Sequence[int]:
        """Return the replicate, from 0, of each trajectory of a row."""
        key = (vignette, condition)
        return self.numbers.get(key) or range(len(self.rows[key]))

    def clusters_of(self, vignettes: Iterable[str]) -> tuple[str, ...]:
        """Return the case of each vignette: itself, unless it is a variant."""
        return tuple(self.clusters.get(vignette, vignette) for vignette in vignettes)

    def has(self, vignettes: Iterable[str], condition: str) -> bool:
        return all(self.rows.get((vignette, condition)) for vignette in vignettes)

    @cached_property
    def _labels(self) -> dict[tuple[str, str, str], tuple[Any, ...]]:
        return {}

    def labels(self, vignette: str, condition: str, action: str) -> tuple[Any, ...]:
        """Return the answers of one cell in order of draw, None where missing."""
        key = (vignette, condition, action)
        if key not in self._labels:
            read = self.outcomes[action].read
            row = self.rows.get((vignette, condition), ())
            self._labels[key] = tuple(read(trajectory) for trajectory in row)
        return self._labels[key]

    def counts(
        self,
        vignettes: Sequence[str],
        condition: str,
        action: str,
        *,
        once: Sequence[bool] = (),
    ) -> Counts:
        """Return positives, answers and missing answers of one arm, per vignette.

        Vignettes flagged in `once` (as `collapsed` does) count by their first draw alone, and of
        the flagged variants of one case only the first counts.
        """
        cells = self._cells(vignettes, condition, action, once)
        return Counts(
            vignettes=tuple(vignettes),
            k=tuple(cell.count(True) for cell in cells),
            n=tuple(len(cell) - cell.count(None) for cell in cells),
            missing=tuple(cell.count(None) for cell in cells),
            clusters=self.clusters_of(vignettes),
        )

    def readings(
        self,
        vignettes: Sequence[str],
        condition: str,
        outcome: str,
        *,
        once: Sequence[bool] = (),
    ) -> Readings:
        """Return the answers of one arm, per vignette, of an outcome of any kind."""
        cells = self._cells(vignettes, condition, outcome, once)
        return Readings(
            vignettes=tuple(vignettes),
            cells=tuple(tuple(x for x in cell if x is not None) for cell in cells),
            missing=tuple(cell.count(None) for cell in cells),
            clusters=self.clusters_of(vignettes),
        )

    def _cells(
        self, vignettes: Sequence[str], condition: str, outcome: str, once: Sequence[bool]
    ) -> list[tuple[Any, ...]]:
        cells = [self.labels(vignette, condition, outcome) for vignette in vignettes]
        if not any(once):
            return cells
        seen: set[str] = set()
        for place, (case, copied) in enumerate(zip(self.clusters_of(vignettes), once, strict=True)):
            if copied:
                cells[place] = () if case in seen else cells[place][:1]
                seen.add(case)
        return cells

    def incomplete(self, vignettes: Sequence[str], condition: str) -> Counts:
        """Return the same counts for "the trajectory is incomplete", which is never missing."""
        rows = [self.rows.get((vignette, condition), ()) for vignette in vignettes]
        return Counts(
            vignettes=tuple(vignettes),
            k=tuple(sum(not t.complete for t in row) for row in rows),
            n=tuple(len(row) for row in rows),
            missing=(0,) * len(rows),
            clusters=self.clusters_of(vignettes),
        )

    @cached_property
    def _numbers(self) -> dict[str, dict[Hashable, int]]:
        return {}

    def whole(
        self, vignette: str, condition: str, *, most: int | None = None
    ) -> tuple[int | None, ...]:
        """Return a number for each draw, or for the first `most`; None for an incomplete one.

        Two draws of one vignette have one number if their whole outputs are equal, in whatever
        conditions they stand.
        """
        known = self._numbers.setdefault(vignette, {})
        return tuple(
            known.setdefault(frozen(t.outputs), len(known)) if t.complete else None
            for t in self.rows.get((vignette, condition), ())[:most]
        )

    @cached_property
    def _repeat(self) -> dict[tuple[str, str], int]:
        return {}

    def collapsed(
        self, vignettes: Sequence[str], condition: str, other: str, *, replicates: int = 2
    ) -> tuple[bool, ...]:
        """Return for each vignette whether its answers are copies of one, inside both arms.

        Every draw is complete and repeats the whole output of the first, which takes at least
        `replicates` draws; each block of a pooled row must repeat its own. Which of the two arms is
        the swap cannot matter, so that a collapsed vignette that differs is a fair coin.
        """
        return tuple(
            all(self._copies(vignette, arm) >= replicates for arm in (condition, other))
            for vignette in vignettes
        )

    def _copies(self, vignette: str, condition: str) -> int:
        """Return how many copies of one output a row is, the fewest of its blocks; 0 if of more."""
        key = (vignette, condition)
        if key not in self._repeat:
            row = self.rows.get(key, ())
            ends = (0, *accumulate(self.blocks.get(key, (len(row),))))
            blocks = [row[start:end] for start, end in pairwise(ends)]
            self._repeat[key] = min(len(block) if _alike(block) else 0 for block in blocks)
        return self._repeat[key]

    def same_outputs(self, vignettes: Sequence[str], condition: str, other: str) -> bool:
        """Whether whole outputs repeat in two arms, in at least three draws each, and agree."""
        return all(self.collapsed(vignettes, condition, other, replicates=3)) and all(
            _alike((*self.rows[vignette, condition], *self.rows[vignette, other]))
            for vignette in vignettes
        )


def _alike(row: Sequence[Trajectory]) -> bool:
    return all(t.complete and t.outputs == row[0].outputs for t in row)
