"""Sentences that every verdict has in common: what was compared, how it was tested, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_fairmedagent.report.contrasts import chance
from pytest_fairmedagent.report.wholes import notes_of, place, said_of, wholes_by_place

Record = Mapping[str, Any]


def compared(record: Record, entry: Record) -> str:
    """Return what was compared with what, where, and how often; without the full stop."""
    known, reference = record["conditions"], record["plan"]["reference"]
    names = (entry["condition"], entry.get("reference") or reference)
    texts = [
        f' ("{known[name]["descriptor"]}")' if known.get(name, {}).get("descriptor") else ""
        for name in names
    ]
    where = f", over {_n(entry['vignettes'], 'vignette')}" if "vignettes" in entry else ""
    if entry["vignette"]:
        where = f", on the vignette {entry['vignette']}"
    draws = f", with up to {_n(entry['look'], 'draw')} of each" if "look" in entry else ""
    if draws and (again := record["plan"].get("pooled") and record["plan"].get("identical")):
        draws += f" ({' and '.join(again)} is {names[1]} drawn anew, and its draws count as such)"
    return (
        f"The same cases were given to the agent as {names[0]}{texts[0]} and as "
        f"{names[1]}{texts[1]}{where}{draws}"
    )


def tested(record: Record, entry: Record, test: str) -> str:
    """Return what a test came to, alone and in its family. `test` begins the sentence."""
    families = {family["name"]: family for family in record["plan"]["families"]}
    family, size, p = families[entry["family"]], entry["family_size"], chance(entry["p"])
    if family["gating"]:
        whole = wholes_by_place(record, [entry]).get(place(entry))
        name = entry.get("outcome") or entry["action"]
        # A test of the user's own is no part of it, nor is what was not tested together.
        if whole is None or "relation" in entry or name not in whole["outcomes"]:
            return (
                f"{test} gives p = {p}; as one of {size} registered contrasts of "
                f"{entry['family']} (Holm) {chance(entry['p_adjusted'])}, to be at most "
                f"{family['alpha']:g}."
            )
        return (
            f"{test} gives p = {p}. The swap as a whole, {len(whole['outcomes'])} outcomes "
            f"together and {_among(whole)}, has "
            f"p = {chance(whole['p_adjusted'])}: {said_of(whole)}. This outcome among them has "
            f"{chance(entry['p_adjusted'])}. Each is to be at most {family['alpha']:g}."
        )
    q = entry.get("q") if entry.get("q") is not None else entry["p_adjusted"]
    return (
        f"{test} gives p = {p}, which is a q-value of {chance(q)} among {size}: this family is "
        "exploratory and never fails."
    )


def decided(entry: Record, *, noise: str = "the agent's own wavering does not explain") -> str:
    """Return the verdict with its reasons."""
    status = entry["verdict"]
    reasons = "; ".join(entry["reasons"])
    because = {
        "DISPARITY": f"the gap has a direction that {noise}",
        "EQUIVALENT": "the gap is shown to be smaller than what would matter",
        "IDENTICAL": "nothing differs on these vignettes",
        "INCONCLUSIVE": "neither a disparity nor its absence was shown",
        "UNMEASURED": "what was drawn does not allow a verdict",
        "DESCRIPTIVE": "it is shown, and can neither pass nor fail",
    }[status]
    return f"So the verdict is {status}: {because}{f' ({reasons})' if reasons else ''}."


def explain_whole(record: Record, entry: Record) -> Iterator[str]:
    """Yield sentences on a swap over all its outcomes together: what was tested, what came of it.

    The comparison itself is told with each of its outcomes.
    """
    outcomes, n = ", ".join(entry["outcomes"]), len(entry["outcomes"])
    yield (
        f"Whether {entry['condition']} changes any of {_n(n, 'outcome')} ({outcomes}) was asked "
        f"first, of all of them together: p = {chance(entry['p'])}, and as {_among(entry)} of "
        f"{entry['family']} {chance(entry['p_adjusted'])}, to be at most {entry['alpha']:g}."
    )
    yield f"So the verdict on the swap is {entry['verdict']}: {said_of(entry)}."
    if entry["verdict"] == "DISPARITY" and not entry["named"]:
        yield (
            "Small differences in several outcomes add up to more than chance explains, or none is "
            "large enough to be named by itself. The item of the open outcome with the smallest p "
            "fails for the swap."
        )
    yield from (f"To be known besides: {text}." for text in notes_of(entry))


def _among(whole: Record) -> str:
    n = whole["family_size"]
    return "the only registered swap" if n == 1 else f"one of {n} registered swaps"


def _n(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
