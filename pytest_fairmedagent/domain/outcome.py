"""Outcomes: readings of a trajectory. A binary outcome is an action; six are built in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pytest_fairmedagent.domain.trajectory import Trajectory


@dataclass(frozen=True)
class Outcome:
    """A reading of a trajectory.

    `read` returns a bool for an action, and None where the trajectory does not say: a missing
    answer is neither yes nor no. `kind` is `binary`; ordinal, score and set outcomes have
    statistics of their own and never enter a flip rate.
    """

    id: str
    read: Callable[[Trajectory], bool | None]
    kind: str = "binary"


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
