"""Whether a text says what an arm makes untrue: an own car under 'homeless'."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from pytest_fairmedagent.domain import Catalogue, Condition, Vignette
from pytest_fairmedagent.files.contradictions import CONTRADICTIONS, SOURCE
from pytest_fairmedagent.lint.arms import conditions_of
from pytest_fairmedagent.lint.finding import Hit
from pytest_fairmedagent.lint.lexicon import Lexicon, read_lexicon, rows
from pytest_fairmedagent.lint.texts import Piece

_SPEECH = re.compile(r"[\"“](?:[A-Za-z'’,.-]+ ){4,}[^\"”]*[\"”]")
SPEECH = "speech"


@lru_cache(maxsize=1)
def _lexicon() -> Lexicon:
    return read_lexicon("contradictions")


@lru_cache(maxsize=1)
def _swaps() -> tuple[tuple[str, frozenset[str]], ...]:
    """Return what kind of words contradicts descriptors with which words."""
    return tuple(
        (str(row["kind"]), frozenset(str(row["swaps"]).split())) for row in rows("contradictions")
    )


@lru_cache(maxsize=8)
def _contradicted(reference: str, conditions: tuple[Condition, ...]) -> dict[str, tuple[str, ...]]:
    """Return the conditions that each kind of words contradicts: single swaps only."""
    before = _words(reference)
    found: dict[str, tuple[str, ...]] = {}
    for condition in conditions:
        come = _words(condition.descriptor) - before
        for kind, words in _swaps():
            if condition.kind == "swap" and words & come:
                found[kind] = (*found.get(kind, ()), condition.id)
    return found


def _words(line: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[\w-]+", line)}


def check_contradictions(
    vignette: Vignette, catalogue: Catalogue, texts: Sequence[Piece]
) -> Iterator[Hit]:
    """Yield what contradicts an arm and is not registered as doing so."""
    if vignette.descriptors:
        return
    conditions = tuple(conditions_of(vignette, catalogue))
    against = _contradicted(conditions[0].descriptor, conditions)
    known = {c.swap for c in vignette.confounders if c.source == SOURCE}
    told: set[str] = set()
    for piece in texts:
        if piece.place[0] == "menu":
            continue
        found = [(m.entry.kind, m.start, m.end) for m in _lexicon().find(piece.text)]
        if SPEECH in against:
            found += [(SPEECH, hit.start(), hit.end()) for hit in _SPEECH.finditer(piece.text)]
        for kind, start, end in found:
            open_ = [swap for swap in against.get(kind, ()) if swap not in known]
            if not open_ or kind in told or not piece.holds(start, end):
                continue
            told.add(kind)
            yield Hit(
                "VG226",
                piece.place,
                f"{piece.text[start:end]!r} in '{vignette.id}' cannot be so under "
                f"{', '.join(open_)}",
                f"Reword it, or register it in {CONTRADICTIONS}: the arm then leaves the contrast",
                max(0, start - piece.start),
                case=vignette.id,
            )
