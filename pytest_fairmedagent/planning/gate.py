"""What a gate of a given size can find and rule out, by the rule of how often it looks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pytest_fairmedagent.relations.certify import KINDS
from pytest_fairmedagent.relations.evidence import GS, E
from pytest_fairmedagent.stats import (
    chance_to_certify_all,
    effective_pairs,
    power_of_gap,
    provable_margin,
    smallest_detectable_gap,
)

MOST_ROUNDS = 400  # after each of which is looked; more are not tried out


@dataclass(frozen=True)
class Aim:
    """What a design is to do: find a signed gap of `gap`, or show all contrasts inside `margin`.

    Exactly one of the two, in 0..1. With `every` the gap is in all actions of a swap, and the swap
    is to be red; else it is in one action, which is to be named.
    """

    gap: float | None = None
    margin: float | None = None
    every: bool = False

    def __str__(self) -> str:
        if self.gap is not None:
            where = "all actions of a swap" if self.every else "one action"
            return f"find a signed gap of {self.gap:g} in {where}"
        return f"show every contrast inside ±{self.margin:g} (if nothing differs)"


@dataclass(frozen=True)
class Gate:
    """A family of `n_members` contrasts, `n_actions` a swap, at a floor and a level `alpha`.

    `power` is what is asked for. `sequential` is `off`, `gs` or `e`, as a plan has it. `ratio` is
    the reference's draws for each of a swap's, 2 where an identical arm is pooled into it; looks
    after every round pair draw with draw and have no use for it.
    """

    floor: float
    n_members: int
    alpha: float = 0.05
    power: float = 0.8
    sequential: str = "off"
    n_actions: int = 1
    ratio: float = 1.0

    def detectable(self, n_vignettes: int, replicates: int, *, every: bool = False) -> float:
        """Smallest mean signed gap, in 0..1, that is found with the power asked for; 1 for none.

        In one action, or in all of a swap's.
        """
        return smallest_detectable_gap(
            self.floor,
            self._pairs(n_vignettes, replicates),
            power=self.power,
            **self._rule(n_vignettes),
            every=every,
        )

    def chance_to_find(
        self, gap: float, n_vignettes: int, replicates: int, *, every: bool
    ) -> float:
        """Chance, in 0..1, that a gap in one action is named, or one in all makes its swap red."""
        pairs = self._pairs(n_vignettes, replicates)
        rule = self._rule(n_vignettes)
        return power_of_gap(gap, self.floor, pairs, every=every, **rule)

    def chance_to_show_all(self, margin: float, n_vignettes: int, replicates: int) -> float | None:
        """Chance, in 0..1, that all contrasts come out EQUIVALENT if nothing differs.

        None for looks after every round, whose chance has no formula: simulate it.
        """
        if self.sequential == E:
            return None
        return chance_to_certify_all(margin, self._floors, n_vignettes, replicates, **self._shown)

    def provable(self, n_vignettes: int, replicates: int) -> float | None:
        """Smallest margin, in 0..1, that all contrasts are shown inside with the power asked for.

        None where not even a margin of 1 is enough, or where it has no formula.
        """
        if self.sequential == E:
            return None
        found = provable_margin(
            self._floors, n_vignettes, replicates, power=self.power, **self._shown
        )
        return found if found < 1 else None

    def reaches(self, aim: Aim, n_vignettes: int, replicates: int) -> bool:
        """Whether the design does what it aims at with the power asked for."""
        if aim.gap is not None:
            if self.sequential == E and replicates > MOST_ROUNDS:
                return False
            found = self.chance_to_find(aim.gap, n_vignettes, replicates, every=aim.every)
            return found >= self.power
        chance = self.chance_to_show_all(aim.margin or 0.0, n_vignettes, replicates)
        return chance is not None and chance >= self.power

    @property
    def n_swaps(self) -> int:
        return -(-self.n_members // self.n_actions)

    def _pairs(self, n_vignettes: int, replicates: int) -> float:
        return effective_pairs(n_vignettes, replicates, replicates * self._ratio)

    @property
    def _ratio(self) -> float:
        return 1.0 if self.sequential == E else self.ratio

    @property
    def _floors(self) -> list[float]:
        return [self.floor] * min(self.n_actions, self.n_members)

    def _rule(self, n_vignettes: int) -> dict[str, Any]:
        return {
            "n_vignettes": n_vignettes,
            "alpha": self.alpha,
            "n_members": self.n_members,
            "n_actions": self.n_actions,
            "ratio": self._ratio,
            "kind": KINDS[self.sequential],
        }

    @property
    def _shown(self) -> dict[str, Any]:
        return {
            "n_swaps": self.n_swaps,
            "alpha": self.alpha,
            "ratio": self._ratio,
            "gs": self.sequential == GS,
        }
