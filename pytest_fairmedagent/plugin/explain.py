"""`--fairmed-explain NODEID`: which contrasts the item tests, and their record retold in words."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

import pytest

from pytest_fairmedagent.plugin.session import run_of
from pytest_fairmedagent.report.explained import explained_lines

Record = dict[str, Any]

PART = "explain"  # of a record on its way to the process that writes it


def asked(config: pytest.Config, nodeid: str | None) -> Record | None:
    """Return node id, contrasts and seat of the item that is asked for; None where none is.

    An item that is not there is told with the ids that come near, in place of its contrasts.
    """
    if nodeid is None:
        return None
    run = run_of(config)
    items = {item.nodeid: item for item in run.selected}
    found = [nodeid] if nodeid in items else [known for known in items if nodeid in known]
    if len(found) != 1:
        why = (
            f"{len(found)} items have {nodeid!r} in their node ids, such as {found[0]}"
            if found
            else f"no item of this run has {nodeid!r} in its node id{_near(nodeid, items)}"
        )
        return {"nodeid": nodeid, "fault": why}
    item = items[found[0]]
    places = [[c.family, c.swap, c.action, c.vignette] for c in run.contrasts(item)]
    return {
        "nodeid": item.nodeid,
        "contrasts": places,
        "floors": bool({"floor", "study"} & {*_arguments(item)}),
        "seat": run.seat(item).id,
    }


def explanation(record: Record, wanted: Iterable[Record | None], *, width: int) -> list[str]:
    """Return the lines that retell what was asked for: the first that any process knows."""
    known = [entry for entry in wanted if entry is not None]
    entry = next((e for e in known if "fault" not in e), known[0] if known else None)
    if entry is None:
        return []
    if "fault" in entry:
        return ["", f"--fairmed-explain: {entry['fault']}"]
    seats = {run.get("number", 0): run.get("seat", {}).get("id", "") for run in record["runs"]}
    of_seat = {
        **record,
        **{
            part: [e for e in record[part] if seats.get(e.get("run", 0), "") == entry["seat"]]
            for part in ("swaps", "contrasts", "outcomes", "relations", "reliability")
        },
    }
    asked_for = entry["nodeid"], entry["contrasts"]
    return ["", *explained_lines(of_seat, *asked_for, width=width, floors=entry["floors"])]


def _arguments(item: pytest.Item) -> Iterable[str]:
    """Return the names of an item's own arguments, without those that its fixtures ask for."""
    names: Iterable[str] = getattr(getattr(item, "_fixtureinfo", None), "argnames", ())
    return names


def _near(nodeid: str, items: Iterable[str]) -> str:
    known = sorted(items)
    near = difflib.get_close_matches(nodeid, known, n=1, cutoff=0.3) or known[:1]
    return f"; one is {near[0]}" if near else ""
