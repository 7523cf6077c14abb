"""What a pull request's summary says of parts that not every record has: a few lines each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_fairmedagent.report.claims import sized_line
from pytest_fairmedagent.report.looked import looked_lines
from pytest_fairmedagent.report.numbers import chance, ends, rate, registered, signed, whole
from pytest_fairmedagent.report.sentences import count, run_names
from pytest_fairmedagent.report.text import code
from pytest_fairmedagent.verdict import SEVERITY

Record = Mapping[str, Any]

_MOST = 8  # rows of a table


def parts(record: Record) -> Iterator[str]:
    """Yield the lines of a panel, a baseline, bounded floors, cases set apart, and looks."""
    yield from _panel(record)
    yield from _baseline(record)
    lines = [*_reliability(record), *_apart(record), *_looks(record)]
    yield from (f"- {line}" for line in lines)
    if lines:
        yield ""


def _panel(record: Record) -> Iterator[str]:
    panel = record.get("panel")
    if not panel:
        return
    pooled: Mapping[str, Any] = next(
        (row["seats"] for row in panel["floors"] if row["action"] == "pooled"), {}
    )
    yield "| side by side | floor, pooled | 95 % interval | contrasts of actions |"
    yield "| --- | ---: | --- | --- |"
    for seat in panel["seats"][:_MOST]:
        if seat["run"] is None:
            yield f"| {code(seat['id'])} | – | – | no run of its own |"
            continue
        found = [
            row["seats"][seat["id"]] for row in panel["contrasts"] if seat["id"] in row["seats"]
        ]
        verdicts = [one["verdict"] for one in found]
        tally = ", ".join(f"{verdicts.count(s)} {s.lower()}" for s in SEVERITY if s in verdicts)
        floor = pooled.get(seat["id"]) or {"floor": None, "interval": None}
        yield (
            f"| {code(seat['id'])} | {rate(floor['floor'])} | {ends(floor['interval'], '.3f')} | "
            f"{tally or '–'} |"
        )
    yield ""
    if len(panel["seats"]) > _MOST:
        yield f"and {len(panel['seats']) - _MOST} more side by side."
        yield ""


def _baseline(record: Record) -> Iterator[str]:
    baseline = record.get("baseline")
    if not baseline:
        return
    told = []
    for run in baseline["runs"]:
        counts = run["counts"]
        yield (
            f"Against the baseline {code(baseline['file'])}, {code(run['b'])}: "
            f"{counts['worse']} worse, {counts['better']} better beyond both floors; "
            f"{counts['more'] + counts['fewer']} rates moved; {counts['open']} open, which is not "
            "the same as unchanged."
        )
        yield ""
        told += [(run["b"], e) for e in run["changes"] if e["change"] in ("worse", "better")]
    told.sort(key=lambda pair: pair[1]["change"] != "worse")
    if not told:
        return
    yield "| change | of | action | condition | run | before | now | 95 % interval | p adj. |"
    yield "| --- | --- | --- | --- | --- | ---: | ---: | --- | ---: |"
    for name, e in told[:_MOST]:
        form = signed if e["kind"] == "gap" else rate
        where = f", {code(e['vignette'])}" if e["vignette"] else ""
        yield (
            f"| {e['change']} | {e['kind']} | {code(e['action'])} | "
            f"{code(e['condition'])}{where} | {code(name)} | {form(e['a'])} | {form(e['b'])} | "
            f"{ends(e['interval'])} | {chance(e['p_adjusted'])} |"
        )
    yield ""
    if len(told) > _MOST:
        yield f"and {count(len(told) - _MOST, 'change')} more."
        yield ""


def _reliability(record: Record) -> Iterator[str]:
    names, found = run_names(record), record.get("reliability") or ()
    for entry in found[:_MOST]:
        whose = f", {code(names[entry['run']])}" if entry.get("run") in names else ""
        yield (
            f"floor against a bound: {code(entry['action'])}{whose} is "
            f"{entry['verdict'].lower()}, {rate(entry['floor'])} {ends(entry['interval'], '.3f')} "
            f"against {rate(entry['bound'])}"
        )
    if len(found) > _MOST:
        yield f"and {count(len(found) - _MOST, 'bounded floor')} more"


def _apart(record: Record) -> Iterator[str]:
    found = record.get("confounded") or ()
    if found:
        yield (
            f"set apart: {count(len(found), 'contrast')} on cases where a difference can be "
            "clinically right; left out above, and nothing is claimed of them in that direction"
        )
    for entry in [e for e in found if e.get("opposed")][:_MOST]:
        yield (
            f"against the registered direction: {code(entry['action'])} under "
            f"{code(entry['condition'])}, {registered(entry)}"
        )


def _looks(record: Record) -> Iterator[str]:
    names = run_names(record)
    for run in record["runs"]:
        whose = f"{code(names[run.get('number')])}: " if names else ""
        yield from (f"{whose}{code(line)}" for line in looked_lines(run))
        if run.get("looks"):
            looks = ", ".join(map(str, run["looks"]))
            yield f"{whose}looked at after R = {looks}; {whole(run['saved'])} trajectories saved"
        if run.get("sized"):
            yield f"{whose}replicates: {sized_line(run)}"
        if run.get("ended"):
            yield f"{whose}ended after {run['replicates']} whole rounds: {code(run['ended'])}"
