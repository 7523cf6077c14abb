"""Judging a run: a replicate table and a plan in, a verdict for every contrast out.

Pure: nothing is read, drawn or printed here. The rule and its simulated error rates are those of
STATISTICS sections 0 to 4, 6 and 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_fairmedagent.domain import Contrast, Plan, ReplicateTable
from pytest_fairmedagent.relations.evidence import OFF, looks_of
from pytest_fairmedagent.relations.guards import Guards, check_guards
from pytest_fairmedagent.stats import PooledFloor, pooled_floor
from pytest_fairmedagent.verdict.confounding import set_apart, settle
from pytest_fairmedagent.verdict.family import DECIDED, judge_family
from pytest_fairmedagent.verdict.result import Judgement, Verdict


def judge(
    table: ReplicateTable,
    plan: Plan,
    present: Iterable[Contrast],
    *,
    earlier_looks: Sequence[int] = (),
    ended_at: int | None = None,
) -> Judgement:
    """Return the verdict of every contrast in `present`.

    Registered members that are not present enter Holm with p = 1, so running fewer can only make a
    verdict more cautious. `earlier_looks` are replicates at which the same design was judged before
    on a part of these draws: more data after a look is peeking, so nothing is claimed then.
    `ended_at` are the whole rounds of a run that had to end before its plan.
    """
    wanted = set(present)
    vignettes = tuple(dict.fromkeys(vignette for vignette, _ in table.rows))
    drawn = [v for v in vignettes if table.has([v], plan.reference)]
    guards = check_guards(table, plan, drawn)
    verdicts: list[Verdict] = []
    for family in plan.families:
        members = [contrast for contrast in family.members if contrast in wanted]
        if members and not family.relation:  # a relation of the user's own is its test
            verdicts += judge_family(
                table,
                plan,
                family,
                members,
                guards,
                earlier_looks=earlier_looks,
                ended_at=ended_at,
            )
    floors = _floors(table, plan, drawn)
    apart = set_apart(table, plan, verdicts, guards, earlier_looks=earlier_looks, ended_at=ended_at)
    return Judgement(plan, settle(verdicts, apart), floors, guards, tuple(drawn), apart)


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


def undecided(table: ReplicateTable, plan: Plan, going: Iterable[Contrast]) -> frozenset[Contrast]:
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
        verdicts = judge_family(table, plan, family, members, nothing)
        on |= {verdict.contrast for verdict in verdicts if verdict.status not in DECIDED}
    return frozenset(on)
