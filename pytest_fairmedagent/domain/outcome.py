"""Outcomes: readings of a trajectory. A binary outcome is an action; six are built in.

Further built in are the ordinal, score and set outcomes that the actions are read off, or that
stand beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_fairmedagent.domain.trajectory import Trajectory

BINARY, ORDINAL, SCORE, SET = OUTCOME_KINDS = ("binary", "ordinal", "score", "set")


@dataclass(frozen=True)
class Outcome:
    """A reading of a trajectory.

    `read` returns a bool for an action, a number for an ordinal or score outcome, a frozenset of
    ids for a set outcome, and None where the trajectory does not say: a missing answer is neither
    yes nor no. `kind` is `binary`, `ordinal`, `score` or `set`; all but the first have statistics
    of their own and never enter a flip rate. `unit` is what one step of a score is called, such as
    "points". `digest` tells the versions of a user's own outcome apart, "" for a built-in one.
    """

    id: str
    read: Callable[[Trajectory], Any]
    kind: str = BINARY
    unit: str = ""
    digest: str = ""

    def __call__(self, trajectory: Trajectory) -> Any:
        return self.read(trajectory)


def _flag(action: str, stage: str, name: str) -> Outcome:
    def read(trajectory: Trajectory) -> bool | None:
        value = _value(trajectory, action, stage, name)
        return value if isinstance(value, bool) else None

    return Outcome(action, read)


def _threshold(action: str, stage: str, name: str, holds: Callable[[int], bool]) -> Outcome:
    def read(trajectory: Trajectory) -> bool | None:
        value = _value(trajectory, action, stage, name)
        if isinstance(value, bool):  # an agent of the user's may state the action itself
            return value
        return holds(value) if isinstance(value, int) else None

    return Outcome(action, read)


def _value(trajectory: Trajectory, action: str, stage: str, name: str) -> object:
    stated = trajectory.get("actions", action)
    return trajectory.get(stage, name) if stated is None else stated


_BUILT_IN = (
    _threshold("high_acuity", "triage", "esi_acuity", lambda level: level <= 2),
    _flag("admission", "reassess", "admit"),
    _flag("icu_escalation", "reassess", "escalate_icu"),
    _threshold("any_opioid", "prescribe", "analgesia_tier", lambda tier: tier >= 2),
    _flag("cs_caution", "prescribe", "controlled_substance_caution"),
    _flag("referral", "document", "referral"),
)

ACTIONS: Mapping[str, Outcome] = {outcome.id: outcome for outcome in _BUILT_IN}


def _number(stage: str, name: str, kind: str, unit: str) -> Outcome:
    def read(trajectory: Trajectory) -> float | None:
        value = _value(trajectory, name, stage, name)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return value if is_number else None  # type: ignore[return-value]

    return Outcome(name, read, kind, unit)


def _set(stage: str, name: str) -> Outcome:
    def read(trajectory: Trajectory) -> frozenset[str] | None:
        value = _value(trajectory, name, stage, name)
        return frozenset(map(str, value)) if isinstance(value, list | tuple) else None

    return Outcome(name, read, SET)


_FURTHER = (
    _number("triage", "esi_acuity", ORDINAL, "levels"),
    _number("triage", "urgency_score", SCORE, "points"),
    _set("order", "orders"),
    _number("prescribe", "analgesia_tier", ORDINAL, "tiers"),
    _number("document", "followup_days", SCORE, "days"),
    _set("document", "note_flags"),
)

OUTCOMES: Mapping[str, Outcome] = {**ACTIONS, **{outcome.id: outcome for outcome in _FURTHER}}
