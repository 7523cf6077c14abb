"""The records of a session in one: of its models and agents, as every process has them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from pytest_fairmedagent.plugin.explain import PART as ASKED
from pytest_fairmedagent.report.context import budget_entry

Record = dict[str, Any]


def merge(records: Iterable[Record]) -> Record:
    """Return one record of at least one that each hold one run.

    The workers of xdist judge the same run alike; of theirs the one is taken that began first, for
    it knows what was drawn.
    """
    chosen: dict[tuple[Any, ...], Record] = {}
    counted: dict[tuple[Any, ...], dict[str, int]] = defaultdict(
        lambda: {"calls_found": 0, "calls_made": 0}
    )
    told: dict[tuple[Any, ...], dict[str, list[Record]]] = defaultdict(
        lambda: {"reliability": [], "relations": []}
    )
    for record in records:
        record.pop(ASKED, None)
        run = record["runs"][0]
        asked = [
            (e["family"], e["condition"], e.get("outcome") or e["action"], e["vignette"])
            for e in (*record["contrasts"], *record["outcomes"])
        ]
        key = (run.get("seat", {}).get("id"), run["config_digest"], *asked)
        for name in counted[key]:  # each process counts its own
            counted[key][name] += run[name]
        if key not in chosen or chosen[key]["runs"][0]["drawn"] < run["drawn"]:
            chosen[key] = record
        for part, found_there in told[key].items():  # each process asserts a part of them
            found_there += [e for e in record[part] if e not in found_there]
    for key, record in chosen.items():
        record["runs"][0].update(counted[key])
        record.update(told[key])
    # Processes come in any order: seats stand as they were asked for.
    found = sorted(chosen.values(), key=lambda r: r["runs"][0].get("seat", {}).get("number", 0))
    whole, *others = found
    for number, other in enumerate(others, start=1):
        for part in (
            "arms",
            "swaps",
            "contrasts",
            "confounded",
            "controls",
            "guards",
            "diagnostics",
            "subgroups",
            "outcomes",
            "reliability",
            "relations",
        ):
            whole[part] += [{**entry, "run": number} for entry in other[part]]
        for part in ("conditions", "vignettes"):
            whole[part] = {**other[part], **whole[part]}
        whole["runs"] += [{**run, "number": number} for run in other["runs"]]
    # Two runs of one configuration share what they both needed: a copy is no further trajectory.
    rows = {_place(row): row for record in found for row in record["rows"]}
    whole["rows"] = list(rows.values())
    for other in others:
        whole["deviations"] += [d for d in other["deviations"] if d not in whole["deviations"]]
    judged = [*whole["contrasts"], *whole["outcomes"], *whole["relations"]]
    counts = Counter(entry["verdict"] for entry in judged)
    whole["verdicts"] = {status: counts[status] for status in whole["verdicts"]}
    whole["complete"] = all(run["complete"] for run in whole["runs"])
    whole["budget"] = budget_entry(whole["runs"])
    return whole


def one_configuration(records: Iterable[Record]) -> dict[str, str]:
    """Return the seats of a panel that drew in the configuration of a seat before them.

    With the reason, by id. The processes of xdist may each have drawn for one of the two, and none
    of them can know of the other: what they drew is one series, and its floor is one floor.
    """
    runs = [record["runs"][0] for record in records]
    seats = {run["seat"]["number"]: run for run in runs if "seat" in run}
    first: dict[str, str] = {}
    found: dict[str, str] = {}
    for _, run in sorted(seats.items()):
        name, digest = run["seat"]["id"], run["config_digest"]
        if first.setdefault(digest, name) != name:
            found[name] = (
                f"{name} and {first[digest]} are one configuration, {digest[:12]}: what they draw "
                "is one series, and its floor is one floor"
            )
    return found


def _place(row: Record) -> tuple[Any, ...]:
    return row["config"], row["vignette"], row["condition"], row["replicate"]
