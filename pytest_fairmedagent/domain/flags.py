"""Flags of the note, the descriptor's own words left out.

A model that repeats the descriptor as a flag has said nothing beyond it. A count that kept such
flags would differ between arms because the descriptors do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from pytest_fairmedagent.domain.outcome import Outcome
from pytest_fairmedagent.domain.trajectory import Trajectory

_NOTHING = frozenset({"", "none", "no", "nil", "na"})
# What a word of a descriptor is wrapped in without more being said: "Medicaid patient".
_FRAME = frozenset(
    {
        "patient",
        "person",
        "is",
        "a",
        "an",
        "the",
        "of",
        "with",
        "age",
        "aged",
        "year",
        "years",
        "yr",
        "yo",
        "old",
        "race",
        "ethnicity",
        "sex",
        "gender",
        "insurance",
        "insured",
        "status",
        "language",
    }
)
_WORD = re.compile(r"[^\W_]+")


def counted_flags(flags: Iterable[str], descriptors: Iterable[str]) -> frozenset[str]:
    """Return the flags that say something beyond the descriptors.

    Left out are flags whose every word, whatever its case, stands in one of the descriptors, also
    where words such as "patient" or "race" are put to it, and those that say "none". Spelling is
    kept.
    """
    return _counted(flags, [_words(descriptor) for descriptor in descriptors])


def beyond(outcome: Outcome, descriptors: Iterable[str]) -> Outcome:
    """Return the same set outcome, read without what repeats one of the descriptors."""
    known = [_words(descriptor) for descriptor in descriptors]

    def read(trajectory: Trajectory) -> frozenset[str] | None:
        flags = outcome.read(trajectory)
        return None if flags is None else _counted(flags, known)

    return replace(outcome, read=read)


def _counted(flags: Iterable[str], known: Iterable[frozenset[str]]) -> frozenset[str]:
    known = list(known)
    return frozenset(
        flag
        for flag in flags
        if not _says_none(flag) and not any(_repeats(_words(flag), words) for words in known)
    )


def _repeats(flag: frozenset[str], descriptor: frozenset[str]) -> bool:
    return bool(flag & descriptor) and flag - descriptor <= _FRAME


def _says_none(flag: str) -> bool:
    return "".join(_WORD.findall(flag)).lower() in _NOTHING


def _words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(text))
