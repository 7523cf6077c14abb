"""Answers that are missing: a loss that depends on arm and answer, and losses at random.

Whole runs: three swaps, six actions, one reference, as a replicate table, so that the guards of the
package judge it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.guards.collapse import N_ACTIONS, rates
from pytest_fairmedagent.domain import ACTIONS, Family, Plan, ReplicateTable, Trajectory
from pytest_fairmedagent.relations.guards import check_guards
from pytest_fairmedagent.stats import holm, stratified_test, worst_case

SWAPS = ("swap_a", "swap_b", "swap_c")
ARMS = ("reference", *SWAPS)
NAMES = tuple(ACTIONS)
Answers = NDArray[np.float64]  # (arm, vignette, replicate, action): 0, 1 or nan


@dataclass(frozen=True)
class Run:
    """Whether the contrast that lost answers, or any, is red before and after; what fired."""

    lost_before: bool
    lost_after: bool
    red_before: bool
    red_after: bool
    missingness: bool
    any_guard: bool


def answers(rng: np.random.Generator, n_vignettes: int, replicates: int, floor: float) -> Answers:
    p = rates(rng, (n_vignettes, N_ACTIONS), floor)
    shape = (len(ARMS), n_vignettes, replicates, N_ACTIONS)
    drawn: Answers = (rng.random(shape) < p[None, :, None, :]).astype(float)
    return drawn


def lose_yes(rng: np.random.Generator, drawn: Answers, share: float) -> None:
    """Lose a share of the yes answers to one action in the arm of one swap."""
    cell = drawn[1, :, :, 0]
    cell[(cell == 1) & (rng.random(cell.shape) < share)] = np.nan


def lose_answers(rng: np.random.Generator, drawn: Answers, share: float) -> None:
    drawn[rng.random(drawn.shape) < share] = np.nan


def lose_trajectories(rng: np.random.Generator, drawn: Answers, share: float) -> None:
    drawn[rng.random(drawn.shape[:3]) < share] = np.nan


def judged(drawn: Answers) -> Run:
    """Judge one run: Holm over all contrasts, with the old guard and with that of the package.

    The old guard looked at whole trajectories; here that is what is missing altogether.
    """
    table, plan = _tabulated(drawn)
    guards = check_guards(table, plan, plan.families[0].vignettes)
    contrasts = [(a, action) for a in range(1, len(ARMS)) for action in range(N_ACTIONS)]
    before, after = [], []
    for arm, action in contrasts:
        k, m, lost = _counts(drawn[arm, :, :, action])
        j, n, lost_ref = _counts(drawn[0, :, :, action])
        test = stratified_test(k, m, j, n)
        worst = stratified_test(
            *worst_case(k, m, lost, j, n, lost_ref, sign=1.0 if test.gap > 0 else -1.0)
        )
        swap, name = ARMS[arm], NAMES[action]
        whole = guards.missingness(swap, "")
        own = guards.missingness(swap, name)
        before.append(max(test.p, worst.p) if whole else test.p)
        after.append(max(test.p, worst.p) if own else test.p)
    rejecting = {test.guard for test in guards.rejecting}
    red = [holm(p) <= 0.05 for p in (before, after)]
    return Run(
        bool(red[0][0]),
        bool(red[1][0]),
        bool(red[0].any()),
        bool(red[1].any()),
        "missingness" in rejecting,
        bool(rejecting),
    )


def _counts(cell: Answers) -> tuple[NDArray[np.int64], ...]:
    lost = np.isnan(cell)
    return (
        np.nansum(cell, axis=1).astype(np.int64),
        (~lost).sum(axis=1),
        lost.sum(axis=1),
    )


def _tabulated(drawn: Answers) -> tuple[ReplicateTable, Plan]:
    vignettes = tuple(f"v{v}" for v in range(drawn.shape[1]))
    rows = {
        (vignette, condition): [_trajectory(answer) for answer in arm[v]]
        for condition, arm in zip(ARMS, drawn.tolist(), strict=True)
        for v, vignette in enumerate(vignettes)
    }
    family = Family("f", SWAPS, NAMES, vignettes, drawn.shape[2])
    return ReplicateTable(rows, "simulated"), Plan((family,), "reference")


def _trajectory(answer: list[float]) -> Trajectory:
    actions = {
        name: bool(value) for name, value in zip(NAMES, answer, strict=True) if value == value
    }
    return Trajectory({"actions": actions}, {} if actions else {"trial": "lost"})
