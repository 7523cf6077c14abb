"""The run record: all that a run has come to, as plain JSON. Other reports are views of it."""

from __future__ import annotations

import math
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from typing import Any

from pytest_fairmedagent import __version__
from pytest_fairmedagent.analysis.floors import ArmFloors, arm_floors
from pytest_fairmedagent.domain import ReplicateTable
from pytest_fairmedagent.relations.invariance import Comparison
from pytest_fairmedagent.stats import Floor, PooledFloor
from pytest_fairmedagent.study import RunInfo, Study
from pytest_fairmedagent.verdict import SEVERITY, Judgement, Verdict

SCHEMA = 1


def build_record(
    studies: Sequence[Study], *, profile: str, says: str, now: datetime | None = None
) -> dict[str, Any]:
    """Return the record of the studies of one session. `now` is the time it is stamped with."""
    stamp = (now or datetime.now(timezone.utc)).isoformat(timespec="seconds")
    record: dict[str, Any] = {
        "schema": SCHEMA,
        "generator": f"pytest-fairmedagent {__version__}",
        "created": stamp,
        "profile": {"name": profile, "says": says},
        "environment": {"python": sys.version.split()[0], "platform": platform.platform()},
        "runs": [],
        "plan": asdict(studies[0].plan),
        "arms": [],
        "contrasts": [],
        "guards": [],
        "diagnostics": [],
        "rows": [],
    }
    for study in studies:
        judgement, info = study.judge(), study.info
        assert info is not None  # noqa: S101 - it was judged
        assert study.table is not None  # noqa: S101 - it was judged
        record["runs"].append(_run(info, judgement))
        record["arms"].extend(_arms(study.table, info, judgement))
        record["contrasts"].extend(
            contrast_entry(v, config_digest=info.config_digest) for v in judgement.verdicts
        )
        record["guards"].extend(
            {**asdict(test), "rejects": test.rejects, "config_digest": info.config_digest}
            for test in judgement.guards.tests
        )
        record["diagnostics"].extend(_diagnostics(info, judgement))
        record["rows"].extend(study.rows())
    counts = [contrast["verdict"] for contrast in record["contrasts"]]
    record["verdicts"] = {status: counts.count(status) for status in SEVERITY}
    record["configuration"] = record["runs"][0]["configuration"]
    cleaned: dict[str, Any] = plain(record)
    return cleaned


def _run(info: RunInfo, judgement: Judgement) -> dict[str, Any]:
    gating = [family for family in judgement.plan.families if family.gating]
    return {
        **asdict(info),
        "plan_digest": judgement.plan.digest,
        "families": len(gating),
        "bound": judgement.bound,
    }


def _arms(table: ReplicateTable, info: RunInfo, judgement: Judgement) -> list[dict[str, Any]]:
    """Return floors and rates of every arm, per action and pooled."""
    arms = []
    for condition in table.conditions:
        vignettes = [v for v in judgement.vignettes if table.has([v], condition)]
        if vignettes:
            floors = arm_floors(table, vignettes, condition, judgement.plan.actions)
            arms.append(arm_entry(floors, model=info.model, config_digest=info.config_digest))
    return arms


def arm_entry(
    arm: ArmFloors,
    *,
    model: str,
    config_digest: str,
    file: str | None = None,
    block: str | None = None,
) -> dict[str, Any]:
    """Return the floors of one arm as records of runs and of analyses have them."""
    return {
        "file": file,
        "model": model,
        "block": block,
        "condition": arm.condition,
        "config_digest": config_digest,
        "vignettes": len(arm.vignettes),
        "trajectories": arm.n_trajectories,
        "incomplete": arm.n_incomplete,
        "pooled": {
            **_floor(arm.pooled),
            "interval_percentile": _ends(arm.percentile_pooled),
            **{f"vote{size}": rate for size, rate in arm.votes_pooled.items()},
        },
        "actions": {
            action: {
                **_floor(arm.floors[index]),
                "interval_percentile": _ends(arm.percentile[index]),
                **{f"vote{size}": rates[index] for size, rates in arm.votes.items()},
                "rate": arm.rate(index),
                "normalised": arm.normalised[index],
                "missing": sum(arm.counts[index].missing),
            }
            for index, action in enumerate(arm.actions)
        },
    }


def _floor(floor: Floor | PooledFloor) -> dict[str, Any]:
    low, high = floor.interval()
    return {
        "disagreements": floor.disagreements,
        "pairs": floor.pairs,
        "floor": floor.rate,
        "interval": [low, high],
    }


def _ends(interval: tuple[float, float]) -> list[float] | None:
    """Return the ends of an interval; None where there was nothing to resample."""
    return None if math.isnan(interval[0]) else list(interval)


def contrast_entry(
    verdict: Verdict,
    *,
    config_digest: str,
    reference: str = "reference",
    file: str | None = None,
    block: str | None = None,
) -> dict[str, Any]:
    """Return a contrast as records of runs and of analyses have it."""
    family, exploratory = verdict.family, not verdict.family.gating
    return {
        "file": file,
        "block": block,
        "reference": reference,
        **comparison_entry(verdict.comparison),
        "margin": family.margin,
        "p_adjusted": None if exploratory else verdict.p_adjusted,
        "q": verdict.p_adjusted if exploratory else None,
        "smallest_detectable_gap": verdict.detectable,
        "gap_sought": verdict.gap_sought,
        "pairs_to_find": verdict.pairs_to_find if verdict.comparison.measured else None,
        "family": family.name,
        "family_size": family.size,
        "alpha": family.alpha,
        "flags": list(verdict.flags),
        "config_digest": config_digest,
        "verdict": verdict.status,
        "reasons": list(verdict.reasons),
        "headline": verdict.headline,
    }


def comparison_entry(comparison: Comparison) -> dict[str, Any]:
    """Return what was measured of a condition against its reference, without a verdict."""
    test = comparison.test
    return {
        "condition": comparison.contrast.swap,
        "action": comparison.contrast.action,
        "vignette": comparison.contrast.vignette,
        "target": "these vignettes",
        "vignettes": len(comparison.swap.vignettes),
        "pairs": test.n_pairs,
        "b": test.b,
        "c": test.c,
        "flip_rate": test.flip_rate,
        "floor": comparison.floor,
        "gap": test.gap,
        "interval": list(test.interval()),
        "p": test.p,
        "p_attainable": test.p_attainable,
        "excess": comparison.excess.mean if comparison.measured else None,
        "deterministic": comparison.deterministic,
        "missing": sum(comparison.swap.missing) + sum(comparison.reference.missing),
    }


def _diagnostics(info: RunInfo, judgement: Judgement) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for test in judgement.guards.rejecting:
        found.append({"kind": test.guard, "text": str(test)})
    for condition in sorted(judgement.guards.repeated):
        found.append({"kind": "repeated answer", "text": f"{condition}: an answer was read twice"})
    for condition, reasons in info.missing.items():
        for reason, count in reasons.items():
            found.append({"kind": "missing", "text": f"{condition}: {count} x {reason}"})
    if not info.complete:
        found.append({"kind": "incomplete", "text": "the plan was not drawn to its end"})
    if info.earlier_looks:
        looks = ", ".join(f"R={r}" for r in info.earlier_looks)
        found.append({"kind": "earlier looks", "text": f"this design was judged before at {looks}"})
    return found


def plain(value: Any) -> Any:
    """Return the value as JSON can hold it: no nan, no infinity, no tuples, no numpy numbers."""
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if isinstance(value, bool) or value is None or isinstance(value, (int, str)):
        return value
    number = float(value)
    return number if math.isfinite(number) else None
