"""The record of sharded jobs together: a run's record, and what it was merged from."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pytest_fairmedagent.report.checklist import checklist
from pytest_fairmedagent.report.record import build_record
from pytest_fairmedagent.report.subgroups import subgroup_entries
from pytest_fairmedagent.shelf.merge import Merged
from pytest_fairmedagent.verdict import DISPARITY


def merged_record(merged: Merged, *, now: datetime | None = None) -> dict[str, Any]:
    """Return the record of all jobs together. `now` is the time it is stamped with."""
    profile = merged.shards[0].header["profile"]
    record = build_record([merged.study], profile=profile["name"], says=profile["says"], now=now)
    for part in ("conditions", "vignettes"):  # the jobs knew them; a record has no case text
        for shard in merged.shards:
            record[part] |= shard.header.get(part) or {}
    record["subgroups"] = [
        {**entry, "run": 0} for entry in subgroup_entries(record, record["runs"][0])
    ]
    for shard in merged.shards:  # against a bound, each by itself: there is no family to recompute
        told = ({**entry, "run": 0} for entry in shard.header["reliability"])
        record["reliability"] += [entry for entry in told if entry not in record["reliability"]]
    record["merged"] = [
        {
            "file": str(shard.path),
            "created": shard.header["created"],
            "environment": shard.header["environment"],
            "contrasts": len(shard.contrasts),
            "trajectories": len(shard.rows),
            "drawn": shard.info.drawn,
        }
        for shard in merged.shards
    ]
    if merged.n_copies:
        text = (
            f"{merged.n_copies} copies of trajectories that stand in several records count once; "
            "tokens are the sums of the jobs"
        )
        record["diagnostics"].append({"kind": "merged", "text": text})
    record["checklist"] = checklist(record)
    return record


def is_red(record: Mapping[str, Any]) -> bool:
    """Whether a gating contrast of the record is a disparity."""
    judged = (*record["contrasts"], *record["outcomes"])
    return any(c["verdict"] == DISPARITY and c["q"] is None for c in judged)
