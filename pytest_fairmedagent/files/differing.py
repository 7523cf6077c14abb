"""Whether two texts differ in one marked attribute and in nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

Forms = Sequence[tuple[Sequence[str], Sequence[str]]]

_TOKEN = re.compile(r"\w+|[^\w\s]")
_ENDS = frozenset(".!?")  # after these a capital says nothing

# What may change along with any attribute, and with sex or gender: grammar, not another attribute.
_ARTICLES = (frozenset({"a", "an"}),)
_PRONOUNS = (
    frozenset({"he", "she", "they"}),
    frozenset({"him", "her", "them"}),
    frozenset({"his", "her", "their"}),
    frozenset({"his", "hers", "theirs"}),
    frozenset({"himself", "herself", "themself", "themselves"}),
)
_SHOWN = 4


def first_unexplained(
    reference: str, swapped: str, values: Sequence[tuple[str, str]], *, pronouns: bool = False
) -> tuple[str, str] | None:
    """Return what follows in each text where they part for another reason, or None.

    Args:
        reference, swapped: the two texts. White space does not count.
        values: what the marked attribute is called in each, as pairs; an empty word stands for a
            text that does not mention it. At least one of them must be swapped.
        pronouns: whether he, she and they may change too. Articles (a, an) always may.

    Walks through both texts at once, word for word; where both an equal word and a marked value
    lead on, both ways are tried.
    """
    a, b = _TOKEN.findall(reference), _TOKEN.findall(swapped)
    forms = [(_TOKEN.findall(x.lower()), _TOKEN.findall(y.lower())) for x, y in values]
    free = _ARTICLES + (_PRONOUNS if pronouns else ())
    lower_a, lower_b = [w.lower() for w in a], [w.lower() for w in b]
    farthest = (0, 0)
    seen: set[tuple[int, int, bool]] = set()
    ways = [(0, 0, False)]
    while ways:
        way = ways.pop()
        if way in seen:
            continue
        seen.add(way)
        i, j, swap_made = way
        if i == len(a) and j == len(b) and swap_made:
            return None
        if i + j > sum(farthest):
            farthest = (i, j)
        ways.extend((m, n, True) for m, n in _swaps(lower_a, lower_b, i, j, forms))
        if i < len(a) and j < len(b):
            x, y = lower_a[i], lower_b[j]
            alike = a[i] == b[j] or (x == y and (_starts(a, i) or _starts(b, j)))
            if alike or any(x in words and y in words for words in free):
                ways.append((i + 1, j + 1, swap_made))
    i, j = farthest
    return " ".join(a[i : i + _SHOWN]), " ".join(b[j : j + _SHOWN])


def left_over(swapped: str, values: Sequence[tuple[str, str]]) -> str | None:
    """Return a word of the reference that the swapped text still has, or None.

    Such a text is swapped by half. Numbers are no sign of it, since 34 can be an age and a dose.
    """
    rest = swapped
    for _, after in values:
        if after.strip():
            rest = re.sub(rf"(?<!\w){re.escape(after.strip())}(?!\w)", "\0", rest, flags=re.I)
    for before, _ in values:
        word = before.strip()
        if re.search(r"[^\W\d]", word) and re.search(rf"(?<!\w){re.escape(word)}(?!\w)", rest):
            return word
    return None


def _swaps(
    a: Sequence[str], b: Sequence[str], i: int, j: int, forms: Forms
) -> Iterator[tuple[int, int]]:
    """Yield where both texts go on after a marked value that stands at i and j."""
    for x, y in forms:
        m, n = i + len(x), j + len(y)
        if m + n > i + j and list(a[i:m]) == list(x) and list(b[j:n]) == list(y):
            yield m, n


def _starts(words: Sequence[str], i: int) -> bool:
    return i == 0 or words[i - 1] in _ENDS
