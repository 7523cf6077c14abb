"""What is to be known of a run beside its trajectories."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_fairmedagent.domain import Trajectory
from pytest_fairmedagent.running.looking import Start
from pytest_fairmedagent.verdict.looks import NOTHING, Earlier


@dataclass(frozen=True)
class RunInfo:
    """What is to be known of a run beside its trajectories.

    `drawn` trials are of this start, `earlier` of starts before it, the oldest of `since` (seconds
    since the epoch, as `created`). `registered` tells that the plan was fixed before the first
    trial. `looks` are the replicates after which a sequential plan was looked at, `saved` the
    trials of the plan that need not be drawn since their contrasts were decided. `ended` says why
    the run ended before its plan, "" where it did not. `spent_usd` is what this run's own calls
    cost by the price table, in US dollars; None where no price is known, which is not 0.
    `store_bytes` is the size of the store, `calls_found` and `calls_made` count the calls of this
    start's trials that were in it and those that were added.
    `concurrency` tells what is to be known of the calls under way at once: `measured` (rungs, calls
    and tokens of `--fairmed-concurrency auto`, else None), `lowest` (the fewest that a rate limit
    left), `shared_with` (other runs that asked the same server) and `notes`, sentences of these.
    `ledger` is what was said of these draws before, `starts` are the starts of this design in the
    store; both are filled in when the run is judged. `fresh` tells that it was asked to draw anew.
    """

    id: int | None
    model: str
    toy: bool
    configuration: Mapping[str, object]
    config_digest: str
    seed: int | None
    created: float | None
    drawn: int
    earlier: int
    since: float | None
    registered: bool
    earlier_looks: tuple[int, ...]
    calls: int
    repairs: int
    retries: int
    input_tokens: int
    output_tokens: int
    missing: Mapping[str, Mapping[str, int]]
    elapsed_s: float
    workers: int
    store: str
    complete: bool
    looks: tuple[int, ...] = ()
    saved: int = 0
    ended: str = ""
    replicates: int | None = None
    spent_usd: float | None = None
    price: str = ""
    concurrency: Mapping[str, Any] = field(default_factory=dict)
    store_bytes: int = 0
    calls_found: int = 0
    calls_made: int = 0
    fresh: bool = False
    ledger: Earlier = NOTHING
    starts: tuple[Start, ...] = ()


def digest_of(configuration: Mapping[str, object]) -> str:
    """Hex SHA-256 of a configuration."""
    return hashlib.sha256(json.dumps(configuration, sort_keys=True).encode()).hexdigest()


def missing_reasons(
    rows: Mapping[tuple[str, str], Iterable[Trajectory]],
) -> dict[str, dict[str, int]]:
    """Count the reasons of incomplete trajectories, per condition."""
    found: dict[str, dict[str, int]] = {}
    for (_, condition), row in rows.items():
        for trajectory in row:
            if trajectory.complete:
                continue
            stage, reason = next(
                (s, r) for s, r in trajectory.missing.items() if r != "not reached"
            )
            reasons = found.setdefault(condition, {})
            if trajectory.infrastructure:  # its words differ from call to call, its kind does not
                reason = reason.split(": ")[0]
            name = f"{stage}: {reason}"
            reasons[name] = reasons.get(name, 0) + 1
    return found
