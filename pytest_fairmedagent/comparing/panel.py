"""The seats of a panel beside each other: plain tables of what each has, and what differs.

All of it is exploratory: q-values by Benjamini and Hochberg within two seats and a kind of reading,
and nothing fails. Each seat is a run with floors and families of its own; none is carried over.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from pytest_fairmedagent.comparing.changes import (
    FLOOR,
    POOLED,
    Entry,
    floor_changes,
    gap_changes,
    rate_changes,
)
from pytest_fairmedagent.comparing.comparable import run_notes
from pytest_fairmedagent.comparing.side import Side, sides_of
from pytest_fairmedagent.report.entries import of_run
from pytest_fairmedagent.report.record import plain
from pytest_fairmedagent.stats import benjamini_hochberg, spearman


def panel_entry(record: Mapping[str, Any], seats: Sequence[Mapping[str, Any]] = ()) -> Entry:
    """Return what a record of several runs says of them side by side.

    `seats` are those that were asked for, `fault` telling what kept one from being drawn, wholly or
    to its end; without them, those that the record has.
    """
    sides = sides_of(record)
    faults = {seat["id"]: seat.get("fault") for seat in seats}
    drawn = [_seat(side, faults) for side in sides]
    missing = [seat for seat in seats if seat["id"] not in {one["id"] for one in drawn}]
    entry = {
        "seats": [*drawn, *({"run": None, "fault": None, **seat} for seat in missing)],
        **tables(sides),
        "differences": [entry for a, b in _pairs(sides) for entry in _differences(a, b)],
        "agreement": [agreement(a, b) for a, b in _pairs(sides)],
        "notes": [note for side in sides for note in run_notes(side)],
    }
    cleaned: Entry = plain(entry)
    return cleaned


def tables(sides: Sequence[Side]) -> Entry:
    """Return floors, contrasts and other outcomes of several runs side by side.

    `left_out` says what of the runs stands in none of these tables.
    """
    return {
        "floors": list(_floors(sides)),
        "contrasts": list(_contrasts(sides)),
        "outcomes": list(_outcomes(sides)),
        "left_out": list(_left_out(sides)),
    }


def _seat(side: Side, faults: Mapping[str, str | None]) -> Entry:
    seat = side.run.get("seat") or {}
    name = seat.get("id") or side.name
    return {
        "id": name,
        "model": seat.get("model", side.run["model"]),
        "decoding": seat.get("decoding", ""),
        "run": side.run["number"],
        "fault": None if side.run["complete"] else faults.get(name),
    }


def _pairs(sides: Sequence[Side]) -> Iterator[tuple[Side, Side]]:
    """Yield every two runs that differ in one thing: the model, or the decoding."""
    for a, b in combinations(sides, 2):
        one, other = (side.run.get("seat") or {} for side in (a, b))
        both = one and one["model"] != other["model"] and one["decoding"] != other["decoding"]
        if not both:
            yield a, b


def _floors(sides: Sequence[Side]) -> Iterator[Entry]:
    arms = {
        side.name: arm
        for side in sides
        for arm in of_run(side.record, "arms", side.run)
        if arm["condition"] == side.reference
    }
    actions = dict.fromkeys(action for side in sides for action in side.actions)
    for action in (*actions, POOLED):
        found = {
            name: arm["pooled"] if action == POOLED else arm["actions"][action]
            for name, arm in arms.items()
            if action == POOLED or action in arm["actions"]
        }
        yield {
            "action": action,
            "seats": {
                name: {key: floor.get(key) for key in ("floor", "interval", "pairs", "rate")}
                for name, floor in found.items()
            },
        }


def _contrasts(sides: Sequence[Side]) -> Iterator[Entry]:
    members = dict.fromkeys(member for side in sides for member in side.contrasts)
    for condition, action, vignette in members:
        yield {
            "condition": condition,
            "action": action,
            "vignette": vignette,
            "seats": {
                side.name: {
                    **{key: found[key] for key in ("gap", "interval", "floor", "verdict")},
                    "p": found["p_adjusted"] if found["q"] is None else found["q"],
                }
                for side in sides
                for found in [side.contrasts.get((condition, action, vignette))]
                if found is not None
            },
        }


def _outcomes(sides: Sequence[Side]) -> Iterator[Entry]:
    """Yield scores, levels and sets: in their own units, and without a test between two runs."""
    members = dict.fromkeys(member for side in sides for member in side.outcomes)
    for condition, outcome, vignette in members:
        found = {
            side.name: side.outcomes[condition, outcome, vignette]
            for side in sides
            if (condition, outcome, vignette) in side.outcomes
        }
        yield {
            "condition": condition,
            "outcome": outcome,
            "unit": next(iter(found.values()))["unit"],
            "vignette": vignette,
            "seats": {
                name: {
                    **{key: one[key] for key in ("gap", "interval", "floor", "verdict")},
                    # Of a set, the member whose gap it is: two runs may differ in it.
                    "member": next((m["member"] for m in one.get("members") or ()), None),
                }
                for name, one in found.items()
            },
        }


def _left_out(sides: Sequence[Side]) -> Iterator[str]:
    known = (entry for side in sides for entry in side.part("relations"))
    relations = ", ".join(dict.fromkeys(entry["relation"] for entry in known))
    if relations:
        yield f"relations of one's own ({relations}): what they test, only their author knows"
    if any(side.outcomes for side in sides):
        yield (
            "differences of scores, levels and sets between two runs: only floors, rates and gaps "
            "of actions are tested against each other"
        )


def _differences(a: Side, b: Side) -> Iterator[Entry]:
    shared = set(a.vignettes) & set(b.vignettes)
    for found in (
        list(floor_changes(a, b, shared)),
        list(rate_changes(a, b, shared, [b.reference])),
        list(gap_changes(a, b, shared)),
    ):
        tested = [entry for entry in found if not math.isnan(entry["p"])]
        for entry, q in zip(tested, benjamini_hochberg([e["p"] for e in tested]), strict=True):
            entry["q"] = float(q)
        for entry in found:
            entry.pop("gating")
            entry.pop("se", None)
            yield {"of": [a.name, b.name], **entry}


def agreement(a: Side, b: Side) -> Entry:
    """Return how alike two runs order their actions by floor: described, for six decide little."""
    from scipy.stats import kendalltau

    shared = set(a.vignettes) & set(b.vignettes)
    known = [e for e in floor_changes(a, b, shared) if e["action"] != POOLED]
    x, y = [e["a"] for e in known], [e["b"] for e in known]
    measured = len(known) > 1
    return {
        "of": [a.name, b.name],
        "by": FLOOR,
        "actions": len(known),
        "kendall_tau_b": float(kendalltau(x, y).statistic) if measured else None,
        "spearman": spearman(x, y).rho if measured else None,
    }
