"""All that is said of a run."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_fairmedagent.domain import Contrast, Plan
from pytest_fairmedagent.relations.guards import Guards
from pytest_fairmedagent.stats import PooledFloor
from pytest_fairmedagent.verdict.directed import opposite_level
from pytest_fairmedagent.verdict.result import Apart, Verdict
from pytest_fairmedagent.verdict.swaps import SwapVerdict


@dataclass(frozen=True)
class Judgement:
    """All verdicts of a run, with the floors and guards they were read against."""

    plan: Plan
    verdicts: tuple[Verdict, ...]
    floors: PooledFloor | None
    guards: Guards
    vignettes: tuple[str, ...]
    apart: tuple[Apart, ...] = ()
    swaps: tuple[SwapVerdict, ...] = ()

    def of(self, contrast: Contrast) -> Verdict | None:
        return next((v for v in self.verdicts if v.contrast == contrast), None)

    def swap_of(self, contrast: Contrast) -> SwapVerdict | None:
        """Return the verdict of the swap that a contrast is an outcome of; None where it has none.

        Exploratory families and those with one outcome have none.
        """
        for found in self.swaps:
            if contrast in (verdict.contrast for verdict in found.verdicts):
                return found
        return None

    def carries(self, contrast: Contrast) -> SwapVerdict | None:
        """Return the red swap that this contrast has to fail for, since no outcome is named."""
        found = self.swap_of(contrast)
        if found is None:
            return None
        run = tuple(verdict.contrast for verdict in self.verdicts)
        return found if found.carrier(run) == contrast else None

    @property
    def bound(self) -> float:
        """Bound of the chance, in 0..1, that a run without any gap shows a DISPARITY.

        Together with the looks before it.
        """
        looked = {v.family.name: v.looked.bound for v in self.verdicts if v.looked is not None}
        gating = [family for family in self.plan.families if family.gating and family.size]
        families = sum(looked.get(family.name, family.alpha) for family in gating)
        return min(1.0, families + opposite_level(self.plan))
