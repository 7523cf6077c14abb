"""Whether places that state one thing state the same: sides, and whose result it is."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from pytest_fairmedagent.domain import Order, Vignette
from pytest_fairmedagent.lint.finding import Hit
from pytest_fairmedagent.lint.lexicon import rows

# Regions of the body by the words of which each is called: a side is that of the region.
_REGIONS = {
    word: words.split()[0]
    for words in (
        "kidney flank hydronephrosis ureterovesical hydroureter ureter ureteral ureteric renal",
        "lung pneumothorax base chest pleura pleural lobe pulmonary hemithorax basal rib ribs",
        "knee kneecap patella",
        "ankle malleolus",
        "leg calf shin thigh tibia fibula popliteal femoral",
        "foot heel toe forefoot sole metatarsal",
        "hip groin femur",
        "eye cornea corneal pupil eyelid",
        "ear eardrum",
        "jaw cheek molar mandible",
        "buttock",
        "tonsil",
        "shoulder",
        "ovary",
        "carotid neck",
        "arm forearm elbow",
        "wrist hand finger thumb",
    )
    for word in words.split()
}
_PART = "|".join(sorted(_REGIONS, key=len, reverse=True))
# "the right knee", "left lower leg"; both sides or a comparison make no statement of one side.
_SIDED = re.compile(
    rf"\b(left|right)(?:-sided)?"
    r"(?: (?:lower|upper|middle|big|mid|distal|proximal|extended|internal|common|main))?"
    rf"(?:,? (?:and|lower|small|large))? ({_PART})\b",
    re.I,
)
_SIDE = re.compile(r"\b(?:left|right)\b", re.IGNORECASE)
_ONE_SIDE = "Name one side in both places, or say that both were looked at"
_NO_SIDE = re.compile(
    r"\b(?:both|bilateral|either|other side|compared|than on|unlike|opposite|contralateral"
    r"|symmetric|than the|as the|equal|sides|normal|absent|intact|quiet|years? ago|old"
    r"|(?:no|without|not) (?:a |the |any )?(?:left|right))\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z][\w'/-]*|/min")


@dataclass(frozen=True)
class _Kind:
    """What results of a kind of order say, and what no other result says."""

    orders: tuple[str, ...]
    says: frozenset[str]
    only: frozenset[str]
    also: tuple[str, ...]


@lru_cache(maxsize=1)
def _kinds() -> tuple[_Kind, ...]:
    return tuple(
        _Kind(
            tuple(str(row["orders"]).split()),
            frozenset(str(row["says"]).lower().split()),
            frozenset(str(row["only"]).split()),
            tuple(str(row.get("also", "")).split()),
        )
        for row in rows("results")
    )


def check_results(vignette: Vignette) -> Iterator[Hit]:
    """Yield results that are those of another order, and sides that contradict each other."""
    for index, order in enumerate(vignette.menu):
        problem = _foreign(order)
        if problem:
            yield Hit(
                "VG408",
                ("menu", index, "result"),
                f"the result of '{order.id}' in '{vignette.id}' {problem}",
                "Give the order its own result",
                case=vignette.id,
            )
    yield from _sides(vignette)


def _foreign(order: Order) -> str:
    """Return why a result is not that of its order; "" where it may be."""
    about = f"_{order.id}_{re.sub('[^a-z]+', '_', order.name.lower())}_"
    words = set(_WORD.findall(order.result))
    lower = {word.lower() for word in words} | {
        part for word in words for part in re.split(r"[/-]", word.lower())
    }
    for kind in _kinds():
        mine = any(f"_{name}" in about for name in kind.orders)
        if mine:
            text = order.result.lower()
            told = kind.says & lower or any("/" in word and word in text for word in kind.says)
            if not told:
                expected = ", ".join(sorted(kind.says)[:4])
                return f"says nothing of {expected} or the like, as expected of such an order"
        elif kind.only & words and not any(name in about for name in kind.also):
            word = sorted(kind.only & words)[0]
            if not any(
                word.lower() in other.says
                for other in _kinds()
                if any(f"_{name}" in about for name in other.orders)
            ):
                return f"says '{word}', which belongs to {kind.orders[0]}"
    return ""


def _sides(vignette: Vignette) -> Iterator[Hit]:
    """Yield places that state another side of a region than the case does elsewhere."""
    case = _stated(f"{vignette.title}. {vignette.narrative}")
    menu: dict[str, set[str]] = defaultdict(set)
    for index, order in enumerate(vignette.menu):
        for key, text in (("name", order.name), ("result", order.result)):
            if len({side.lower() for side in _SIDE.findall(text)}) > 1:
                continue  # it compares
            for region, sides in _stated(text).items():
                menu[region] |= sides
                here = case.get(region, set())
                if len(here) == 1 and not sides & here:
                    message = (
                        f"'{order.id}' of '{vignette.id}' says {min(sides)} {region}, and the "
                        f"narrative says {min(here)}"
                    )
                    yield Hit("VG409", ("menu", index, key), message, _ONE_SIDE, case=vignette.id)
    for region, sides in case.items():
        if len(sides) > 1 and len(menu.get(region, ())) == 1:
            message = (
                f"the narrative of '{vignette.id}' says left {region} and right {region}, and the "
                f"results say {min(menu[region])} alone"
            )
            yield Hit("VG409", ("narrative",), message, _ONE_SIDE, case=vignette.id)


def _stated(text: str) -> Mapping[str, set[str]]:
    """Return the regions of the body of which a text states a side, with the sides.

    A sentence that compares sides, or finds nothing on one, makes no statement.
    """
    found: dict[str, set[str]] = defaultdict(set)
    for sentence in re.split(r"(?<=[.;:,])\s", text):
        sides = {side.lower() for side in _SIDE.findall(sentence)}
        if len(sides) == 1 and not _NO_SIDE.search(sentence):
            for side, part in _SIDED.findall(sentence):
                found[_REGIONS[part.lower()]].add(side.lower())
    return found
