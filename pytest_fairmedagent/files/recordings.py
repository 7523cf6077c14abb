"""A record file to be replayed: its trajectories, by the configuration they were drawn in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pytest_fairmedagent.domain import Trajectory, Trial
from pytest_fairmedagent.errors import FileFormatError, StoreError
from pytest_fairmedagent.files.record_row import (
    Row,
    seconds_of,
    trajectory_of,
    twice,
)
from pytest_fairmedagent.files.records import NO_ROWS, RecordSource, declared_configuration

UNSTATED = "unstated, this run only"  # how the version of an agent begins that states none

Place = tuple[str, str, int]


class RecordedSet(NamedTuple):
    """The rows of a file that were drawn in one configuration.

    `digest` is as the rows have it, None where they leave it to the header. `block` is None unless
    sets are told apart by it.
    """

    digest: str | None
    configuration: Mapping[str, object]
    rows: Mapping[Place, Row]
    block: str | None = None

    @property
    def agent(self) -> str:
        """Name and version of its agent, as messages tell them."""
        named = [str(self.configuration.get(key, "")) for key in ("agent", "agent_version")]
        return " ".join(filter(None, named)) or f"the configuration {str(self.digest)[:12]}"


def read_sets(
    path: Path, *, by_block: bool = False
) -> tuple[tuple[RecordedSet, ...], Mapping[str, Any]]:
    """Return the sets of a file in the order of their first rows, and its header.

    With `by_block` each block is a set of its own. Raises FileFormatError with file and line.
    """
    source = RecordSource(path)
    rows: dict[tuple[str | None, str | None], dict[Place, Row]] = {}
    stated: dict[str, Mapping[str, object]] = {}
    for line, row in source.rows():
        key = row.config if row.config is None else json.dumps(row.config, sort_keys=True)
        if isinstance(row.config, dict) and key is not None:
            stated[key] = row.config
        found = rows.setdefault((row.block if by_block else None, key), {})
        place = (row.vignette, row.condition, row.replicate)
        if place in found:
            raise FileFormatError(f"{path}:{line}: {twice(row)}")
        found[place] = row
    if not rows:
        raise FileFormatError(f"{path}: {NO_ROWS}")
    known = {json.dumps(digest): fields for digest, fields in configurations_of(source.header)}
    own = declared_configuration(path, source.header)
    alone = len({key for _, key in rows}) == 1
    sets = []
    for (block, key), found in rows.items():
        if key is None or (alone and key not in known and key not in stated):
            sets.append(RecordedSet(None, own, found, block))
            continue
        digest = None if key in stated else json.loads(key)
        fields = stated.get(key) or known.get(key) or {"declared digest": digest}
        sets.append(RecordedSet(digest, fields, found, block))
    return tuple(sets), source.header


def configurations_of(header: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield digest and fields of every configuration that a header states."""
    runs = header.get("runs")
    for run in (header, *(runs if isinstance(runs, list) else ())):
        if isinstance(run, dict):
            digest, fields = run.get("config_digest"), run.get("configuration")
            if isinstance(digest, str) and isinstance(fields, dict):
                yield digest, fields


class RecordFile:
    """The trajectories of one file. Raises FileFormatError with file and line.

    Where it holds several configurations, `of` chooses the one of an agent. `since` is when the
    oldest trajectory was drawn, in seconds since the epoch, as far as the file tells.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._sets, header = read_sets(path)
        self.since = _since(self._sets, header)

    def of(self, agent: Callable[[], Mapping[str, object]]) -> RecordFile:
        """Return what one agent did. `agent` returns its configuration; it is asked if need be.

        One that states a version is known by name and version; of those that state none, by name
        and place. Raises StoreError where the file holds none such, or several.
        """
        if len(self._sets) == 1:
            return self
        asked = agent()
        found = [s for s in self._sets if _is_of(s.configuration, asked)]
        if len(found) != 1:
            held = "\n".join(f"    {s.agent}: {len(s.rows)} trajectories" for s in self._sets)
            name = " ".join(str(asked[k]) for k in ("agent", "agent_version") if k in asked)
            told = "no trajectories" if not found else f"{len(found)} sets of trajectories"
            raise StoreError(
                f"{self.path}: holds {told} of the agent {name or dict(asked)}. It holds\n{held}\n"
                "  Give the agents names and versions of their own, or replay one agent's tests."
            )
        chosen = object.__new__(RecordFile)
        chosen.path, chosen.since, chosen._sets = self.path, self.since, (found[0],)
        return chosen

    def configuration(self) -> Mapping[str, object]:
        """Return what the file says of its configuration; else it counts as one, as declared."""
        return self._only.configuration

    def trajectory(self, trial: Trial) -> Trajectory:
        """Return a recorded trajectory. Raises StoreError for one that is not there."""
        rows = self._only.rows
        found = rows.get((trial.vignette, trial.condition, trial.replicate + 1))
        if found is None:
            vignettes = {vignette for vignette, _, _ in rows}
            conditions = sorted({condition for _, condition, _ in rows})
            raise StoreError(
                f"{self.path}: holds no trajectory of {trial.vignette}, {trial.condition}, "
                f"replicate {trial.replicate + 1}.\n  It has {len(rows)} trajectories of "
                f"{len(vignettes)} vignettes under {', '.join(conditions)}. A recorded run is "
                "never completed with calls: select what is there with --fairmed-vignettes, "
                "--fairmed-swaps and --fairmed-replicates."
            )
        return trajectory_of(found)

    @property
    def _only(self) -> RecordedSet:
        if len(self._sets) > 1:
            held = ", ".join(s.agent for s in self._sets)
            raise FileFormatError(
                f"{self.path}: holds {len(self._sets)} configurations ({held}), expected 1.\n"
                "  Replay it with the tests of the agents that it was drawn with."
            )
        return self._sets[0]


def _is_of(recorded: Mapping[str, object], asked: Mapping[str, object]) -> bool:
    return bool(asked) and all(
        recorded.get(name) == value
        or (name == "agent_version" and _unstated_at(value) == _unstated_at(recorded.get(name)))
        for name, value in asked.items()
    )


def _unstated_at(version: object) -> object:
    """Return the place of an agent without version, whose start is another every time."""
    text = str(version)
    return text.partition(": ")[2].partition(" ")[2] if text.startswith(UNSTATED) else version


def _since(sets: tuple[RecordedSet, ...], header: Mapping[str, Any]) -> float | None:
    drawn = [row.drawn for s in sets for row in s.rows.values() if row.drawn is not None]
    if drawn:
        return min(drawn)
    runs = header.get("runs")
    stated = [run.get("since") for run in runs or () if isinstance(run, dict)]
    known = [s for s in stated if isinstance(s, (int, float)) and not isinstance(s, bool)]
    return min(known, default=seconds_of(header.get("created")))
