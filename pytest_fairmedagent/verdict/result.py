"""What can be said of one contrast, and all that is said of a run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_fairmedagent.domain import EITHER, Confounded, Contrast, Family
from pytest_fairmedagent.relations.evidence import Evidence
from pytest_fairmedagent.relations.invariance import Comparison
from pytest_fairmedagent.relations.measured import Measured
from pytest_fairmedagent.relations.needs import POWER, Needs, at_look, needs
from pytest_fairmedagent.relations.words import amount, p_value
from pytest_fairmedagent.stats.planning import Rule
from pytest_fairmedagent.verdict.directed import OPPOSITE_ALPHA

if TYPE_CHECKING:
    from pytest_fairmedagent.verdict.looks import Looked

DISPARITY = "DISPARITY"
EQUIVALENT = "EQUIVALENT"
IDENTICAL = "IDENTICAL"
INCONCLUSIVE = "INCONCLUSIVE"
UNMEASURED = "UNMEASURED"

# From the one that must be looked at first to the one that may be forgotten.
SEVERITY = (DISPARITY, UNMEASURED, INCONCLUSIVE, EQUIVALENT, IDENTICAL)

CLEARED = (EQUIVALENT, IDENTICAL)
DECIDED = (DISPARITY, *CLEARED)


@dataclass(frozen=True)
class Verdict:
    """What can be said of one contrast, with everything it was computed from.

    `p_adjusted` is that of the family's procedure over `family.size` registered members: swaps as
    a whole first, then single outcomes; or Holm's, where each is tested for itself; or the
    Benjamini-Hochberg q-value of an exploratory one. `rule` is how the family decides. `look`
    is the number of replicates it was judged at, `settled` how many a first leg settled, if one
    did. `reasons` say why the status is what it is, `flags` what else is to be known. `looked`
    tells which look at its family this was, None where that is not known; one that is `post_hoc`
    gates nothing; `stands` names the earlier look that decided. `opposed` says that the outcome
    goes against the direction in which a registry holds a difference to be right: the status then
    is of the vignettes set apart.
    """

    status: str
    contrast: Contrast
    family: Family
    comparison: Measured
    evidence: Evidence
    look: int
    p_adjusted: float
    rule: Rule
    reasons: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    confounded: Confounded | None = None
    looked: Looked | None = None
    post_hoc: bool = False
    stands: str = ""
    opposed: str = ""
    settled: int | None = None

    @cached_property
    def detectable(self) -> float | None:
        """The smallest signed gap that this look names with power .8, in the outcome's units.

        None where nothing was drawn, and for sets. Looks before this one only add to the power.
        """
        if not self.comparison.weight:
            return None
        return self.comparison.detectable(at_look(self.rule, self.evidence.spent), POWER)

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
        if not self.family.gating:
            return "BH, exploratory"
        return "swap first" if self.family.joint else "Holm"

    @property
    def gap_sought(self) -> float:
        """The gap of an action, in 0..1, that a larger run should find: the margin, else 0.10.

        Beyond the gap that is not tested against, where one is declared.
        """
        return min(1.0, (self.family.margin or 0.10) + self.family.minimum_gap)

    @cached_property
    def needs(self) -> Needs | None:
        """Replicates to find `gap_sought`, and to rule out the margin, at the floor measured.

        None for an outcome that is no action, and where there is no floor.
        """
        comparison = self.comparison
        if not isinstance(comparison, Comparison) or not comparison.measured:
            return None
        return needs(
            self.rule,
            self.family,
            floor=min(1.0, comparison.planning_floor),
            n_vignettes=len(comparison.vignettes),
            gap=self.gap_sought,
        )

    @property
    def headline(self) -> str:
        """The verdict in one line that stands alone."""
        contrast = self.contrast
        what = f"{self.status} {contrast.action}, {contrast.swap} vs reference"
        if contrast.vignette is not None:
            what += f", on {contrast.vignette}"
        if self.opposed:
            return f"{what}, {self.opposed}"
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
        planned = self.family.replicates
        by_leg = self.settled is not None and self.settled < planned
        if by_leg and self.look == self.settled:
            text += f" with {self.look} replicates, settled by the first leg"
        elif self.look < planned:
            text += f" after {self.look} of {self.settled if by_leg else planned} replicates"
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
        if self.opposed and comparison.weight and not self.wholly_confounded:
            low_high = self.evidence.interval
            lines.append(
                f"  on the other vignettes: {comparison.told(low_high)}, "
                f"p={p_value(self.p_adjusted)} ({self.method}, family of {self.family.size})"
            )
        if comparison.weight:
            lines.extend(f"  {line}" for line in comparison.lines())
            if comparison.deterministic:
                lines.append(
                    "  every cell is unanimous, so each vignette counts once: equal answers of one "
                    "cell are one answer"
                )
            if self.evidence.sham is not None:
                lines.append(f"  {self.evidence.sham}")
        if self.detectable is not None:
            lines.append(
                f"  smallest detectable signed gap at this family's level: "
                f"{self.seen} "
                f"(power {POWER})"
            )
        if self.confounded is not None and not self.wholly_confounded:
            names = ", ".join(self.confounded.vignettes)
            lines.append(f"  left out and looked at apart: {names}")
            lines.append(f"    {self.confounded}")
        lines.extend(f"  flag: {flag}" for flag in self.flags)
        return "\n".join(lines)


@dataclass(frozen=True)
class Opposite:
    """A test against the direction in which a difference can be right, one-sided.

    `p` in 0..1 is for itself (over all looks so far), `p_adjusted` Holm's over `n_members`, all
    that a run registers so. `reason` says why it may claim nothing, "" where it may.
    """

    p: float
    p_adjusted: float
    n_members: int
    reason: str = ""


@dataclass(frozen=True)
class Apart:
    """What was seen where a difference can be clinically right, in one direction or in either.

    In that `direction` it is explored, and never claimed: `q` is the Benjamini-Hochberg value over
    all that a run explores so. Against it, it is tested (`opposite`; None where it may go either
    way, or the family does not gate).
    """

    comparison: Measured
    family: str
    confounded: Confounded
    q: float
    direction: str = EITHER
    opposite: Opposite | None = None

    @property
    def opposed(self) -> bool:
        """Whether the outcome goes against the registered direction."""
        found = self.opposite
        return found is not None and not found.reason and found.p_adjusted <= OPPOSITE_ALPHA
