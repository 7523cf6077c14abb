"""The arguments of the mark, checked."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_fairmedagent.domain import ACTIONS
from pytest_fairmedagent.errors import PlanError, closest

MARK_ARGUMENTS = (
    "swaps",
    "actions",
    "vignettes",
    "replicates",
    "margin",
    "alpha",
    "family",
    "exploratory",
)


def words_of(name: str, given: object) -> list[str]:
    words = [given] if isinstance(given, str) else list(given) if _is_words(given) else None  # type: ignore[call-overload]
    if not words:
        raise PlanError(f"{name} is {given!r}, expected a name or a list of names")
    return words


def _is_words(given: object) -> bool:
    if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
        return False
    return all(isinstance(word, str) for word in given)


def actions_of(names: Sequence[str]) -> tuple[str, ...]:
    for name in names:
        if name not in ACTIONS:
            raise PlanError(f"unknown action {name!r}.{closest(name, ACTIONS)}")
    return tuple(action for action in ACTIONS if action in names)


def number_of(name: str, *candidates: object) -> int:
    number = next(c for c in candidates if c is not None)
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= 100_000:
        raise PlanError(f"{name} is {number!r}, expected a whole number from 1 to 100000")
    return number


def share_of(name: str, *candidates: object) -> float:
    share = next(c for c in candidates if c is not None)
    if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 < share < 1:
        raise PlanError(f"{name} is {share!r}, expected a number above 0 and below 1")
    return float(share)


def margin_of(*candidates: object) -> float | None:
    if all(c is None for c in candidates):
        return None
    return share_of("margin", *candidates)
