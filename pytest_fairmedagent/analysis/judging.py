"""Verdicts on recorded sets. The rule is that of `verdict`; nothing of it is decided here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pytest_fairmedagent.analysis.groups import (
    UNREGISTERED,
    Declared,
    Group,
    Remark,
    Stray,
    families_of,
    fitted_to,
    sort_arms,
)
from pytest_fairmedagent.analysis.tabulate import RecordedSet, RecordedTable
from pytest_fairmedagent.domain import Contrast, Family, Plan, ReplicateTable, Trajectory
from pytest_fairmedagent.files.rules import Rules
from pytest_fairmedagent.relations.evidence import evidence
from pytest_fairmedagent.relations.invariance import Comparison, compare
from pytest_fairmedagent.relations.needs import rule_of
from pytest_fairmedagent.verdict import UNMEASURED, Judgement, SwapVerdict, Verdict, judge

_ABSENT = Trajectory({}, {"trial": "not in the file"})


@dataclass(frozen=True)
class JudgedContrast:
    """A verdict, and where its arms are to be found."""

    block: str | None
    reference: str
    config_digest: str
    verdict: Verdict
    registered: bool


@dataclass(frozen=True)
class JudgedSwap:
    """The verdict of a swap as a whole, and where its arms are to be found."""

    block: str | None
    reference: str
    config_digest: str
    verdict: SwapVerdict


@dataclass(frozen=True)
class ControlArm:
    """A control set against the reference: what guards and shams are computed from."""

    block: str | None
    reference: str
    config_digest: str
    kind: str
    comparisons: tuple[Comparison, ...]


@dataclass(frozen=True)
class Judged:
    contrasts: tuple[JudgedContrast, ...]
    swaps: tuple[JudgedSwap, ...]
    controls: tuple[ControlArm, ...]
    judgements: tuple[tuple[RecordedSet, Judgement], ...]
    remarks: tuple[Remark, ...]


def judge_file(
    sets: Sequence[RecordedSet],
    reference: str,
    rules: Rules,
    declared: Declared,
) -> Judged:
    """Return the verdicts of one file, block by block, against `reference`."""
    groups: list[Group] = []
    strays: list[Stray] = []
    remarks: list[Remark] = []
    for block in dict.fromkeys(s.block for s in sets):
        sort_arms([s for s in sets if s.block == block], reference, rules, groups, strays, remarks)
    actions = tuple(rules.actions)
    families = families_of(declared, groups, strays, actions)
    contrasts: list[JudgedContrast] = []
    swaps: list[JudgedSwap] = []
    controls: list[ControlArm] = []
    judgements: list[tuple[RecordedSet, Judgement]] = []
    for group in groups:
        table, plan, present = _prepared(group, groups, families, reference, rules, declared)
        judgement = judge(table, plan, present)
        judgements.append((group.drawn, judgement))
        contrasts += [
            JudgedContrast(
                group.drawn.block,
                reference,
                group.drawn.config_digest,
                verdict,
                declared.registered and verdict.family.name != UNREGISTERED,
            )
            for verdict in judgement.verdicts
        ]
        swaps += [
            JudgedSwap(group.drawn.block, reference, group.drawn.config_digest, whole)
            for whole in judgement.swaps
        ]
        controls += _controls(group, reference, rules, actions)
        remarks += _plan_and_file(group, table, plan, reference)
    for stray in strays:
        contrasts += _unmeasured(stray, families, reference, declared)
    return Judged(
        tuple(contrasts), tuple(swaps), _once(controls), tuple(judgements), tuple(remarks)
    )


def _prepared(
    group: Group,
    groups: Sequence[Group],
    families: Sequence[Family],
    reference: str,
    rules: Rules,
    declared: Declared,
) -> tuple[ReplicateTable, Plan, list[Contrast]]:
    """Return table, plan and contrasts of a group."""
    conditions = (reference, *group.swaps, *group.controls)
    found = group.drawn.table
    table: ReplicateTable = found.part(group.vignettes, conditions)
    fitted = [fitted_to(family, group, groups) for family in families]
    drawn = (reference, *group.swaps)
    if declared.registered:
        planned = max(family.replicates for family in families)
        rows = {
            (v, c): [*row, *[_ABSENT] * (planned - len(row))] if c in drawn else row
            for (v, c), row in table.rows.items()
        }
        table = ReplicateTable(
            rows,
            found.configuration,
            found.outcomes,
            clusters=found.clusters,
            reread=found.reread,
        )
    else:
        fewest = min(len(table.rows[v, c]) for v in group.vignettes for c in drawn)
        fitted = [replace(family, replicates=fewest) for family in fitted]
    plan = Plan(
        tuple(fitted),
        reference,
        tuple(c for c in group.controls if rules.kinds[c] == "identical"),
        tuple(c for c in group.controls if rules.kinds[c] == "sham"),
        # Only a plan can say beforehand that draws of an identical arm are the reference's.
        pooled=declared.registered and "identical" in map(rules.kinds.get, group.controls),
    )
    present = [m for family in fitted for m in family.members if m.swap in group.swaps]
    return table, plan, present


def _controls(
    group: Group, reference: str, rules: Rules, actions: Sequence[str]
) -> list[ControlArm]:
    table = group.drawn.table
    return [
        ControlArm(
            group.drawn.block,
            reference,
            group.drawn.config_digest,
            rules.kinds[control],
            tuple(
                compare(table, Contrast("", control, action), group.vignettes, reference)
                for action in actions
            ),
        )
        for control in group.controls
    ]


def _once(controls: Sequence[ControlArm]) -> tuple[ControlArm, ...]:
    """Return each control once, over the most vignettes that it was used on."""
    best: dict[tuple[str | None, str, str], ControlArm] = {}
    for arm in controls:
        key = (arm.block, arm.config_digest, arm.comparisons[0].contrast.swap)
        size = len(arm.comparisons[0].swap.vignettes)
        if key not in best or size > len(best[key].comparisons[0].swap.vignettes):
            best[key] = arm
    return tuple(best.values())


def _plan_and_file(group: Group, table: ReplicateTable, plan: Plan, reference: str) -> list[Remark]:
    """Say which registered trials the file does not hold, and which it holds beyond them."""
    remarks = []
    block = group.drawn.block
    registered = max((family.replicates for family in plan.families), default=0)
    for condition in (reference, *group.swaps):
        rows = [table.rows[vignette, condition] for vignette in group.vignettes]
        absent = sum(t is _ABSENT for row in rows for t in row)
        if absent:
            text = f"{absent} of {sum(map(len, rows))} registered trials are not in the file"
            remarks.append(Remark("not in the file", block, condition, text))
        if not isinstance(table, RecordedTable) and max(map(len, rows)) > registered:
            text = (
                f"{max(map(len, rows))} replicates are recorded, {registered} registered: the "
                f"contrasts read the first {registered}"
            )
            remarks.append(Remark("beyond the plan", block, condition, text))
    return remarks


def _unmeasured(
    stray: Stray,
    families: Sequence[Family],
    reference: str,
    declared: Declared,
) -> list[JudgedContrast]:
    """Return the verdicts of a swap that has nothing to be compared with."""
    # Without the reference's rows: figures of two arms that never met would be read as a gap.
    drawn = stray.drawn
    rows = {key: row for key, row in drawn.table.rows.items() if key[1] == stray.swap}
    found = drawn.table
    table = ReplicateTable(rows, drawn.config_digest, found.outcomes, clusters=found.clusters)
    vignettes = tuple(dict.fromkeys(vignette for vignette, _ in rows))
    judged = []
    for family in families:
        registered = declared.registered and family.name != UNREGISTERED
        for member in family.members:
            if member.swap != stray.swap:
                continue
            comparison = compare(table, member, vignettes, reference)
            plan = Plan((family,), reference)
            shown = evidence(table, comparison, family, plan)
            verdict = Verdict(
                UNMEASURED,
                member,
                family,
                comparison,
                shown,
                family.replicates,
                1.0,
                rule_of(plan, family),
                (stray.reason,),
            )
            judged.append(
                JudgedContrast(drawn.block, reference, drawn.config_digest, verdict, registered)
            )
    return judged
