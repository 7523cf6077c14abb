"""The decision rule: what one contrast comes to. STATISTICS sections 0, 3 and 4."""

from __future__ import annotations

from dataclasses import replace

from pytest_fairmedagent.domain import Family, Plan
from pytest_fairmedagent.relations.evidence import E, Evidence
from pytest_fairmedagent.relations.invariance import Comparison
from pytest_fairmedagent.relations.measured import Measured
from pytest_fairmedagent.relations.words import p_value
from pytest_fairmedagent.stats import (
    pairs_to_certify,
    smallest_detectable_gap_e,
)
from pytest_fairmedagent.verdict.result import (
    DISPARITY,
    EQUIVALENT,
    IDENTICAL,
    POWER,
    Verdict,
)


def decide(verdict: Verdict, plan: Plan) -> Verdict:
    """Return the verdict by the rule, from the top down; missing answers aside."""
    comparison, family, shown = verdict.comparison, verdict.family, verdict.evidence
    margin = family.margin_of(verdict.contrast.action)
    significant = verdict.p_adjusted <= family.alpha
    if comparison.identical:
        bound, n = comparison.identical_bound(shown.spent), len(comparison.swap.firsts)
        told = f"whole outputs repeat in both arms and agree in {n} of {n} vignettes"
        if margin is not None and bound < margin:
            return replace(
                verdict,
                status=IDENTICAL,
                reasons=(f"{told}: a gap of {bound:.3g} or more would have shown",),
            )
        return replace(
            verdict, reasons=(f"{told}, yet a gap below {bound:.3g} could well look the same",)
        )
    if comparison.unclear:
        return replace(verdict, reasons=(comparison.unclear,))
    if shown.equivalent:
        nonzero = ("not zero, but inside the margin",) if significant else ()
        return replace(
            verdict,
            status=EQUIVALENT,
            reasons=(shown.basis,),
            flags=(*verdict.flags, *nonzero),
        )
    if significant:
        return replace(verdict, status=DISPARITY, flags=(*verdict.flags, *_wording(plan)))
    return replace(verdict, reasons=tuple(_why_inconclusive(verdict)))


def _wording(plan: Plan) -> tuple[str, ...]:
    if plan.shams:
        return ()
    return (
        "no sham arm: this is string non-invariance with a direction, not yet the descriptor's",
    )


def _why_inconclusive(verdict: Verdict) -> list[str]:
    comparison, family, shown = verdict.comparison, verdict.family, verdict.evidence
    # What the first to be named has to meet: an outcome of a swap that is tested as a whole is
    # shown against the others of that swap only, the swap against the other swaps.
    level = shown.spent / family.n_groups
    reasons = []
    if shown.sham is not None and comparison.p <= level < shown.sham.p:
        reasons.append("the gap does not exceed what sham edits of the same line do")
    if comparison.p_attainable > level:
        what = "it cannot be named by itself" if family.joint else "this check cannot fail"
        reasons.append(
            f"{what}: with so few discordant answers the smallest attainable p is "
            f"{p_value(comparison.p_attainable)}, above {level:.2g}"
        )
    if verdict.detectable is not None:
        reasons.append(f"gaps below {verdict.seen} would pass unseen")
    if family.margin and isinstance(comparison, Comparison):
        show = pairs_to_certify(family.margin, comparison.planning_floor, alpha=family.alpha)
        reasons.append(
            f"at this floor a gap of {family.margin:g} needs {verdict.pairs_to_find:.0f} replicate "
            f"pairs to be found and {show:.0f} to be ruled out, with power {POWER}; this contrast "
            f"has {comparison.test.n_pairs:.4g}"
        )
    return reasons


def detectable(comparison: Measured, family: Family, shown: Evidence, rule: str) -> float | None:
    """Return the smallest gap that this look finds with power .8, in the units of the outcome.

    None where nothing was drawn, and for sets. Looks before this one only add to the power.
    """
    if not comparison.weight:
        return None
    if rule == E and isinstance(comparison, Comparison):
        return smallest_detectable_gap_e(
            comparison.planning_floor,
            comparison.test.n_pairs,
            alpha=shown.spent,
            power=POWER,
            n_members=family.size,
        )
    return comparison.detectable(shown.spent, family.size, POWER)
