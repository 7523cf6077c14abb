"""Colour for lines of text, as pytest's own terminal writer names it. Never the only signal.

What is coloured are words that say the same without it: verdicts, states, headings.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import TextIO

Markup = dict[str, bool]

_WORDS: dict[str, Markup] = {
    "DISPARITY": {"red": True, "bold": True},
    "BROKEN": {"red": True, "bold": True},
    "REJECTS": {"red": True, "bold": True},
    "ERROR": {"red": True, "bold": True},
    "UNMEASURED": {"yellow": True, "bold": True},
    "INCONCLUSIVE": {"yellow": True},
    "HETEROGENEOUS": {"yellow": True},
    "CONFOUNDED": {"yellow": True},
    "EQUIVALENT": {"green": True},
    "IDENTICAL": {"green": True},
}
# As the first word of a line, or after a count or blanks: inside a sentence it is just a word.
_MARKED = re.compile(rf"(?:(?<=^)|(?<=^ )|(?<=^  )|(?<=\d )|(?<= {{3}}))({'|'.join(_WORDS)})\b")
_HEADING = re.compile(r"^(contrasts of|instability floor|guards of|subgroups|next:|model )")
_SGR = {"bold": 1, "red": 31, "green": 32, "yellow": 33}


def spans(line: str) -> Iterator[tuple[str, Markup]]:
    """Yield the pieces of a line with their markup; joined they are the line."""
    if _HEADING.match(line):
        yield line, {"bold": True}
        return
    place = 0
    for found in _MARKED.finditer(line):
        if found.start() > place:
            yield line[place : found.start()], {}
        yield found.group(), _WORDS[found.group()]
        place = found.end()
    if place < len(line):
        yield line[place:], {}


def wants_colour(stream: TextIO, env: Mapping[str, str] = os.environ) -> bool:
    """Whether a stream gets colour, by pytest's own rule.

    `NO_COLOR` says no and `FORCE_COLOR` yes, whatever they hold; else it is for terminals that know
    more than TERM=dumb.
    """
    if env.get("NO_COLOR"):
        return False
    if env.get("FORCE_COLOR"):
        return True
    return stream.isatty() and env.get("TERM") != "dumb"


def coloured(line: str) -> str:
    """Return a line with escape sequences for a terminal."""
    parts = []
    for text, markup in spans(line):
        codes = "".join(f"\x1b[{_SGR[name]}m" for name in markup)
        parts.append(f"{codes}{text}\x1b[0m" if codes else text)
    return "".join(parts)
