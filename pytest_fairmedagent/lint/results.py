"""Whether two places of a case that state one thing state the same: sides, rates, and whose result it is."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from pytest_fairmedagent.domain import Order, Vignette
from pytest_fairmedagent.lint.finding import Hit
from pytest_fairmedagent.lint.lexicon import rows

_ORGANS = (
    "knee ankle leg kidney lung foot hip calf eye flank shin heel ear groin thigh toe buttock "
    "ureter tibia fibula metatarsal sole forefoot jaw cheek tonsil shoulder chest ribs rib femur"
)
_PART = "|".join(_ORGANS.split())
# "the right knee", "left lower leg"; both sides or a comparison make no statement of one side.
_SIDED = re.compile(rf"\b(left|right)(?:-sided)?(?: (?:lower|upper|big|mid|distal|proximal))? ({_PART})\b", re.I)
_SIDE = re.compile(r"\b(?:left|right)\b", re.IGNORECASE)
_NO_SIDE = re.compile(
    r"\b(?:both|bilateral|either|other side|compared|than on|unlike|opposite|contralateral|symmetric"
    r"|than the|as the|equal|sides|normal|present|absent|intact|quiet)\b",
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
            if not any(word.lower() in other.says for other in _kinds() if any(
                f"_{name}" in about for name in other.orders
            )):
                return f"says '{word}', which belongs to {kind.orders[0]}"
    return ""


def _sides(vignette: Vignette) -> Iterator[Hit]:
    told: dict[str, set[str]] = defaultdict(set)
    for text in (vignette.title, vignette.narrative):
        for part, sides in _stated(text).items():
            told[part] |= sides
    for index, order in enumerate(vignette.menu):
        for key, text in (("name", order.name), ("result", order.result)):
            for part, sides in _stated(text).items():
                here = told.get(part, set())
                if len(here) == 1 and sides and not sides & here:
                    side = min(sides)
                    yield Hit(
                        "VG409",
                        ("menu", index, key),
                        f"'{order.id}' of '{vignette.id}' says {side} {part}, and the narrative says "
                        f"{min(here)}",
                        "Name one side in both places, or say that both were looked at",
                        case=vignette.id,
                    )


def _stated(text: str) -> Mapping[str, set[str]]:
    """Return the parts of the body of which a text states a side, with the sides."""
    found: dict[str, set[str]] = defaultdict(set)
    for sentence in re.split(r"(?<=[.;])\s", text):
        sides = {side.lower() for side in _SIDE.findall(sentence)}
        hits = _SIDED.findall(sentence) if len(sides) == 1 else []
        if hits and not _NO_SIDE.search(sentence):
            for side, part in hits:
                found[part.lower()].add(side.lower())
    return found
