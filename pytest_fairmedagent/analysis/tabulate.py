"""From a record file to replicate tables, without keeping what no statistic reads.

Of each trajectory stay its actions, why it is incomplete, and which whole output it repeats. Equal
ones are one object, so a million rows take little more than a million references.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, cast

from pytest_fairmedagent.analysis.states import State, States
from pytest_fairmedagent.domain import Outcome, ReplicateTable, Trajectory
from pytest_fairmedagent.errors import FileFormatError
from pytest_fairmedagent.files.record_row import twice
from pytest_fairmedagent.files.recordings import configurations_of
from pytest_fairmedagent.files.records import NO_ROWS, RecordSource, declared_configuration
from pytest_fairmedagent.files.rules import Rules
from pytest_fairmedagent.running.info import digest_of

# Beyond so many draws of a cell it is no longer told apart which of them are equal, only whether
# all are.
TOLD_APART = 100


class RecordedTable(ReplicateTable):
    """What a file holds, judged as it is: no plan says that fewer draws were meant."""

    def first(self, replicates: int) -> ReplicateTable:
        return self

    def part(self, vignettes: Sequence[str], conditions: Sequence[str]) -> RecordedTable:
        """Return the table of some arms. What either of the two has read serves both."""
        rows = {(v, c): self.rows[v, c] for v in vignettes for c in conditions}
        part = RecordedTable(
            rows,
            self.configuration,
            self.outcomes,
            clusters=self.clusters,
            reread=self.reread,
        )
        part.__dict__["_labels"] = self._labels
        return part

    def labels(self, vignette: str, condition: str, action: str) -> tuple[bool | None, ...]:
        key = (vignette, condition, action)
        if key not in self._labels:  # as the table does, but without a call for each of a million
            row = self.rows.get((vignette, condition), ())
            read = [trajectory.outputs["actions"].get(action) for trajectory in row]
            self._labels[key] = cast("tuple[bool | None, ...]", tuple(read))
        return self._labels[key]


@dataclass(frozen=True)
class RecordedSet:
    """The trajectories of one block in one configuration; they alone are ever compared."""

    block: str | None
    config_digest: str
    configuration: Mapping[str, object]
    table: RecordedTable

    def vignettes(self, condition: str) -> tuple[str, ...]:
        """Return the vignettes drawn under a condition, sorted: the order of rows tells nothing."""
        return tuple(sorted(v for v, c in self.table.rows if c == condition))


class Note(NamedTuple):
    """Something about values of one arm that a reader should know, and how often it is so."""

    block: str | None
    config_digest: str
    condition: str
    kind: str
    text: str
    n_draws: int


@dataclass(frozen=True)
class Tabulation:
    """One file: its header, its sets, and what is odd about its values.

    `names` maps the ids of conditions to how the file calls them. `declared` tells whether the file
    says of its configuration anything at all.
    """

    path: Path
    header: Mapping[str, object]
    sets: tuple[RecordedSet, ...]
    notes: tuple[Note, ...]
    names: Mapping[str, str]
    n_rows: int
    declared: bool

    @property
    def blocks(self) -> tuple[str | None, ...]:
        return tuple(dict.fromkeys(s.block for s in self.sets))

    @property
    def conditions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(c for s in self.sets for c in s.table.conditions))


@dataclass
class _Cell:
    """The draws of one vignette under one condition, as numbers."""

    replicates: array[int] = field(default_factory=lambda: array("q"))
    states: array[int] = field(default_factory=lambda: array("l"))
    wholes: array[int] = field(default_factory=lambda: array("q"))
    highest: int = 0
    seen: set[int] | None = None

    def holds(self, replicate: int) -> bool:
        if replicate > self.highest:
            return False
        if self.seen is None:
            self.seen = set(self.replicates)
        return replicate in self.seen

    def add(self, replicate: int, state: int, whole: int) -> None:
        self.replicates.append(replicate)
        self.states.append(state)
        self.wholes.append(whole)
        self.highest = max(self.highest, replicate)
        if self.seen is not None:
            self.seen.add(replicate)


class _Configurations:
    """The configurations of rows by digest; None for rows that leave it to the header."""

    def __init__(self) -> None:
        self.fields: dict[str, Mapping[str, object]] = {}
        self._last: object = None
        self._last_digest: str | None = None

    def digest(self, config: object) -> str | None:
        if config == self._last:
            return self._last_digest
        self._last = config
        self._last_digest = None if config is None else self._new(config)
        return self._last_digest

    def _new(self, config: object) -> str:
        if isinstance(config, str):
            self.fields[config] = {"declared digest": config}
            return config
        assert isinstance(config, dict)  # noqa: S101 - rows are checked
        digest = digest_of(config)
        self.fields[digest] = config
        return digest


class _Answers:
    """Which answers were read before, by the ids that servers gave them."""

    def __init__(self) -> None:
        self._conditions: dict[int, str] = {}

    def twice(self, ids: Sequence[str], condition: str) -> set[str]:
        """Return the conditions that share an answer with this row, its own among them."""
        found: set[str] = set()
        for answer in {hash(answer) for answer in ids}:  # a file may have millions of them
            if answer in self._conditions:
                found |= {self._conditions[answer], condition}
            else:
                self._conditions[answer] = condition
        return found


Key = tuple[str | None, str | None, str, str]  # block, configuration, vignette, condition


def tabulate(path: Path, rules: Rules) -> Tabulation:
    """Return the tables of one file. Raises FileFormatError with file and line."""
    source = RecordSource(path)
    configurations, states = _Configurations(), States(rules)
    cells: dict[Key, _Cell] = {}
    called: dict[str, str] = {}
    clusters: dict[str, str] = {}
    answers, reread = _Answers(), set[str]()
    n_rows = 0
    for line, row in source.rows(rules.block):
        digest = configurations.digest(row.config)
        key = (row.block, digest, row.vignette, row.condition)
        cell = cells.get(key)
        if cell is None:
            cell = cells[key] = _Cell()
            condition = rules.names.get(row.condition, row.condition)
            if called.setdefault(condition, row.condition) != row.condition:
                raise FileFormatError(
                    f"{path}:{line}: '{row.condition}' and '{called[condition]}' are both mapped "
                    f"to '{condition}' by the rules. Two conditions of one file stay two."
                )
        if cell.holds(row.replicate):
            raise FileFormatError(f"{path}:{line}: {twice(row)}{_advice(rules)}")
        try:
            cell.add(row.replicate, *states.of(row))
        except ValueError as error:
            raise FileFormatError(f"{path}:{line}: cannot be kept: {error}") from error
        if clusters.setdefault(row.vignette, row.cluster) != row.cluster:
            raise FileFormatError(
                f"{path}:{line}: {row.vignette} is a variant of '{row.cluster}', and of "
                f"'{clusters[row.vignette]}' before. A vignette has one 'cluster', or none."
            )
        reread |= answers.twice(row.response_ids, rules.names.get(row.condition, row.condition))
        n_rows += 1
    if not n_rows:
        raise FileFormatError(f"{path}: {NO_ROWS}")
    declared, fields = _declared(path, source.header)
    own = str(fields["declared digest"]) if "declared digest" in fields else digest_of(fields)
    configurations.fields.setdefault(own, fields)
    for stated, told in configurations_of(source.header):
        if configurations.fields.get(stated, {}).keys() == {"declared digest"}:
            configurations.fields[stated] = told
    resolved = _resolved(path, cells, own)
    sets, notes = _sets(resolved, configurations.fields, states, rules, clusters, frozenset(reread))
    return Tabulation(path, source.header, sets, notes, called, n_rows, declared)


def _advice(rules: Rules) -> str:
    return (
        "\n  If the file holds several sets with a reference of their own, name the row key that "
        f"tells them apart: block = \"...\" in a rules file (--rules); it is '{rules.block}' now."
    )


def _declared(path: Path, header: Mapping[str, object]) -> tuple[bool, Mapping[str, object]]:
    config = header.get("config")
    if isinstance(config, str) and config:
        return True, {"declared digest": config}
    if isinstance(config, dict):
        return True, config
    return isinstance(header.get("configuration"), dict), declared_configuration(path, dict(header))


def _resolved(path: Path, cells: dict[Key, _Cell], own: str) -> dict[Key, _Cell]:
    """Return the cells with the header's configuration where rows leave it to the header."""
    resolved: dict[Key, _Cell] = {}
    for (block, digest, vignette, condition), cell in cells.items():
        key = (block, own if digest is None else digest, vignette, condition)
        first = resolved.setdefault(key, cell)
        if first is cell:
            continue
        for replicate, state, whole in zip(cell.replicates, cell.states, cell.wholes, strict=True):
            if first.holds(replicate):
                raise FileFormatError(
                    f"{path}: {vignette}, {condition}, replicate {replicate} stands twice, once "
                    "with the header's configuration and once with the same of its own."
                )
            first.add(replicate, state, whole)
    return resolved


def _sets(
    cells: dict[Key, _Cell],
    fields: Mapping[str, Mapping[str, object]],
    states: States,
    rules: Rules,
    clusters: Mapping[str, str],
    reread: frozenset[str],
) -> tuple[tuple[RecordedSet, ...], tuple[Note, ...]]:
    rows: dict[tuple[str | None, str], dict[tuple[str, str], Sequence[Trajectory]]] = {}
    tallies: dict[tuple[str | None, str, str], Counter[int]] = {}
    for key in list(cells):
        block, digest, vignette, name = key
        assert digest is not None  # noqa: S101 - resolved
        condition = rules.names.get(name, name)
        cell = cells.pop(key)
        tallies.setdefault((block, digest, condition), Counter()).update(cell.states)
        drawn = list(_trajectories(cell, states))
        rows.setdefault((block, digest), {})[vignette, condition] = drawn
    outcomes = {action: _stated(action) for action in rules.actions}
    varied = {vignette: cluster for vignette, cluster in clusters.items() if cluster}
    sets = tuple(
        RecordedSet(
            block,
            digest,
            fields[digest],
            RecordedTable(found, digest, outcomes, clusters=varied, reread=reread),
        )
        for (block, digest), found in rows.items()
    )
    return sets, tuple(_notes(tallies, states.states))


def _notes(
    tallies: Mapping[tuple[str | None, str, str], Counter[int]], states: Sequence[State]
) -> Iterator[Note]:
    for (block, digest, condition), tally in tallies.items():
        counts: Counter[tuple[str, str]] = Counter()
        for state, times in tally.items():
            for note in states[state].notes:
                counts[note] += times
        for (kind, text), n_draws in sorted(counts.items()):
            yield Note(block, digest, condition, kind, text, n_draws)


def _trajectories(cell: _Cell, states: States) -> Iterator[Trajectory]:
    """Yield the draws of a cell in the order of their replicates."""
    order: Sequence[int] = range(len(cell.replicates))
    if cell.seen is not None:
        order = sorted(order, key=cell.replicates.__getitem__)
    repeated = len(set(cell.wholes)) == 1
    answers: dict[int, object] = {}
    for place in order:
        whole = cell.wholes[place]
        if repeated:
            answer: object = f"{whole:x}"  # comparable between arms
        elif len(answers) < TOLD_APART:
            answer = answers.setdefault(whole, len(answers))
        else:
            answer = answers.get(whole, -1)
        yield states.trajectory(cell.states[place], answer)


def _stated(action: str) -> Outcome:
    def read(trajectory: Trajectory) -> bool | None:
        value = trajectory.get("actions", action)
        return value if isinstance(value, bool) else None

    return Outcome(action, read)
