"""Floors and signed gaps of actions by domain and difficulty: counts, described and never tested.

There is no interval and no p here: looking at ten subgroups of every contrast finds something. A
subgroup that matters is registered before the run, as a family with vignettes of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_fairmedagent.report.entries import of_run
from pytest_fairmedagent.stats import floor, stratified_test

Record = Mapping[str, Any]

BY = ("domain", "difficulty")


def subgroup_entries(record: Record, run: Record) -> Iterator[dict[str, Any]]:
    """Yield what a run found in each domain and difficulty; nothing where all cases are alike."""
    cells, left_out = _cells(record, run), _left_out(record)
    drawn = sorted({vignette for vignette, _ in cells})
    for by in BY:
        groups: dict[str, list[str]] = {}
        for vignette in drawn:
            name = record["vignettes"].get(vignette, {}).get(by)
            if name is not None:
                groups.setdefault(name, []).append(vignette)
        for name, vignettes in sorted(groups.items()) if len(groups) > 1 else ():
            yield {
                "by": by,
                "group": name,
                "vignettes": _n_bases(record, vignettes),
                "floors": dict(_floors(cells, vignettes)),
                "gaps": list(_gaps(record, run, vignettes)),
                "left_out": left_out,
                "config_digest": run["config_digest"],
            }


def _left_out(record: Record) -> list[str]:
    """Return the registered outcomes that are no actions, and relations: they are not described."""
    actions = next((row["labels"].keys() for row in record["rows"]), ())
    families = record["plan"]["families"]
    outcomes = [name for f in families for name in f["actions"] if name not in actions]
    relations = [f["relation"].split()[0] for f in families if f.get("relation")]
    return list(dict.fromkeys([*outcomes, *relations]))


def _cells(record: Record, run: Record) -> dict[tuple[str, str], list[Record]]:
    """Return the labels of every vignette and action in the reference arm of a run."""
    found: dict[tuple[str, str], list[Any]] = {}
    for row in record["rows"]:
        mine = row["config"] == run["config_digest"]
        if mine and row["condition"] == record["plan"]["reference"]:
            for action, label in row["labels"].items():
                found.setdefault((row["vignette"], action), []).append(label)
    return found


def _floors(
    cells: Mapping[tuple[str, str], Sequence[Any]], vignettes: Sequence[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    for action in dict.fromkeys(action for _, action in cells):
        rows = [cells.get((vignette, action), ()) for vignette in vignettes]
        k, n = [row.count(True) for row in rows], [len(row) - row.count(None) for row in rows]
        measured = floor(k, n)
        yield (
            action,
            {
                "disagreements": measured.disagreements,
                "pairs": measured.pairs,
                "floor": measured.rate,
                "rate": sum(k) / sum(n) if sum(n) else None,
                "missing": sum(row.count(None) for row in rows),
            },
        )


def _gaps(record: Record, run: Record, vignettes: Sequence[str]) -> Iterator[dict[str, Any]]:
    seen = set()
    for contrast in of_run(record, "contrasts", run):
        place = (contrast["condition"], contrast["action"])
        cases = [case for case in contrast["cases"] if case["vignette"] in vignettes]
        counted = bool(cases) and "swap" in cases[0]  # outcomes of other kinds have no counts
        if contrast["vignette"] is not None or place in seen or not counted:
            continue
        seen.add(place)
        test = stratified_test(*_arm(cases, "swap"), *_arm(cases, "reference"))
        if test.weight:
            yield {
                "condition": place[0],
                "action": place[1],
                "vignettes": _n_bases(record, [case["vignette"] for case in cases]),
                "pairs": test.n_pairs,
                "b": test.b,
                "c": test.c,
                "gap": test.gap,
            }


def _n_bases(record: Record, vignettes: Sequence[str]) -> int:
    """Return how many vignettes there are, variants of one counted once."""
    return len({record["vignettes"].get(name, {}).get("cluster", name) for name in vignettes})


def _arm(cases: Sequence[Record], arm: str) -> tuple[list[int], list[int]]:
    return [case[arm][0] for case in cases], [case[arm][1] for case in cases]


def subgroup_lines(entries: Sequence[Record]) -> Iterator[str]:
    """Yield floors and the widest gap of every subgroup of a run."""
    if not entries:
        return
    yield ""
    yield "by domain and difficulty (described, not tested: register what matters as a family)"
    for entry in entries:
        pairs = sum(f["pairs"] for f in entry["floors"].values())
        apart = sum(f["disagreements"] for f in entry["floors"].values())
        word = "vignette," if entry["vignettes"] == 1 else "vignettes,"
        line = f"  {entry['group']:<26} {entry['vignettes']:>3} {word:<10} floor "
        line += f"{apart / pairs:.3f} ({apart} of {pairs} pairs)" if pairs else "unmeasured"
        if entry["gaps"]:
            widest = max(entry["gaps"], key=lambda gap: abs(gap["gap"]))
            of = "the gap" if len(entry["gaps"]) == 1 else f"widest of {len(entry['gaps'])} gaps"
            line += (
                f"; {of} {widest['gap']:+.2f} "
                f"({widest['action']}, {widest['condition']}, {widest['pairs']:.4g} pairs)"
            )
        yield line
    left_out = entries[0].get("left_out")
    if left_out:
        yield f"  not here: {', '.join(left_out)}; only actions are broken down"
