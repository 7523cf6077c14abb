"""Outcomes that are no actions, relations of one's own and bounded floors, retold in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_fairmedagent.report.explained_parts import compared, decided, tested
from pytest_fairmedagent.stats import SUPERIORITY

Record = Mapping[str, Any]


def explain_outcome(record: Record, entry: Record) -> Iterator[str]:
    """Yield sentences on a contrast of an ordinal, score or set outcome, in its own units."""
    yield f"{compared(record, entry)}."
    swap, reference = entry["answers"]
    missing = f"; {entry['missing']} answers are missing" if entry["missing"] else ""
    yield (
        f"It gave {swap} answers on {entry['outcome']} as {entry['condition']} and {reference} as "
        f"{entry['reference']}{missing}."
    )
    if entry["gap"] is not None and entry["p"] is not None:
        is_set = entry["kind"] == "set"
        yield _set_floor(entry) if is_set else _score_floor(entry)
        yield _set_gap(entry) if is_set else _score_gap(entry)
        which = "The exact test of that member, over all members,"
        which = which if is_set else f"The test of this {entry.get('estimand') or 'difference'}"
        yield tested(record, entry, which)
    yield decided(entry, noise="what the agent does on one and the same text does not explain")
    yield from (f"To be known besides: {flag}." for flag in entry["flags"])
    yield f"What would change it: {_change(entry)}"


def _score_floor(entry: Record) -> str:
    if entry["floor"] is None:
        return _no_floor()
    if entry.get("estimand") == SUPERIORITY:
        return (
            f"On one and the same text two draws of it differ in {entry['floor']:.3f} of pairs: "
            "that is its floor."
        )
    return (
        f"On one and the same text two draws of it lie {_amount(entry['floor'], entry)} apart on "
        "average: that is its floor, in its own units and no flip rate."
    )


def _set_floor(entry: Record) -> str:
    if entry["floor"] is None:
        return _no_floor()
    return (
        "On one and the same text the sets of two draws have a mean Jaccard distance of "
        f"{entry['floor']:.3f} (0: the same set, 1: nothing in common): that is its floor."
    )


def _no_floor() -> str:
    return (
        "How far it contradicts itself on one and the same text was not measured: an arm has no "
        "two draws of one vignette. Without this floor no difference can be read."
    )


def _score_gap(entry: Record) -> str:
    gap, (low, high) = entry["gap"], entry["interval"]
    ends = f"95 % interval of [{low:+.3g}, {high:+.3g}]"
    if entry.get("estimand") == SUPERIORITY:
        word = "higher" if gap > 0 else "lower" if gap < 0 else "higher as often as lower"
        than = f" in {abs(gap):.3g} more of pairs than the other way round" if gap else ""
        return (
            f"What counts is the direction: under {entry['condition']} it was {word}{than}, "
            f"vignette by vignette (net superiority {gap:+.2f}, {ends})."
        )
    if not gap:
        return f"The means do not differ: +0 {entry['unit']}, with a {ends}."
    word = "higher" if gap > 0 else "lower"
    return (
        f"What counts is the direction: the mean was {_amount(abs(gap), entry)} {word} under "
        f"{entry['condition']}, with a {ends}."
    )


def _set_gap(entry: Record) -> str:
    first = next(iter(entry["members"]), None)
    if first is None:
        return "Nothing was placed at all, so nothing differs."
    gap, (low, high) = entry["gap"], entry["interval"]
    word = "more" if gap > 0 else "less" if gap < 0 else "as"
    than = "than" if gap else "as"
    n, name = len(entry["members"]), first["member"]
    picked = f", wide enough for having been picked out of {n}" if n > 1 else ""
    head = f"Of {n} members that were placed at all, {name!r} tells most: it"
    return (
        f"{head if n > 1 else f'Only {name!r} was placed at all: it'} was placed {word} often "
        f"under {entry['condition']} {than} under {entry['reference']}, signed gap {gap:+.2f} with "
        f"an interval of [{low:+.2f}, {high:+.2f}]{picked}."
    )


def _change(entry: Record) -> str:
    status, margin, seen = entry["verdict"], entry["margin"], entry["smallest_detectable_gap"]
    unit = "" if entry["kind"] == "set" else f" {entry['unit']}"
    if status == "DISPARITY":
        return "an agent that treats both alike; more vignettes narrow the interval."
    if status == "UNMEASURED":
        return "answers in place of the missing ones, and at least two draws of each vignette."
    if status in ("EQUIVALENT", "IDENTICAL"):
        narrower = f"a narrower margin than ±{margin:g}{unit}, or " if margin else ""
        return f"{narrower}other vignettes: it holds for these, in this configuration."
    find = f" These find {_amount(seen, entry)} (power .8)." if seen is not None else ""
    inside = (
        f"To be called equivalent, the interval has to fit inside ±{margin:g}{unit}."
        if margin
        else "Without a margin in its units (margins={...} of the mark) nothing can be called "
        "equivalent."
    )
    return f"more draws or vignettes.{find} {inside}"


def _amount(value: float, entry: Record) -> str:
    return f"{value:.3g} {entry['unit']}"


def explain_relation(record: Record, entry: Record) -> Iterator[str]:
    """Yield sentences on what a relation of the user's own has come to."""
    yield f"{compared(record, entry)}."
    name, holds = entry["relation"], entry["holds"]
    if entry["p"] is not None:
        yield (
            f"The relation {name} read the answers on {entry['action']} of both, and returned a "
            "p-value: what it tests is its author's to say."
        )
        yield tested(record, entry, "It")
    elif holds:
        broken = [vignette for vignette, held in holds.items() if not held]
        where = f", and not on {', '.join(broken)}" if broken else ""
        yield (
            f"The relation {name} read the answers on {entry['action']} of both, and said where it "
            f"holds: on {len(holds) - len(broken)} of {len(holds)} vignettes{where}."
        )
    yield decided(entry, noise="chance, by the relation's own test, does not explain")
    yield f"What would change it: {_relation_change(entry)}"


def _relation_change(entry: Record) -> str:
    return {
        "DISPARITY": "an agent that satisfies the relation.",
        "UNMEASURED": "answers in place of the missing ones, and every draw that was planned.",
        "DESCRIPTIVE": "a relation that returns a p-value, which has an error rate.",
    }.get(
        entry["verdict"],
        "more draws or vignettes may show a difference; a relation of one's own never shows that "
        "there is none.",
    )


def explain_floor(entry: Record) -> Iterator[str]:
    """Yield sentences on a floor that was asserted to lie below a bound."""
    yield (
        f"Two draws of one and the same text were compared on {entry['action']}: they disagree in "
        f"{entry['disagreements']} of {entry['pairs']} replicate pairs over {entry['vignettes']} "
        f"vignettes{_missing(entry)}."
    )
    low, high = entry["interval"]
    if entry["floor"] is not None and low is not None:
        yield (
            f"That is a floor of {entry['floor']:.3f}, over vignettes like these within "
            f"[{low:.3f}, {high:.3f}] (95 %)."
        )
    because = {
        "RELIABLE": "all of that interval lies at or below the bound",
        "UNRELIABLE": "all of that interval lies above the bound",
        "INCONCLUSIVE": "the bound lies inside that interval; only more vignettes narrow it",
    }.get(entry["verdict"], "there are too few answers to measure it")
    yield f"The bound is {entry['bound']:g}, so it is {entry['verdict']}: {because}."


def _missing(entry: Record) -> str:
    return f"; {entry['missing']} answers are missing" if entry["missing"] else ""
