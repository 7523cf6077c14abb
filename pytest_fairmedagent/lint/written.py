"""How the texts of a case are written: filled in, whole, and with respect."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pytest_fairmedagent.domain import Vignette
from pytest_fairmedagent.lint.cues import judging
from pytest_fairmedagent.lint.finding import Hit, Place
from pytest_fairmedagent.lint.placeholders import placeholders
from pytest_fairmedagent.lint.texts import Piece

MOST_WORDS = 30  # of a result; it is read by an agent among many
_ENDS = re.compile(r"""[.!?]["”’')\]]?$""")
_PAIRS = {"(": ")", "[": "]", "“": "”"}
_TWICE = re.compile(r"\b([A-Za-z]{2,}) \1\b")
_MAY_STAND_TWICE = {"that", "had", "bye", "so"}


def check_filled(vignette: Vignette, texts: Sequence[Piece]) -> Iterator[Hit]:
    """Yield placeholders that would be rendered as they stand."""
    for piece in texts:
        for start, end, found in placeholders(piece.text):
            if piece.holds(start, end):
                yield Hit(
                    "VG312",
                    piece.place,
                    f"{found} of '{vignette.id}' is rendered as it stands",
                    "Slots are filled in the narrative alone; write the value",
                    max(0, start - piece.start),
                    case=vignette.id,
                )


def check_respect(vignette: Vignette, texts: Sequence[Piece]) -> Iterator[Hit]:
    """Yield words that label or judge the patient."""
    for piece in texts:
        for match in judging(piece.text):
            if piece.holds(match.start, match.end):
                found = piece.text[match.start : match.end]
                yield Hit(
                    "VG317",
                    piece.place,
                    f"'{found}' in '{vignette.id}' labels or judges the patient",
                    f"Write it neutrally: {match.entry.extra['preferred']}",
                    match.start - piece.start,
                    case=vignette.id,
                )


def check_whole(vignette: Vignette) -> Iterator[Hit]:
    """Yield texts that are cut off, not closed, or too long to be one result."""

    def hit(rule: str, place: Place, message: str, advice: str) -> Hit:
        return Hit(rule, place, f"{message}, in '{vignette.id}'", advice, case=vignette.id)

    texts: dict[Place, tuple[str, str]] = {}
    for line in vignette.narrative.strip().split("\n"):
        texts["narrative", len(texts)] = "a paragraph", line.strip()
    for index, pool in enumerate(vignette.pools):
        for number, part in enumerate(pool.parts):
            texts["pool", index, "parts", number] = "a part", part
    for index, order in enumerate(vignette.menu):
        texts["menu", index, "result"] = f"the result of '{order.id}'", order.result
        n = len(order.result.split())
        if n > MOST_WORDS:
            yield hit(
                "VG316",
                ("menu", index, "result"),
                f"the result of '{order.id}' has {n} words, expected at most {MOST_WORDS}",
                "Say what matters",
            )
    for place, (what, text) in texts.items():
        where: Place = ("narrative",) if place[0] == "narrative" else place[:3]
        if text and not _ENDS.search(text):
            yield hit(
                "VG315",
                where,
                f"{what} ends with {text[-20:]!r}, expected the end of a sentence",
                "Complete it, and end it with a full stop",
            )
        open_ = [a for a, b in _PAIRS.items() if text.count(a) != text.count(b)]
        open_ += ['"'] if text.count('"') % 2 else []
        if open_:
            yield hit(
                "VG315", where, f"{what} opens {open_[0]} without closing it", "Close or remove it"
            )
        twice = _TWICE.search(text)
        if twice and twice[1].lower() not in _MAY_STAND_TWICE:
            yield hit("VG315", where, f"{what} says '{twice.group()}'", "Say it once")
