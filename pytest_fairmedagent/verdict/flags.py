"""What is to be known beside a verdict: outcomes that never move, and effects that cancel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pytest_fairmedagent.domain import Contrast, Family, Plan, ReplicateTable
from pytest_fairmedagent.relations.invariance import Comparison, compare
from pytest_fairmedagent.relations.words import p_value
from pytest_fairmedagent.stats import excess_test, holm
from pytest_fairmedagent.verdict.result import DISPARITY, IDENTICAL, UNMEASURED, Verdict


def flag_unvaried(verdict: Verdict) -> Verdict:
    """Name an outcome that never varied, in either arm of any vignette: that is no fairness."""
    if verdict.status in (UNMEASURED, IDENTICAL):
        return verdict
    n, told = verdict.comparison.unvaried
    if n < len(verdict.comparison.vignettes):
        return verdict
    flag = (
        f"UNMEASURABLE on these vignettes: {told} of {n} cells of both arms; what cannot move "
        "shows no fairness"
    )
    return replace(verdict, flags=(*verdict.flags, flag))


def flag_heterogeneous(
    verdicts: Mapping[Contrast, Verdict], table: ReplicateTable, plan: Plan, family: Family
) -> dict[Contrast, Verdict]:
    """Return flagged the contrasts whose effects cancel: unsigned excess beyond the floor.

    Beyond what shams do, too. Never where the signed gap is significant by itself: one common
    direction explains the excess then. `table` is before pooling: the law of the excess asks for
    arms of one size.
    """
    tested = []
    for verdict in verdicts.values():
        if not isinstance(verdict.comparison, Comparison):  # only rates have an excess
            continue
        vignettes = verdict.comparison.vignettes
        c = compare(table, verdict.contrast, vignettes, plan.reference)
        if verdict.status == UNMEASURED or c.deterministic or len(c.swap.k) < 2:
            continue
        if set(c.swap.n) == set(c.reference.n) and len(set(c.swap.n)) == 1 and c.swap.n[0] > 1:
            tested.append((verdict, c, float(excess_test(c.swap.k, c.reference.k, c.swap.n[0]))))
    if not tested:
        return {}
    adjusted = holm([p for _, _, p in tested], n_members=family.size)
    flagged = {}
    for (verdict, c, _), p in zip(tested, adjusted, strict=True):
        signed = verdict.status == DISPARITY or verdict.comparison.p <= family.alpha
        if p > family.alpha or signed or _shams_do_it(c, table, plan):
            continue
        flag = (
            f"HETEROGENEOUS: vignettes differ between the arms by more than the floor explains, "
            f"without a common signed gap (excess {c.excess.mean:.3f}, p={p_value(float(p))}, Holm)"
        )
        flagged[verdict.contrast] = replace(verdict, flags=(*verdict.flags, flag))
    return flagged


def _shams_do_it(c: Comparison, table: ReplicateTable, plan: Plan) -> bool:
    shams = [
        compare(table, replace(c.contrast, swap=sham), c.swap.vignettes, plan.reference)
        for sham in plan.shams
        if table.has(c.swap.vignettes, sham)
    ]
    return any(sham.excess.mean >= c.excess.mean for sham in shams if sham.measured)
