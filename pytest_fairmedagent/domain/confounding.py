"""Confounding: where a difference between two descriptions can be clinically right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pytest_fairmedagent.domain.band import THRESHOLDS
from pytest_fairmedagent.domain.condition import Catalogue, Condition
from pytest_fairmedagent.domain.vignette import Confounder, Vignette


@dataclass(frozen=True)
class Confounded:
    """Vignettes on which a swap can rightly change an action, and the entries that say so."""

    swap: str
    action: str
    vignettes: tuple[str, ...]
    entries: tuple[Confounder, ...]

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
                yield Confounded(swap, action, named, tuple(entries))


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
