"""The `[[band]]` tables of a vignette file, and the levels that may be claimed for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from pytest_fairmedagent.domain import ACTIONS
from pytest_fairmedagent.domain.band import ADJUDICATED, AUTHOR, GUIDELINE, LEVELS, SCALES, Band
from pytest_fairmedagent.errors import closest
from pytest_fairmedagent.files.adjudicators import ADJUDICATORS, adjudicators_of
from pytest_fairmedagent.files.toml import Strict, TomlFile
from pytest_fairmedagent.files.types import Text, one_of

# What a citation rests on: `looked up` says that somebody read that it is so, in the source or in
# what its publisher or an abstract says of it; `memory` that nobody did.
BASES = ("memory", "looked up")


class BandTable(Strict):
    """`accept` lists acceptable values; `range` is the lowest and highest, both acceptable.

    `basis` says what a `clause` rests on.
    """

    outcome: Annotated[str, one_of((*ACTIONS, *SCALES))]
    accept: Annotated[list[bool | int], Field(min_length=1)] | None = None
    range: Annotated[list[int], Field(min_length=2, max_length=2)] | None = None
    provenance: Annotated[str, one_of(LEVELS)] = AUTHOR
    source: str = ""
    clause: str = ""
    basis: Annotated[str, one_of(BASES)] = "memory"
    reasoning: Text
    adjudicators: Annotated[list[str], Field(default_factory=list)]
    disputed: str = ""


def band_of(source: TomlFile, place: tuple[str | int, ...], table: BandTable) -> Band:
    """Return the band of a table. Raises FileFormatError where it says what cannot be so."""
    accept = _accepted(source, place, table)
    if table.provenance == GUIDELINE and not (table.source.strip() and table.clause.strip()):
        raise source.error(
            (*place, "provenance"),
            f"the band of '{table.outcome}' claims to be {GUIDELINE} without 'source' and "
            f"'clause'. Say which guideline and where in it, or claim {AUTHOR}.",
        )
    if table.provenance == ADJUDICATED:
        what = f"the band of '{table.outcome}'"
        check_adjudicators(source, (*place, "provenance"), what, table.adjudicators)
    elif table.adjudicators:
        raise source.error(
            (*place, "adjudicators"),
            f"the band of '{table.outcome}' names adjudicators and claims {table.provenance}. "
            f"Claim {ADJUDICATED}, or remove them.",
        )
    return Band(
        outcome=table.outcome,
        accept=accept,
        provenance=table.provenance,
        source=table.source.strip(),
        clause=table.clause.strip(),
        reasoning=table.reasoning,
        adjudicators=tuple(table.adjudicators),
        disputed=table.disputed.strip(),
    )


def check_adjudicators(
    source: TomlFile, place: Sequence[str | int], what: str, names: Sequence[str]
) -> None:
    """Raise FileFormatError unless registered adjudicators stand behind a claim."""
    known = adjudicators_of(source.path) if names else {}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise source.error(
            place,
            f"{what} claims to be {ADJUDICATED} by {unknown[0]!r}, who is not registered in "
            f"{ADJUDICATORS}.{closest(unknown[0], known)}",
        )
    if not names:
        raise source.error(
            place,
            f"{what} claims to be {ADJUDICATED} and names no adjudicator. List 'adjudicators' "
            f"that {ADJUDICATORS} registers, or claim a lower level.",
        )


def _accepted(
    source: TomlFile, place: tuple[str | int, ...], table: BandTable
) -> frozenset[bool | int]:
    name = table.outcome
    if (table.accept is None) == (table.range is None):
        raise source.error(
            place,
            f"the band of '{name}' needs 'accept' (a list of values) or 'range' (lowest and "
            "highest), and one of the two only.",
        )
    if name not in SCALES:
        if table.accept is None or not all(isinstance(v, bool) for v in table.accept):
            raise source.error(
                place, f"'{name}' is an action: its band is accept = [true], [false] or both."
            )
        return frozenset(table.accept)
    low, high = SCALES[name]
    values: Sequence[int] = table.accept if table.accept is not None else table.range or ()
    if any(isinstance(v, bool) or not low <= v <= high for v in values):
        raise source.error(
            place, f"the band of '{name}' holds {list(values)}, expected numbers {low} to {high}."
        )
    if table.range is None:
        return frozenset(values)
    first, last = table.range
    if first > last:
        raise source.error(
            (*place, "range"), f"range = [{first}, {last}] is empty: write the lowest first."
        )
    return frozenset(range(first, last + 1))
