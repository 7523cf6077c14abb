"""Reading numbers with their units out of running text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from pytest_fairmedagent.lint.doses import DOSES
from pytest_fairmedagent.lint.ranges import LABS, VITALS
from pytest_fairmedagent.lint.spelled import spelled
from pytest_fairmedagent.lint.units import SAME, unit_of

# "1,500" and "1,500.5" have thousands; "8,5" and "38,25" a decimal comma.
NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,])|\d+(?:[.,]\d+)?)"
# Longest first, so that "mg" is not read out of "mg/dL".
_UNIT = "|".join(re.escape(unit) for unit in sorted(SAME, key=len, reverse=True))
_UNIT_AFTER = re.compile(rf"\s*({_UNIT})(?![\w/^])", re.IGNORECASE)
_MORE = re.compile(rf"\s*(?:,|to|and|then|or|-|–|->)\s*{NUMBER}")
# What may stand between a name and its number: a few words, no digit and no end of a clause.
_GAP = r"[^\d.;:,()\[\]]{0,28}?(?:: ?)?"


@dataclass(frozen=True)
class Quantity:
    """A number in a text: what it measures, its unit ("" for none), and where it stands."""

    measure: str
    value: float
    unit: str
    start: int
    end: int
    written: str


def number(text: str) -> float:
    """Return the value of a number as it is written, with a decimal point or a decimal comma."""
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", text):
        return float(text.replace(",", ""))
    return float(text.replace(",", "."))


@lru_cache(maxsize=1)
def _measures() -> tuple[re.Pattern[str], dict[str, str]]:
    """Return one pattern for all vitals and labs, and the measure of each of its groups."""
    groups, parts = {}, []
    for index, (name, measure) in enumerate({**VITALS, **LABS}.items()):
        groups[f"m{index}"] = name
        flag = "" if name in _SHORT else "(?i:"
        parts.append(f"(?P<m{index}>{flag}{measure.words}{')' if flag else ''})")
    pattern = rf"\b(?:{'|'.join(parts)})\b{_GAP}(?<![\w.^/-])({NUMBER})"
    return re.compile(pattern), groups


# Matched with their capitals: "k" and "na" are no potassium and no sodium.
_SHORT = {"sodium", "potassium", "heart_rate", "respiratory_rate", "ph", "alt", "ast", "ck"}


@lru_cache(maxsize=4096)
def measured(text: str) -> tuple[Quantity, ...]:
    """Return the vitals and laboratory values of a text, blood pressures apart.

    A list such as "sodium 134, potassium 4.9, bicarbonate 16 mmol/L" gives a unit to its last value
    alone; the others come without one. So does the first number of "124 to 110/min".
    """
    return tuple(_measured(text))


def _measured(text: str) -> Iterator[Quantity]:
    pattern, groups = _measures()
    place = 0
    while hit := pattern.search(text, place):
        place = hit.end()
        if text[place : place + 1] == "+":
            continue  # a grade: "pulse 2+", "leukocytes 3+"
        if text[: hit.start(hit.lastindex or 0)].endswith((" by ", " within ", " over ")):
            continue  # a change or a time: "falls by 6"
        name = groups[next(key for key, found in hit.groupdict().items() if found)]
        unit = _UNIT_AFTER.match(text, hit.end())
        last = hit.lastindex or 0
        yield Quantity(
            name,
            number(hit.group(last)),
            unit_of(unit[1]) if unit else "",
            hit.start(last),
            hit.end(),
            hit.group(),
        )


# A unit that is none of ours: "mg/m", "x10^9/mL".
_STRANGE_UNIT = re.compile(r"\s*((?:x ?10\^?\d+|[A-Za-zµμ]{1,6})/[A-Za-zµμ]{1,3})\b(?!/)")


def strange_unit(text: str, end: int) -> str:
    """Return a unit after a number that is no unit of the tables; "" for none."""
    hit = _STRANGE_UNIT.match(text, end)
    return hit[1] if hit and not unit_of(hit[1]) else ""


@lru_cache(maxsize=1)
def _named_before() -> re.Pattern[str]:
    measures = {**VITALS, **LABS}
    names = (
        f"(?P<{name}>{measure.words if name in _SHORT else f'(?i:{measure.words})'})"
        for name, measure in measures.items()
    )
    return re.compile(rf"\b(?:{'|'.join(names)})(?:,? (?:of|is|was|at|about|now|reads))*:? $")


_LARGE = re.compile(r"hundred|thousand|(?:teen|[efhnrx]ty)\b|\b(?:ten|eleven|twelve)\b", re.I)
_OUT_OF_TEN = re.compile(r"\s*(?:out of|of|/) ?(?:ten|10)\b", re.IGNORECASE)
_DEGREES = re.compile(r"\s*degrees? (C|F|[Cc]elsius|[Ff]ahrenheit)\b")


def in_words(text: str) -> Iterator[Quantity]:
    """Yield the vitals, laboratory values, temperatures and scores whose number is in words."""
    if not _LARGE.search(text):
        return  # small numbers in words are those of days and doses
    for value, start, end in spelled(text):
        written = text[start:end]
        if _OUT_OF_TEN.match(text, end):
            yield Quantity("pain_score", value, "/10", start, end, written)
            continue
        degrees = _DEGREES.match(text, end)
        if degrees:
            yield Quantity("temperature", value, degrees[1][0].upper(), start, end, written)
            continue
        named = _named_before().search(text[max(0, start - 48) : start])
        if named and named.lastgroup:
            unit = _UNIT_AFTER.match(text, end)
            yield Quantity(
                named.lastgroup, value, unit_of(unit[1]) if unit else "", start, end, written
            )


def continues(text: str, end: int) -> bool:
    """Return whether a number is followed by another of its kind, which has the unit."""
    return bool(_MORE.match(text, end))


_PRESSURE = re.compile(
    rf"\b(?:BP|blood pressure|pressure){_GAP}(?<![\w.])(\d{{1,3}})/(\d{{1,3}})(?!\d|/|\.\d)"
    r"(\s*mm ?Hg)?",
    re.IGNORECASE,
)
_BARE_PRESSURE = re.compile(r"(?<![\w./])(\d{1,3})/(\d{1,3})(\s*mm ?Hg)", re.IGNORECASE)


def pressures(text: str) -> Iterator[tuple[int, int, bool, int, int]]:
    """Yield systolic, diastolic, whether there is a unit, and start and end of each pressure."""
    seen = set()
    for pattern in (_PRESSURE, _BARE_PRESSURE):
        for hit in pattern.finditer(text):
            if hit.start(1) not in seen:
                seen.add(hit.start(1))
                more = bool(re.match(r"\s*(?:,|to|and|then)\s*\d+/\d+", text[hit.end() :]))
                yield int(hit[1]), int(hit[2]), bool(hit[3]) or more, hit.start(1), hit.end()


_TEMPERATURE = re.compile(
    rf"(?<![\w.])({NUMBER})\s*(?:°|degrees )?\s*([CF]|Celsius|Fahrenheit)\b(?![-.]?\w)"
)


def temperatures(text: str) -> Iterator[Quantity]:
    """Yield every number with a unit of temperature."""
    for hit in _TEMPERATURE.finditer(text):
        yield Quantity("temperature", number(hit[1]), hit[2][0], hit.start(), hit.end(), hit[0])


_OF_TEN = re.compile(r"(?<![\w.,/])(\d{1,3})/10(?!\d|/|\.\d|\^)")


def scores_of_ten(text: str) -> Iterator[Quantity]:
    """Yield every score out of ten, such as pain."""
    for hit in _OF_TEN.finditer(text):
        yield Quantity("pain_score", float(hit[1]), "/10", hit.start(), hit.end(), hit[0])


_DRUG = "|".join(sorted(DOSES, key=len, reverse=True))
_DOSE = re.compile(
    rf"\b((?:{_DRUG})(?:-[a-z]+)*)\b((?: (?!and\b|or\b|with\b|for\b|after\b)[A-Za-z-]+){{0,3}}) "
    rf"({NUMBER}(?:/{NUMBER})*)\s*(mg|g|mcg|ug|units?)\b(?!/[dDmMuLl]|/h)",
    re.IGNORECASE,
)

_LONG_WORD = re.compile(r"[a-z]{5,}")


@lru_cache(maxsize=4096)
def doses(text: str) -> tuple[Quantity, ...]:
    """Return the single doses of known drugs; a combination gives one for each known part."""
    return tuple(_doses(text))


def _doses(text: str) -> Iterator[Quantity]:
    if DOSES.keys().isdisjoint(_LONG_WORD.findall(text.lower())):
        return  # the pattern of all drugs is slow
    for hit in _DOSE.finditer(text):
        parts, amounts = hit[1].lower().split("-"), hit[3].split("/")
        for drug, amount in zip(parts, amounts, strict=False):
            if drug in DOSES:
                unit = unit_of(hit[4])
                yield Quantity(drug, number(amount), unit, hit.start(), hit.end(), hit[0])
