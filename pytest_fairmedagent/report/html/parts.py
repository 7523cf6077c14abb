"""Parts of the page that not every record has: other outcomes, panels, baselines, subgroups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_fairmedagent.report.entries import of_run

Record = Mapping[str, Any]

MOST = 200  # rows of a table; it says how many it leaves out
_ORDER = ("worse", "better", "more", "fewer", "open")


def outcomes(record: Record, run: Record) -> list[dict[str, Any]]:
    """Return a run's contrasts of ordinal, score and set outcomes."""
    return of_run(record, "outcomes", run) if record.get("outcomes") else []


def set_apart(record: Record, run: Record) -> list[dict[str, Any]]:
    """Return what a run found where a difference can be clinically right, each with its sources."""
    found = of_run(record, "confounded", run) if record.get("confounded") else []
    return [
        {
            **entry,
            "sources": list(dict.fromkeys(e["source"] for e in entry.get("entries") or ())),
        }
        for entry in found
    ]


def subgroups(record: Record, run: Record) -> list[dict[str, Any]]:
    """Return, by domain and by difficulty, floors by group and gaps with a column a group."""
    entries = of_run(record, "subgroups", run) if record.get("subgroups") else []
    return [
        _groups(by, [entry for entry in entries if entry["by"] == by])
        for by in dict.fromkeys(entry["by"] for entry in entries)
    ]


def _groups(by: str, groups: Sequence[Record]) -> dict[str, Any]:
    gaps: dict[tuple[str, str], dict[str, Any]] = {}
    for entry in groups:
        for gap in entry["gaps"]:
            gaps.setdefault((gap["condition"], gap["action"]), {})[entry["group"]] = gap
    rows = [
        {"condition": condition, "action": action, "cells": [row.get(e["group"]) for e in groups]}
        for (condition, action), row in gaps.items()
    ]
    return {
        "by": by,
        "groups": groups,
        "left_out": groups[0].get("left_out", []),
        "actions": list(dict.fromkeys(action for e in groups for action in e["floors"])),
        "rows": rows[:MOST],
        "n_more": max(0, len(rows) - MOST),
    }


def panel(record: Record) -> dict[str, Any] | None:
    """Return models and decodings side by side, a column each; None where there was one run."""
    found = record.get("panel")
    if not found:
        return None
    names = [seat["id"] for seat in found["seats"] if seat["run"] is not None]
    pairs = list(dict.fromkeys(tuple(entry["of"]) for entry in found["differences"]))
    return {
        "names": names,
        "lost": [seat for seat in found["seats"] if seat["run"] is None],
        "floors": [_row(entry, names) for entry in found["floors"]],
        "contrasts": [_row(entry, names) for entry in found["contrasts"][:MOST]],
        "n_more": max(0, len(found["contrasts"]) - MOST),
        "per_vignette": any(entry["vignette"] for entry in found["contrasts"]),
        "outcomes": [_row(entry, names) for entry in found.get("outcomes", ())[:MOST]],
        "left_out": found.get("left_out", ()),
        "notes": [
            *(
                f"{s['id']}: {s['fault']}"
                for s in found["seats"]
                if s["fault"] and s["run"] is not None
            ),
            *found.get("notes", ()),
        ],
        "pairs": [
            _pair(a, b, [e for e in found["differences"] if e["of"] == [a, b]]) for a, b in pairs
        ],
        "agreement": [
            entry
            for entry in found["agreement"]
            if entry["kendall_tau_b"] is not None or entry["spearman"] is not None
        ],
    }


def _row(entry: Record, names: Sequence[str]) -> dict[str, Any]:
    return {**entry, "cells": [entry["seats"].get(name) for name in names]}


def _pair(a: str, b: str, entries: Sequence[Record]) -> dict[str, Any]:
    return {"a": a, "b": b, "entries": entries[:MOST], "n_more": max(0, len(entries) - MOST)}


def baseline(record: Record) -> dict[str, Any] | None:
    """Return what changed since an earlier record, the worst first; None where there is none."""
    found = record.get("baseline")
    if not found:
        return None
    return {**found, "runs": [_compared(run) for run in found["runs"]]}


def _compared(run: Record) -> dict[str, Any]:
    changes = sorted(run["changes"], key=lambda entry: _ORDER.index(entry["change"]))
    still = [entry for entry in changes if entry["change"] == "open"]
    return {
        **run,
        "tally": [(change, run["counts"][change]) for change in _ORDER],
        "tables": [
            (title, entries[:MOST], max(0, len(entries) - MOST))
            for title, entries in (
                ("shown to have changed", [e for e in changes if e["change"] != "open"]),
                ("open", still),
            )
            if entries
        ],
    }
