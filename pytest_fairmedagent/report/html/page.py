"""What the page shows, taken out of a record: nothing is computed, things are put side by side."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_fairmedagent.report.cases import MOST_CONTRASTS, case_views
from pytest_fairmedagent.report.checklist import SOURCE
from pytest_fairmedagent.report.entries import of_run
from pytest_fairmedagent.report.html.figures import family_figures, floor_figures
from pytest_fairmedagent.report.html.parts import (
    baseline,
    outcomes,
    panel,
    set_apart,
    subgroups,
)
from pytest_fairmedagent.report.looked import goes_on, looked_lines
from pytest_fairmedagent.report.sentences import count, run_names, sentences
from pytest_fairmedagent.report.text import tame
from pytest_fairmedagent.report.wholes import unnamed
from pytest_fairmedagent.verdict import SEVERITY

Record = Mapping[str, Any]

GLYPHS = {
    "DISPARITY": "◆",
    "EQUIVALENT": "●",
    "IDENTICAL": "■",
    "INCONCLUSIVE": "○",
    "UNMEASURED": "✕",
}
MEANINGS = {
    "DISPARITY": "a signed gap beyond the agent’s own noise",
    "EQUIVALENT": "the gap lies inside the margin",
    "IDENTICAL": "whole outputs repeat and agree on these cases",
    "INCONCLUSIVE": "neither was shown",
    "UNMEASURED": "no verdict may be given",
}
MOST_ROWS = 600  # contrasts of a family that its table lists


def page(record: Record) -> dict[str, Any]:
    """Return the values of the page's template."""
    several = len(record["runs"]) > 1
    anchors = {id(c): f"c{index}" for index, c in enumerate(record["contrasts"], start=1)}
    others = record.get("outcomes") or ()
    anchors |= {id(entry): f"o{index}" for index, entry in enumerate(others, start=1)}
    names = run_names(record)
    runs = [
        _run(record, run, index, anchors, names)
        for index, run in enumerate(record["runs"], start=1)
    ]
    views = case_views(record)
    for view in views:
        view["anchor"] = anchors[id(view["contrast"])]
        view["whose"] = names.get(view["contrast"].get("run"), "")
    tally = [(status, record["verdicts"][status]) for status in SEVERITY]
    return {
        "record": record,
        "created": record["created"].replace("T", " ").replace("+00:00", " UTC"),
        "models": list(dict.fromkeys(run["model"] for run in record["runs"])),
        "sentences": [_whole(text) for text in sentences(record, lambda word: tame(word, 60))],
        "tally": [(status, n) for status, n in tally if n],
        "n_unnamed": len(unnamed(record)),
        "glyphs": GLYPHS,
        "meanings": MEANINGS,
        "runs": runs,
        "several": several,
        "views": views,
        "n_unviewed": _n_telling(record) - len(views),
        "most_views": MOST_CONTRASTS,
        "conditions": record["conditions"],
        "budget": record["budget"],
        "has_outcomes": any(r["outcomes"] or r["reliability"] or r["relations"] for r in runs),
        "has_subgroups": any(r["subgroups"] for r in runs),
        "panel": panel(record),
        "baseline": baseline(record),
        "checklist": _checklist(record.get("checklist") or ()),
        "checklist_source": SOURCE,
        "count": count,
    }


def _whole(text: str) -> Any:
    """Return a sentence of ours that is not to be cut; the names in it have been already."""
    from markupsafe import escape

    return escape(text)


def _n_telling(record: Record) -> int:
    return sum(contrast["verdict"] == "DISPARITY" for contrast in record["contrasts"])


def _run(
    record: Record, run: Record, number: int, anchors: Mapping[int, str], runs: Mapping[Any, str]
) -> dict[str, Any]:
    def mine(part: str) -> list[Any]:
        return of_run(record, part, run)

    arms, contrasts = mine("arms"), mine("contrasts")
    reference = next((a for a in arms if a["condition"] == record["plan"]["reference"]), None)
    floors = []
    if reference is not None:
        floors = [{"label": a, **f} for a, f in reference["actions"].items()]
        floors.append({"label": "pooled", "rate": None, **reference["pooled"]})
    others = mine("outcomes") if record.get("outcomes") else []
    wholes = mine("swaps") if record.get("swaps") else []
    names = dict.fromkeys(entry["family"] for entry in (*contrasts, *others))
    planned = {family["name"]: family for family in record["plan"]["families"]}
    families = [
        _family(
            planned[name],
            [c for c in contrasts if c["family"] == name],
            [o for o in others if o["family"] == name],
            [w for w in wholes if w["family"] == name],
            anchors,
            f"r{number}-f{i}",
        )
        for i, name in enumerate(names, start=1)
    ]
    name = runs.get(run.get("number"), run["model"])
    return {
        "run": run,
        "name": name,
        "heading": f" · {name}" if runs else "",
        "number": number,
        "arms": arms,
        "reference": reference,
        "floors": floors,
        "floor_figures": floor_figures(floors, f"r{number}-floor") if floors else {},
        "families": families,
        "confounded": set_apart(record, run),
        "outcomes": [(anchors[id(o)], o) for o in outcomes(record, run)],
        "reliability": mine("reliability") if record.get("reliability") else [],
        "relations": mine("relations") if record.get("relations") else [],
        "subgroups": subgroups(record, run),
        "looks": run.get("looks") or [],
        "before": looked_lines(run),
        "goes_on": goes_on(run),
        "notes": (run.get("concurrency") or {}).get("notes") or [],
        "controls": of_run(record, "controls", run),
        "guards": list(_guards(of_run(record, "guards", run))),
        "missing": sorted(
            (condition, reason, n)
            for condition, reasons in run["missing"].items()
            for reason, n in reasons.items()
        ),
        "n_incomplete": sum(sum(reasons.values()) for reasons in run["missing"].values()),
        "n_refused": sum(
            n
            for reasons in run["missing"].values()
            for reason, n in reasons.items()
            if "refus" in reason
        ),
        "configuration": sorted((k, _value(v)) for k, v in run["configuration"].items()),
    }


def _family(
    family: Record,
    contrasts: Sequence[Record],
    others: Sequence[Record],
    wholes: Sequence[Record],
    anchors: Mapping[int, str],
    name: str,
) -> dict[str, Any]:
    ordered = sorted(contrasts, key=lambda c: SEVERITY.index(c["verdict"]))
    wholes = sorted(
        wholes, key=lambda w: (SEVERITY.index(w["verdict"]), w["p_adjusted"], w["condition"])
    )[:MOST_ROWS]
    listed = contrasts if len(contrasts) <= MOST_ROWS else ordered[:MOST_ROWS]
    return {
        "family": family,
        "size": [*contrasts, *others][0]["family_size"],
        "margin": contrasts[0]["margin"] if contrasts else None,
        "alpha": [*contrasts, *others][0]["alpha"],
        "actions": family["actions"],
        "wholes": wholes,
        "matrix": _matrix(family, [*contrasts, *others], anchors, {id(c) for c in listed}),
        "contrasts": [(anchors[id(contrast)], contrast) for contrast in listed],
        "n_unlisted": len(contrasts) - len(listed),
        "per_vignette": any(contrast["vignette"] for contrast in contrasts),
        "name": name,
        **(family_figures(family, contrasts, name) if contrasts else {}),
    }


def _matrix(
    family: Record, contrasts: Sequence[Record], anchors: Mapping[int, str], listed: set[int]
) -> list[dict[str, Any]]:
    """Return swaps x actions; a cell of several contrasts, one for each vignette, has the worst."""
    cells: dict[tuple[str, str], list[Record]] = {}
    for contrast in contrasts:
        action = contrast["outcome"] if "outcome" in contrast else contrast["action"]
        cells.setdefault((contrast["condition"], action), []).append(contrast)

    def cell(swap: str, action: str) -> dict[str, Any] | None:
        found = cells.get((swap, action))
        if not found:
            return None
        worst = min(found, key=lambda c: (SEVERITY.index(c["verdict"]), -abs(c["gap"] or 0.0)))
        alike = sum(c["verdict"] == worst["verdict"] for c in found)
        return {
            "contrast": worst,
            "anchor": anchors[id(worst)] if id(worst) in listed or "unit" in worst else "",
            "unit": worst.get("unit", "rate"),
            "share": f"{alike} of {len(found)}" if len(found) > 1 else "",
        }

    return [
        {"swap": swap, "cells": [(action, cell(swap, action)) for action in family["actions"]]}
        for swap in family["swaps"]
        if any((swap, action) in cells for action in family["actions"])
    ]


def _guards(tests: Sequence[Record]) -> Iterator[dict[str, Any]]:
    for guard in dict.fromkeys(test["guard"] for test in tests):
        mine = [test for test in tests if test["guard"] == guard]
        yield {
            "guard": guard,
            "n": len(mine),
            "smallest": min(test["p_adjusted"] for test in mine),
            "rejecting": [test for test in mine if test["rejects"]],
        }


def _checklist(entries: Any) -> list[dict[str, str]]:
    """Return the entries of a checklist with their values as text, whatever their fields are."""
    if isinstance(entries, Mapping):
        entries = [{"item": name, "value": value} for name, value in entries.items()]
    return [
        {str(key): _value(value) for key, value in entry.items()}
        for entry in entries
        if isinstance(entry, Mapping)
    ]


def _value(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "–" if value is None else json.dumps(value, ensure_ascii=False)
