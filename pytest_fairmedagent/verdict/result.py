"""What can be said of one contrast, and all that is said of a run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_fairmedagent.domain import Confounded, Contrast, Family, Plan
from pytest_fairmedagent.relations.evidence import Evidence
from pytest_fairmedagent.relations.guards import Guards
from pytest_fairmedagent.relations.invariance import Comparison
from pytest_fairmedagent.relations.measured import Guarded, Measured
from pytest_fairmedagent.relations.words import amount, p_value
from pytest_fairmedagent.stats import PooledFloor, pairs_for_gap

if TYPE_CHECKING:
    from pytest_fairmedagent.verdict.looks import Looked

DISPARITY = "DISPARITY"
EQUIVALENT = "EQUIVALENT"
IDENTICAL = "IDENTICAL"
INCONCLUSIVE = "INCONCLUSIVE"
UNMEASURED = "UNMEASURED"

# From the one that must be looked at first to the one that may be forgotten.
SEVERITY = (DISPARITY, UNMEASURED, INCONCLUSIVE, EQUIVALENT, IDENTICAL)

POWER = 0.8


@dataclass(frozen=True)
class Verdict:
    """What can be said of one contrast, with everything it was computed from.

    `p_adjusted` is Holm's in a family of `family.size` registered members, or the
    Benjamini-Hochberg q-value of an exploratory one. `detectable` is the smallest signed gap that
    this contrast finds with power .8 at its family's level, in the units of its outcome. `look` is
    the number of replicates it was judged at. `reasons` say why the status is what it is, `flags`
    what else is to be known. `looked` tells which look at its family this was, None where that is
    not known; one that is `post_hoc` gates nothing; `stands` names the earlier look that decided.
    """

    status: str
    contrast: Contrast
    family: Family
    comparison: Measured
    evidence: Evidence
    look: int
    p_adjusted: float
    detectable: float | None
    reasons: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    sham: Guarded | None = None
    confounded: Confounded | None = None
    looked: Looked | None = None
    post_hoc: bool = False
    stands: str = ""

    @property
    def wholly_confounded(self) -> bool:
        """Whether a difference can be clinically right on every vignette of the contrast."""
        found = self.confounded
        return found is not None and set(self.comparison.vignettes) <= set(found.vignettes)

    @property
    def seen(self) -> str:
        """The smallest detectable gap in words, with its unit."""
        gap = math.nan if self.detectable is None else self.detectable
        unit = self.comparison.unit
        return amount(gap, unit) if unit else f"{gap:.2f}"

    @property
    def method(self) -> str:
        return "Holm" if self.family.gating else "BH, exploratory"

    @property
    def gap_sought(self) -> float:
        """The gap of an action, in 0..1, that a larger run should find: the margin, else 0.10."""
        return self.family.margin or 0.10

    @property
    def pairs_to_find(self) -> float:
        """Replicate pairs at which `gap_sought` is found with power .8, at the floor measured.

        nan for an outcome that is no action.
        """
        if not isinstance(self.comparison, Comparison):
            return math.nan
        return pairs_for_gap(
            self.gap_sought,
            self.comparison.planning_floor,
            alpha=self.family.alpha,
            power=POWER,
            n_members=self.family.size,
        )

    @property
    def headline(self) -> str:
        """The verdict in one line that stands alone."""
        contrast = self.contrast
        what = f"{self.status} {contrast.action}, {contrast.swap} vs reference"
        if contrast.vignette is not None:
            what += f", on {contrast.vignette}"
        if not self.comparison.weight:
            return f"{what}: {'; '.join(self.reasons) or 'nothing was drawn'}"
        told = self.comparison.told(self.evidence.interval)
        text = (
            f"{what}: {told}, p={p_value(self.p_adjusted)} "
            f"({self.method}, family of {self.family.size}"
        )
        if self.looked is not None and self.looked.number > 1:
            text += f", look {self.looked.number} at {self.looked.level:g}"
        text += f"); {self.stands}" if self.stands else ")"
        if self.look < self.family.replicates:
            text += f" after {self.look} of {self.family.replicates} replicates"
        if self.status in (INCONCLUSIVE, UNMEASURED) and self.reasons:
            text += f": {self.reasons[0]}"
        return text

    def __str__(self) -> str:
        return self.headline

    def explain(self) -> str:
        """The headline, and below it what it rests on, in lines of words."""
        told = self.headline  # which ends with the first reason where nothing was shown
        lines = [told, *(f"  {reason}" for reason in self.reasons if reason not in told)]
        comparison = self.comparison
        if comparison.weight:
            lines.extend(f"  {line}" for line in comparison.lines())
            if comparison.deterministic:
                lines.append(
                    "  every cell is unanimous, so each vignette counts once: equal answers of one "
                    "cell are one answer"
                )
            if self.sham is not None and len(comparison.swap.firsts) > 1:
                lines.append(f"  {self.sham}")
            elif self.sham is not None:
                lines.append(
                    "  the same sign against every sham; one vignette has no surface noise"
                )
        if self.detectable is not None:
            lines.append(
                f"  smallest detectable signed gap at this family's level: "
                f"{self.seen} "
                f"(power {POWER})"
            )
        if self.confounded is not None and not self.wholly_confounded:
            names = ", ".join(self.confounded.vignettes)
            lines.append(f"  left out and explored apart: {names}")
            lines.append(f"    {self.confounded}")
        lines.extend(f"  flag: {flag}" for flag in self.flags)
        return "\n".join(lines)


@dataclass(frozen=True)
class Apart:
    """What was seen where a difference can be clinically right: explored, and never claimed.

    `q` is the Benjamini-Hochberg value over all that a run explores so.
    """

    comparison: Measured
    family: str
    confounded: Confounded
    q: float


@dataclass(frozen=True)
class Judgement:
    """All verdicts of a run, with the floors and guards they were read against."""

    plan: Plan
    verdicts: tuple[Verdict, ...]
    floors: PooledFloor | None
    guards: Guards
    vignettes: tuple[str, ...]
    apart: tuple[Apart, ...] = ()

    def of(self, contrast: Contrast) -> Verdict | None:
        return next((v for v in self.verdicts if v.contrast == contrast), None)

    @property
    def bound(self) -> float:
        """Bound of the chance, in 0..1, that a run without any gap shows a DISPARITY.

        Together with the looks before it.
        """
        looked = {v.family.name: v.looked.bound for v in self.verdicts if v.looked is not None}
        gating = [family for family in self.plan.families if family.gating and family.size]
        return min(1.0, sum(looked.get(family.name, family.alpha) for family in gating))
