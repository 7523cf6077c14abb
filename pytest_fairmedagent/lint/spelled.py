"""Numbers that are written in words."""

from __future__ import annotations

import re
from collections.abc import Iterator

_UNITS = {
    word: value
    for value, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ]
    )
}
_TENS = {
    word: 10 * value
    for value, word in enumerate(
        ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], start=2
    )
}
_SCALES = {"hundred": 100, "thousand": 1000}
NUMBER_WORDS = frozenset({*_UNITS, *_TENS, *_SCALES})

_WORD = "|".join(sorted(NUMBER_WORDS, key=len, reverse=True))
_SPELLED = re.compile(rf"\b(?:{_WORD})(?:[- ](?:and )?(?:{_WORD}))*\b", re.IGNORECASE)


def spelled(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield value, start and end of every number in words."""
    for hit in _SPELLED.finditer(text):
        yield value_of(hit.group()), hit.start(), hit.end()


def value_of(words: str) -> int:
    """Return the value of a number in words: 'one hundred and ten' is 110."""
    total = current = 0
    for word in re.findall(r"[a-z]+", words.lower()):
        if word in _UNITS:
            current += _UNITS[word]
        elif word in _TENS:
            current += _TENS[word]
        elif word == "hundred":
            current = max(current, 1) * 100
        elif word == "thousand":
            total, current = total + max(current, 1) * 1000, 0
    return total + current
