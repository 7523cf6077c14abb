"""The decision rule: what one contrast comes to. STATISTICS sections 0, 3 and 4."""

from __future__ import annotations

import math
from dataclasses import replace

from pytest_fairmedagent.domain import Plan
from pytest_fairmedagent.relations.needs import POWER, Needs
from pytest_fairmedagent.relations.words import p_value
from pytest_fairmedagent.verdict.result import (
    DISPARITY,
    EQUIVALENT,
    IDENTICAL,
    Verdict,
)


def decide(verdict: Verdict, plan: Plan, *, last: bool = True) -> Verdict:
    """Return the verdict by the rule, from the top down; missing answers aside.

    Only at the `last` look is it told why nothing was shown: what another follows is not asked.
    """
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
    return replace(verdict, reasons=tuple(_why_inconclusive(verdict)) if last else ())


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
    if family.margin and verdict.needs is not None:
        reasons.append(_in_words(verdict.needs, verdict))
    return reasons


def _in_words(needs: Needs, verdict: Verdict) -> str:
    """Say what finds a gap as large as the margin, and apart from it what rules it out."""
    found = _replicates(needs.find)
    text = f"at this floor a gap of {verdict.gap_sought:g} in one action is found with {found}"
    if not math.isnan(needs.rule_out):
        margin = verdict.family.margin or 0.0
        text += f"; to rule out gaps beyond ±{margin:g} takes {_replicates(needs.rule_out)}"
    return f"{text} (power {POWER}); this contrast has {verdict.look}"


def _replicates(number: float) -> str:
    if math.isinf(number):
        return "no number of replicates"
    return f"{number:.0f} replicate{'' if number == 1 else 's'}"
