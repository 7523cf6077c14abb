"""Whether a swap catalogue changes what it says, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_fairmedagent.domain import Catalogue, Condition
from pytest_fairmedagent.lint.differing import difference, mixes_sexes
from pytest_fairmedagent.lint.finding import Hit, Place

# How the attribute of a condition ends that may change several attributes at once, and that of one
# which may have another length.
INTERSECTION = "intersection"
UNMATCHED = "no_descriptor"
# What a sham may change: attributes that say nothing of care.
_SHAM = {"hand", "month", "age"}  # "born in June" is told by the word "born"


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
    elif condition.kind == "sham":
        stems = {word[:4].lower() for word in re.findall(r"\w+", before)}
        free = _SHAM | ({"name"} if condition.drawn else set())  # another name for a name
        telling = [
            word.text
            for word in changed.come
            if word.attribute and word.attribute not in free and word.text[:4].lower() not in stems
        ]
        if telling:
            message = f"the sham '{name}' says '{telling[0]}', which tells who the patient is"
            yield "SW105", message, "Change an attribute that says nothing of care"
