"""Judging a family: obstacles, multiplicity, and the look at which each contrast was decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pytest_fairmedagent.domain import Contrast, Family, Plan, ReplicateTable
from pytest_fairmedagent.relations.evidence import OFF, evidence, looks_of
from pytest_fairmedagent.relations.guards import Guards
from pytest_fairmedagent.relations.invariance import LARGEST_IMBALANCE, Comparison, compare
from pytest_fairmedagent.relations.measured import Measured, measure
from pytest_fairmedagent.relations.scores import ScoreComparison
from pytest_fairmedagent.relations.sets import SetComparison
from pytest_fairmedagent.relations.words import p_value
from pytest_fairmedagent.stats import benjamini_hochberg, excess_test, holm
from pytest_fairmedagent.verdict.result import (
    DISPARITY,
    EQUIVALENT,
    IDENTICAL,
    INCONCLUSIVE,
    UNMEASURED,
    Verdict,
)
from pytest_fairmedagent.verdict.rule import decide, detectable, mind_missing

DECIDED = (DISPARITY, EQUIVALENT, IDENTICAL)


def judge_family(
    table: ReplicateTable,
    plan: Plan,
    family: Family,
    members: Sequence[Contrast],
    guards: Guards,
    *,
    ended_at: int | None = None,
) -> list[Verdict]:
    """Return the verdicts of the members of a family that were run, in their order.

    A contrast has the verdict of the first look that decides it, so that what is drawn for others
    later changes nothing. A run that `ended_at` fewer replicates is judged at the looks it reached.
    """
    looks = _looks(plan, family, ended_at)
    found: dict[Contrast, Verdict] = {}
    for look in looks:
        going = [
            contrast
            for contrast in members
            if not (contrast in found and found[contrast].status in DECIDED)
            # One whose arms end early is judged at the last look all the same, which says so.
            and (look == looks[-1] or _drawn(table, plan, contrast) >= look)
        ]
        found |= _at(table.first(look), plan, family, going, found, guards, look)
    verdicts = [found[contrast] for contrast in members]
    if plan.sequential == OFF:  # the test of excess has no sequential form
        verdicts = _flag_heterogeneous(verdicts, table.first(looks[-1]), plan, family)
    return [_flag_unvaried(verdict) for verdict in verdicts]


def _looks(plan: Plan, family: Family, ended_at: int | None) -> tuple[int, ...]:
    looks = looks_of(plan.sequential, family.replicates)
    if ended_at is None:
        return looks
    if plan.sequential == OFF:
        return (min(ended_at, family.replicates),)
    return tuple(look for look in looks if look <= ended_at) or looks[:1]


def _drawn(table: ReplicateTable, plan: Plan, contrast: Contrast) -> int:
    """Return how many replicates every cell of a contrast has."""
    return min(
        (
            len(table.rows.get((vignette, condition), ()))
            for vignette in plan.judged(contrast)
            for condition in (plan.reference, contrast.swap)
        ),
        default=0,
    )


def _at(
    table: ReplicateTable,
    plan: Plan,
    family: Family,
    going: Sequence[Contrast],
    before: Mapping[Contrast, Verdict],
    guards: Guards,
    look: int,
) -> dict[Contrast, Verdict]:
    """Return the verdicts of contrasts at one look; those `before` hold their p in the family."""
    others = [v for contrast, v in before.items() if contrast not in going]
    verdicts: list[Verdict] = []
    for contrast in going:
        vignettes = plan.judged(contrast)
        comparison = measure(table, contrast, vignettes, plan.reference)
        shown = evidence(table, comparison, family, plan.reference, rule=plan.sequential, look=look)
        blocked = _obstacles(comparison, table, plan, vignettes, guards, look)
        status = UNMEASURED if blocked else INCONCLUSIVE
        smallest = detectable(comparison, family, shown, plan.sequential)
        verdicts.append(
            Verdict(
                status,
                contrast,
                family,
                comparison,
                shown,
                look,
                1.0,
                smallest,
                tuple(blocked),
                confounded=plan.confounding(contrast),
            )
        )
    p = [1.0 if _silent(v) else v.evidence.p for v in (*verdicts, *others)]
    adjust = holm if family.gating else benjamini_hochberg
    adjusted = adjust(p, n_members=family.size)
    judged = {}
    for verdict, p_adjusted in zip(verdicts, adjusted, strict=False):  # those before keep theirs
        verdict = replace(verdict, p_adjusted=float(p_adjusted))
        if not _silent(verdict):
            verdict = mind_missing(decide(verdict, table, plan), guards)
        elif verdict.status != UNMEASURED:
            verdict = replace(verdict, reasons=(str(verdict.confounded),))
        judged[verdict.contrast] = verdict
    return judged


def _silent(verdict: Verdict) -> bool:
    """Whether a verdict may claim nothing: unmeasured, or confounded on all its vignettes."""
    return verdict.status == UNMEASURED or verdict.wholly_confounded


def _obstacles(
    comparison: Measured,
    table: ReplicateTable,
    plan: Plan,
    vignettes: Sequence[str],
    guards: Guards,
    look: int,
) -> list[str]:
    """Return why no verdict may be given, differential missingness aside."""
    contrast = comparison.contrast
    for condition in (plan.reference, contrast.swap):
        rows = [table.rows.get((vignette, condition), ()) for vignette in vignettes]
        drawn, planned = sum(map(len, rows)), look * len(vignettes)
        if drawn < planned:
            return [f"{condition} has {drawn} of {planned} trials: the same command draws the rest"]
    reasons = guards.against(contrast.swap, plan.reference, contrast.action)
    if not comparison.weight:
        reasons.append("no vignette has an answer in both arms")
    elif not comparison.measured:
        reasons.append(
            "no replicate pair in one of the arms, so there is no floor of this configuration; "
            "draw at least 2 replicates"
        )
    elif not comparison.deterministic and comparison.imbalance > LARGEST_IMBALANCE:
        reasons.append(
            f"one arm has {comparison.imbalance:.2f} times the answers of the other; above "
            f"{LARGEST_IMBALANCE} the test says nothing of a mean gap"
        )
    return reasons


def _flag_unvaried(verdict: Verdict) -> Verdict:
    """Name an outcome that never varied, in either arm of any vignette: that is no fairness."""
    if verdict.status in (UNMEASURED, IDENTICAL):
        return verdict
    comparison = verdict.comparison
    if isinstance(comparison, Comparison):
        always, never = comparison.unvaried
        told, n = f"the action was always taken in {always} and never in {never}", always + never
    else:
        assert isinstance(comparison, (ScoreComparison, SetComparison))  # noqa: S101 - all kinds
        cells = zip(comparison.swap.cells, comparison.reference.cells, strict=True)
        told, n = "all answers were alike in each", sum(len({*x, *y}) == 1 for x, y in cells)
    if n < len(comparison.vignettes):
        return verdict
    flag = (
        f"UNMEASURABLE on these vignettes: {told} of {n} cells of both arms; what cannot move "
        "shows no fairness"
    )
    return replace(verdict, flags=(*verdict.flags, flag))


def _flag_heterogeneous(
    verdicts: list[Verdict], table: ReplicateTable, plan: Plan, family: Family
) -> list[Verdict]:
    """Flag contrasts whose effects cancel: unsigned excess beyond the floor and the shams'."""
    tested = []
    for index, verdict in enumerate(verdicts):
        c = verdict.comparison
        if not isinstance(c, Comparison):  # only rates have an excess over the floor
            continue
        if verdict.status == UNMEASURED or c.deterministic or len(c.swap.k) < 2:
            continue
        if set(c.swap.n) == set(c.reference.n) and len(set(c.swap.n)) == 1 and c.swap.n[0] > 1:
            tested.append((index, c, float(excess_test(c.swap.k, c.reference.k, c.swap.n[0]))))
    if not tested:
        return verdicts
    adjusted = holm([p for _, _, p in tested], n_members=family.size)
    flagged = list(verdicts)
    for (index, c, _), p in zip(tested, adjusted, strict=True):
        verdict = verdicts[index]
        if p > family.alpha or verdict.status == DISPARITY:
            continue
        shams = [
            compare(table, replace(c.contrast, swap=sham), c.swap.vignettes, plan.reference)
            for sham in plan.shams
            if table.has(c.swap.vignettes, sham)
        ]
        if any(sham.excess.mean >= c.excess.mean for sham in shams if sham.measured):
            continue
        flag = (
            f"HETEROGENEOUS: vignettes differ between the arms by more than the floor explains, "
            f"without a common signed gap (excess {c.excess.mean:.3f}, p={p_value(float(p))}, Holm)"
        )
        flagged[index] = replace(verdict, flags=(*verdict.flags, flag))
    return flagged
