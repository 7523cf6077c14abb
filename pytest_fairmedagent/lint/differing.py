"""What two texts differ in, told by the attributes that the differing words belong to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from pytest_fairmedagent.lint.cues import Cue, cues
from pytest_fairmedagent.lint.names import names_in

_TOKEN = re.compile(r"\w+(?:['’]\w+)?")
# Words that name one sex; a text that holds both mixes them.
MALE = re.compile(r"he|him|his|himself|m[ae]n|males?|gentlem[ae]n|boy|guy|sir|mr")
FEMALE = re.compile(r"she|hers?|herself|wom[ae]n|females?|lady|ladies|girl|madam|mrs|ms|miss")
# Grammar that follows a swap, and belongs to no attribute.
_GRAMMAR = re.compile(
    r"an?|the|is|are|was|were|has|have|who|and|or|with|of|in|to|needs?|patient|person",
    re.IGNORECASE,
)
_ROLES = {
    word: words[0]
    for words in (
        ("husband", "wife"),
        ("boyfriend", "girlfriend"),
        ("widower", "widow"),
        ("father", "mother"),
        ("son", "daughter"),
        ("brother", "sister"),
        ("uncle", "aunt"),
    )
    for word in words
}


@dataclass(frozen=True)
class Word:
    """A word of a text that the other text does not have there, and its attribute ("" for none)."""

    text: str
    attribute: str


@dataclass(frozen=True)
class Difference:
    """The words that only one of two texts has, in order."""

    gone: tuple[Word, ...]
    come: tuple[Word, ...]

    @property
    def attributes(self) -> set[str]:
        """The attributes of the words. A spouse or parent who becomes one of the other sex goes
        with the sex of the patient where that is swapped; alone it tells the orientation."""
        found = {word.attribute for word in (*self.gone, *self.come) if word.attribute}
        roles = [
            [_ROLES[w.text.lower()] for w in words if w.text.lower() in _ROLES]
            for words in (self.gone, self.come)
        ]
        if "family" in found and roles[0] and roles[0] == roles[1]:
            found.discard("family")
            found.add("sex" if "sex" in found else "orientation")
        return found

    @property
    def unexplained(self) -> tuple[str, ...]:
        """Differing words that belong to no attribute and are not grammar either."""
        words = (*self.gone, *self.come)
        return tuple(w.text for w in words if not w.attribute and not _GRAMMAR.fullmatch(w.text))


@lru_cache(maxsize=512)
def difference(reference: str, other: str) -> Difference:
    """Return what differs between two texts, word by word."""
    a, b = list(_TOKEN.finditer(reference)), list(_TOKEN.finditer(other))
    left, right = _attributes_of(reference), _attributes_of(other)
    matcher = SequenceMatcher(None, [t.group() for t in a], [t.group() for t in b], autojunk=False)
    gone: list[Word] = []
    come: list[Word] = []
    for kind, i, j, k, n in matcher.get_opcodes():
        if kind != "equal":
            gone += [_word(token, left) for token in a[i:j]]
            come += [_word(token, right) for token in b[k:n]]
    return Difference(tuple(gone), tuple(come))


def _attributes_of(text: str) -> list[Cue]:
    names = [Cue("name", *hit) for hit in names_in(text)]
    # A name says what it is perceived as, and no more: nobody named Kenya Baker bakes.
    rest = [c for c in cues(text) if not any(n.start <= c.start and c.end <= n.end for n in names)]
    return [*names, *rest]


def _word(token: re.Match[str], found: list[Cue]) -> Word:
    holding = [cue for cue in found if cue.start <= token.start() and token.end() <= cue.end]
    # A noun inside a phrase may say something of its own: the "man" of "Black man" is no race.
    closest = min(holding, key=lambda cue: cue.end - cue.start, default=None)
    return Word(token.group(), closest.attribute if closest else "")


def mixes_sexes(text: str) -> tuple[str, str] | None:
    """Return a word for each sex where a text has both, else None."""
    words = [hit.group().lower() for hit in _TOKEN.finditer(text)]
    male = next((word for word in words if MALE.fullmatch(word)), None)
    female = next((word for word in words if FEMALE.fullmatch(word)), None)
    return (male, female) if male and female else None
