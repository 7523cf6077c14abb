"""Known truths, for tests of your own: cases without meaning, and tables drawn from a `Truth`."""

from __future__ import annotations

import random
from collections.abc import Iterable

from pytest_fairmedagent.domain import (
    Contrast,
    Order,
    Plan,
    ReplicateTable,
    Trajectory,
    Vignette,
)
from pytest_fairmedagent.models.simulated import Truth

__all__ = ["Truth", "blank_vignettes", "draw_table"]


def blank_vignettes(n: int) -> dict[str, Vignette]:
    """Return `n` vignettes that differ in nothing but their number, by id."""
    menu = tuple(Order(f"test_{i}", f"Test {i}", "normal") for i in range(4))
    return {
        f"case_{i:02d}": Vignette(
            id=f"case_{i:02d}",
            title=f"Case {i}",
            domain="triage_escalation",
            difficulty="borderline",
            narrative=f"Case number {i}, for tests only.",
            menu=menu,
            provenance="Made for tests; describes nothing.",
        )
        for i in range(n)
    }


def draw_table(
    truth: Truth,
    plan: Plan,
    contrasts: Iterable[Contrast],
    vignettes: dict[str, Vignette],
    *,
    seed: int,
    missing: float = 0.0,
) -> ReplicateTable:
    """Return the replicate table that an agent with this truth would leave, without running one.

    Every arm that the contrasts need is drawn in full; a share `missing` (in 0..1) of trajectories
    is missing at random. Equal arguments give equal tables.
    """
    rng = random.Random(seed)
    rows: dict[tuple[str, str], list[Trajectory]] = {}
    for arm in plan.arms(contrasts):
        narrative = vignettes[arm.vignette].narrative
        swapped = arm.condition == truth.swap
        chances = {
            action: truth.probability(narrative, action, swapped=swapped) for action in plan.actions
        }
        row = rows.setdefault((arm.vignette, arm.condition), [])
        for _ in range(arm.replicates):
            if missing and rng.random() < missing:
                row.append(Trajectory({}, {"trial": "missing at random"}))
                continue
            actions = {action: rng.random() < p for action, p in chances.items()}
            row.append(Trajectory({"actions": actions}))
    return ReplicateTable(rows, "drawn from a known truth")
