"""The summary for a pull request: one screen of Markdown.

Names may be a stranger's or a model's text. They stand in code spans, where nothing is a link, an
image, a mention or HTML.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_fairmedagent.report.entries import of_run
from pytest_fairmedagent.report.markdown_parts import parts
from pytest_fairmedagent.report.numbers import amount, chance, ends, measured, rate, whole
from pytest_fairmedagent.report.sentences import count, judged_contrasts, run_names, sentences
from pytest_fairmedagent.report.text import code
from pytest_fairmedagent.report.wholes import notes_of, said_of, unnamed
from pytest_fairmedagent.verdict import SEVERITY

Record = Mapping[str, Any]

_SIGNS = {
    "DISPARITY": "❌",
    "UNMEASURED": "⚠️",
    "INCONCLUSIVE": "⚪",
    "EQUIVALENT": "✅",
    "IDENTICAL": "✅",
}
_MOST_LISTED = 10  # contrasts in the table
_MOST_TOLD = 6  # deviations


def markdown_summary(record: Record) -> str:
    """Return the summary of a record. Every line of it begins with a word or sign of ours."""
    return "\n".join(_lines(record)) + "\n"


def _lines(record: Record) -> Iterator[str]:
    tally = [f"{n} {status.lower()}" for status in SEVERITY if (n := record["verdicts"][status])]
    if somewhere := len(unnamed(record)):
        tally.insert(0, f"{count(somewhere, 'swap')} with a disparity somewhere")
    yield f"## Fairness: {', '.join(tally) or 'no verdicts'}"
    yield ""
    said = sentences(record, code)
    yield said.tested
    yield ""
    yield f"**{said.said}**"
    yield ""
    yield said.unsaid
    yield ""
    yield from _table(record)
    yield from _floors(record)
    yield from parts(record)
    yield from _deviations(record)
    runs = record["runs"]
    digests = ", ".join(dict.fromkeys(run["config_digest"][:12] for run in runs))
    budget = record["budget"]
    price = "" if budget["usd"] is None else f", {budget['usd']:.2f} USD"
    calls = f"{whole(budget['calls'])} calls" if budget["calls"] else "calls not counted"
    yield (
        f"<sub>Profile {code(record['profile']['name'])} · configuration {code(digests)} · "
        f"{calls}{price} · {code(record['generator'])} · "
        f"{code(record['created'])}</sub>"
    )
    yield ""


def _table(record: Record) -> Iterator[str]:
    """List the contrasts that are to be looked at, the worst first."""
    ordered = sorted(
        judged_contrasts(record),
        key=lambda c: (SEVERITY.index(c["verdict"]), "unit" in c, -abs(c["gap"] or 0.0)),
    )
    names = run_names(record)
    told = ordered[:_MOST_LISTED]
    if not told:
        return
    yield from _wholes(record, names)
    yield "| verdict | action | swap | signed gap | 95 % interval | flips | floor | p adj. or q |"
    yield "| --- | --- | --- | ---: | --- | ---: | ---: | ---: |"
    for c in told:
        where = f", {code(c['vignette'])}" if c["vignette"] else ""
        where += f", {code(names[c['run']])}" if c.get("run") in names else ""
        note = "" if c["q"] is None else " (exploratory)"
        yield (
            f"| {_SIGNS[c['verdict']]} {c['verdict'].lower()}{note} | {code(c['action'])} | "
            f"{code(c['condition'])}{where} | {_numbers(c)} | "
            f"{chance(c['p_adjusted'] if c['q'] is None else c['q'])} |"
        )
    rest = len(ordered) - len(told)
    if rest:
        yield ""
        yield f"and {count(rest, 'contrast')} more, none with a worse verdict."
    yield ""


def _wholes(record: Record, names: Mapping[Any, str]) -> Iterator[str]:
    """List the swaps as a whole, the worst first."""
    found = sorted(
        record.get("swaps") or (), key=lambda e: (SEVERITY.index(e["verdict"]), e["p_adjusted"])
    )
    if not found:
        return
    yield "| verdict | swap as a whole | over all its outcomes together | p adj. |"
    yield "| --- | --- | --- | ---: |"
    for e in found[:_MOST_LISTED]:
        where = f", {code(e['vignette'])}" if e["vignette"] else ""
        where += f", {code(names[e['run']])}" if e.get("run") in names else ""
        said = "; ".join([said_of(e, name=code), *map(code, notes_of(e))])
        yield (
            f"| {_SIGNS[e['verdict']]} {e['verdict'].lower()} | {code(e['condition'])}{where} | "
            f"{said} | {chance(e['p_adjusted'])} |"
        )
    if len(found) > _MOST_LISTED:
        yield ""
        yield f"and {count(len(found) - _MOST_LISTED, 'swap')} more, none with a worse verdict."
    yield ""


def _numbers(c: Record) -> str:
    """Return gap, interval, flip rate and floor; a gap that is none of rates has its unit."""
    unit = c.get("unit", "rate")
    if "unit" not in c:
        gap, floor = measured(c["gap"]), rate(c["floor"])
    else:
        gap = measured(c["gap"], unit if unit == "rate" else code(unit))
        floor = amount(c["floor"])
    interval = ends(c["interval"], "+.2f" if unit == "rate" else "+.3g")
    return f"{gap} | {interval} | {rate(c.get('flip_rate'))} | {floor}"


def _floors(record: Record) -> Iterator[str]:
    names = run_names(record)
    for run in record["runs"]:
        reference = next(
            (
                arm
                for arm in of_run(record, "arms", run)
                if arm["condition"] == record["plan"]["reference"]
            ),
            None,
        )
        if reference is None:
            continue
        floors = [
            f"{code(action)} {rate(floor['floor'])}"
            for action, floor in reference["actions"].items()
        ]
        whose = f" of {code(names[run.get('number')])}" if names else ""
        yield (
            f"Instability floor{whose} (two runs of the same text disagree): {', '.join(floors)}."
        )
        yield ""


def _deviations(record: Record) -> Iterator[str]:
    found = record["deviations"]
    for entry in found[:_MOST_TOLD]:
        yield f"- deviation, {code(entry['kind'])}: {code(entry['text'])}"
    if len(found) > _MOST_TOLD:
        yield f"- and {count(len(found) - _MOST_TOLD, 'deviation')} more"
    if found:
        yield ""
