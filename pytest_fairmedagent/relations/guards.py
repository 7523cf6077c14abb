"""The guards of a run: what must hold before any of its contrasts may get a verdict.

They share one budget per run (Holm at .01 each), so that a gate does not flake on itself: one
serial test at .01 per check would fire somewhere in a tenth of all innocent runs.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_fairmedagent.domain import Contrast, Plan, ReplicateTable
from pytest_fairmedagent.relations.copies import repeats_of_arm, repeats_of_arms
from pytest_fairmedagent.relations.measured import measure
from pytest_fairmedagent.stats import holm, runs_test, stratified_test

LEVEL = 0.01
MOST_MISSING = 0.10

Cells = tuple[tuple[bool, ...], ...]  # for each vignette, of each draw


@dataclass(frozen=True)
class GuardTest:
    """One test of a guard: `condition` against the reference (or by itself), on one action.

    `action` is "" where the whole trajectory is tested, which concerns them all. `p_adjusted` is
    Holm's over the guard.
    """

    guard: str
    condition: str
    action: str
    p: float
    p_adjusted: float

    @property
    def rejects(self) -> bool:
        return self.p_adjusted <= LEVEL

    def __str__(self) -> str:
        what = f"{self.condition}, {self.action}" if self.action else self.condition
        return f"{self.guard}: {what}: p={self.p:.2g}, adjusted {self.p_adjusted:.2g}"


@dataclass(frozen=True)
class Guards:
    """All guards of a run. `repeated` are conditions with an answer that was read twice."""

    tests: tuple[GuardTest, ...]
    repeated: frozenset[str]

    @property
    def rejecting(self) -> tuple[GuardTest, ...]:
        return tuple(test for test in self.tests if test.rejects)

    def against(self, swap: str, reference: str, action: str) -> list[str]:
        """Return why a contrast may get no verdict, missing outcomes aside."""
        reasons = []
        for test in self.rejecting:
            if test.action not in ("", action):
                continue
            if test.guard == "identical arm" and not test.action:
                reasons.append(
                    f"whole outputs repeat inside '{test.condition}' and the reference, whose text "
                    f"is the same, more than between them (p={test.p:.2g}): answers come from a "
                    "store, or arms are not comparable in this run"
                )
            elif test.guard == "identical arm":
                reasons.append(
                    f"the identical re-render '{test.condition}' differs from the reference on "
                    f"{action} (p={test.p:.2g}): arms are not comparable in this run"
                )
            if test.guard == "serial dependence" and test.condition in (swap, reference):
                reasons.append(
                    f"replicates of {test.condition} depend on the one before on {action} "
                    f"(p={test.p:.2g}): they are not independent draws"
                )
            if test.guard == "copies" and test.condition in (swap, reference):
                reasons.append(
                    f"replicates of {test.condition} are wholly alike or wholly unlike "
                    f"(p={test.p:.2g}): they are picks from a few stored answers, no draws"
                )
        for condition in (swap, reference):
            if condition in self.repeated:
                reasons.append(
                    f"answers of {condition} carry the id of another trial's answer: a cached "
                    "answer is no replicate"
                )
        return reasons

    def missingness(self, swap: str, outcome: str) -> GuardTest | None:
        """Return the rejecting test that a contrast's arms do not lack answers equally often.

        Of the outcome itself, or else of whole trajectories; None where neither rejects.
        """
        found = {
            test.action: test
            for test in self.rejecting
            if test.guard == "missingness" and test.condition == swap
        }
        return found.get(outcome) or found.get("")


def check_guards(table: ReplicateTable, plan: Plan, vignettes: Sequence[str]) -> Guards:
    """Return the guards of a run over the vignettes it has drawn; none where there are none."""
    if not vignettes:
        return Guards((), frozenset())
    conditions = [c for c in table.conditions if c != plan.reference]
    present = [c for c in (plan.reference, *conditions) if table.has(vignettes, c)]
    tests = [
        *_identical(table, plan, vignettes, present),
        *_serial(table, plan, vignettes, present),
        *_copies(table, vignettes, present),
        *_missingness(table, plan, vignettes, present),
    ]
    return Guards(tuple(tests), _repeated(table) | table.reread)


def _adjusted(guard: str, found: Sequence[tuple[str, str, float]]) -> list[GuardTest]:
    if not found:
        return []
    adjusted = holm([p for _, _, p in found])
    return [
        GuardTest(guard, condition, action, p, float(q))
        for (condition, action, p), q in zip(found, adjusted, strict=True)
    ]


def _identical(
    table: ReplicateTable, plan: Plan, vignettes: Sequence[str], present: Sequence[str]
) -> list[GuardTest]:
    found = []
    for condition in plan.identical:
        for action in plan.further if condition in present else ():
            measured = measure(table, Contrast("", condition, action), vignettes, plan.reference)
            found.append((condition, action, measured.p))
        for action in plan.actions if condition in present else ():
            arm = table.counts(vignettes, condition, action)
            base = table.counts(vignettes, plan.reference, action)
            found.append((condition, action, stratified_test(arm.k, arm.n, base.k, base.n).p))
        if condition in present:
            repeats = repeats_of_arms(table, vignettes, condition, plan.reference)
            found.append((condition, "", repeats.p))
    return _adjusted("identical arm", found)


def _copies(
    table: ReplicateTable, vignettes: Sequence[str], present: Sequence[str]
) -> list[GuardTest]:
    """Return the tests of the arms in which copies could be found; in others none is shown."""
    tested = [(arm, repeats_of_arm(table, vignettes, arm, n_arms=len(present))) for arm in present]
    return _adjusted("copies", [(arm, "", test.p) for arm, test in tested if test.telling])


def _serial(
    table: ReplicateTable, plan: Plan, vignettes: Sequence[str], present: Sequence[str]
) -> list[GuardTest]:
    found = []
    for condition in present:
        for action in plan.actions:
            cells = [table.labels(vignette, condition, action) for vignette in vignettes]
            found.append((condition, action, runs_test(cells).p))
        for outcome in plan.further:
            cells = [_halves(table.labels(v, condition, outcome)) for v in vignettes]
            found.append((condition, outcome, runs_test(cells).p))
    return _adjusted("serial dependence", found)


def _halves(cell: Sequence[Any]) -> tuple[bool | None, ...]:
    """Return a cell of numbers or sets as two halves, which no order of draws can change.

    Numbers are above their median or not, or at it or not where none is above; sets are the most
    frequent one of the cell or not.
    """
    known = [value for value in cell if value is not None]
    if any(isinstance(value, frozenset) for value in known):
        most = max(set(known), key=lambda value: (known.count(value), sorted(value)))
        return tuple(None if value is None else value == most for value in cell)
    middle = statistics.median(known) if known else 0.0
    least = middle if any(value > middle for value in known) else math.nextafter(middle, -math.inf)
    return tuple(None if value is None else value > least for value in cell)


def _missingness(
    table: ReplicateTable, plan: Plan, vignettes: Sequence[str], present: Sequence[str]
) -> list[GuardTest]:
    """Return the tests of every swap: of whole trajectories, and of each outcome by itself.

    An outcome that is never missing, or exactly where its trajectory is incomplete, has no test of
    its own, and outcomes that are always missing together have one p, which Holm counts once. None
    of this can change when trajectories are relabelled, so that counting by it costs no level.
    """
    swaps = [c for c in present if c != plan.reference and c not in plan.controls]
    incomplete = _lost(table, vignettes, (plan.reference, *swaps), "")
    found, p_of = [], {}
    for name in ("", *plan.actions, *plan.further):
        lost = _lost(table, vignettes, (plan.reference, *swaps), name)
        if name and (lost == incomplete or not _any(lost)):
            continue
        reference, *others = lost
        for swap, arm in zip(swaps, others, strict=True):
            if (swap, lost) not in p_of:
                p_of[swap, lost] = stratified_test(*_counted(arm), *_counted(reference)).p
            found.append((swap, name, (swap, lost)))
    if not found:
        return []
    adjusted = dict(zip(p_of, holm(list(p_of.values())), strict=True))
    return [
        GuardTest("missingness", swap, name, p_of[key], float(adjusted[key]))
        for swap, name, key in found
    ]


def _lost(
    table: ReplicateTable, vignettes: Sequence[str], arms: Sequence[str], outcome: str
) -> tuple[Cells, ...]:
    """Return for each arm which answers are missing; of "", which trajectories are incomplete."""
    if not outcome:
        return tuple(
            tuple(tuple(not t.complete for t in table.rows[v, arm]) for v in vignettes)
            for arm in arms
        )
    return tuple(
        tuple(tuple(x is None for x in table.labels(v, arm, outcome)) for v in vignettes)
        for arm in arms
    )


def _any(lost: tuple[Cells, ...]) -> bool:
    return any(any(cell) for arm in lost for cell in arm)


def _counted(cells: Cells) -> tuple[list[int], list[int]]:
    return [sum(cell) for cell in cells], [len(cell) for cell in cells]


def _repeated(table: ReplicateTable) -> frozenset[str]:
    owners: dict[str, set[tuple[str, str, int]]] = {}
    for (vignette, condition), row in table.rows.items():
        for index, trajectory in enumerate(row):
            for response_id in trajectory.response_ids:
                owners.setdefault(response_id, set()).add((vignette, condition, index))
    shared = Counter(
        condition for places in owners.values() if len(places) > 1 for _, condition, _ in places
    )
    return frozenset(shared)
