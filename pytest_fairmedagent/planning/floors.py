"""The floor to plan with: assumed, or measured by a record."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_fairmedagent.errors import PlanError, closest


@dataclass(frozen=True)
class PlanningFloor:
    """A floor in 0..1 and where it is from. `action` is the least stable one, that is planned for.

    `actions` are all floors that were measured, with the ends of their 95 % intervals. `seconds`
    and `tokens` (sent, answered) are what a trial of the record took, None where it does not say.
    """

    floor: float
    source: str
    action: str = ""
    interval: tuple[float, float] | None = None
    actions: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    seconds: float | None = None
    tokens: tuple[float, float] | None = None


def assumed(floor: float) -> PlanningFloor:
    """Return a floor that nobody has measured."""
    return PlanningFloor(floor, "assumed")


def measured(path: Path, *, actions: Collection[str] = (), upper: bool = False) -> PlanningFloor:
    """Return the highest floor of the actions (all where none is named) in a record's reference.

    A family is planned for its least stable action. With `upper`, the upper end of its interval;
    a floor of 0 is always taken at its upper end, since no agent is proved never to waver. Raises
    FileFormatError for what is no record, PlanError where it measures nothing or not that action.
    """
    found = _of_run_record(path) or _of_rows(path)
    floors, seconds, tokens = found
    for action in actions:
        if action not in floors:
            raise PlanError(f"{path}: measures no action {action!r}.{closest(action, floors)}")
    chosen = {name: ends for name, ends in floors.items() if not actions or name in actions}
    if not chosen:
        raise PlanError(
            f"{path}: measures no floor: it has no two replicates of a vignette in its reference "
            "condition.\n  Assume one with --floor, or draw again with --fairmed-replicates=3."
        )
    action = max(chosen, key=lambda name: chosen[name])
    rate, low, high = chosen[action]
    at_end = upper or rate == 0
    end = "upper end of " if at_end else ""
    return PlanningFloor(
        high if at_end else rate,
        f"{end}{action}, the least stable of {len(chosen)}, measured in {path.name}",
        action,
        (low, high),
        floors,
        seconds,
        tokens,
    )


_Found = tuple[dict[str, tuple[float, float, float]], "float | None", "tuple[float, float] | None"]


def _of_run_record(path: Path) -> _Found | None:
    """Return floors, seconds and tokens of a trial; None for a file that is no run record."""
    from pytest_fairmedagent.files.run_record import is_run_record, read_run_record

    if not is_run_record(path):
        return None
    record = read_run_record(path)
    floors: dict[str, tuple[float, float, float]] = {}
    for arm in record["arms"]:
        if arm["condition"] == record["plan"]["reference"]:
            for action, entry in arm["actions"].items():
                if entry["floor"] is not None and entry["pairs"]:
                    ends = (entry["floor"], *entry["interval"])
                    floors[action] = max(floors.get(action, ends), ends)
    return floors, _seconds(record["runs"]), _tokens(record["runs"])


def _seconds(runs: list[dict[str, Any]]) -> float | None:
    drawn = sum(run["drawn"] for run in runs)
    return sum(run["elapsed_s"] for run in runs if run["drawn"]) / drawn if drawn else None


def _tokens(runs: list[dict[str, Any]]) -> tuple[float, float] | None:
    n = sum(run["drawn"] + run["earlier"] for run in runs)
    sent = sum(run["input_tokens"] for run in runs)
    got = sum(run["output_tokens"] for run in runs)
    return (sent / n, got / n) if n and sent and got else None


def _of_rows(path: Path) -> _Found:
    from pytest_fairmedagent.analysis import analyse

    (file,) = analyse([path]).files
    floors: dict[str, tuple[float, float, float]] = {}
    for arm in file.arms:
        if file.reference is None or file.reference in (arm.named, arm.floors.condition):
            for action, floor in zip(arm.floors.actions, arm.floors.floors, strict=True):
                if floor.pairs:
                    low, high = floor.interval()
                    ends = (floor.rate, low, high)
                    floors[action] = max(floors.get(action, ends), ends)
    return floors, None, None
