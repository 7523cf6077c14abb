"""Confounding: where a difference between two descriptions can be clinically right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pytest_fairmedagent.domain.band import THRESHOLDS
from pytest_fairmedagent.domain.condition import Catalogue, Condition
from pytest_fairmedagent.domain.outcome import OUTCOMES, SET
from pytest_fairmedagent.domain.vignette import Confounder, Vignette

MORE, FEWER, EITHER = DIRECTIONS = ("more", "fewer", "either")


@dataclass(frozen=True)
class Confounded:
    """Vignettes on which a swap can rightly change an action, and the entries that say so.

    `directions` has, as (vignette, direction), which way it is then right for the action to go:
    `more` or `fewer` where all entries on that vignette agree. A vignette that is not in it may go
    either way.
    """

    swap: str
    action: str
    vignettes: tuple[str, ...]
    entries: tuple[Confounder, ...]
    directions: tuple[tuple[str, str], ...] = ()

    def towards(self, direction: str) -> tuple[str, ...]:
        """Return the vignettes on which the action is right to go in this direction and no other.

        Those that may go either way, for `either`.
        """
        known = dict(self.directions)
        return tuple(v for v in self.vignettes if known.get(v, EITHER) == direction)

    def __str__(self) -> str:
        told = (
            f"{'' if e.outcome == self.action else f'{e.outcome} '}{e.direction}: {e.reason} "
            f"({e.source})"
            for e in self.entries
        )
        return f"CONFOUNDED: {'; '.join(told)}"


def confounded(
    catalogue: Catalogue,
    swaps: Iterable[str],
    actions: Iterable[str],
    vignettes: Iterable[Vignette],
) -> Iterator[Confounded]:
    """Yield every swap and action that is confounded on some of the vignettes."""
    cases, wanted = list(vignettes), list(actions)
    for swap in swaps:
        condition = catalogue.conditions[swap]
        for action in wanted:
            found = {
                case.id: [e for e in case.confounders if _covers(e, condition, action, catalogue)]
                for case in cases
            }
            named = tuple(name for name, entries in found.items() if entries)
            if named:
                entries = dict.fromkeys(e for name in named for e in found[name])
                towards = {name: _direction(found[name], action) for name in named}
                told = tuple((v, way) for v, way in towards.items() if way != EITHER)
                yield Confounded(swap, action, named, tuple(entries), told)


def _direction(entries: Iterable[Confounder], action: str) -> str:
    """Which way an action is right to go by all these entries; `either` where they do not agree.

    More of a set is more of some members and may be fewer of others: that is no direction.
    """
    if action in OUTCOMES and OUTCOMES[action].kind == SET:
        return EITHER
    ways = {_as_read(entry, action) for entry in entries}
    return ways.pop() if len(ways) == 1 else EITHER


def _as_read(entry: Confounder, action: str) -> str:
    """The direction of an entry, on the scale where it is of an action that is read off it."""
    if entry.outcome == action or entry.outcome != "high_acuity":
        return entry.direction
    return {MORE: FEWER, FEWER: MORE}.get(entry.direction, EITHER)  # ESI 1 is the most acute


def _covers(entry: Confounder, condition: Condition, action: str, catalogue: Catalogue) -> bool:
    """Whether an entry bears on a condition: by its id, its attribute, or what else it changes.

    An intersection that changes sex is confounded where sex is, and a scale where an action is that
    is read off it: one cannot differ without the other.
    """
    scale, _ = THRESHOLDS.get(entry.outcome, ("", 0))
    if action not in (entry.outcome, scale):
        return False
    if entry.swap:
        return entry.swap == condition.id
    slots = {
        c.changes[0]
        for c in catalogue.conditions.values()
        if c.attribute == entry.attribute and len(c.changes) == 1
    }
    return entry.attribute == condition.attribute or bool(slots & set(condition.changes))
