"""The replicate table: for each vignette and condition the trajectories, in order of draw."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

from pytest_fairmedagent.domain.outcome import OUTCOMES, Outcome
from pytest_fairmedagent.domain.trajectory import Trajectory


@dataclass(frozen=True)
class Counts:
    """Per vignette of one arm: positives `k` among `n` answers, and how many are `missing`.

    All have one entry per vignette of `vignettes`. `clusters` names the case that each is a variant
    of; empty where every vignette is a case of its own.
    """

    vignettes: tuple[str, ...]
    k: tuple[int, ...]
    n: tuple[int, ...]
    missing: tuple[int, ...]
    clusters: tuple[str, ...] = ()

    @property
    def firsts(self) -> list[int]:
        """The place of the first variant of each case."""
        return _firsts(self.clusters or self.vignettes)

    @property
    def missing_share(self) -> float:
        """Share of answers that are missing, in 0..1; 0 for an arm without trials."""
        total = sum(self.n) + sum(self.missing)
        return sum(self.missing) / total if total else 0.0


@dataclass(frozen=True)
class Readings:
    """Per vignette of one arm: its answers in order of draw, and how many are `missing`.

    For outcomes that cannot be counted: `cells` holds numbers or sets, without what is missing.
    """

    vignettes: tuple[str, ...]
    cells: tuple[tuple[Any, ...], ...]
    missing: tuple[int, ...]
    clusters: tuple[str, ...] = ()

    @property
    def firsts(self) -> list[int]:
        """The place of the first variant of each case."""
        return _firsts(self.clusters or self.vignettes)

    @property
    def n(self) -> tuple[int, ...]:
        return tuple(len(cell) for cell in self.cells)

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

    @cached_property
    def _whole(self) -> dict[tuple[str, str], tuple[int | None, ...]]:
        return {}

    def whole(self, vignette: str, condition: str) -> tuple[int | None, ...]:
        """Return a number per draw, None where it is incomplete.

        Two draws of one vignette have one number if their whole outputs are equal, in whatever
        conditions they stand.
        """
        key = (vignette, condition)
        if key not in self._whole:
            known = self._numbers.setdefault(vignette, {})
            self._whole[key] = tuple(
                known.setdefault(_frozen(t.outputs), len(known)) if t.complete else None
                for t in self.rows.get(key, ())
            )
        return self._whole[key]

    def collapsed(
        self, vignettes: Sequence[str], condition: str, other: str, *, replicates: int = 2
    ) -> tuple[bool, ...]:
        """Return for each vignette whether its answers are copies of one, inside both arms.

        Every draw is complete and repeats the whole output of the first, which takes at least
        `replicates` draws; each block of a pooled row must repeat its own. Which of the two arms is
        the swap cannot matter, so that a collapsed vignette that differs is a fair coin.
        """
        return tuple(
            all(self._repeats(vignette, arm, replicates) for arm in (condition, other))
            for vignette in vignettes
        )

    def _repeats(self, vignette: str, condition: str, replicates: int) -> bool:
        row = self.whole(vignette, condition)
        ends = (0, *accumulate(self.blocks.get((vignette, condition), (len(row),))))
        return all(
            end - start >= replicates and len({*row[start:end]}) == 1 and row[start] is not None
            for start, end in pairwise(ends)
        )

    def same_outputs(self, vignettes: Sequence[str], condition: str, other: str) -> bool:
        """Whether whole outputs repeat in two arms, in at least three draws each, and agree."""
        return all(self.collapsed(vignettes, condition, other, replicates=3)) and all(
            len({*self.whole(vignette, condition), *self.whole(vignette, other)}) == 1
            for vignette in vignettes
        )


def _firsts(clusters: Sequence[str]) -> list[int]:
    places: dict[str, int] = {}
    for place, cluster in enumerate(clusters):
        places.setdefault(cluster, place)
    return list(places.values())


def _frozen(value: object) -> Hashable:
    """Return an output in a form that is equal, and has one hash, where outputs are equal."""
    if isinstance(value, Mapping):
        return frozenset((name, _frozen(inner)) for name, inner in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(_frozen(inner) for inner in value)
    return value if isinstance(value, Hashable) else repr(value)
