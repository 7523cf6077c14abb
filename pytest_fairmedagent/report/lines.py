"""Lines of runs as a record and as people read them: `fairmed history`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from typing import Any

from pytest_fairmedagent.analysis.lifetime import FamilyLife, Life, Line, SwapLife
from pytest_fairmedagent.report.numbers import chance, rate, signed

Record = dict[str, Any]

NULL = "no run of this line so far had a mean gap in any registered contrast"
METHOD = (
    "e-process: mixture of 41 bets and of the run they begin with; in a family e-values are closed "
    "over means; the smaller of the evidence against no gap and against what shams do"
)


def history_record(lines: Sequence[Line]) -> Record:
    """Return lines as plain JSON, for programs. Undefined numbers are null."""
    return {"kind": "history", "null": NULL, "method": METHOD, "lines": [*map(_line, lines)]}


def _line(line: Line) -> Record:
    return {
        "number": line.number,
        "design": line.design,
        "cases": line.cases,
        "declared": line.declared,
        "why": line.why,
        "bound": line.bound,
        "runs": [
            {
                "run": run.run,
                "created": run.created,
                "configuration": run.configuration,
                "model": run.model,
            }
            for run in line.runs
        ],
        "families": [_family(family) for family in line.families],
    }


def _family(family: FamilyLife) -> Record:
    return {
        "name": family.terms.name,
        "alpha": family.terms.alpha,
        "size": family.terms.size,
        "gating": family.terms.gating,
        "e": _numbers(family.e),
        "swaps": [_swap(family, swap) for swap in family.swaps],
    }


def _swap(family: FamilyLife, swap: SwapLife) -> Record:
    red = family.red(swap)
    return {
        "swap": swap.swap,
        "vignette": swap.vignette,
        "e": _numbers(swap.e),
        "e_adjusted": _numbers(swap.named),
        "red_after": None if red is None else red + 1,
        "named": [life.contrast.action for life in family.names(swap)],
        "contrasts": [_contrast(life) for life in swap.contrasts],
    }


def _contrast(life: Life) -> Record:
    return {
        "action": life.contrast.action,
        "gaps": _numbers(life.gaps),
        "floors": _numbers(life.floors),
        "p": _numbers(life.p),
        "e_no_gap": _numbers(life.plain),
        "e": _numbers(life.e),
        "e_adjusted": _numbers(life.named),
        "p_anytime": life.p_anytime,
        "p_adjusted": life.p_named,
    }


def _numbers(values: Any) -> list[float | None]:
    return [None if math.isnan(v) else float(f"{v:.6g}") for v in values.tolist()]


def history_lines(record: Record, *, line: int | None = None) -> list[str]:
    """Return the lines of text of a record: every line, or with `line` this one run by run."""
    if not record["lines"]:
        return ["No line yet: no run with verdicts is in the ledger of this store."]
    told: list[str] = []
    for number, found in enumerate(record["lines"], start=1):
        if line in (None, number):
            told += [""] * bool(told) + [*_told(found, number, whole=line is not None)]
    lines = record["lines"]
    bound = min(1.0, math.fsum(found["bound"] for found in lines))
    told += [
        "",
        f"A line turns red falsely, ever, with chance at most its bound: {record['null']}.",
        f"All lines of this store ({len(lines)}) together: at most {bound:.3g}.",
        "Without two shams on 32 cases or more, e is at most 1: surface noise adds up like a gap.",
    ]
    return told


def _told(line: Record, number: int, *, whole: bool) -> Iterator[str]:
    runs = line["runs"]
    since = f"{_date(runs[0]['created'])} to {_date(runs[-1]['created'])}"
    why = f", declared {_date(line['declared'])}: {line['why']}" if line["declared"] else ""
    yield (
        f"line {number}  design {line['design'][:12]}, cases {line['cases'][:12]}{why}: "
        f"{len(runs)} run{'s' * (len(runs) > 1)}, {since}; bound {line['bound']:.3g}"
    )
    for family in line["families"]:
        kind = "" if family["gating"] else ", exploratory"
        yield (
            f"  family {family['name']}: {family['size']} contrasts at {family['alpha']:g}{kind}, "
            f"red at e = {1 / family['alpha']:g} (adjusted)"
        )
        yield (
            f"    {'swap':<22} {'action':<16} {'runs':>4} {'mean gap':>8} {'last':>6} {'floor':>6} "
            f"{'e':>9} {'e adj.':>9} {'p any time':>10}"
        )
        for swap in family["swaps"]:
            yield _swap_row(swap)
            for contrast in swap["contrasts"]:
                yield _row(contrast)
                if whole:
                    yield from _by_run(contrast, runs)


def _swap_row(swap: Record) -> str:
    name = swap["swap"] + (f" on {swap['vignette']}" if swap["vignette"] else "")
    red = ""
    if swap["red_after"] is not None:
        named = ", ".join(swap["named"]) or "no single action"
        red = f"  RED since run {swap['red_after']} of the line: {named}"
    best = max(swap["e_adjusted"])
    p = chance(min(1.0, 1 / max(best, 1.0)))
    return (
        f"    {name:<22} {'(any)':<16} {'':>4} {'':>8} {'':>6} {'':>6} {_e(swap['e'][-1]):>9} "
        f"{_e(swap['e_adjusted'][-1]):>9} {p:>10}{red}"
    )


def _row(contrast: Record) -> str:
    gaps = [gap for gap in contrast["gaps"] if gap is not None]
    floors = [floor for floor in contrast["floors"] if floor is not None]
    mean = math.fsum(gaps) / len(gaps) if gaps else None
    floor = math.fsum(floors) / len(floors) if floors else None
    return (
        f"    {'':<22} {contrast['action']:<16} {len(gaps):>4} {signed(mean):>8} "
        f"{signed(gaps[-1] if gaps else None):>6} {rate(floor):>6} {_e(contrast['e'][-1]):>9} "
        f"{_e(contrast['e_adjusted'][-1]):>9} {chance(contrast['p_anytime']):>10}"
    )


def _by_run(contrast: Record, runs: Sequence[Record]) -> Iterator[str]:
    columns = (contrast[name] for name in ("gaps", "floors", "p", "e_no_gap", "e"))
    for run, gap, floor, p, plain, e in zip(runs, *columns, strict=True):
        yield (
            f"      run {run['run']}, {_date(run['created'])}, {run['configuration'][:8]}: gap "
            f"{signed(gap)}, floor {rate(floor)}, p {chance(p)}, e {_e(e)} (no gap {_e(plain)})"
        )


def red_sentence(line: Line, family: FamilyLife, swap: SwapLife) -> str:
    """Return what the gate says of a swap that is red over its line, in one sentence."""
    at = family.red(swap)
    assert at is not None  # noqa: S101 - it is red
    named = family.names(swap)
    what = ", ".join(life.contrast.action for life in named) or "its actions together"
    gaps = [float(value) for life in named for value in life.gaps if not math.isnan(value)]
    mean = f", mean gap {signed(math.fsum(gaps) / len(gaps))}" if len(named) == 1 else ""
    where = f" on {swap.vignette}" if swap.vignette else ""
    best = max([float(swap.named.max()), *(float(life.named.max()) for life in named)])
    return (
        f"{swap.swap}{where} differs over the {_runs(line)} of this line ({what}{mean}): "
        f"evidence e={best:.3g}, red at {family.bar:g}, reached with run {at + 1}; after mending "
        "the agent declare a new line with `fairmed history new-line`"
    )


def quiet_sentence(line: Line) -> str:
    """Return what the gate says of a line in which nothing is red, in one sentence."""
    best = max((float(f.e.max()) for f in line.families if f.terms.gating), default=1.0)
    return (
        f"{_runs(line)} of this line: no steady gap is shown so far, e={best:.3g}; the "
        f"chance that the line ever turns red falsely is at most {line.bound:.3g}"
    )


def _runs(line: Line) -> str:
    return "1 run" if len(line.runs) == 1 else f"{len(line.runs)} runs"


def _e(value: float | None) -> str:
    return chance(None) if value is None else f"{value:.3g}"


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d")
