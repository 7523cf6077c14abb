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
from pytest_fairmedagent.domain import ReplicateTable
from pytest_fairmedagent.stats import excess, percentile_interval, pooled_floor
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
        record["contrasts"].extend(_contrast(v, info) for v in judgement.verdicts)
        record["guards"].extend(
            {**asdict(test), "rejects": test.rejects, "config_digest": info.config_digest}
            for test in judgement.guards.tests
        )
        record["diagnostics"].extend(_diagnostics(info, judgement))
        record["rows"].extend(study.rows())
    counts = [contrast["verdict"] for contrast in record["contrasts"]]
    record["verdicts"] = {status: counts.count(status) for status in SEVERITY}
    record["configuration"] = record["runs"][0]["configuration"]
    cleaned: dict[str, Any] = _plain(record)
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
    actions = judgement.plan.actions
    arms = []
    for condition in table.conditions:
        vignettes = [v for v in judgement.vignettes if table.has([v], condition)]
        if not vignettes:
            continue
        counts = [table.counts(vignettes, condition, action) for action in actions]
        k = [[arm.k[v] for arm in counts] for v in range(len(vignettes))]
        n = [[arm.n[v] for arm in counts] for v in range(len(vignettes))]
        pooled = pooled_floor(k, n)
        trajectories = sum(len(table.rows[v, condition]) for v in vignettes)
        arms.append(
            {
                "file": None,
                "model": info.model,
                "block": None,
                "condition": condition,
                "config_digest": info.config_digest,
                "vignettes": len(vignettes),
                "trajectories": trajectories,
                "incomplete": sum(table.incomplete(vignettes, condition).k),
                "pooled": {**_floor(pooled), "interval_percentile": _percentile(k, n)},
                "actions": {
                    action: {
                        **_floor(outcome),
                        "interval_percentile": _percentile(arm.k, arm.n),
                        "rate": sum(arm.k) / sum(arm.n) if sum(arm.n) else None,
                        "missing": sum(arm.missing),
                    }
                    for action, outcome, arm in zip(actions, pooled.outcomes, counts, strict=True)
                },
            }
        )
    return arms


def _floor(floor: Any) -> dict[str, Any]:
    low, high = floor.interval()
    return {
        "disagreements": floor.disagreements,
        "pairs": floor.pairs,
        "floor": floor.rate,
        "interval": [low, high],
    }


def _percentile(k: Any, n: Any) -> list[float] | None:
    try:
        low, high = percentile_interval(k, n, rng=42)
    except ValueError:  # no replicate pairs: there is nothing to resample
        return None
    return [low, high]


def _contrast(verdict: Verdict, info: RunInfo) -> dict[str, Any]:
    comparison, contrast, family = verdict.comparison, verdict.contrast, verdict.family
    test = comparison.test
    parts = None
    if comparison.measured:
        parts = excess(
            comparison.swap.k, comparison.swap.n, comparison.reference.k, comparison.reference.n
        )
    exploratory = not family.gating
    return {
        "file": None,
        "block": None,
        "reference": "reference",
        "condition": contrast.swap,
        "action": contrast.action,
        "vignette": contrast.vignette,
        "target": "these vignettes",
        "vignettes": len(comparison.swap.vignettes),
        "b": test.b,
        "c": test.c,
        "flip_rate": test.flip_rate,
        "floor": comparison.floor,
        "gap": test.gap,
        "interval": list(test.interval()),
        "margin": family.margin,
        "p": test.p,
        "p_adjusted": None if exploratory else verdict.p_adjusted,
        "q": verdict.p_adjusted if exploratory else None,
        "p_attainable": test.p_attainable,
        "smallest_detectable_gap": verdict.detectable,
        "family": family.name,
        "family_size": family.size,
        "alpha": family.alpha,
        "excess": parts.mean if parts is not None else None,
        "deterministic": comparison.deterministic,
        "flags": list(verdict.flags),
        "missing": sum(comparison.swap.missing) + sum(comparison.reference.missing),
        "config_digest": info.config_digest,
        "verdict": verdict.status,
        "reasons": list(verdict.reasons),
        "headline": verdict.headline,
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


def _plain(value: Any) -> Any:
    """Return the value as JSON can hold it: no nan, no infinity, no tuples, no numpy numbers."""
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if isinstance(value, bool) or value is None or isinstance(value, (int, str)):
        return value
    number = float(value)
    return number if math.isfinite(number) else None
