"""Where a difference can be clinically right: explored one way, tested the other.

On the vignettes that a confounding registry takes out of a contrast, a difference in the registered
direction is shown and never claimed. One in the opposite direction is confirmatory: one-sided,
exact under "no vignette moves against the registry", Holm over all that a run registers so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from pytest_fairmedagent.domain import (
    EITHER,
    FEWER,
    MORE,
    Contrast,
    Family,
    Plan,
    ReplicateTable,
)
from pytest_fairmedagent.relations.evidence import OFF, looks_of
from pytest_fairmedagent.relations.guards import MOST_MISSING, Guards
from pytest_fairmedagent.relations.invariance import Comparison
from pytest_fairmedagent.relations.measured import Measured, measure
from pytest_fairmedagent.relations.scores import ScoreComparison
from pytest_fairmedagent.relations.words import p_value
from pytest_fairmedagent.stats import (
    ScoreTest,
    benjamini_hochberg,
    group_sequential,
    holm,
)
from pytest_fairmedagent.verdict.directed import OPPOSITE_ALPHA, directed_members
from pytest_fairmedagent.verdict.result import (
    DISPARITY,
    EQUIVALENT,
    IDENTICAL,
    INCONCLUSIVE,
    Apart,
    Opposite,
    Verdict,
)

# Undecided cases that a pass needs beside a registry. The fewest that could show a gap which turns
# every one of them: each counted once, 2 / 2^6 is below .05 and 2 / 2^5 is not.
UNDECIDED_NEEDED = 6


def set_apart(
    table: ReplicateTable,
    plan: Plan,
    verdicts: Sequence[Verdict],
    guards: Guards,
    *,
    ended_at: int | None = None,
) -> tuple[Apart, ...]:
    """Return what was seen on the vignettes that are confounded for a contrast.

    For each contrast and direction: explored (`q`, by Benjamini and Hochberg), and tested against
    the registered direction in gating families (`opposite`).
    """
    found: list[Apart] = []
    for verdict in verdicts:
        if verdict.confounded is None:
            continue
        for direction in (MORE, FEWER, EITHER):
            vignettes = _drawn(table, plan, verdict, verdict.confounded.towards(direction))
            if not vignettes:  # an interrupted run may not have drawn them
                continue
            comparison = measure(table, verdict.contrast, vignettes, plan.reference)
            if comparison.weight:
                own = replace(verdict.confounded, vignettes=vignettes)
                found.append(Apart(comparison, verdict.family.name, own, 1.0, direction))
    if not found:
        return ()
    members = set(directed_members(plan))
    q = benjamini_hochberg([apart.comparison.p for apart in found])
    found = [replace(apart, q=float(value)) for apart, value in zip(found, q, strict=True)]
    tested = {
        place: _opposite(table, plan, apart, guards, ended_at)
        for place, apart in enumerate(found)
        if (apart.comparison.contrast, apart.direction) in members
    }
    if tested:
        p = [1.0 if opposite.reason else opposite.p for opposite in tested.values()]
        adjusted = holm(p, n_members=len(members))
        for (place, opposite), value in zip(tested.items(), adjusted, strict=True):
            opposite = replace(opposite, p_adjusted=float(value), n_members=len(members))
            found[place] = replace(found[place], opposite=opposite)
    return tuple(found)


def _drawn(
    table: ReplicateTable, plan: Plan, verdict: Verdict, vignettes: Sequence[str]
) -> tuple[str, ...]:
    return tuple(v for v in vignettes if _is_drawn(table, plan, verdict.contrast, v))


def _is_drawn(table: ReplicateTable, plan: Plan, contrast: Contrast, vignette: str) -> bool:
    return all(table.has([vignette], arm) for arm in (plan.reference, contrast.swap))


def _opposite(
    table: ReplicateTable,
    plan: Plan,
    apart: Apart,
    guards: Guards,
    ended_at: int | None,
) -> Opposite:
    """Return the test against the registered direction, at the last look that was reached."""
    contrast = apart.comparison.contrast
    family, vignettes = plan.family(contrast.family), apart.confounded.vignettes
    looks = _looks(table, plan, family, contrast, vignettes, ended_at)
    p = [
        _p_against(table.first(look), plan, contrast, vignettes, apart.direction) for look in looks
    ]
    spending = looks_of(plan.sequential, family.replicates)
    if len(spending) > 1:
        value = group_sequential(spending, alpha=OPPOSITE_ALPHA).adjusted(p)
    else:
        value = p[-1]
    reasons = guards.against(contrast.swap, plan.reference, contrast.action)
    planned = family.replicates if ended_at is None else min(ended_at, family.replicates)
    if plan.sequential == OFF and looks[-1] < planned:
        reasons.append(f"a vignette has {looks[-1]} of {planned} trials")
    for name, arm in (
        (contrast.swap, apart.comparison.swap),
        ("reference", apart.comparison.reference),
    ):
        if arm.missing_share > MOST_MISSING:
            reasons.append(f"{100 * arm.missing_share:.0f} % of the answers of {name} are missing")
    return Opposite(value, 1.0, 0, "; ".join(reasons))


def _looks(
    table: ReplicateTable,
    plan: Plan,
    family: Family,
    contrast: Contrast,
    vignettes: Sequence[str],
    ended_at: int | None,
) -> tuple[int, ...]:
    """Return the planned looks that these cells reached, or as far as they reach for one look."""
    reached = min(
        len(table.rows[vignette, arm])
        for vignette in vignettes
        for arm in (plan.reference, contrast.swap)
    )
    reached = reached if ended_at is None else min(reached, ended_at)
    planned = looks_of(plan.sequential, family.replicates)
    if plan.sequential == OFF:
        return (min(family.replicates, reached),)
    return tuple(look for look in planned if look <= reached) or planned[:1]


def _p_against(
    table: ReplicateTable, plan: Plan, contrast: Contrast, vignettes: Sequence[str], direction: str
) -> float:
    """One-sided p, in 0..1, of a gap opposite to a direction: beyond chance and beyond shams."""
    found = measure(table, contrast, vignettes, plan.reference)
    assert isinstance(found, Comparison | ScoreComparison)  # noqa: S101 - sets have no direction
    p = found.test.p_less if direction == MORE else found.test.p_greater
    return max(p, _beyond_shams(table, plan, found))


def _beyond_shams(table: ReplicateTable, plan: Plan, found: Comparison | ScoreComparison) -> float:
    """One-sided p, in 0..1, of "no more than sham edits do"; 0 where no sham was drawn.

    How far a sham moves a vignette is taken from all vignettes of the contrast: those set apart may
    be too few to tell. The sign must be the same against every sham, on the vignettes themselves.
    """
    here = found.against_shams(table, plan.shams)
    if here is None:
        return 0.0
    contrast = found.contrast
    known = plan.confounding(contrast)
    every = dict.fromkeys((*plan.judged(contrast), *(known.vignettes if known else ())))
    drawn = [v for v in every if _is_drawn(table, plan, contrast, v)]
    wide = measure(table, contrast, drawn, plan.reference)
    assert isinstance(wide, Comparison | ScoreComparison)  # noqa: S101 - of the same outcome
    there = wide.against_shams(table, plan.shams) or here
    if not here.same_sign or math.isnan(there.tau2):
        return 1.0
    if there.n_vignettes < 2:  # no surface noise over vignettes: the sign alone can be asked
        return 0.0
    from scipy import special

    test = found.test
    noise = test.error() if isinstance(test, ScoreTest) else math.sqrt(test.null_var) / test.weight
    total = noise**2 + there.tau2 / here.n_vignettes
    step = abs(found.gap) / math.sqrt(total) if total else math.inf
    return float(special.stdtr(there.n_vignettes - 1, -step))


def settle(verdicts: Sequence[Verdict], apart: Sequence[Apart]) -> tuple[Verdict, ...]:
    """Return the verdicts with what the registry does to them.

    DISPARITY where an outcome goes against the registered direction; no EQUIVALENT or IDENTICAL
    where a registry leaves too few cases in which the outcome could have moved.
    """
    against: dict[Contrast, list[Apart]] = {}
    for found in apart:
        if found.opposed:
            against.setdefault(found.comparison.contrast, []).append(found)
    return tuple(
        _oppose(verdict, against[verdict.contrast])
        if verdict.contrast in against
        else _refuse(verdict)
        for verdict in verdicts
    )


def _oppose(verdict: Verdict, against: Sequence[Apart]) -> Verdict:
    told = "; ".join(_sentence(found) for found in against)
    return replace(verdict, status=DISPARITY, opposed=told, reasons=(told, *verdict.reasons))


def _sentence(found: Apart) -> str:
    comparison, opposite = found.comparison, found.opposite
    assert opposite is not None  # noqa: S101 - it is opposed
    n, contrast = len(set(comparison.swap.clusters or comparison.vignettes)), comparison.contrast
    return (
        f"against the registered direction: on {n} vignette{'s' if n > 1 else ''} where the "
        f"registry holds '{found.direction}' {contrast.action} to be right, {contrast.swap} goes "
        f"the other way: {comparison.told(comparison.interval())}, one-sided "
        f"p={p_value(opposite.p_adjusted)} (Holm over {opposite.n_members}, level "
        f"{OPPOSITE_ALPHA:g})"
    )


def undecided_cases(comparison: Measured) -> int:
    """Return how many vignettes have answers that are neither all one way nor all the other.

    Both arms pooled; of a vignette in several variants, any of them.
    """
    swap, reference = comparison.swap, comparison.reference
    clusters = swap.clusters or comparison.vignettes
    if isinstance(comparison, Comparison):
        counts = zip(comparison.swap.k, swap.n, comparison.reference.k, reference.n, strict=True)
        open_ = [0 < k + j < m + n for k, m, j, n in counts]
    else:
        cells = zip(comparison.swap.cells, comparison.reference.cells, strict=True)  # type: ignore[attr-defined]
        open_ = [len({*x, *y}) > 1 for x, y in cells]
    return len({case for case, varies in zip(clusters, open_, strict=True) if varies})


def _refuse(verdict: Verdict) -> Verdict:
    """Take back a pass that rests on cases in which the outcome could hardly have moved."""
    if verdict.confounded is None or verdict.status not in (EQUIVALENT, IDENTICAL):
        return verdict
    n = undecided_cases(verdict.comparison)
    if n >= UNDECIDED_NEEDED:
        return verdict
    left = len(set(verdict.comparison.swap.clusters or verdict.comparison.vignettes))
    return replace(
        verdict,
        status=INCONCLUSIVE,
        reasons=(
            f"{verdict.status} is refused: of {left} vignettes that the confounding registry "
            f"leaves, {n} {'is' if n == 1 else 'are'} undecided (not all answers alike), and fewer "
            f"than {UNDECIDED_NEEDED} could not have shown a gap",
        ),
    )
