"""Judging a family: obstacles, multiplicity, and the look at which each contrast was decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pytest_fairmedagent.domain import Contrast, Family, Plan, ReplicateTable
from pytest_fairmedagent.relations.evidence import OFF, E, Evidence, evidence, looks_of, surely
from pytest_fairmedagent.relations.guards import Guards
from pytest_fairmedagent.relations.joint import Surface, joint_test, surface_of
from pytest_fairmedagent.relations.measured import Measured, measure
from pytest_fairmedagent.relations.needs import rule_of
from pytest_fairmedagent.stats import SwapTest
from pytest_fairmedagent.verdict.chains import Chain, adjusted, chain_of
from pytest_fairmedagent.verdict.flags import flag_heterogeneous, flag_unvaried
from pytest_fairmedagent.verdict.missing import mind_missing, missing_answers, p_at_worst
from pytest_fairmedagent.verdict.obstacles import obstacles
from pytest_fairmedagent.verdict.result import DECIDED, INCONCLUSIVE, UNMEASURED, Verdict
from pytest_fairmedagent.verdict.rule import decide
from pytest_fairmedagent.verdict.swaps import SwapVerdict, judge_swap

# Equal whole outputs of a cell that are taken for copies of one. At temperature 0 they are, with
# few actions and no notes they may be chance: then counting two as one costs much power. Shams show
# what copies would feign, so beside them two equal outputs are let pass.
# benchmarks/results/guards_truth.md.
COPIES, COPIES_BESIDE_SHAMS = 2, 3


@dataclass
class _Found:
    """What is known of a family at the looks so far; only decided verdicts are final."""

    verdicts: dict[Contrast, Verdict] = field(default_factory=dict)
    p: dict[Contrast, list[float]] = field(default_factory=dict)
    tests: dict[Contrast, list[SwapTest | None]] = field(default_factory=dict)
    chains: dict[Contrast, Chain] = field(default_factory=dict)
    swaps: dict[Contrast, SwapVerdict] = field(default_factory=dict)

    def decided(self, contrast: Contrast) -> bool:
        return contrast in self.verdicts and self.verdicts[contrast].status in DECIDED


def judge_family(
    table: ReplicateTable,
    plan: Plan,
    family: Family,
    members: Sequence[Contrast],
    guards: Guards,
    *,
    ended_at: int | None = None,
    tell: bool = True,
) -> tuple[list[Verdict], list[SwapVerdict]]:
    """Return the verdicts of a family's members, and those of their swaps, in registered order.

    A contrast has the verdict of the first look that decides it, so that what is drawn for others
    later changes nothing. A run that `ended_at` fewer replicates is judged at the looks it reached.
    All registered outcomes of a swap are judged, whichever of them were asked for: its trajectories
    hold them all, and selecting fewer must not change what is said of any. Without `tell` only the
    statuses are asked for, and what shows nothing does not say why.
    """
    looks = _looks(plan, family, ended_at)
    groups = list(dict.fromkeys(family.together(contrast) for contrast in members))
    raw = [table.first(look) for look in looks]
    tables = [_pooled(part, plan) for part in raw]
    found = _Found()
    for index, look in enumerate(looks):
        last = look == looks[-1]
        going = [
            group
            for group in groups
            # One whose arms end early is judged at the last look all the same, which says so.
            if not all(map(found.decided, group))
            and (last or min(_drawn(table, plan, contrast) for contrast in group) >= look)
        ]
        for group in going:
            _at(raw[index], tables[index], plan, family, group, found, guards, look)
        _decide(found, going, plan, family, guards, last=last and tell)
    if plan.sequential == OFF:  # the test of excess has no sequential form
        found.verdicts |= flag_heterogeneous(found.verdicts, raw[-1], plan, family)
    return (
        [flag_unvaried(found.verdicts[contrast]) for group in groups for contrast in group],
        [found.swaps[group[0]] for group in groups if group[0] in found.swaps],
    )


def _looks(plan: Plan, family: Family, ended_at: int | None) -> tuple[int, ...]:
    looks = looks_of(plan.sequential, family.replicates)
    if ended_at is None:
        return looks
    if plan.sequential == OFF:
        return (min(ended_at, family.replicates),)
    return tuple(look for look in looks if look <= ended_at) or looks[:1]


def _pooled(table: ReplicateTable, plan: Plan) -> ReplicateTable:
    return table.pooled(plan.reference, plan.identical) if plan.pooled else table


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
    raw: ReplicateTable,
    table: ReplicateTable,
    plan: Plan,
    family: Family,
    group: Sequence[Contrast],
    found: _Found,
    guards: Guards,
    look: int,
) -> None:
    """Measure a group at one look, of what `table` holds; `raw` is the same before pooling."""
    comparisons = {
        contrast: measure(
            table,
            contrast,
            plan.judged(contrast),
            plan.reference,
            minimum_gap=family.minimum_gap,
            repeats=COPIES_BESIDE_SHAMS if plan.shams else COPIES,
        )
        for contrast in group
    }
    surface = surface_of(
        table,
        list(comparisons.values()),
        plan.reference,
        plan.shams,
        minimum_gap=family.minimum_gap,
    )
    shown: dict[Contrast, tuple[Measured, Evidence]] = {}
    silent: list[Contrast] = []
    at_worst: dict[Contrast, float] = {}
    for place, (contrast, comparison) in enumerate(comparisons.items()):
        sham = None if surface is None else surface.guards[place]
        earlier = found.p.setdefault(contrast, [])
        seen = evidence(table, comparison, family, plan, sham=sham, earlier=earlier)
        earlier.append(surely(comparison, sham))
        blocked = obstacles(comparison, raw, plan, comparison.vignettes, guards, look)
        verdict = Verdict(
            UNMEASURED if blocked else INCONCLUSIVE,
            contrast,
            family,
            comparison,
            seen,
            look,
            1.0,
            rule_of(plan, family),
            tuple(blocked),
            confounded=plan.confounding(contrast),
        )
        if _silent(verdict):
            silent.append(contrast)
        elif missing_answers(comparison, guards):
            at_worst[contrast] = max(seen.p, p_at_worst(comparison))
        else:
            shown[contrast] = (comparison, seen)
        if not found.decided(contrast):
            found.verdicts[contrast] = verdict
    tests = found.tests.setdefault(group[0], [])
    tests.append(_joint(table, shown, surface if len(shown) == len(group) else None, family, plan))
    found.chains[group[0]] = chain_of(shown, at_worst, silent, tests, family, plan)


def _joint(
    table: ReplicateTable,
    shown: Mapping[Contrast, tuple[Measured, Evidence]],
    surface: Surface | None,
    family: Family,
    plan: Plan,
) -> SwapTest | None:
    """Return the test of those outcomes together; None where each is tested for itself."""
    if not family.joint or len(shown) < 2 or plan.sequential == E:
        return None
    comparisons = [comparison for comparison, _ in shown.values()]
    if surface is None:  # not measured yet over just these
        surface = surface_of(table, comparisons, plan.reference, plan.shams)
    return joint_test(table, comparisons, plan.reference, surface)


def _decide(
    found: _Found,
    going: Sequence[tuple[Contrast, ...]],
    plan: Plan,
    family: Family,
    guards: Guards,
    *,
    last: bool,
) -> None:
    """Adjust over the family what its groups show at this look, and decide what can be."""
    p = adjusted(found.chains, family)
    for group in going:
        for contrast in group:
            verdict = found.verdicts[contrast]
            if found.decided(contrast):
                continue
            verdict = replace(verdict, p_adjusted=p.members.get(contrast, 1.0))
            if not _silent(verdict):
                reasons = missing_answers(verdict.comparison, guards)
                verdict = mind_missing(decide(verdict, plan, last=last), reasons)
            elif verdict.status != UNMEASURED:
                verdict = replace(verdict, reasons=(str(verdict.confounded),))
            found.verdicts[contrast] = verdict
        first = group[0]
        if family.joint and not (first in found.swaps and found.swaps[first].red):
            verdicts = tuple(found.verdicts[contrast] for contrast in group)
            found.swaps[first] = judge_swap(verdicts, found.chains[first].whole, p.whole[first])


def _silent(verdict: Verdict) -> bool:
    """Whether a verdict may claim nothing: unmeasured, or confounded on all its vignettes."""
    return verdict.status == UNMEASURED or verdict.wholly_confounded
