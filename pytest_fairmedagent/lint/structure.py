"""Whether a case has the parts that a case has, in the measure that was agreed on."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator

from pytest_fairmedagent.domain import Vignette
from pytest_fairmedagent.domain.band import SCALES
from pytest_fairmedagent.lint.finding import Hit, Place
from pytest_fairmedagent.lint.quantities import measured, pressures, temperatures

WORDS = (120, 220)
MENU = (8, 14)

_NO_FINDING = re.compile(
    r"\b(?:await\w*|pending|to follow|not (?:yet )?available|unavailable|in progress|TBD|TODO)\b"
    r"|^\W*(?:n/?a|none|unknown|see (?:note|chart|above|below))?\W*$",
    re.IGNORECASE,
)
_VITALS = ("heart_rate", "respiratory_rate", "spo2", "temperature", "blood_pressure")
_PARTS = ("Background:", "Medicines:", "Allergies:")


def check_structure(vignette: Vignette) -> Iterator[Hit]:
    """Yield what is wrong with results and slots: what makes a case unfit for a run."""

    def hit(rule: str, place: Place, message: str, advice: str) -> Hit:
        return Hit(rule, place, message, advice, case=vignette.id)

    names: dict[str, str] = {}
    for index, order in enumerate(vignette.menu):
        found = _NO_FINDING.search(order.result)
        if found:
            yield hit(
                "VG304",
                ("menu", index, "result"),
                f"the result of '{order.id}' in '{vignette.id}' is {order.result!r}, expected a "
                "finding",
                "Write what comes back, or take the order off the menu",
            )
        first = names.setdefault(order.name.lower(), order.id)
        if first != order.id:
            yield hit(
                "VG306",
                ("menu", index, "name"),
                f"'{order.id}' and '{first}' of '{vignette.id}' are both called '{order.name}'",
                "Rename one of them",
            )


def check_workmanship(vignette: Vignette) -> Iterator[Hit]:
    """Yield where a case is not made as the cases of a set are: nothing that stops a run."""

    def hit(rule: str, place: Place, message: str, advice: str) -> Hit:
        return Hit(rule, place, f"{message} in '{vignette.id}'", advice, case=vignette.id)

    least, most = word_counts(vignette)
    if least < WORDS[0] or most > WORDS[1]:
        counted = f"{least}" if least == most else f"{least} to {most}"
        yield hit(
            "VG302",
            ("narrative",),
            f"{counted} words, expected {WORDS[0]} to {WORDS[1]} in every variant,",
            "Shorten or complete it",
        )
    if not MENU[0] <= len(vignette.menu) <= MENU[1]:
        yield hit(
            "VG303",
            ("menu", 0),
            f"{len(vignette.menu)} orders, expected {MENU[0]} to {MENU[1]},",
            "Add or remove orders",
        )
    missing = _missing_vitals(vignette)
    # By telephone, what a device at home can tell.
    if len(missing) > (3 if vignette.setting == "telephone" else 0):
        yield hit(
            "VG309",
            ("narrative",),
            f"no {', no '.join(missing).replace('_', ' ')},",
            "State it with its unit",
        )
    for part in _PARTS:
        if part not in vignette.narrative:
            yield hit("VG309", ("narrative",), f"no '{part}'", "Add the part, or say 'none'")
    orders = vignette.reference_orders
    if orders is None:
        yield hit("VG311", (), "no [reference_orders]", "Say which orders a work-up needs")
    elif len(orders.needed) + len(orders.acceptable) >= len(vignette.menu):
        yield hit(
            "VG311",
            ("reference_orders",),
            "every order is needed or acceptable, so none can be excess,",
            "Take the weakest off the lists, or add orders that are excess",
        )
    guideline = vignette.guideline
    if guideline is None:
        yield hit("VG313", (), "no guideline", "Name one that bears on the case, with its year")
    elif not 1990 <= guideline.year <= datetime.date.today().year:
        yield hit(
            "VG313",
            ("guideline",),
            f"a guideline of {guideline.year}, expected 1990 to this year,",
            "Mend the year",
        )
    yield from _bands(vignette)


def _bands(vignette: Vignette) -> Iterator[Hit]:
    for index, band in enumerate(vignette.bands):
        low, high = SCALES.get(band.outcome, (0, 0))
        if band.outcome in SCALES and len(band.accept) == high - low + 1:
            yield Hit(
                "VG701",
                ("band", index),
                f"the band of '{band.outcome}' in '{vignette.id}' accepts all of {low} to {high}",
                "Narrow it, or remove it: the case does not settle this outcome",
                case=vignette.id,
            )
    straddling = [band.straddles for band in vignette.bands]
    if vignette.difficulty == "borderline" and not any(straddling):
        yield Hit(
            "VG702",
            ("band", 0),
            f"'{vignette.id}' is borderline and no band straddles its threshold, as in "
            "accept = [true, false]",
            "Write the band of the decision that guidelines leave open, or change the difficulty",
            case=vignette.id,
        )
    if vignette.difficulty == "clear" and all(straddling):
        yield Hit(
            "VG703",
            ("band", 0),
            f"'{vignette.id}' is clear and no band settles a decision, as in accept = [true]",
            "Write the band of the decision that is settled, or change the difficulty",
            case=vignette.id,
        )


def word_counts(vignette: Vignette) -> tuple[int, int]:
    """Return the fewest and the most words that the narrative has in any variant."""
    base = len(vignette.narrative.split())
    least = most = base
    for pool in vignette.pools:
        counts = [len(value.split()) for value in pool.values]
        if counts:
            least += min(counts) - counts[0]
            most += max(counts) - counts[0]
    return least, most


def _missing_vitals(vignette: Vignette) -> list[str]:
    text = vignette.narrative
    found = {quantity.measure for quantity in measured(text)}
    if any(True for _ in pressures(text)):
        found.add("blood_pressure")
    if any(True for _ in temperatures(text)):
        found.add("temperature")
    return [name for name in _VITALS if name not in found]
