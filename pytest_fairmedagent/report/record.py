"""The run record: all that a run has come to, as plain JSON. Other reports are views of it."""

from __future__ import annotations

import math
import platform
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from typing import Any

from pytest_fairmedagent import __version__
from pytest_fairmedagent.analysis.floors import arm_floors
from pytest_fairmedagent.domain import BINARY, ReplicateTable
from pytest_fairmedagent.report.checklist import checklist
from pytest_fairmedagent.report.context import (
    budget_entry,
    condition_entries,
    control_entries,
    deviation_entries,
    row_entries,
    vignette_entries,
)
from pytest_fairmedagent.report.entries import (
    apart_entry,
    arm_entry,
    comparison_entry,
    contrast_entry,
)
from pytest_fairmedagent.report.outcomes import (
    apart_outcome_entry,
    outcome_entry,
    relation_entry,
    reliability_entry,
)
from pytest_fairmedagent.report.subgroups import subgroup_entries
from pytest_fairmedagent.report.wholes import whole_entry
from pytest_fairmedagent.running.info import RunInfo
from pytest_fairmedagent.study import Study
from pytest_fairmedagent.verdict import SEVERITY, Judgement

__all__ = ["SCHEMA", "arm_entry", "build_record", "comparison_entry", "contrast_entry", "plain"]

SCHEMA = 1


def build_record(
    studies: Sequence[Study],
    *,
    profile: str,
    says: str,
    now: datetime | None = None,
    overrides: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the record of the studies of one session. `now` is the time it is stamped with.

    `overrides` tell, a line each, which values of the plan an option has replaced.
    """
    stamp = (now or datetime.now(timezone.utc)).isoformat(timespec="seconds")
    record: dict[str, Any] = {
        "schema": SCHEMA,
        "generator": f"pytest-fairmedagent {__version__}",
        "created": stamp,
        "profile": {"name": profile, "says": says},
        "environment": {"python": sys.version.split()[0], "platform": platform.platform()},
        "interrupted": False,
        "runs": [],
        "plan": asdict(studies[0].plan),
        "conditions": condition_entries(studies),
        "vignettes": vignette_entries(studies),
        "arms": [],
        "swaps": [],
        "contrasts": [],
        "outcomes": [],
        "reliability": [],
        "relations": [],
        "confounded": [],
        "controls": [],
        "guards": [],
        "diagnostics": [],
        "subgroups": [],
        "rows": [],
    }
    for number, study in enumerate(studies):
        judgement, info = study.judge(), study.info
        assert info is not None  # noqa: S101 - it was judged
        assert study.table is not None  # noqa: S101 - it was judged
        digest = info.config_digest
        record["runs"].append({**_run(info, judgement), "number": number})
        record["rows"].extend(row_entries(study))
        parts: dict[str, Iterable[dict[str, Any]]] = {
            "arms": _arms(study.table, info, judgement),
            "swaps": (whole_entry(found, config_digest=digest) for found in judgement.swaps),
            "contrasts": (
                contrast_entry(v, config_digest=digest)
                for v in judgement.verdicts
                if v.comparison.kind == BINARY
            ),
            "outcomes": (
                outcome_entry(v, study, config_digest=digest)
                for v in judgement.verdicts
                if v.comparison.kind != BINARY
            ),
            "reliability": (reliability_entry(r, config_digest=digest) for r in study.reliability),
            "relations": (relation_entry(r, config_digest=digest) for r in study.relations),
            "confounded": (
                (apart_entry if a.comparison.kind == BINARY else apart_outcome_entry)(
                    a, config_digest=digest
                )
                for a in judgement.apart
            ),
            "controls": control_entries(study.table, judgement, config_digest=digest),
            "guards": (
                {**asdict(test), "rejects": test.rejects, "config_digest": digest}
                for test in judgement.guards.tests
            ),
            "diagnostics": _diagnostics(info, judgement),
        }
        for part, entries in parts.items():  # two runs may have one configuration
            record[part].extend({**entry, "run": number} for entry in entries)
    for run in record["runs"]:
        found = subgroup_entries(record, run)
        record["subgroups"].extend({**entry, "run": run["number"]} for entry in found)
    judged = (*record["contrasts"], *record["outcomes"], *record["relations"])
    counts = [entry["verdict"] for entry in judged]
    record["verdicts"] = {status: counts.count(status) for status in SEVERITY}
    record["configuration"] = record["runs"][0]["configuration"]
    record["complete"] = all(run["complete"] for run in record["runs"])
    record["budget"] = budget_entry(record["runs"])
    record["deviations"] = deviation_entries(record, overrides)
    cleaned: dict[str, Any] = plain(record)
    cleaned["checklist"] = checklist(cleaned)
    return cleaned


def _run(info: RunInfo, judgement: Judgement) -> dict[str, Any]:
    gating = [family for family in judgement.plan.families if family.gating and family.size]
    return {
        **asdict(info),
        "plan_digest": judgement.plan.digest,
        "families": len(gating),
        "bound": judgement.bound,
    }


def _arms(table: ReplicateTable, info: RunInfo, judgement: Judgement) -> list[dict[str, Any]]:
    """Return floors and rates of every arm, per action and pooled."""
    arms: list[dict[str, Any]] = []
    for condition in table.conditions if judgement.plan.actions else ():
        vignettes = [v for v in judgement.vignettes if table.has([v], condition)]
        if vignettes:
            floors = arm_floors(table, vignettes, condition, judgement.plan.actions)
            arms.append(arm_entry(floors, model=info.model, config_digest=info.config_digest))
    return arms


def _diagnostics(info: RunInfo, judgement: Judgement) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for test in judgement.guards.rejecting:
        found.append({"kind": test.guard, "text": str(test)})
    for condition in sorted(judgement.guards.repeated):
        found.append({"kind": "repeated answer", "text": f"{condition}: an answer was read twice"})
    for condition, reasons in info.missing.items():
        for reason, count in reasons.items():
            found.append({"kind": "missing", "text": f"{condition}: {count} x {reason}"})
    for note in info.concurrency.get("notes", []):
        found.append({"kind": "concurrency", "text": note})
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
