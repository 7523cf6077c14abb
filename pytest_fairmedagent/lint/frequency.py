"""Whether drugs are taken as often, and as much a day, as they are in use."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from pytest_fairmedagent.lint.lexicon import rows
from pytest_fairmedagent.lint.quantities import Quantity, doses
from pytest_fairmedagent.lint.spelled import NUMBER_WORDS, value_of
from pytest_fairmedagent.lint.units import convert

_MOST = 6.0  # times a day, of a drug that is not listed
_N = rf"\d+(?:\.\d+)?|(?:{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})(?:[- ]\w+)?"
_OFTEN = re.compile(
    rf"\b(?:(?P<times>once|twice|thrice|(?:{_N})(?: times|x)) (?:a|per|each|every)? ?"
    r"(?P<per>day|daily|week|weekly|month|hour|hourly|night|nightly|minute)"
    rf"|every (?P<every>{_N}|other)?(?: to (?:{_N}))? ?"
    r"(?P<unit>minutes?|hours?|days?|weeks?|months?|morning|evening|night)"
    r"|q(?P<q>\d+)h|(?P<abbr>bid|tid|qid|qhs|qd|b\.i\.d\.|t\.i\.d\.|q\.i\.d\.)"
    r"|(?P<one>daily|nightly|hourly|weekly|monthly|a day|per day|every day|at night|at bedtime"
    r"|each morning))\b",
    re.IGNORECASE,
)
_PER_DAY = {
    "day": 1.0, "daily": 1.0, "night": 1.0, "nightly": 1.0, "week": 1 / 7, "weekly": 1 / 7,
    "month": 1 / 30, "monthly": 1 / 30, "hour": 24.0, "hourly": 24.0, "minute": 1440.0,
    "a day": 1.0, "per day": 1.0, "every day": 1.0, "at night": 1.0, "at bedtime": 1.0,
    "each morning": 1.0,
    "morning": 1.0, "evening": 1.0, "bid": 2.0, "tid": 3.0, "qid": 4.0, "qhs": 1.0, "qd": 1.0,
}  # fmt: skip
_CLAUSE = re.compile(r"[.;](?:\s|$)|, (?=[a-z-]+ \d)| and (?=[a-z-]+ \d)")
_AT_MOST = re.compile(
    r"\b(?:as needed|at most|up to|if needed|maximum|loading|overdose|swallowed|by mistake)\b",
    re.I,
)


@lru_cache(maxsize=1)
def _limits() -> tuple[Mapping[str, float], Mapping[str, float]]:
    """Return the most doses a day, and the most mg a day, by drug."""
    from pytest_fairmedagent.lint.lexicon import tables

    often = {
        drug: float(str(row["most"]))
        for row in rows("frequency")
        for drug in str(row["drugs"]).split()
    }
    daily = {}
    for row in tables("frequency", "daily"):
        for item in str(row["doses"]).split(","):
            drug, most = item.split()
            daily[drug] = float(most)
    return often, daily


def times_a_day(text: str) -> tuple[float, str] | None:
    """Return how often a day the first frequency of a text is, and its words; None for none."""
    hit = _OFTEN.search(text)
    if hit is None:
        return None
    if hit["times"]:
        word = hit["times"].lower().removesuffix(" times").removesuffix("x").strip()
        fixed = {"once": 1.0, "twice": 2.0, "thrice": 3.0}
        n = fixed.get(word) or _value(word)
        return n * _PER_DAY[hit["per"].lower()], hit.group()
    if hit["unit"]:
        given = (hit["every"] or "1").lower()
        n = (
            2.0
            if given == "other"
            else float(given)
            if given[0].isdigit()
            else float(value_of(given))
        )
        unit = hit["unit"].lower().rstrip("s") if hit["unit"].lower() != "s" else ""
        return _PER_DAY.get(unit, 1.0) / max(n, 0.01), hit.group()
    if hit["q"]:
        return 24 / max(float(hit["q"]), 1), hit.group()
    word = (hit["abbr"] or hit["one"]).lower().replace(".", "")
    return _PER_DAY[word], hit.group()


def _value(written: str) -> float:
    return float(written) if written[0].isdigit() else float(value_of(written))


def frequencies(text: str) -> Iterator[tuple[Quantity, str, str]]:
    """Yield doses that are taken too often or add up to too much a day: dose, words, expected."""
    often, daily = _limits()
    for dose in doses(text):
        rest = text[dose.end : dose.end + 70]
        cut = _CLAUSE.search(rest)
        clause = rest[: cut.start()] if cut else rest
        found = times_a_day(clause)
        if found is None:
            continue
        n, words = found
        most = often.get(dose.measure, _MOST)
        if n > most * 1.05 and not (most < 1 and _low(dose)):
            yield dose, words, f"at most {_shown(most)}"
            continue
        amount = convert(dose.value, dose.unit, "mg") if dose.unit else None
        limit = daily.get(dose.measure)
        if (
            amount
            and limit
            and n >= 1
            and amount * n > limit * 1.01
            and not _AT_MOST.search(clause)
        ):
            yield dose, words, f"at most {limit:g} mg a day in all"


def _low(dose: Quantity) -> bool:
    """Return whether a dose is that of the daily form of a drug with a weekly one."""
    return (dose.measure, dose.value) in {
        ("alendronate", 5.0), ("alendronate", 10.0), ("risedronate", 5.0),
        ("semaglutide", 3.0), ("semaglutide", 7.0), ("semaglutide", 14.0),
    }  # fmt: skip


def _shown(most: float) -> str:
    return f"{most:g} times a day" if most >= 1 else "once a week"
