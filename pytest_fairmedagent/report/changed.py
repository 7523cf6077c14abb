"""What changed since a baseline, or from one record to another, in lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_fairmedagent.report.numbers import chance, ends, rate, signed

Entry = Mapping[str, Any]


def baseline_lines(baseline: Entry, *, verbose: bool = False) -> Iterator[str]:
    """Yield what a run and its baseline have come to."""
    yield f"compared with {baseline['file']} of {baseline['created']}"
    for run in baseline["runs"]:
        yield from comparison_lines(run, several=len(baseline["runs"]) > 1, verbose=verbose)


def comparison_lines(run: Entry, *, several: bool = False, verbose: bool = False) -> Iterator[str]:
    """Yield what changed between two runs, and what of them was compared."""
    if several:
        yield f"  {run['b']} (before: {run['a']})"
    yield from shared_lines(run)
    told = [e for e in run["changes"] if e["change"] != "open"]
    for entry in told if not verbose else run["changes"]:
        yield f"  {change_line(entry)}"
    counts = run["counts"]
    yield (
        f"  {counts['worse']} got worse, {counts['better']} better beyond both floors; "
        f"{counts['more'] + counts['fewer']} rates moved; {counts['open']} stay open, which is not "
        "the same as unchanged."
    )
    yield bound_line(run)


def shared_lines(run: Entry) -> Iterator[str]:
    """Yield what two runs have in common, and what they do not."""
    plan = "same plan" if run["same_plan"] else "another plan, compared on what both have"
    yield f"  {plan}, {run['vignettes']} vignettes"
    for line in [*run["differs"], *run["notes"]]:
        yield f"    {line}"
    for index, line in enumerate(run["configuration"]):
        yield f"  {'configuration:' if not index else '              '} {line}"


def bound_line(run: Entry) -> str:
    """Return the error rate of a comparison, and what it could have seen."""
    levels = run["levels"]
    seen = [e["detectable"] for e in run["changes"] if e["detectable"] is not None and e["gating"]]
    unseen = f" Changes of a gap below {min(seen):.2f} would pass unseen." if seen else ""
    return (
        f"  If nothing changed, anything at all is reported with chance at most {run['alpha']:g} "
        f"(gaps {levels['gap']:g}, floors {levels['floor']:g}, rates {levels['rate']:g}; Holm)."
        f"{unseen}"
    )


def change_line(entry: Entry) -> str:
    """Return one change in a line that stands alone."""
    form = signed if entry["kind"] == "gap" else rate
    where = f", on {entry['vignette']}" if entry["vignette"] else ""
    return (
        f"{entry['change'].upper():<6} {entry['kind']} {entry['action']}, {entry['condition']}"
        f"{where}: {form(entry['a'])} to {form(entry['b'])}, {signed(entry['difference'])} "
        f"{ends(entry['interval'])}, {value(entry)}"
    )


def value(entry: Entry) -> str:
    if entry.get("q") is not None:
        return f"q={chance(entry['q'])}"
    if entry.get("p_adjusted") is not None:
        return f"p={chance(entry['p_adjusted'])}"
    return "not tested"
