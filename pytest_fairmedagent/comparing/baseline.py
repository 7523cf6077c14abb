"""A run against an earlier one of the same plan: what got worse or better beyond both floors.

One error rate for the whole comparison: if nothing changed, anything at all is reported with chance
at most alpha. Half of it is for gaps, a quarter each for floors and for rates; Holm in each, over
what is registered, so that running less can only make a claim more cautious.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_fairmedagent.comparing.changes import (
    FLOOR,
    GAP,
    RATE,
    Entry,
    detectable,
    floor_changes,
    gap_changes,
    rate_changes,
)
from pytest_fairmedagent.comparing.comparable import comparable, configuration_changes, notes
from pytest_fairmedagent.comparing.panel import agreement, tables
from pytest_fairmedagent.comparing.side import Side, sides_of
from pytest_fairmedagent.errors import PlanError
from pytest_fairmedagent.report.record import plain
from pytest_fairmedagent.stats import benjamini_hochberg, holm

ALPHA = 0.05
SHARES = {GAP: 0.5, FLOOR: 0.25, RATE: 0.25}

WORSE, BETTER, MORE, FEWER, OPEN = "worse", "better", "more", "fewer", "open"


def compare_sides(a: Side, b: Side, *, alpha: float = ALPHA) -> Entry:
    """Return what changed from run a to run b, with a `change` for each reading.

    A gap is `worse` where it is farther from 0 than before, a floor where it is higher; a rate has
    no better, it is `more` or `fewer`. What is not shown to have changed is `open`, which is not
    the same as unchanged. Gaps of exploratory families have q-values and claim nothing. Raises
    PlanError where nothing can be compared.
    """
    found = comparable(a, b)
    entries = [
        *gap_changes(a, b, found.vignettes),
        *floor_changes(a, b, found.vignettes),
        *rate_changes(a, b, found.vignettes, found.conditions),
    ]
    entries = [e for e in entries if e["condition"] in found.conditions]
    registered = {
        GAP: len(b.gating),
        FLOOR: len(b.actions),
        RATE: len(b.conditions) * len(b.actions),
    }
    levels = {kind: alpha * share for kind, share in SHARES.items()}
    for kind in SHARES:
        _judge([e for e in entries if e["kind"] == kind], levels[kind], registered[kind])
    changes = [e["change"] for e in entries]
    entry: Entry = {
        "run": b.run["number"],
        "of": a.run["number"],
        "a": a.name,
        "b": b.name,
        "alpha": alpha,
        "levels": levels,
        "registered": registered,
        "same_plan": found.same_plan,
        "vignettes": len(found.vignettes),
        "differs": list(found.differs),
        "configuration": list(
            configuration_changes(a.run["configuration"], b.run["configuration"])
        ),
        "notes": list(notes(a, b)),
        "changes": entries,
        "counts": {change: changes.count(change) for change in (WORSE, BETTER, MORE, FEWER, OPEN)},
    }
    cleaned: Entry = plain(entry)
    return cleaned


def _judge(entries: Sequence[Entry], level: float, members: int) -> None:
    """Adjust the p-values of one kind and say of each entry what its change is."""
    tested = [e for e in entries if e["gating"]]
    others = [e for e in entries if not e["gating"] and e["kind"] == GAP]
    for entry in entries:
        entry |= {"p_adjusted": None, "q": None, "change": OPEN, "detectable": None}
        if "se" in entry:
            entry["detectable"] = detectable(entry, alpha=level, members=members)
            del entry["se"]
    if others:
        for entry, q in zip(others, benjamini_hochberg([e["p"] for e in others]), strict=True):
            entry["q"] = float(q)
    if not tested:
        return
    adjusted = holm([e["p"] for e in tested], n_members=max(members, len(tested)))
    for entry, p in zip(tested, adjusted, strict=True):
        entry["p_adjusted"] = float(p)
        if p <= level:
            entry["change"] = _direction(entry)


def _direction(entry: Entry) -> str:
    if entry["kind"] == RATE:
        return MORE if entry["difference"] > 0 else FEWER
    if entry["kind"] == GAP:
        return WORSE if abs(entry["b"]) > abs(entry["a"]) else BETTER
    low, high = entry["interval"]
    if (
        low <= 0 <= high
    ):  # the p asks about these vignettes, the interval about vignettes like these
        return OPEN
    return WORSE if entry["difference"] > 0 else BETTER


def baseline_entry(record: Mapping[str, Any], earlier: Mapping[str, Any], file: str) -> Entry:
    """Return the comparison of every run of a record with its counterpart in an earlier record.

    Where the earlier one has a single run, that is the counterpart of all. Raises PlanError where a
    run has none, or where nothing of it can be compared.
    """
    return {
        "file": file,
        "created": earlier["created"],
        "runs": [compare_sides(*pair) for pair in counterparts(earlier, record, file)],
    }


def compared_records(
    before: Mapping[str, Any], after: Mapping[str, Any], file_before: str, file_after: str
) -> Entry:
    """Return two records side by side, and what changed from the first to the second.

    Raises PlanError as `baseline_entry`.
    """
    pairs = counterparts(before, after, file_before, names=(file_before, file_after))
    sides = list({side.name: side for pair in pairs for side in pair}.values())
    entry = {
        "schema": 1,
        "before": {"file": file_before, "created": before["created"]},
        "after": {"file": file_after, "created": after["created"]},
        **tables(sides),
        "agreement": [agreement(*pair) for pair in pairs],
        "runs": [compare_sides(*pair) for pair in pairs],
    }
    cleaned: Entry = plain(entry)
    return cleaned


def counterparts(
    earlier: Mapping[str, Any],
    record: Mapping[str, Any],
    file: str,
    *,
    names: tuple[str, str] = ("baseline", ""),
) -> list[tuple[Side, Side]]:
    """Return every run of a record behind its counterpart: of the same seat, else of the model.

    A single run on both sides is compared whatever its model. `names` stand before those of runs.
    """
    before, now = sides_of(earlier, names[0]), sides_of(record, names[1])
    if len(before) == 1:
        return [(before[0], side) for side in now]
    if len(before) == len(now) and all(_kin(a, b) for a, b in zip(before, now, strict=True)):
        return list(zip(before, now, strict=True))
    pairs = []
    for side in now:
        found = [other for other in before if _kin(other, side)]
        if len(found) != 1:
            held = ", ".join(other.name for other in before)
            raise PlanError(
                f"{file}: holds {len(found)} runs that {side.name} could be compared with, "
                f"expected 1. It holds {held}.\n  Compare records of the same models."
            )
        pairs.append((found[0], side))
    return pairs


def _kin(a: Side, b: Side) -> bool:
    one, other = a.run.get("seat"), b.run.get("seat")
    if one and other:
        return bool(one["model"] == other["model"] and one["decoding"] == other["decoding"])
    return bool(a.run["model"] == b.run["model"])
