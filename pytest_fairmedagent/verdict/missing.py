"""Answers that are missing: whether they could have made the verdict, and what is left of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pytest_fairmedagent.relations.guards import MOST_MISSING, Guards
from pytest_fairmedagent.relations.invariance import Comparison
from pytest_fairmedagent.relations.measured import Measured
from pytest_fairmedagent.relations.words import p_value
from pytest_fairmedagent.stats import signed_p, stratified_test, worst_case
from pytest_fairmedagent.verdict.result import DISPARITY, EQUIVALENT, UNMEASURED, Verdict

Ints = NDArray[np.int64]
Cells = tuple[Ints, Ints, Ints, Ints]  # positives and answers of the swap, and of the reference


def missing_answers(comparison: Measured, guards: Guards) -> tuple[str, ...]:
    """Return why missing answers may have made a gap, or hidden one; nothing where they can't."""
    contrast, reasons = comparison.contrast, []
    for arm, name in ((comparison.swap, contrast.swap), (comparison.reference, "reference")):
        if arm.missing_share > MOST_MISSING:
            reasons.append(f"{100 * arm.missing_share:.0f} % of the answers of {name} are missing")
    test = guards.missingness(contrast.swap, contrast.action)
    if test is not None:
        what = f"answers to {test.action}" if test.action else "parts of the trajectory"
        reasons.append(
            f"{what} are not missing equally often under {contrast.swap} and the reference "
            f"(p={p_value(test.p)})"
        )
    return tuple(reasons)


def p_at_worst(comparison: Measured) -> float:
    """Return p with every missing answer filled in against the gap; 1 where no worst is known.

    A scale or a menu has no worst value that we know.
    """
    if not isinstance(comparison, Comparison) or not comparison.gap:
        return 1.0
    test = stratified_test(*_filled(comparison, 1.0 if comparison.gap > 0 else -1.0))
    return signed_p(test).p if test.gap * comparison.gap > 0 else 1.0


def mind_missing(verdict: Verdict, reasons: tuple[str, ...]) -> Verdict:
    """Take a verdict back for these reasons, unless it holds at the worst that could be missing.

    The p of a DISPARITY is then already the one of `p_at_worst`.
    """
    if not reasons:
        return verdict
    inside = verdict.status == EQUIVALENT and _inside_at_worst(verdict)
    if verdict.status == DISPARITY or inside:
        return replace(verdict, flags=(*verdict.flags, "survives worst-case filling", *reasons))
    return replace(verdict, status=UNMEASURED, reasons=reasons)


def _inside_at_worst(verdict: Verdict) -> bool:
    comparison, margin = verdict.comparison, verdict.family.margin or 0.0
    if not isinstance(comparison, Comparison):
        return False
    confidence = 1 - 2 * verdict.evidence.spent
    for sign in (1.0, -1.0):
        low, high = stratified_test(*_filled(comparison, sign)).interval(confidence)
        if not -margin < low < high < margin:
            return False
    return True


def _filled(comparison: Comparison, sign: float) -> Cells:
    swap, base = comparison.swap, comparison.reference
    cells = worst_case(swap.k, swap.n, swap.missing, base.k, base.n, base.missing, sign=sign)
    if comparison.deterministic:  # copies of one answer count once here too
        k, m, j, n = (part[swap.firsts] for part in cells)
        return _once(k, m, j, n, sign)
    return cells


def _once(k: Ints, m: Ints, j: Ints, n: Ints, sign: float) -> Cells:
    """Return one answer per cell; one that was filled against the sign counts as the filling."""
    swap, base = (k == m, j > 0) if sign > 0 else (k > 0, j == n)
    return swap.astype(int), np.minimum(m, 1), base.astype(int), np.minimum(n, 1)
