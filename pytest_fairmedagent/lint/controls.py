"""Whether a control changes nothing that states who the patient is or what care they get."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_fairmedagent.domain import Condition
from pytest_fairmedagent.lint.cues import lexicon
from pytest_fairmedagent.lint.differing import difference
from pytest_fairmedagent.lint.lexicon import rows

# A control may change what says nothing of care: a word is replaced by one of its own class.
_CLASSES = {
    "a hand": re.compile(r"(?:left|right)(?:handed)?"),
    "a month": re.compile(
        r"january|february|march|april|may|june|july|august|september|october|november|december"
    ),
    "a day of the week": re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"),
    "a number of a record": re.compile(r"\d{3,}"),
}
# A token that no text has: letters without a vowel that are no abbreviation ("Qzvx", never "DNR").
_RARE = re.compile(r"(?=.*[a-z])[bcdfghjklmnpqrstvwxz]{4,}", re.IGNORECASE)
_WORD = re.compile(r"[\w']+")
# Words of a paraphrase that say nothing by themselves.
_GRAMMAR = frozenset(
    [
        "a",
        "an",
        "the",
        "is",
        "are",
        "was",
        "who",
        "with",
        "and",
        "or",
        "of",
        "in",
        "to",
        "has",
        "have",
        "needs",
        "on",
        "by",
        "as",
        "for",
        "at",
        "old",
        "year",
        "years",
        "aged",
        "patient",
        "person",
        "identifies",
        "speaks",
        "speaking",
        "insured",
        "insurance",
        "chart",
        "record",
        "number",
        "born",
    ]
)


def check_sham(condition: Condition, line: str, before: str) -> Iterator[tuple[str, str, str]]:
    """Yield rule, message and advice for a control whose line says other than it may."""
    if not condition.changes and len(difference(before, line).come) > 2:
        yield from _paraphrase(condition.id, line, before)
    else:
        yield from _edit(condition, line, before)


def _edit(condition: Condition, line: str, before: str) -> Iterator[tuple[str, str, str]]:
    changed = difference(before, line)
    gone = [word.text.lower() for word in changed.gone]
    for word in changed.come:
        if condition.drawn and word.attribute == "name":
            continue  # another name for a name; rosters are held to their group
        text = word.text.lower()
        told = lexicon().knows(word.text)
        near = any(
            p.fullmatch(text) and any(p.fullmatch(g) for g in gone) for p in _CLASSES.values()
        ) and not (text.isdigit() and any(len(g) != len(text) for g in gone))
        if near or (_RARE.fullmatch(word.text) and not word.text.isupper()):
            continue
        if condition.reason and not told and not word.attribute:
            continue  # said to be neutral, and no lexicon says otherwise
        kind = word.attribute or (told[0] if told else "")
        what = f"which tells the {kind} of the patient" if kind else "which is no neutral change"
        yield (
            "SW105",
            f"the control '{condition.id}' says '{word.text}', {what}; expected another value of "
            f"{', '.join(_CLASSES)}, or a token that is no word",
            "Change what says nothing of care, or give a 'reason' why this says nothing",
        )
        return


def _paraphrase(name: str, line: str, before: str) -> Iterator[tuple[str, str, str]]:
    said, expected = _stems(line), _stems(before)
    more, fewer = sorted(said - expected), sorted(expected - said)
    for words, what in ((fewer, "drops"), (more, "adds")):
        if words:
            yield (
                "SW111",
                f"the paraphrase '{name}' {what} '{words[0]}'; expected the reference in other "
                "words, with nothing left out or added",
                "Say the same of the patient",
            )
            return


def _stems(line: str) -> set[str]:
    synonyms = {
        word: str(row["means"]) for row in rows("synonyms") for word in str(row["words"]).split()
    }
    found = set()
    for word in _WORD.findall(line.lower()):
        if word in _GRAMMAR:
            continue
        known = synonyms.get(word, word)
        found.add(known if known.isdigit() or len(known) < 6 else known[:5])
    return found
