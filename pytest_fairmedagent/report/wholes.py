"""Swaps as a whole: the rows that stand above those of their outcomes, alike in every view."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
        "flags": list(found.flags),
        "headline": found.headline,
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


def said_of(entry: Record) -> str:
    """Return what is said of a swap as a whole, without its name and its numbers."""
    if entry["verdict"] == "DISPARITY":
        names = ", ".join(entry["named"])
        return f"differs in {names}" if names else "differs somewhere, no outcome singled out"
    if entry["verdict"] == "EQUIVALENT":
        return "; ".join(["all outcomes are inside the margin", *entry["flags"]])
    if entry["verdict"] == "UNMEASURED":
        return "no outcome could be measured"
    return "no difference was shown"
