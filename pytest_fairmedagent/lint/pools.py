"""Whether the values of a pool say clinically the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_fairmedagent.domain import Vignette
from pytest_fairmedagent.domain.vignette import Pool
from pytest_fairmedagent.errors import closest
from pytest_fairmedagent.lint.finding import Hit
from pytest_fairmedagent.lint.quantities import NUMBER, number
from pytest_fairmedagent.lint.ranges import LABS, VITALS, Measure, class_of, shown_class
from pytest_fairmedagent.lint.units import SAME, convert, unit_of

PRESSURE, DOSE = "blood_pressure", "dose"
MEASURES = (*VITALS, *LABS, PRESSURE, DOSE)
# Where no classes are agreed on, values may lie this far from the base, as a share of it.
_SPREAD = 0.25

_UNIT = "|".join(re.escape(unit) for unit in sorted(SAME, key=len, reverse=True))
_VALUE = re.compile(rf"(?<![\w.])({NUMBER})\s*(?:({_UNIT})(?![\w/^]))?", re.IGNORECASE)
_CLOCK = re.compile(r"\b\d{1,2}:\d\d\b")
_PAIR = re.compile(r"(?<!\d)(\d{2,3})/(\d{2,3})(?!\d)")


@dataclass(frozen=True)
class _Read:
    value: float
    unit: str
    step: float  # of the last digit that is written


def check_pools(vignette: Vignette) -> Iterator[Hit]:
    """Yield pools whose values cannot be read, leave their class, or differ across units."""
    for index, pool in enumerate(vignette.pools):
        place = ("pool", index, "values" if pool.values else "parts")
        for rule, message, advice in _check(pool):
            where = ("pool", index, "measure") if rule == "VG503" else place
            yield Hit(
                rule,
                where,
                f"pool '{pool.slot}' of '{vignette.id}': {message}",
                advice,
                case=vignette.id,
            )


def _check(pool: Pool) -> Iterator[tuple[str, str, str]]:
    if not pool.measure:
        varying = [v for v in pool.values if any(c.isdigit() for c in _CLOCK.sub("", v))]
        if varying:
            yield (
                "VG504",
                f"'{varying[0]}' is a number that varies without a measure",
                "Give the pool a measure, so that its range can be checked",
            )
        return
    if pool.measure not in MEASURES:
        known = closest(pool.measure, MEASURES).replace("\n ", ";")
        yield "VG503", f"unknown measure '{pool.measure}'.{known}", "Name a measure that is known"
        return
    if pool.measure == PRESSURE:
        yield from _check_pressures(pool)
        return
    measure = {**VITALS, **LABS}.get(pool.measure, Measure("(?!)", {}))
    read = []
    for value in pool.values:
        hit = _VALUE.search(value)
        if hit is None:
            yield "VG503", f"'{value}' holds no number", "Write the value as a number"
            return
        digits = len(hit[1].partition(".")[2])
        read.append(_Read(number(hit[1]), unit_of(hit[2] or ""), 10.0**-digits))
    if read:
        yield from _check_values(pool, measure, read)


def _check_values(
    pool: Pool, measure: Measure, read: list[_Read]
) -> Iterator[tuple[str, str, str]]:
    base, main = read[0], next(iter(measure.ranges), read[0].unit)
    own = base.unit or main
    same_unit = [(r, r.value) for r in read if (r.unit or own) == own]
    for written, one in zip(pool.values, read, strict=True):
        unit = one.unit or own
        value = convert(one.value, unit, own, pool.measure)
        if value is None:
            message = f"'{written}' is in {unit}, which does not convert to {own}"
            yield "VG503", message, "Mend the unit"
            continue
        if unit != own:
            step = convert(one.step, unit, own, pool.measure) or 0.0
            if own in ("C", "F"):
                step = one.step / 1.8 if own == "C" else one.step * 1.8
            if not any(abs(value - v) <= (step + r.step) / 2 + 1e-9 for r, v in same_unit):
                yield (
                    "VG502",
                    f"'{written}' is {value:.4g} {own}, expected one of the values in {own}: "
                    f"{', '.join(f'{v:g}' for _, v in same_unit)}",
                    "Convert it exactly, rounded to its last digit",
                )
                continue
        yield from _in_class(pool, measure, written, value, base.value, own, main)


def _in_class(
    pool: Pool, measure: Measure, written: str, value: float, base: float, own: str, main: str
) -> Iterator[tuple[str, str, str]]:
    if pool.measure == DOSE:
        if abs(value - base) > 1e-6 * max(abs(base), 1):
            message = f"'{written}' is another dose than '{pool.base}'"
            yield "VG501", message, "A pool may write a dose otherwise, not change it"
        return
    if measure.cuts:
        here, there = (convert(v, own, main, pool.measure) for v in (value, base))
        if here is None or there is None:
            return  # told by the caller
        digits = 1 if main == "C" else 6  # 38.04 C is 38.0 C on any chart
        here, there = round(here, digits), round(there, digits)
        if class_of(here, measure.cuts) != class_of(there, measure.cuts):
            span = shown_class(class_of(there, measure.cuts), measure.cuts)
            message = f"'{written}' leaves the class of '{pool.base}', expected {span} {main}"
            yield "VG501", message.rstrip(), "Keep all values of a pool in one class"
    elif abs(value - base) > _SPREAD * abs(base):
        low, high = sorted((base * (1 - _SPREAD), base * (1 + _SPREAD)))
        message = f"'{written}' is far from '{pool.base}', expected {low:.3g} to {high:.3g} {own}"
        yield "VG501", message.rstrip(), "Keep all values of a pool close together"


def _check_pressures(pool: Pool) -> Iterator[tuple[str, str, str]]:
    classes = []
    for value in pool.values:
        hit = _PAIR.search(value)
        if hit is None:
            yield "VG503", f"'{value}' holds no pressure", "Write it as systolic/diastolic"
            return
        # Diastolic classes matter for high pressures alone; in shock the systolic one decides.
        systolic = class_of(float(hit[1]), VITALS["systolic"].cuts)
        classes.append((systolic, class_of(float(hit[2]), (89, 119))))
        if classes[-1] != classes[0]:
            span = shown_class(classes[0][0], VITALS["systolic"].cuts)
            yield (
                "VG501",
                f"'{value}' leaves the class of '{pool.base}', expected systolic {span} mmHg and "
                f"diastolic {shown_class(classes[0][1], (89, 119))} mmHg",
                "Keep all values of a pool in one class",
            )
