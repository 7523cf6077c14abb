"""Floors side by side: of the actions of an arm, and of several files on the same vignettes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from pytest_fairmedagent.analysis.floors import ArmFloors
from pytest_fairmedagent.stats import FloorDifference, Spearman, floor_difference, spearman

POOLED = "pooled"


@dataclass(frozen=True)
class BaseArm:
    """The arm of a file that floors of models are compared by: its reference, or its only one."""

    file: str
    model: str
    block: str | None
    arm: ArmFloors


@dataclass(frozen=True)
class Difference:
    """Floor of `a` minus floor of `b` on one action (or pooled), over the vignettes of both."""

    a: BaseArm
    b: BaseArm
    action: str
    difference: FloorDifference


@dataclass(frozen=True)
class Agreement:
    """How alike two models order their actions by floor. Descriptive: six actions decide little."""

    a: BaseArm
    b: BaseArm
    spearman: Spearman


@dataclass(frozen=True)
class Spread:
    """The highest floor of an arm's actions minus the lowest, on the same vignettes."""

    highest: str
    lowest: str
    difference: FloorDifference


def spread_of(arm: ArmFloors, *, seed: int) -> Spread | None:
    """Return how far the actions of an arm lie apart; None for fewer than two with a floor."""
    known = [index for index, floor in enumerate(arm.floors) if floor.pairs]
    if len(known) < 2:
        return None
    high = max(known, key=lambda index: arm.floors[index].rate)
    low = min(known, key=lambda index: arm.floors[index].rate)
    a, b = arm.counts[high], arm.counts[low]
    difference = floor_difference(
        *(a.k, a.n, b.k, b.n), n_resamples=arm.n_resamples, rng=seed, clusters=a.clusters or None
    )
    return Spread(arm.actions[high], arm.actions[low], difference)


def compare_models(
    bases: Sequence[BaseArm], *, seed: int
) -> tuple[tuple[Difference, ...], tuple[Agreement, ...]]:
    """Return the paired differences and rank agreements of every two files.

    Arms are paired by block; where each file has one arm only, these two are.
    """
    differences: list[Difference] = []
    agreements: list[Agreement] = []
    for a, b in combinations(bases, 2):
        if a.file == b.file or not _paired(a, b, bases):
            continue
        differences += _differences(a, b, seed)
        shared = [x for x in a.arm.actions if x in b.arm.actions]
        pairs = [
            (a.arm.floors[a.arm.actions.index(x)].rate, b.arm.floors[b.arm.actions.index(x)].rate)
            for x in shared
        ]
        pairs = [(x, y) for x, y in pairs if not math.isnan(x + y)]
        if len(pairs) > 1:
            x, y = zip(*pairs, strict=True)
            agreements.append(Agreement(a, b, spearman(x, y)))
    return tuple(differences), tuple(agreements)


def _paired(a: BaseArm, b: BaseArm, bases: Sequence[BaseArm]) -> bool:
    alone = all(sum(c.file == d.file for c in bases) == 1 for d in (a, b))
    return alone or a.block == b.block


def _differences(a: BaseArm, b: BaseArm, seed: int) -> list[Difference]:
    in_b = {vignette: index for index, vignette in enumerate(b.arm.vignettes)}
    rows = [(i, in_b[v]) for i, v in enumerate(a.arm.vignettes) if v in in_b]
    actions = [x for x in a.arm.actions if x in b.arm.actions]
    if not rows or not actions:
        return []
    cases = [(a.arm.counts[0].clusters or a.arm.vignettes)[i] for i, _ in rows]
    k_a, n_a = _columns(a.arm, [i for i, _ in rows], actions)
    k_b, n_b = _columns(b.arm, [j for _, j in rows], actions)
    n_resamples = min(a.arm.n_resamples, b.arm.n_resamples)
    found = []
    for index, action in [(None, POOLED), *enumerate(actions)]:
        try:
            difference = floor_difference(
                *(_take(table, index) for table in (k_a, n_a, k_b, n_b)),
                n_resamples=n_resamples,
                rng=seed,
                clusters=cases,
            )
        except ValueError:  # one of them has no replicate pair on these vignettes
            continue
        found.append(Difference(a, b, action, difference))
    return found


def _columns(
    arm: ArmFloors, vignettes: Sequence[int], actions: Sequence[str]
) -> tuple[list[list[int]], list[list[int]]]:
    counts = [arm.counts[arm.actions.index(action)] for action in actions]
    k = [[c.k[v] for c in counts] for v in vignettes]
    n = [[c.n[v] for c in counts] for v in vignettes]
    return k, n


def _take(table: Sequence[Sequence[int]], column: int | None) -> list[list[int]]:
    return [list(row) if column is None else [row[column]] for row in table]
