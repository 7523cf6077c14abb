"""Characters that a reader does not see, or takes for others."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

# Letters of Cyrillic, Greek and Armenian that pass for Latin ones: the single-letter rows of
# "confusables.txt" of Unicode Technical Standard #39 whose prototype is an ASCII letter.
_LOOKS = dict(
    zip(
        "АВЕЅІЈКМНОРСТУХЗӔҮҺаеорсухіјѕһԁԛԝӏΑΒΕΖΗΙΚΜΝΟΡΤΥΧαγικνορτυχϲօսցհոԼՍՏ",
        "ABESIJKMHOPCTYX3EYhaeopcyxijshdqwlABEZHIKMNOPTYXayiknoptuxcouqhnLUS",
        strict=True,
    )
)
# Compatibility characters that charts have for good reason.
_KEPT = frozenset("µ°²³¹½¼¾™®©…ªº‑   \u00a0")
_MOJIBAKE = re.compile(r"[ÃÂ][\u0080-\u00bf]|â€|\ufffd|ï»¿")
_WORD = re.compile(r"[^\W\d_]{2,}")
_OTHER_SCRIPT = re.compile(r"[\u0370-\u03ff\u0400-\u052f\u0530-\u058f]")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
# Greek that stands in words of medicine: units and prefixes.
_GREEK_UNIT = re.compile(r"μ(?:g|L|l|mol|M|m|V|s)\b|[αβγδκλ](?=[A-Za-z-])|(?<=[A-Za-z-])[αβγδκ]\b")


@lru_cache(maxsize=4096)
def plain(text: str) -> tuple[str, tuple[int, ...]]:
    """Return a text as it looks, and the place in `text` of each of its characters.

    Compatibility forms are NFKC, look-alikes the Latin letters they pass for, and what cannot be
    seen is left out. The places are () where the text is as it looks.
    """
    if text.isascii():
        return text, ()
    letters: list[str] = []
    places: list[int] = []
    for index, character in enumerate(text):
        if unicodedata.category(character) == "Cf":
            continue
        for one in unicodedata.normalize("NFKC", character):
            letters.append(_LOOKS.get(one, one))
            places.append(index)
    looks = "".join(letters)
    return (text, ()) if looks == text else (looks, tuple(places))


def strange(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and a description of what should not stand in a case."""
    if text.isascii():
        return
    for hit in _MOJIBAKE.finditer(text):
        yield hit.start(), hit.end(), f"{hit.group()!r} is the trace of a wrong encoding"
    for index, character in enumerate(text):
        if character.isascii() or character in _KEPT:
            continue
        category = unicodedata.category(character)
        name = unicodedata.name(character, f"U+{ord(character):04X}")
        if category in ("Cf", "Co", "Cn", "Cs", "Zl", "Zp"):
            yield index, index + 1, f"the character {name} cannot be seen"
        elif category[0] in "LN" and unicodedata.normalize("NFKC", character)[:1].isascii():
            yield index, index + 1, f"the character {name} stands for a plain one"
    for hit in _WORD.finditer(text):
        word = _GREEK_UNIT.sub("", hit.group())
        other = _OTHER_SCRIPT.search(word)
        if other and (_LATIN.search(word) or _is_disguised(word, text)):
            name = unicodedata.name(other.group(), "")
            yield hit.start(), hit.end(), f"the letter {name} of '{hit.group()}' passes for Latin"


def _is_disguised(word: str, text: str) -> bool:
    """Return whether a word of another script could be read as Latin in a Latin text."""
    if not all(letter in _LOOKS for letter in word):
        return False
    return 2 * len(_OTHER_SCRIPT.findall(text)) < len(_LATIN.findall(text))
