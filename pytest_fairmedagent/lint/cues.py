"""Finding the words of a text that say who the patient is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from pytest_fairmedagent.lint.words import PHRASES, kind_of

_WORD = re.compile(r"[^\W\d_]+")
# "White cells" begins a sentence with a capital and is nobody.
_THINGS = re.compile(
    r" (?:blood )?(?:cells?|counts?|matter|plaques?|exudates?|stools?|sputum|discharge"
    r"|patch|patches|spots?|eschar|lesions?)\b"
)

# What two kinds of words say together: a pronoun is as good as the sex it goes with.
ATTRIBUTE = {"pronoun": "sex", "anatomy": "sex", "name": "name"}


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


_kind_of = lru_cache(maxsize=50_000)(kind_of)


def is_thing(text: str, end: int) -> bool:
    """Return whether a color that ends here is that of a thing."""
    return bool(_THINGS.match(text, end))


@lru_cache(maxsize=4096)  # names of orders come again in case after case
def cues(text: str) -> tuple[Cue, ...]:
    """Return the cues of a text in order. A word inside a phrase is told once, as the phrase."""
    found = []
    words = set()
    for hit in _WORD.finditer(text):
        word = hit.group()
        words.add(word.lower())
        kind = _kind_of(word)
        if kind and not (kind == "race" and is_thing(text, hit.end())):
            found.append(Cue(kind, hit.start(), hit.end(), word))
    phrases = [
        Cue(kind, hit.start(), hit.end(), hit.group())
        for triggers, kind, pattern in PHRASES
        if not triggers.isdisjoint(words)
        for hit in pattern.finditer(text)
    ]
    if phrases:
        found = [
            cue
            for cue in found
            if not any(
                p.kind == cue.kind and p.start <= cue.start and cue.end <= p.end for p in phrases
            )
        ]
        found = sorted({*found, *phrases}, key=lambda cue: (cue.start, cue.end))
    return tuple(found)


def attributes(text: str) -> set[str]:
    """Return the attributes that a text says something of."""
    return {cue.attribute for cue in cues(text)}
