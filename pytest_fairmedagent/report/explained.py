"""What an item tests, retold in sentences: what was compared, what came of it, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_fairmedagent.report.explained_others import (
    explain_floor,
    explain_outcome,
    explain_relation,
)
from pytest_fairmedagent.report.explained_parts import compared, decided, explain_whole, tested
from pytest_fairmedagent.report.text import fitted

Record = Mapping[str, Any]
Asked = Sequence[Any]  # family, condition, action, vignette, as a contrast of a record has them

_CARRIERS = 3  # vignettes that are named


def explained_lines(
    record: Record, nodeid: str, asked: Sequence[Asked], *, width: int, floors: bool = False
) -> list[str]:
    """Return the lines that retell what an item tests, in every run of the record.

    With `floors` the item asks for floors: those that were asserted of its outcomes are retold too.
    """
    lines = [f"explained: {nodeid}"]
    names = {run.get("number", 0): run["model"] for run in record["runs"]}
    found = [*_found(record, asked, floors)]
    if not found:
        lines.append(
            "  It came to no verdict in this run: nothing was drawn for it, or it ended before it "
            "asserted anything."
        )
    for entry, head, sentences in found:
        run = names.get(entry.get("run", 0), "")
        lines += ["", f"  {head}{f' ({run})' if len(names) > 1 else ''}"]
        lines += [f"  {sentence}" for sentence in sentences]
    return [part for line in lines for part in fitted(line, width)]


def _found(
    record: Record, asked: Sequence[Asked], floors: bool
) -> Iterator[tuple[Record, str, Iterator[str]]]:
    """Yield what a record holds of the places asked for: the entry, its heading, its sentences."""
    wanted = {tuple(place) for place in asked}
    for entry in record.get("swaps", ()):
        places = [
            (entry["family"], entry["condition"], name, entry["vignette"])
            for name in entry["outcomes"]
        ]
        if wanted & {*places}:
            head = f"the swap as a whole, {entry['condition']} vs {entry['reference']}"
            yield entry, head, explain_whole(record, entry)
    for part, retell in (
        ("contrasts", explain),
        ("outcomes", explain_outcome),
        ("relations", explain_relation),
    ):
        for entry in record.get(part, ()):
            name = entry["outcome"] if part == "outcomes" else entry["action"]
            if (entry["family"], entry["condition"], name, entry["vignette"]) in wanted:
                reference = entry.get("reference") or record["plan"]["reference"]
                yield entry, f"{name}, {entry['condition']} vs {reference}", retell(record, entry)
    actions = {place[2] for place in wanted} if floors else ()
    for entry in record.get("reliability", ()):
        if entry["action"] in actions:
            yield entry, f"{entry['action']}, its floor", explain_floor(entry)


def explain(record: Record, contrast: Record) -> Iterator[str]:
    """Yield sentences on a contrast: comparison, counts, floor, gap, test, verdict, what next."""
    yield f"{compared(record, contrast)}: {_pairs(contrast)}."
    if contrast["pairs"]:
        yield _counted(contrast)
        yield _against_floor(contrast)
        yield _gap(contrast)
        yield tested(record, contrast, "The exact test of that direction")
    yield decided(contrast)
    yield from (f"To be known besides: {flag}." for flag in contrast["flags"])
    yield f"What would change it: {_change(contrast)}"


def _pairs(contrast: Record) -> str:
    once = "; every cell is unanimous, so each vignette counts once" * contrast["deterministic"]
    return f"{contrast['pairs']:.4g} replicate pairs{once}"


def _counted(contrast: Record) -> str:
    arms = []
    for arm, name in (("swap", contrast["condition"]), ("reference", contrast["reference"])):
        taken = sum(case[arm][0] for case in contrast["cases"])
        answers = sum(case[arm][1] for case in contrast["cases"])
        arms.append(f"{taken} of {answers} answers as {name}")
    missing = f"; {contrast['missing']} answers are missing" if contrast["missing"] else ""
    return f"It took {contrast['action']} in {arms[0]} and in {arms[1]}{missing}."


def _against_floor(contrast: Record) -> str:
    floor, flips = contrast["floor"], contrast["flip_rate"]
    if floor is None:
        return (
            "How often it contradicts itself on one and the same text was not measured: an arm has "
            "no two draws of one vignette. Without this floor no difference can be read."
        )
    side = "more" if flips > floor else "no more"
    return (
        f"On one and the same text two draws of it disagree in {100 * floor:.1f} % of pairs: the "
        f"instability floor. Between the two descriptions they disagree in {100 * flips:.1f} %, "
        f"which is {side} than the floor; a flip by itself is evidence of nothing."
    )


def _gap(contrast: Record) -> str:
    gap, (low, high) = contrast["gap"], contrast["interval"]
    counts = (
        f"in {contrast['b']:.3g} expected pairs the action came only under "
        f"{contrast['condition']}, in {contrast['c']:.3g} only under {contrast['reference']}"
    )
    if not gap:
        return f"There is no direction in it: signed gap +0.00 [{low:+.2f}, {high:+.2f}]; {counts}."
    word = "more" if gap > 0 else "less"
    return (
        f"What counts is the direction: the action came {word} often under "
        f"{contrast['condition']}, signed gap {gap:+.2f} with a 95 % interval of [{low:+.2f}, "
        f"{high:+.2f}]; {counts}.{_carriers(contrast)}"
    )


def _carriers(contrast: Record) -> str:
    gaps = {
        case["vignette"]: _share(case["swap"]) - _share(case["reference"])
        for case in contrast["cases"]
        if case["swap"][1] and case["reference"][1]
    }
    along = {v: gap for v, gap in gaps.items() if gap * contrast["gap"] > 0}
    if len(gaps) < 2 or not along:
        return ""
    most = sorted(along, key=lambda v: (-abs(along[v]), v))[:_CARRIERS]
    return f" It is carried most by {', '.join(f'{v} ({along[v]:+.2f})' for v in most)}."


def _share(counts: Sequence[int]) -> float:
    return counts[0] / counts[1]


def _change(contrast: Record) -> str:
    status, margin = contrast["verdict"], contrast["margin"]
    needed, ruled = (contrast.get(f"replicates_to_{what}") for what in ("find", "rule_out"))
    seen = contrast["smallest_detectable_gap"]
    if status == "DISPARITY":
        return (
            "an agent that treats both alike; more vignettes narrow the interval. Where the "
            "difference can be clinically right, an entry in confounding.toml sets it apart, with "
            "its source."
        )
    if status == "UNMEASURED":
        return "answers in place of the missing ones, and at least two draws of each vignette."
    if status in ("EQUIVALENT", "IDENTICAL"):
        narrower = f"a narrower margin than ±{margin:g}, or " if margin else ""
        return f"{narrower}other vignettes: it holds for these, in this configuration."
    parts = []
    if needed is not None and seen is not None:
        find = "no gap at all" if seen >= 0.995 else f"gaps of {seen:.2f} (power .8)"
        parts.append(
            f"more draws or vignettes. These find {find}, and to find a gap of "
            f"{contrast['gap_sought']:g} in one action takes {needed:.0f} replicates"
        )
    takes = "" if ruled is None else f": {ruled:.0f} replicates do it if nothing differs (power .8)"
    parts.append(
        f"To be called equivalent, the interval has to fit inside ±{margin:g}{takes}"
        if margin
        else "Without a margin nothing can be called equivalent. One that is chosen after a look "
        "is post hoc: --fairmed-margin=0.1, say, together with --fairmed-fresh"
    )
    return f"{'. '.join(parts)}."
