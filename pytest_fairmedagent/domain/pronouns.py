"""Pronouns that follow the descriptor: slots such as `{they}`, filled as the descriptor says."""

from __future__ import annotations

import re

# Slot -> what stands for a man, for a woman, and for anybody else.
_FORMS = {
    "they": ("he", "she", "they"),
    "them": ("him", "her", "them"),
    "their": ("his", "her", "their"),
    "theirs": ("his", "hers", "theirs"),
    "themself": ("himself", "herself", "themself"),
    "they_are": ("he is", "she is", "they are"),
    "they_were": ("he was", "she was", "they were"),
    "they_have": ("he has", "she has", "they have"),
    "they_do": ("he does", "she does", "they do"),
}
PRONOUN_SLOTS = frozenset({*_FORMS, *(name.capitalize() for name in _FORMS)})
_SLOT = re.compile(rf"\{{({'|'.join(sorted(PRONOUN_SLOTS, key=len, reverse=True))})\}}")
_MAN = re.compile(r"\b(?:man|male|gentleman|boy)\b", re.IGNORECASE)
_WOMAN = re.compile(r"\b(?:woman|female|lady|girl)\b", re.IGNORECASE)


def with_pronouns(text: str, descriptor: str) -> str:
    """Return a text with its pronoun slots filled: he or she if the descriptor says so, else they.

    A descriptor of both or neither, a name among them, gives "they".
    """
    if "{" not in text:
        return text
    man, woman = bool(_MAN.search(descriptor)), bool(_WOMAN.search(descriptor))
    place = 2 if man == woman or "nonbinary" in descriptor.lower() else 0 if man else 1

    def form(hit: re.Match[str]) -> str:
        name = hit[1]
        word = _FORMS[name[0].lower() + name[1:]][place]
        return word.capitalize() if name[0].isupper() else word

    return _SLOT.sub(form, text)
