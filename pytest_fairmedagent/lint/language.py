"""Whether a text is English, which the lexicons are."""

from __future__ import annotations

import re

# The most frequent words of languages, but those that two of them share ("a", "in", "no").
_ENGLISH = frozenset(
    [
        "the",
        "and",
        "of",
        "with",
        "is",
        "was",
        "for",
        "that",
        "has",
        "had",
        "on",
        "at",
        "are",
        "by",
        "not",
        "from",
        "to",
        "patient",
        "which",
        "after",
    ]
)
_OTHERS = frozenset(
    [
        "der",
        "die",
        "das",
        "und",
        "mit",
        "ist",
        "nicht",
        "ein",
        "eine",
        "einer",
        "im",
        "auf",
        "dem",
        "den",
        "seit",
        "wird",
        "bei",
        "nach",
        "von",
        "zu",
        "keine",
        "el",
        "la",
        "los",
        "las",
        "de",
        "del",
        "con",
        "y",
        "por",
        "una",
        "un",
        "desde",
        "hace",
        "es",
        "se",
        "sin",
        "que",
        "para",
        "en",
        "refiere",
        "paciente",
        "le",
        "les",
        "des",
        "du",
        "et",
        "avec",
        "est",
        "une",
        "depuis",
        "dans",
        "il",
        "elle",
        "sur",
        "pas",
        "o",
        "os",
        "da",
        "do",
        "com",
        "um",
        "uma",
        "na",
        "em",
        "e",
        "di",
        "il",
        "che",
        "della",
        "sono",
        "nel",
        "alla",
    ]
)
_WORD = re.compile(r"[^\W\d_]+")
_LEAST = 8  # words of which one can tell a language


def is_english(text: str) -> bool:
    """Return whether a text reads as English; a short one passes for it."""
    words = [word.lower() for word in _WORD.findall(text)]
    english = sum(word in _ENGLISH for word in words)
    others = sum(word in _OTHERS for word in words)
    latin = sum(word.isascii() for word in words)
    if len(words) < _LEAST:
        return True
    return others <= english and 3 * latin >= len(words)
