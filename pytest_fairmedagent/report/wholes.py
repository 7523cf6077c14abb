"""Swaps as a whole: the rows that stand above those of their outcomes, alike in every view."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pytest_fairmedagent.verdict import SwapVerdict

Record = Mapping[str, Any]


def whole_entry(
    found: SwapVerdict,
    *,
    config_digest: str,
    reference: str = "reference",
    file: str | None = None,
    block: str | None = None,
) -> dict[str, Any]:
    """Return the verdict of a swap as records of runs and of analyses have it."""
    return {
        "file": file,
        "block": block,
        "reference": reference,
        "condition": found.swap,
        "vignette": found.vignette,
        "outcomes": [verdict.contrast.action for verdict in found.verdicts],
        "named": [verdict.contrast.action for verdict in found.named],
        "family": found.family.name,
        "family_size": found.family.n_groups,
        "alpha": found.family.alpha,
        "p": found.p,
        "p_adjusted": found.p_adjusted,
        "look": found.look,
        "verdict": found.status,
        "reasons": list(found.reasons),
        "flags": list(found.flags),
        "headline": found.headline,
        "post_hoc": found.post_hoc,
        "stands": found.stands,
        "config_digest": config_digest,
    }


def wholes_by_place(record: Record, entries: Iterable[Record]) -> dict[tuple[Any, ...], Any]:
    """Return the swaps of a record that these contrasts are outcomes of, by `place`."""
    wanted = {place(entry) for entry in entries}
    return {place(e): e for e in record.get("swaps") or () if place(e) in wanted}


def place(entry: Record) -> tuple[Any, ...]:
    """Return what a swap and its outcomes have in common: run, family, condition, vignette."""
    keys = ("file", "block", "config_digest", "run", "family", "condition", "vignette")
    return tuple(entry.get(key) for key in keys)


def unnamed(record: Record) -> list[Any]:
    """Return the swaps that differ somewhere although no single outcome can be named."""
    return [
        entry
        for entry in record.get("swaps") or ()
        if entry["verdict"] == "DISPARITY" and not entry["named"]
    ]


def tally(record: Record) -> list[str]:
    """Return how often each verdict was given, and how many swaps differ without a named outcome.

    These fail a run, although no contrast of theirs is counted as a DISPARITY.
    """
    counts = [f"{n} {status}" for status, n in record["verdicts"].items() if n]
    n = len(unnamed(record))
    verb = "swap that differs" if n == 1 else "swaps that differ"
    return [*counts, *[f"{n} {verb} somewhere (DISPARITY)"] * bool(n)]


def said_of(entry: Record, room: int | None = None, name: Callable[[str], str] = str) -> str:
    """Return what is said of a swap as a whole, without its numbers and flags.

    Names that take more than `room` columns give way to their number. `name` marks up a name.
    """
    if entry["verdict"] == "DISPARITY":
        named, n = entry["named"], len(entry["outcomes"])
        if not named:
            return "differs somewhere, no outcome singled out"
        told = f"differs in {', '.join(map(name, named))}"
        short = f"differs in {'all' if len(named) == n else f'{len(named)} of'} {n} outcomes"
        return told if room is None or len(told) <= room else short
    if entry["verdict"] == "EQUIVALENT":
        return "all outcomes are inside the margin"
    if entry["verdict"] == "UNMEASURED":
        return "no outcome could be measured"
    return "no difference was shown"


def notes_of(entry: Record) -> list[Any]:
    """Return what else is to be known of a swap as a whole: why it is no other verdict, flags."""
    return [*entry.get("reasons", ()), *entry["flags"]]
