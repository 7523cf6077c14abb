"""Whether the numbers of a case are possible, and have the units they need."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pytest_fairmedagent.domain import Vignette
from pytest_fairmedagent.lint.doses import DOSES
from pytest_fairmedagent.lint.finding import Hit
from pytest_fairmedagent.lint.frequency import frequencies
from pytest_fairmedagent.lint.quantities import (
    Quantity,
    continues,
    doses,
    in_words,
    measured,
    pressures,
    scores_of_ten,
    strange_unit,
    temperatures,
)
from pytest_fairmedagent.lint.ranges import LABS, VITALS, Measure
from pytest_fairmedagent.lint.spelled import value_of
from pytest_fairmedagent.lint.texts import Piece
from pytest_fairmedagent.lint.units import convert

_FAHRENHEIT_FROM = 60.0  # no patient is this hot in C or this cold in F
# g/dL; where the normal ranges of men (13.5 to 17.5) and women (12.0 to 15.5) overlap.
_HEMOGLOBIN = (13.5, 15.5)
_NUMBER = re.compile(
    r"\d|\b(?:ten|eleven|twelve|\w+teen|\w+ty|hundred|thousand|daily|hourly|every)\b", re.IGNORECASE
)


def check_numbers(
    vignette: Vignette, texts: Sequence[Piece], *, errors_only: bool = False
) -> Iterator[Hit]:
    """Yield what is wrong with the numbers of `texts`, the pieces of a case.

    With `errors_only` what is merely implausible is not looked for, which is most of the work.
    """
    for piece in texts:
        if not _NUMBER.search(piece.text):
            continue
        found = _certain(piece.text) if errors_only else _in_text(piece.text)
        for rule, start, end, message, advice in found:
            if piece.holds(start, end):
                yield Hit(
                    rule,
                    piece.place,
                    f"{message}, in '{vignette.id}'",
                    advice,
                    max(0, start - piece.start),
                    case=vignette.id,
                )


_IN_WORDS = r"((?:[a-z]+[- ]){0,4}[a-z]+)"
_PRESSURE_IN_WORDS = re.compile(
    rf"\b(?:[Bb]lood pressure|BP)(?: of| is| was)? {_IN_WORDS} over {_IN_WORDS}(?= mm|[.,;]|$)"
)
_Found = tuple[str, int, int, str, str]


def _in_text(text: str) -> Iterator[_Found]:
    for quantity in measured(text):
        name = quantity.measure
        if name == "temperature" and quantity.unit:
            continue  # every number with such a unit is looked at below
        if name in VITALS:
            yield from _vital(text, quantity, VITALS[name])
        else:
            yield from _lab(text, quantity, LABS[name])
    yield from _in_words(text)
    yield from _certain(text)
    for quantity in scores_of_ten(text):
        if quantity.value > 10:
            yield _found("VG401", quantity, "expected 0 to 10", "Mend the score")
    yield from _doses(text)
    for dose, words, expected in frequencies(text):
        yield _found("VG407", dose, f"taken {words}, expected {expected}", "Mend dose or frequency")


def _certain(text: str) -> Iterator[_Found]:
    """Yield what is wrong with temperatures and pressures: they can contradict themselves."""
    for quantity in temperatures(text):
        yield from _temperature(quantity)
    yield from _pressures(text)


def _found(rule: str, quantity: Quantity, expected: str, advice: str) -> _Found:
    return rule, quantity.start, quantity.end, f"'{quantity.written}': {expected}", advice


def _vital(text: str, quantity: Quantity, measure: Measure) -> Iterator[_Found]:
    unit = next(iter(measure.ranges))
    followed = quantity.unit or continues(text, quantity.end)
    if unit and not followed:
        yield _found("VG402", quantity, f"no unit, expected {unit}", f"Write {unit} after it")
    elif quantity.unit and quantity.unit not in measure.ranges:
        yield _found(
            "VG402", quantity, f"unit {quantity.unit}, expected {unit}", f"Write it in {unit}"
        )
    low, high = measure.ranges.get(quantity.unit, measure.ranges[unit])
    if not low <= quantity.value <= high:
        yield _found("VG401", quantity, f"expected {low:g} to {high:g} {unit}", "Mend the value")


def _in_words(text: str) -> Iterator[_Found]:
    """Yield what is wrong with numbers in words; they are held to their range alone."""
    for quantity in in_words(text):
        name = quantity.measure
        measure = {**VITALS, **LABS}[name]
        if name == "temperature" and quantity.unit:
            yield from _temperature(quantity)
            continue
        spans = [measure.ranges[quantity.unit]] if quantity.unit in measure.ranges else []
        if not any(low <= quantity.value <= high for low, high in spans or measure.ranges.values()):
            rule = "VG401" if name in VITALS else "VG405"
            low, high = (spans or list(measure.ranges.values()))[0]
            yield _found(rule, quantity, f"{name}, expected {low:g} to {high:g}", "Mend the value")
    for hit in _PRESSURE_IN_WORDS.finditer(text) if " over " in text else ():
        systolic, diastolic = value_of(hit[1]), value_of(hit[2])
        if systolic <= diastolic:
            message = f"'{hit.group()}': systolic expected above diastolic"
            yield "VG404", hit.start(), hit.end(), message, "Mend one of them"


def _lab(text: str, quantity: Quantity, measure: Measure) -> Iterator[_Found]:
    strange = "" if quantity.unit else strange_unit(text, quantity.end)
    if strange:
        units = ", ".join(filter(None, measure.ranges)) or "no unit"
        yield _found("VG405", quantity, f"unit {strange}, expected {units}", "Mend value or unit")
        return
    if quantity.unit and quantity.unit not in measure.ranges:
        ways = [u for u in measure.ranges if convert(1, quantity.unit, u, quantity.measure)]
        if ways:
            value = convert(quantity.value, quantity.unit, ways[0], quantity.measure)
            low, high = measure.ranges[ways[0]]
            if value is None or low <= value <= high:
                return
        units = ", ".join(filter(None, measure.ranges)) or "no unit"
        yield _found(
            "VG405", quantity, f"unit {quantity.unit}, expected {units}", "Mend value or unit"
        )
        return
    spans = measure.ranges.values() if not quantity.unit else [measure.ranges[quantity.unit]]
    if not any(low <= quantity.value <= high for low, high in spans):
        low, high = min(s[0] for s in spans), max(s[1] for s in spans)
        yield _found(
            "VG405", quantity, f"expected {low:g} to {high:g} {quantity.unit}".rstrip(), "Mend it"
        )
    if quantity.measure == "hemoglobin" and quantity.unit in ("g/dL", ""):
        least, most = _HEMOGLOBIN
        if 11.9 < quantity.value < least or most < quantity.value < 17.6:
            yield _found(
                "VG221",
                quantity,
                f"normal for one sex and not for the other, expected {least:g} to {most:g} g/dL or "
                "a value that is abnormal for both",
                "Choose one, or no arm could be right to act alike",
            )


def _temperature(quantity: Quantity) -> Iterator[_Found]:
    fits_fahrenheit = quantity.value >= _FAHRENHEIT_FROM
    if fits_fahrenheit != (quantity.unit == "F"):
        other = "F" if fits_fahrenheit else "C"
        yield _found("VG403", quantity, f"a value in {other}", f"Write {other}, or convert it")
        return
    low, high = VITALS["temperature"].ranges[quantity.unit]
    if not low <= quantity.value <= high:
        yield _found("VG401", quantity, f"expected {low:g} to {high:g} {quantity.unit}", "Mend it")


def _pressures(text: str) -> Iterator[_Found]:
    for systolic, diastolic, has_unit, start, end in pressures(text):
        written = f"'BP {systolic}/{diastolic}'"
        if systolic <= diastolic:
            message = f"{written}: systolic expected above diastolic"
            yield "VG404", start, end, message, "Mend one of them"
            continue
        for name, value in (("systolic", systolic), ("diastolic", diastolic)):
            low, high = VITALS[name].ranges["mmHg"]
            if not low <= value <= high:
                message = f"{written}: {name} expected {low:g} to {high:g} mmHg"
                yield "VG401", start, end, message, "Mend the value"
        if not has_unit:
            yield "VG402", start, end, f"{written}: no unit, expected mmHg", "Write mmHg after it"


_DAILY = re.compile(r"\b(?:total|per day|a day in all|in all|overdose|swallowed|ingested)\b", re.I)


def _doses(text: str) -> Iterator[_Found]:
    for quantity in doses(text):
        unit, low, high = DOSES[quantity.measure]
        value = convert(quantity.value, quantity.unit, unit) if quantity.unit else None
        around = text[max(0, quantity.start - 60) : quantity.end + 30]
        if _DAILY.search(around):
            continue
        if value is None:
            message = f"unit {quantity.unit}, expected {unit}"
            yield _found("VG406", quantity, message, "Mend value or unit")
        elif not low <= round(value, 9) <= high:
            message = f"expected a single dose of {low:g} to {high:g} {unit}"
            yield _found("VG406", quantity, message, "Mend value or unit, or silence the rule")
