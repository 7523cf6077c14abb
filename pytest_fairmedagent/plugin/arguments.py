"""The arguments of the mark, checked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from pytest_fairmedagent.domain import BINARY, ORDINAL, Outcome
from pytest_fairmedagent.domain.level import LEVELS, is_level
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
    "margins",
    "minimum_gap",
    "relation",
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


def actions_of(names: Sequence[str], known: Mapping[str, Outcome]) -> tuple[str, ...]:
    """Return the outcomes that are named, in one order. Raises PlanError."""
    for name in names:
        if name not in known:
            raise PlanError(
                f"unknown action {name!r}.{closest(name, known)}\n  An outcome of your own is "
                "known where it is imported or in a conftest.py."
            )
    return tuple(action for action in known if action in names)


def margins_of(
    actions: Sequence[str], known: Mapping[str, Outcome], *candidates: object
) -> tuple[tuple[str, float | None], ...]:
    """Return the margin of each outcome that is no action, in its own units. Raises PlanError."""
    given = next((c for c in candidates if c), {})
    if not isinstance(given, Mapping):
        raise PlanError(f"margins is {given!r}, expected {{outcome: margin in its own units}}")
    further = [name for name in actions if known[name].kind != BINARY]
    for name, margin in given.items():
        if name not in further:
            raise PlanError(
                f"margins names {name!r}, which is no score, ordinal or set outcome of this "
                f"function.{closest(str(name), further)}"
            )
        is_number = isinstance(margin, (int, float)) and not isinstance(margin, bool)
        if not is_number or not 0 < margin < math.inf:
            raise PlanError(f"the margin of {name} is {margin!r}, expected a number above 0")
        if known[name].kind == ORDINAL and margin >= 1:
            raise PlanError(
                f"the margin of {name} is {margin!r}, expected a share of pairs, below 1: levels "
                "have no distances, so what is tested is how much more often one is higher"
            )
    return tuple((name, float(given[name]) if name in given else None) for name in further)


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


def level_of(*candidates: object) -> float:
    """Return the level of a family."""
    level = share_of("alpha", *candidates)
    if not is_level(level):
        raise PlanError(f"alpha is {level!r}, expected {LEVELS}")
    return level


def minimum_gap_of(*candidates: object) -> float:
    """Return the gap that is not tested against; 0 where none is declared."""
    given = [c for c in candidates if c is not None]
    return share_of("minimum_gap", *given) if given else 0.0


def margin_of(*candidates: object) -> float | None:
    if all(c is None for c in candidates):
        return None
    return share_of("margin", *candidates)
