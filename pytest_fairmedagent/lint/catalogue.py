"""Whether a swap catalogue changes what it says, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches

from pytest_fairmedagent.domain import Catalogue, Condition
from pytest_fairmedagent.lint.controls import check_sham
from pytest_fairmedagent.lint.cues import cues, judging, lexicon
from pytest_fairmedagent.lint.differing import difference, mixes_sexes
from pytest_fairmedagent.lint.finding import Hit, Place

# How the attribute of a condition ends that may change several attributes at once, and that of one
# which may have another length.
INTERSECTION = "intersection"
UNMATCHED = "no_descriptor"
YOUNGEST, OLDEST = 18, 110  # what an adult can be
_AGE = re.compile(r"\b(\d+|[a-z]+)-(?:year|yr)s?-old\b", re.IGNORECASE)
_NAMES = re.compile(r"[^\W\d_][\w'’]*")
# Words of lines that say how a thing is, not what it is; with those of the lexicons, what is known.
_PLAIN = frozenset(
    [
        "a",
        "an",
        "the",
        "with",
        "and",
        "or",
        "in",
        "of",
        "on",
        "no",
        "not",
        "lacks",
        "lacking",
        "limited",
        "required",
        "needs",
        "own",
        "without",
        "uses",
        "has",
        "is",
        "speaks",
        "requires",
        "fluent",
        "full",
        "part",
        "time",
        "low",
        "high",
        "middle",
        "income",
        "school",
        "education",
        "degree",
        "status",
        "patient",
        "person",
        "adult",
        "experiencing",
        "living",
        "stable",
    ]
)


def check_catalogue(catalogue: Catalogue) -> Iterator[Hit]:
    """Yield the conditions whose line is not a clean swap of the reference line."""
    places: dict[str, Place] = {}
    number = 0
    for condition in catalogue.conditions.values():
        if condition.kind == "reference":
            places[condition.id] = ("line",)
        else:
            places[condition.id] = ("condition", number)
            number += 1
    reference = catalogue.reference
    if not reference.descriptor:
        return  # ready pairs: the descriptors are in the cases
    seen: dict[tuple[str, ...], str] = {}
    for condition in catalogue.conditions.values():
        for rule, message, advice in _check(condition, reference):
            yield Hit(rule, places[condition.id], message, advice)
        lines = _lines(condition)
        first = seen.setdefault(lines, condition.id)
        if first != condition.id and condition.kind != "identical":
            yield Hit(
                "SW106",
                places[condition.id],
                f"'{condition.id}' has the line of '{first}'",
                "Change what it swaps, or remove it",
            )


def _lines(condition: Condition) -> tuple[str, ...]:
    return condition.drawn or (condition.descriptor,)


def _check(condition: Condition, reference: Condition) -> Iterator[tuple[str, str, str]]:
    for line, before in zip(_lines(condition), _lines(reference), strict=False):
        found = list(_check_line(condition, line, before))
        if found:  # one name of a roster speaks for the others
            yield from found
            return


def _check_line(condition: Condition, line: str, before: str) -> Iterator[tuple[str, str, str]]:
    name = condition.id
    if "\n" in line or re.search(r"[{}]|canary", line):
        yield "SW107", f"the line of '{name}' is {line!r}, expected one plain line", "Mend it"
    mixed = mixes_sexes(line)
    if mixed:
        message = f"the line of '{name}' says '{mixed[0]}' and '{mixed[1]}'"
        yield "SW103", message, "Swap all words of one sex together"
    if condition.kind in ("reference", "identical") or condition.attribute == UNMATCHED:
        return
    n, expected = len(line.split()), len(before.split())
    if n != expected:
        message = f"the line of '{name}' has {n} words, expected {expected} as the reference"
        yield "SW101", message, "Choose values of as many words, joined by '-' if need be"
    changed = difference(before, line)
    if condition.kind == "swap":
        left = {word.text for word in changed.gone if word.attribute}
        left = {w for w in left if re.search(rf"(?<![\w-]){re.escape(w)}(?![\w-])", line)}
        if left:
            message = f"'{name}' swaps '{sorted(left)[0]}' in one place and leaves it in another"
            yield "SW102", message, "Use the slot in both places"
        several = changed.attributes
        if len(several) > 1 and not condition.attribute.endswith(INTERSECTION):
            message = (
                f"'{name}' changes several attributes at once ({', '.join(sorted(several))}), "
                f"registered as '{condition.attribute}'"
            )
            yield "SW104", message, f'Change one, or register it: attribute = "{INTERSECTION}"'
        yield from _check_values(condition, line, before)
    elif condition.kind == "sham":
        yield from check_sham(condition, line, before)


def _check_values(condition: Condition, line: str, before: str) -> Iterator[tuple[str, str, str]]:
    """Yield what is wrong with the words that a swap puts in: spelling, age, respect."""
    age, old = _AGE.search(line), _AGE.search(before)
    if age and (not old or age[1] != old[1]):
        years = int(age[1]) if age[1].isdigit() else None
        if years is None or not YOUNGEST <= years <= OLDEST:
            message = f"'{condition.id}' makes the patient '{age[0]}'"
            expected = f"{message}, expected {YOUNGEST} to {OLDEST} in digits"
            yield "SW109", expected, "Mend the age, or give a 'reason'"
    come = {w for w in _NAMES.findall(line) if w not in _NAMES.findall(before)}
    for match in judging(line):
        found = line[match.start : match.end]
        if come & set(_NAMES.findall(found)):
            preferred = match.entry.extra["preferred"]
            yield "SW110", f"'{condition.id}' says '{found}'", f"Write it with respect: {preferred}"
    if condition.drawn or condition.reason:
        return
    whole = {word for cue in cues(line) for word in _NAMES.findall(cue.text)}
    for word in sorted(come):
        if word in whole or word.lower() in _PLAIN or lexicon().knows(word):
            continue
        near = _nearest(word)
        if near or not re.search("[aeiou]", word.lower()):
            message = f"'{condition.id}' puts in '{word}', which no lexicon knows{near}"
            yield "SW108", message, "Mend the spelling, or give a 'reason' why the word is right"


def _nearest(word: str) -> str:
    """Return the known word that another may be a slip of, in words; "" for none."""
    known = {one.lower(): one for one in lexicon().words()} if len(word) > 3 else {}
    lower = word.lower()
    # Letters that changed places, or one that slipped in a longer word: "Green" is no "Greek".
    found = [one for one in known if sorted(one) == sorted(lower)]
    found = found or get_close_matches(lower, known, n=1, cutoff=0.85)
    return f" (is it '{known[found[0]]}'?)" if found else ""
