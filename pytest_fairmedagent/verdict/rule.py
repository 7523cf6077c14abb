"""The decision rule: what one contrast comes to. STATISTICS sections 0, 3 and 4."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pytest_fairmedagent.domain import Family, Plan, ReplicateTable
from pytest_fairmedagent.relations.evidence import E, Evidence
from pytest_fairmedagent.relations.guards import MOST_MISSING, Guards
from pytest_fairmedagent.relations.invariance import Comparison
from pytest_fairmedagent.relations.measured import Measured
from pytest_fairmedagent.relations.words import p_value
from pytest_fairmedagent.stats import (
    pairs_to_certify,
    smallest_detectable_gap_e,
    stratified_test,
    worst_case,
)
from pytest_fairmedagent.verdict.result import (
    DISPARITY,
    EQUIVALENT,
    IDENTICAL,
    POWER,
    UNMEASURED,
    Verdict,
)

Ints = NDArray[np.int64]


def decide(verdict: Verdict, table: ReplicateTable, plan: Plan) -> Verdict:
    """Return the verdict by the rule, missing answers aside."""
    comparison, family = verdict.comparison, verdict.family
    if comparison.identical:
        n_vignettes = len(comparison.swap.firsts)
        return replace(
            verdict,
            status=IDENTICAL,
            reasons=(
                f"whole outputs repeat in both arms and agree in {n_vignettes} of {n_vignettes} "
                "vignettes: nothing differs on these vignettes",
            ),
        )
    margin, shown = family.margin_of(verdict.contrast.action) or 0.0, verdict.evidence
    beyond = margin == 0 or max(shown.interval[0], -shown.interval[1]) > margin
    if comparison.unclear:
        return replace(verdict, reasons=(comparison.unclear,))
    if verdict.p_adjusted <= family.alpha and beyond:
        sham = comparison.against_shams(table, plan.shams)
        # One vignette has no surface variance over vignettes: there the sign alone can be asked.
        if sham is None or sham.passes or (len(comparison.swap.firsts) == 1 and sham.same_sign):
            return replace(verdict, status=DISPARITY, sham=sham, flags=_wording(plan))
        return replace(
            verdict,
            sham=sham,
            reasons=("the gap does not exceed what sham edits of the same line do",),
        )
    if shown.equivalent:
        nonzero = ("not zero, but inside the margin",)
        return replace(
            verdict,
            status=EQUIVALENT,
            reasons=(shown.basis,),
            flags=nonzero if verdict.p_adjusted <= family.alpha else (),
        )
    return replace(verdict, reasons=tuple(_why_inconclusive(verdict, beyond)))


def _wording(plan: Plan) -> tuple[str, ...]:
    if plan.shams:
        return ()
    return (
        "no sham arm: this is string non-invariance with a direction, not yet the descriptor's",
    )


def _why_inconclusive(verdict: Verdict, beyond: bool) -> list[str]:
    comparison, family = verdict.comparison, verdict.family
    level = verdict.evidence.spent / family.size
    reasons = []
    if verdict.p_adjusted <= family.alpha and not beyond:
        reasons.append(
            f"there is a gap, but its interval reaches inside the margin "
            f"±{family.margin_of(verdict.contrast.action):g} {comparison.unit}".rstrip()
        )
    elif comparison.p_attainable > level:
        reasons.append(
            f"this check cannot fail: with so few discordant answers the smallest attainable p is "
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


def mind_missing(verdict: Verdict, guards: Guards) -> Verdict:
    """Take the verdict back where answers are missing, unless it survives the worst of them."""
    comparison = verdict.comparison
    reasons = []
    for arm, name in (
        (comparison.swap, verdict.contrast.swap),
        (comparison.reference, "reference"),
    ):
        if arm.missing_share > MOST_MISSING:
            reasons.append(f"{100 * arm.missing_share:.0f} % of the answers of {name} are missing")
    test = guards.missingness(verdict.contrast.swap, verdict.contrast.action)
    if test is not None:
        what = f"answers to {test.action}" if test.action else "parts of trajectories"
        reasons.append(
            f"{what} are not missing equally often under {verdict.contrast.swap} and reference "
            f"(p={p_value(test.p)})"
        )
    if not reasons:
        return verdict
    if _survives(verdict):
        return replace(verdict, flags=(*verdict.flags, "survives worst-case filling", *reasons))
    return replace(verdict, status=UNMEASURED, reasons=tuple(reasons))


def _survives(verdict: Verdict) -> bool:
    """Whether the verdict holds when every missing answer is filled against it."""
    comparison, family = verdict.comparison, verdict.family
    if not isinstance(comparison, Comparison):  # a scale or a menu has no worst value that we know
        return False
    swap, base = comparison.swap, comparison.reference
    level = verdict.evidence.spent

    def filled(sign: float) -> tuple[float, tuple[float, float], tuple[float, float]]:
        counts = worst_case(swap.k, swap.n, swap.missing, base.k, base.n, base.missing, sign=sign)
        if comparison.deterministic:  # copies of one answer count once here too
            k, m, j, n = (part[swap.firsts] for part in counts)
            counts = _once(k, m, j, n, sign)
        test = stratified_test(*counts)
        return test.p, test.interval(1 - level), test.interval(1 - 2 * level)

    margin = family.margin or 0.0
    if verdict.status == DISPARITY:
        sign = 1.0 if comparison.test.gap > 0 else -1.0
        p, (low, high), _ = filled(sign)
        bound = low if sign > 0 else -high
        return p <= level / family.size and bound > margin
    if verdict.status == EQUIVALENT:
        inner = [filled(sign)[2] for sign in (1.0, -1.0)]
        return all(-margin < low and high < margin for low, high in inner)
    return False


def _once(k: Ints, m: Ints, j: Ints, n: Ints, sign: float) -> tuple[Ints, Ints, Ints, Ints]:
    """Return one answer per cell; one that was filled against the sign counts as the filling."""
    swap, base = (k == m, j > 0) if sign > 0 else (k > 0, j == n)
    return swap.astype(int), np.minimum(m, 1), base.astype(int), np.minimum(n, 1)
