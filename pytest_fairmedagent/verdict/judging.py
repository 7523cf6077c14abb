"""Judging a run: a replicate table and a plan in, a verdict for every contrast out.

Pure: nothing is read, drawn or printed here. The rule and its simulated error rates are those of
STATISTICS sections 0 to 4, 6 and 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pytest_fairmedagent.domain import Contrast, Plan, ReplicateTable
from pytest_fairmedagent.relations.evidence import OFF, looks_of
from pytest_fairmedagent.relations.guards import Guards, check_guards
from pytest_fairmedagent.stats import PooledFloor, pooled_floor
from pytest_fairmedagent.verdict.confounding import set_apart, settle
from pytest_fairmedagent.verdict.family import judge_family
from pytest_fairmedagent.verdict.judgement import Judgement
from pytest_fairmedagent.verdict.looks import NOTHING, Earlier, at_level, minded, minded_swap
from pytest_fairmedagent.verdict.result import DECIDED, Verdict
from pytest_fairmedagent.verdict.swaps import SwapVerdict, again


def judge(
    table: ReplicateTable,
    plan: Plan,
    present: Iterable[Contrast],
    *,
    earlier: Earlier = NOTHING,
    ended_at: int | None = None,
    settled: int | None = None,
) -> Judgement:
    """Return the verdict of every contrast in `present`.

    Registered members that are not present count with p = 1, so running fewer can only make a
    verdict more cautious. `earlier` is what was said of these draws before: it decides at which
    level they are looked at now, and what may be claimed. `ended_at` are the whole rounds of a run
    that had to end before its plan, or whose first leg `settled` so many.
    """
    wanted = set(present)
    vignettes = tuple(dict.fromkeys(vignette for vignette, _ in table.rows))
    drawn = [v for v in vignettes if table.has([v], plan.reference)]
    guards = check_guards(table, plan, drawn)
    verdicts: list[Verdict] = []
    swaps: list[SwapVerdict] = []
    for family in plan.families:
        members = [contrast for contrast in family.members if contrast in wanted]
        if members and not family.relation:  # a relation of the user's own is its test
            now = at_level(family, earlier)
            found, wholes = judge_family(table, plan, now, members, guards, ended_at=ended_at)
            verdicts += found
            swaps += wholes
    apart = set_apart(table, plan, verdicts, guards, ended_at=ended_at)
    verdicts = [
        replace(minded(verdict, earlier), settled=settled) for verdict in settle(verdicts, apart)
    ]
    swaps = [minded_swap(again(whole, verdicts), earlier) for whole in swaps]
    return Judgement(
        plan,
        tuple(verdict for verdict in verdicts if verdict.contrast in wanted),
        _floors(table, plan, drawn),
        guards,
        tuple(drawn),
        tuple(found for found in apart if found.comparison.contrast in wanted),
        tuple(swaps),
    )


def _floors(table: ReplicateTable, plan: Plan, vignettes: Sequence[str]) -> PooledFloor | None:
    """Return the floors of the reference arm, one per action; other outcomes have no rate."""
    if not vignettes or not plan.actions:
        return None
    arms = [table.counts(vignettes, plan.reference, action) for action in plan.actions]
    k = [[arm.k[v] for arm in arms] for v in range(len(vignettes))]
    n = [[arm.n[v] for arm in arms] for v in range(len(vignettes))]
    return pooled_floor(k, n, clusters=table.clusters_of(vignettes))


def planned_looks(plan: Plan) -> tuple[int, ...]:
    """Return the replicates at which some family may be decided before its end, rising."""
    if plan.sequential == OFF:
        return ()
    looks = {
        look for family in plan.families for look in looks_of(plan.sequential, family.replicates)
    }
    return tuple(sorted(looks - {plan.replicates}))


def undecided(
    table: ReplicateTable, plan: Plan, going: Iterable[Contrast], *, earlier: Earlier = NOTHING
) -> frozenset[Contrast]:
    """Return the contrasts that need more rounds: not decided yet, and not at their end.

    The guards of the run are left to its end: they stop nothing, they only take verdicts back.
    """
    left, nothing = set(going), Guards((), frozenset())
    on = {contrast for contrast in left if contrast.swap == plan.reference}  # asked for its floor
    for family in plan.families:
        members = [contrast for contrast in family.members if contrast in left]
        if family.relation:
            on.update(members)
            continue
        now = at_level(family, earlier)
        verdicts, _ = judge_family(table, plan, now, members, nothing, tell=False)
        on |= {v.contrast for v in verdicts if v.contrast in left and v.status not in DECIDED}
    return frozenset(on)
