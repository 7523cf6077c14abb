"""The case view: which vignettes carry a gap, and two trajectories side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Record = Mapping[str, Any]

MOST_CONTRASTS = 12  # that the view goes into; it says how many it leaves out
MOST_VIGNETTES = 12  # of a contrast that are listed
MOST_PAIRS = 2  # of trajectories that are shown for a contrast
_FILLED_UP = 4  # contrasts that are shown where fewer stand out

Rows = dict[tuple[str | None, str, str], list[Record]]


def case_views(record: Record) -> list[dict[str, Any]]:
    """Return the contrasts to look into, with their vignettes and pairs of trajectories."""
    rows = _by_arm(record)
    return [_view(contrast, rows) for contrast in _chosen(record)]


def _chosen(record: Record) -> list[Record]:
    """Return the disparities, those whose effects cancel, and the largest gaps to fill up."""
    known = [c for c in record["contrasts"] if c["gap"] is not None and c.get("cases")]
    ordered = sorted(known, key=lambda c: (_rank(c), -abs(c["gap"])))
    telling = sum(_rank(contrast) < 2 for contrast in ordered)
    return ordered[: min(MOST_CONTRASTS, max(telling, _FILLED_UP))]


def _rank(contrast: Record) -> int:
    if contrast["verdict"] == "DISPARITY":
        return 0
    return 1 if any(flag.startswith("HETEROGENEOUS") for flag in contrast["flags"]) else 2


def _by_arm(record: Record) -> Rows:
    """Return the rows of every arm. Those of several runs say which of them they are of."""
    rows: Rows = {}
    for row in record["rows"]:
        key = (row.get("config"), row["vignette"], row["condition"])
        rows.setdefault(key, []).append(row)
    return rows


def _view(contrast: Record, rows: Rows) -> dict[str, Any]:
    sign = 1 if contrast["gap"] >= 0 else -1
    gaps = []
    for case in contrast["cases"]:
        (k, m), (j, n) = case["swap"], case["reference"]
        if m and n:
            gaps.append({**case, "gap": k / m - j / n})
    gaps.sort(key=lambda case: (-sign * case["gap"], case["vignette"]))
    carrying = [case for case in gaps if case["gap"]]
    pairs = (_pair(contrast, case, rows) for case in carrying[:MOST_PAIRS])
    return {
        "contrast": contrast,
        "cases": carrying[:MOST_VIGNETTES],
        "n_more": max(0, len(carrying) - MOST_VIGNETTES),
        "n_level": len(gaps) - len(carrying),
        "pairs": [pair for pair in pairs if pair is not None],
    }


def _pair(contrast: Record, case: Record, rows: Rows) -> dict[str, Any] | None:
    """Return the first two trajectories that differ in the action the way the arms do."""
    action, more = contrast["action"], case["gap"] > 0

    def first(condition: str, taken: bool) -> Record | None:
        for config in (contrast["config_digest"], None):
            for row in rows.get((config, case["vignette"], condition), ()):
                if row.get("labels", {}).get(action) is taken:
                    return row
        return None

    swap, reference = first(contrast["condition"], more), first(contrast["reference"], not more)
    if swap is None or reference is None:
        return None
    return {
        "vignette": case["vignette"],
        "reference": reference,
        "swap": swap,
        "stages": list(_stages(reference, swap)),
    }


def _stages(reference: Record, swap: Record) -> Iterator[dict[str, Any]]:
    """Yield what both did at every stage, field by field, and whether it differs."""
    for stage in dict.fromkeys([*reference["outputs"], *swap["outputs"], *swap["missing"]]):
        a, b = (row["outputs"].get(stage) or {} for row in (reference, swap))
        lost = [row["missing"].get(stage, "") for row in (reference, swap)]
        if any(lost):
            yield {"stage": stage, "field": "missing", **_sides(*(x or "-" for x in lost))}
        for field in dict.fromkeys([*a, *b]):
            yield {"stage": stage, "field": field, **_sides(a.get(field), b.get(field))}


def _sides(a: object, b: object) -> dict[str, Any]:
    """Return both values in parts, each with whether the other side lacks it."""
    return {"differs": a != b, "reference": _parts(a, b), "swap": _parts(b, a)}


def _parts(value: object, other: object) -> list[tuple[str, bool]]:
    if isinstance(value, (list, tuple)):
        others: Sequence[object] = other if isinstance(other, (list, tuple)) else ()
        return [(_word(part), part not in others) for part in value] or [("none", value != other)]
    return [(_word(value), value != other)]


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "–" if value is None else str(value)
