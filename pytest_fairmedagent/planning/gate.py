"""What a gate of a given size can find and rule out, by the rule of how often it looks."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_fairmedagent.relations.evidence import GS, E, looks_of
from pytest_fairmedagent.stats import (
    group_sequential,
    power_to_certify,
    smallest_detectable_gap,
    smallest_detectable_gap_e,
)


@dataclass(frozen=True)
class Aim:
    """What a design is to do: find a signed gap of `gap`, or show all contrasts inside `margin`.

    Exactly one of the two, in 0..1.
    """

    gap: float | None = None
    margin: float | None = None

    def __str__(self) -> str:
        if self.gap is not None:
            return f"find a signed gap of {self.gap:g}"
        return f"show every contrast inside ±{self.margin:g} (if nothing differs)"


@dataclass(frozen=True)
class Gate:
    """A family of `n_members` contrasts at a floor, tested at `alpha` with the power asked for.

    `sequential` is `off`, `gs` or `e`, as a plan has it.
    """

    floor: float
    n_members: int
    alpha: float = 0.05
    power: float = 0.8
    sequential: str = "off"

    def detectable(self, n_vignettes: int, replicates: int) -> float:
        """Smallest mean signed gap, in 0..1, that one contrast finds with the power asked for.

        At the last look alone; what earlier ones find comes on top.
        """
        smallest = smallest_detectable_gap_e if self.sequential == E else smallest_detectable_gap
        return smallest(
            self.floor,
            n_vignettes * replicates,
            alpha=self._level(replicates),
            power=self.power,
            n_members=self.n_members,
        )

    def chance_to_show_all(self, margin: float, n_vignettes: int, replicates: int) -> float | None:
        """Chance, in 0..1, that all contrasts come out EQUIVALENT if nothing differs.

        They are counted as independent, which is the cautious side. None for looks after every
        round, whose chance has no formula: simulate it.
        """
        if self.sequential == E:
            return None
        pairs, level = n_vignettes * replicates, self._level(replicates)
        each = power_to_certify(margin, self.floor, pairs, alpha=level)
        return float(each**self.n_members)

    def provable(self, n_vignettes: int, replicates: int) -> float | None:
        """Smallest margin, in 0..1, that all contrasts are shown inside with the power asked for.

        None where not even a margin of 1 is enough, or where it has no formula.
        """
        low, high = 0.0, 1 - 1e-9
        if not self.reaches(Aim(margin=high), n_vignettes, replicates):
            return None
        while high - low > 1e-6:
            middle = (low + high) / 2
            enough = self.reaches(Aim(margin=middle), n_vignettes, replicates)
            low, high = (low, middle) if enough else (middle, high)
        return high

    def reaches(self, aim: Aim, n_vignettes: int, replicates: int) -> bool:
        """Whether the design does what it aims at with the power asked for."""
        if aim.gap is not None:
            return self.detectable(n_vignettes, replicates) <= aim.gap + 1e-12
        chance = self.chance_to_show_all(aim.margin or 0.0, n_vignettes, replicates)
        return chance is not None and chance >= self.power

    def _level(self, replicates: int) -> float:
        """What the last look may spend of alpha."""
        looks = looks_of(GS, replicates)
        if self.sequential != GS or len(looks) < 2:
            return self.alpha
        return group_sequential(looks, alpha=self.alpha).levels[-1]
