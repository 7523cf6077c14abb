"""Names of people. A name tells sex and ethnicity, so frozen text has none."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import lru_cache

from pytest_fairmedagent.lint.lexicon import rows

# Surnames that stand in the names of diseases, signs, scores and devices, when one of these follows
# or a hyphen joins them ("Stevens-Johnson", "Wilson disease", "Martin gauge").
_EPONYM = re.compile(
    r"-|(?:'s)? (?:disease|syndrome|sign|score|criteria|test|classification|scale|triad|tumor"
    r"|fracture|catheter|tube|maneuver|ulcer|palsy|cyst|point|law|node|body|bodies|hernia"
    r"|rule|rules|index|lymphoma|contracture|thyroiditis|stage|grade|view|drain|splint|needle)"
)
_CAPITAL = re.compile(r"\b[A-Z][\w']+")
_TITLED = re.compile(
    r"\b(?:Mrs?|Ms|Miss|Dr|Prof|Nurse|Officer|Sister|Señora?|Sra?|Herr|Frau|Mme)\.? [A-Z][a-zé]+\b"
)
_INITIAL = re.compile(
    r"\b[A-Z][a-z]+ [A-Z]\. [A-Z][a-z]+\b"
    r"|(?<!\d )\b[A-Z]\. [A-Z][a-z]+(?=, (?:RN|MD|DO|NP|PA|MSW)\b)"
)
_NEXT = re.compile(r" [A-Z][a-z]+\b")
# Words that are names in the middle of a sentence alone; at its start they may be anything.
_WORDS = frozenset(
    {"May", "Le", "Ho", "Li", "Sue", "Jean", "Dakota", "Banks", "Pena", "Angel", "Lin"}
)


@lru_cache(maxsize=1)
def groups() -> tuple[Mapping[str, set[tuple[str, str]]], Mapping[str, set[tuple[str, str]]]]:
    """Return what is known of given names and of surnames: group and gender, "" for several."""
    given: dict[str, set[tuple[str, str]]] = defaultdict(set)
    surnames: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for row in rows("names"):
        told = str(row.get("group", "")), str(row.get("gender", ""))
        for name in str(row.get("given", "")).split():
            given[name].add(told)
        for name in str(row.get("surnames", "")).split():
            surnames[name].add(told)
    return given, surnames


@lru_cache(maxsize=4096)
def names_in(text: str) -> tuple[tuple[int, int, str], ...]:
    """Return start, end and text of the names of people in a text."""
    given, surnames = groups()
    found = []
    for hit in _CAPITAL.finditer(text):
        word = hit.group().removesuffix("'s")
        if word not in given and word not in surnames:
            continue
        start = hit.start()
        if text[:start].endswith("-") or _EPONYM.match(text, start + len(word)):
            continue
        if word in _WORDS and (start == 0 or text[:start].rstrip()[-1:] in '.:;"('):
            continue
        end = start + len(word)
        surname = _NEXT.match(text, end) if word in given else None
        end = surname.end() if surname else end
        found.append((start, end, text[start:end]))
    found += [(hit.start(), hit.end(), hit.group()) for hit in _patterns(text)]
    return tuple(found)


def _patterns(text: str) -> Iterator[re.Match[str]]:
    for pattern in (_TITLED, _INITIAL):
        yield from pattern.finditer(text)
