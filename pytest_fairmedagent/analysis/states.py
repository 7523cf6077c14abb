"""What the statistics read of a trajectory: its actions, and what is odd about its values."""

from __future__ import annotations

import marshal
from collections.abc import Mapping
from typing import Any, NamedTuple

from pytest_fairmedagent.agents.fields import Boolean, FieldError, Integer
from pytest_fairmedagent.agents.prompts import STAGES
from pytest_fairmedagent.domain import Trajectory
from pytest_fairmedagent.files.record_row import Row
from pytest_fairmedagent.files.rules import Rules, number_of

OUT_OF_RANGE = "out of range"
WRONG_TYPE = "wrong type"

_CACHE_BYTES = 16_000_000

# What the six-stage agent declares of its fields.
_DECLARED = {
    (stage.name, spec.name): spec
    for stage in STAGES
    for spec in stage.fields
    if isinstance(spec, (Boolean, Integer))
}


class State(NamedTuple):
    """What the statistics read of a trajectory."""

    labels: tuple[bool | None, ...]
    missing: tuple[tuple[str, str], ...]
    notes: tuple[tuple[str, str], ...]


class States:
    """Reads rows into states, remembering those it has seen."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._seen: dict[bytes, tuple[int, int]] = {}
        self._room = _CACHE_BYTES
        self._index: dict[State, int] = {}
        self._trajectories: dict[tuple[int, object], Trajectory] = {}
        self.states: list[State] = []

    def of(self, row: Row) -> tuple[int, int]:
        """Return the number of the row's state, and a number that stands for its whole output."""
        key = _written((row.outputs, row.missing, row.cut))
        found = self._seen.get(key)
        if found is None:
            if self._room < 0:
                self._seen.clear()
                self._room = _CACHE_BYTES
            self._room -= len(key) + 200
            found = self._seen[key] = self._read(row)
        return found

    def _read(self, row: Row) -> tuple[int, int]:
        labels: tuple[bool | None, ...] = (None,) * len(self._rules.actions)
        notes: tuple[tuple[str, str], ...] = ()
        # A trajectory that was cut went on without what it lacks: what it says after that, and
        # whether it would have said the same before, nobody knows. So it does not count at all.
        if not row.cut:
            outputs, notes = _mended(row.outputs, self._rules)
            reading = _Reading(outputs)
            labels = tuple([outcome.read(reading) for outcome in self._rules.actions.values()])
        state = State(labels, tuple(row.missing.items()), notes)
        index = self._index.setdefault(state, len(self._index))
        if index == len(self.states):
            self.states.append(state)
        # The order of keys is no part of an output.
        ordered = [(stage, sorted(fields.items())) for stage, fields in sorted(row.outputs.items())]
        return index, hash(_written(ordered))

    def trajectory(self, state: int, answer: object) -> Trajectory:
        """Return the trajectory of a state that gave the whole output called `answer`."""
        key = (state, answer)
        if key not in self._trajectories:
            labels, missing, _ = self.states[state]
            stated = zip(self._rules.actions, labels, strict=True)
            outputs: dict[str, dict[str, object]] = {
                "actions": {action: label for action, label in stated if label is not None},
                "whole": {"answer": answer},
            }
            self._trajectories[key] = Trajectory(outputs, dict(missing))
        return self._trajectories[key]


class _Reading(Trajectory):
    """A trajectory that is read once: a million are made of these, so they hold outputs alone."""

    def __init__(self, outputs: Mapping[str, Mapping[str, object]]) -> None:
        object.__setattr__(self, "outputs", outputs)


def _written(value: Any) -> bytes:
    # Version 2: later ones write equal values differently when they are shared.
    return marshal.dumps(value, 2)


def _mended(
    outputs: Mapping[str, Mapping[str, object]], rules: Rules
) -> tuple[Mapping[str, Mapping[str, object]], tuple[tuple[str, str], ...]]:
    """Return the outputs as the actions are to read them, and what is odd about their values."""
    changed: dict[tuple[str, str], object] = {}
    notes: list[tuple[str, str]] = []
    for (stage, name), spec in _DECLARED.items():
        value = outputs[stage].get(name) if stage in outputs else None
        # First what nearly all values are: sound ones are not asked for a second opinion.
        if value is None or (type(value) is bool and isinstance(spec, Boolean)):
            continue
        if type(value) is int and isinstance(spec, Integer) and spec.low <= value <= spec.high:
            continue
        if (stage, name) in rules.ranges:
            continue
        try:
            sound = spec.check(value)
        except FieldError as error:
            whole = isinstance(spec, Integer) and number_of(value) is not None
            if whole and number_of(value) == int(number_of(value) or 0):
                notes.append((OUT_OF_RANGE, f"{stage}: {error}; read as recorded"))
            else:
                notes.append((WRONG_TYPE, f"{stage}: {error}; no answer for the six actions"))
        else:
            if type(sound) is not type(value):  # 3.0 is a whole number in JSON
                changed[stage, name] = sound
    for (stage, name), (low, high) in rules.ranges.items():
        value = outputs.get(stage, {}).get(name)
        number = number_of(value)
        if value is None or (number is not None and low <= number <= high):
            continue
        changed[stage, name] = None
        notes.append(
            (OUT_OF_RANGE, f"{stage}: {name} is {value!r}, not in {low:g}..{high:g}; missing")
        )
    if changed:
        copied = {stage: dict(fields) for stage, fields in outputs.items()}
        for (stage, name), value in changed.items():
            copied[stage][name] = value
        outputs = copied
    return outputs, tuple(notes)
