"""Finding the words of a text that say who the patient is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from pytest_fairmedagent.lint.characters import plain
from pytest_fairmedagent.lint.lexicon import Lexicon, Match, read_lexicon

# What two kinds of words say together: a pronoun is as good as the sex it goes with.
ATTRIBUTE = {"pronoun": "sex", "anatomy": "sex", "obstetrics": "sex", "partner": "family"}

WORDING = "wording"  # the kind, and the file, of words that label or judge people


@dataclass(frozen=True)
class Cue:
    """A word or phrase of a text, from `start` to `end`, and the kind of thing it says."""

    kind: str
    start: int
    end: int
    text: str

    @property
    def attribute(self) -> str:
        return ATTRIBUTE.get(self.kind, self.kind)


@lru_cache(maxsize=1)
def lexicon() -> Lexicon:
    """Return the words that say who somebody is, and those that judge people."""
    return read_lexicon("person", "origin", "circumstances", WORDING)


@lru_cache(maxsize=4096)
def _said(text: str) -> tuple[Match, ...]:
    """Return what a text says, looked up as it looks; places are those of `text`."""
    looks, places = plain(text)
    found = lexicon().find(looks)
    if not places:
        return tuple(found)
    return tuple(Match(m.entry, places[m.start], places[m.end - 1] + 1) for m in found)


def judging(text: str) -> tuple[Match, ...]:
    """Return the words of a text that label or judge people, each with what to write instead."""
    return tuple(match for match in _said(text) if match.entry.kind == WORDING)


@lru_cache(maxsize=4096)  # names of orders come again in case after case
def cues(text: str) -> tuple[Cue, ...]:
    """Return the cues of a text in order. A word inside a phrase is told once, as the phrase.

    Words are looked up as they look: letters of another script that pass for Latin ones, and those
    that cannot be seen, hide nothing.
    """
    found = [
        Cue(m.entry.kind, m.start, m.end, text[m.start : m.end])
        for m in _said(text)
        if m.entry.kind != WORDING
    ]
    ends: dict[str, int] = {}
    longest = []
    for cue in sorted(found, key=lambda cue: (cue.start, -cue.end)):
        if cue.end > ends.get(cue.kind, -1):
            ends[cue.kind] = cue.end
            longest.append(cue)
    return tuple(longest)


def undone(text: str, start: int, end: int) -> bool:
    """Return whether what stands beside a word makes it none that says who somebody is.

    "White cells" begins a sentence with a capital and is nobody.
    """
    known = lexicon().knows(text[start:end])
    return bool(known) and not any(c.start <= start and end <= c.end for c in cues(text))


def attributes(text: str) -> set[str]:
    """Return the attributes that a text says something of."""
    return {cue.attribute for cue in cues(text)}


_HISTORY_AGE = re.compile(
    r"\b(?:(?:at|since|from|until|by) (?:the )?age(?: of)?|aged|age-adjusted|over the age of)$",
    re.I,
)
_OTHERS = re.compile(
    r"\b(?:mothers?|fathers?|parents?|siblings?|brothers?|sisters?|sons?|daughters?|child|children"
    r"|grand\w+|uncles?|aunts?|cousins?|neighbou?rs?|roommates?|friends?|relatives?|wife|husband"
    r"|partner|family|famil(?:y|ial)|household|witness\w*|bystanders?|donors?)\b",
    re.IGNORECASE,
)
_STOP = re.compile(r"[.!?;](?:\s|$)")


def of_another(text: str, cue: Cue) -> bool:
    """Return whether a cue is told of somebody else, or of a time long past.

    "Father died at 52" and "asthma since the age of six" say nothing of who the patient is now.
    """
    before = text[max(0, cue.start - 90) : cue.start]
    sentence = _STOP.split(before)[-1]
    if cue.kind == "family":
        return True
    if cue.kind == "age" and (
        _HISTORY_AGE.search(text[max(0, cue.start - 24) : cue.end].rstrip(" ."))
        or re.search(r"\b(?:at|since|from|until|by|the) (?:the )?$", before)
    ):
        return True
    return bool(_OTHERS.search(sentence))
