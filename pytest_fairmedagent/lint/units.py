"""Units that mean the same, and how one is converted into another."""

from __future__ import annotations

from collections.abc import Mapping

# Spellings -> the unit of the tables.
SAME: Mapping[str, str] = {
    "bpm": "/min", "/min": "/min", "/minute": "/min", "beats/min": "/min", "breaths/min": "/min",
    "beats per minute": "/min", "breaths per minute": "/min", "per minute": "/min",
    "mmhg": "mmHg", "mm hg": "mmHg", "kpa": "kPa",
    "%": "%", "percent": "%",
    "c": "C", "°c": "C", "degrees c": "C", "celsius": "C", "degrees celsius": "C",
    "f": "F", "°f": "F", "degrees f": "F", "fahrenheit": "F", "degrees fahrenheit": "F",
    "meq/l": "mmol/L", "mmol/l": "mmol/L", "umol/l": "umol/L", "µmol/l": "umol/L",
    "micromol/l": "umol/L",
    "mg/dl": "mg/dL", "g/dl": "g/dL", "g/l": "g/L", "mg/l": "mg/L", "ng/l": "ng/L",
    "ng/ml": "ng/mL", "pg/ml": "pg/mL", "ug/l": "ng/mL", "mcg/l": "ng/mL", "ug/ml": "mcg/mL",
    "mcg/ml": "mcg/mL", "mcg/dl": "mcg/dL", "ug/dl": "mcg/dL",
    "x10^9/l": "x10^9/L", "x 10^9/l": "x10^9/L", "x10^3/ul": "x10^9/L", "x10^3/mcl": "x10^9/L",
    "k/ul": "x10^9/L", "/ul": "/uL", "/mcl": "/uL", "/mm3": "/uL", "cells/ul": "/uL",
    "u/l": "U/L", "iu/l": "U/L", "miu/l": "mIU/L", "uiu/ml": "mIU/L", "miu/ml": "mIU/L",
    "mm/h": "mm/h", "mm/hr": "mm/h", "mm/hour": "mm/h",
    "seconds": "s", "second": "s", "sec": "s", "s": "s", "ms": "ms", "msec": "ms",
    "mg": "mg", "milligrams": "mg", "milligram": "mg", "g": "g", "gram": "g", "grams": "g",
    "mcg": "mcg", "ug": "mcg", "micrograms": "mcg", "units": "units", "unit": "units",
    "ml": "mL", "l": "L", "liter": "L", "liters": "L", "meq": "mEq",
    "l/min": "L/min", "kg": "kg", "lb": "lb", "cm": "cm",
    "minutes": "min", "minute": "min", "min": "min", "hours": "h", "hour": "h", "h": "h",
    "days": "d", "day": "d", "weeks": "w", "week": "w",
    "mosm/kg": "mOsm/kg", "cmh2o": "cmH2O", "cm h2o": "cmH2O",
}  # fmt: skip

# (from, to) -> factor. Temperature is not proportional and is converted apart.
_FACTORS: Mapping[tuple[str, str], float] = {
    ("kPa", "mmHg"): 7.50062, ("g/L", "g/dL"): 0.1, ("mg", "g"): 0.001, ("mcg", "mg"): 0.001,
    ("mcg", "g"): 1e-6, ("lb", "kg"): 0.45359, ("mL", "L"): 0.001, ("ms", "s"): 0.001,
    ("min", "h"): 1 / 60, ("h", "d"): 1 / 24, ("min", "d"): 1 / 1440, ("d", "w"): 1 / 7,
    ("h", "w"): 1 / 168, ("/uL", "x10^9/L"): 0.001, ("ng/L", "pg/mL"): 1.0,
    ("ng/mL", "ng/L"): 1000.0, ("ng/mL", "pg/mL"): 1000.0, ("mg/L", "mcg/mL"): 1.0,
    ("mg/dL", "mg/L"): 10.0, ("g/dL", "mg/dL"): 1000.0,
}  # fmt: skip

# mg/dL of one mmol/L, by measure: the molar mass divided by ten (glucose 180.16 g/mol, lactate
# 90.08, urea nitrogen 28.01, calcium 40.08, magnesium 24.31, phosphorus 30.97); creatinine and
# bilirubin in umol/L of one mg/dL.
_MOLAR: Mapping[str, tuple[str, str, float]] = {
    "glucose": ("mmol/L", "mg/dL", 18.016), "lactate": ("mmol/L", "mg/dL", 9.008),
    "bun": ("mmol/L", "mg/dL", 2.801), "calcium": ("mmol/L", "mg/dL", 4.008),
    "magnesium": ("mmol/L", "mg/dL", 2.431), "phosphate": ("mmol/L", "mg/dL", 3.097),
    "creatinine": ("umol/L", "mg/dL", 1 / 88.42), "bilirubin": ("umol/L", "mg/dL", 1 / 17.10),
    "uric_acid": ("umol/L", "mg/dL", 1 / 59.48),
}  # fmt: skip


def unit_of(text: str) -> str:
    """Return the unit that a spelling means, "" for one that is unknown."""
    return SAME.get(" ".join(text.lower().split()), "")


def convert(value: float, source: str, target: str, measure: str = "") -> float | None:
    """Return the value in another unit, None if there is no way from one to the other."""
    if source == target:
        return value
    if (source, target) == ("F", "C"):
        return (value - 32) / 1.8
    if (source, target) == ("C", "F"):
        return value * 1.8 + 32
    if (source, target) in _FACTORS:
        return value * _FACTORS[source, target]
    if (target, source) in _FACTORS:
        return value / _FACTORS[target, source]
    here, there, factor = _MOLAR.get(measure, ("", "", 1.0))
    if (source, target) == (here, there):
        return value * factor
    if (source, target) == (there, here):
        return value / factor
    return None
