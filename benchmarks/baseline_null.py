"""How often an unchanged agent is told to have got worse than its baseline, over pairs of runs.

For each pair two studies of 16 cases, R=10, the primary family of 18 and its controls are drawn
from one truth with seeds of their own, and compared as baseline and run. Prints the share of pairs
with any regression and with anything reported at all, at several floors, and how often a planted
gap and a risen floor are found: 200 pairs by default; `python -m benchmarks baseline_null 50` makes
fewer. Then how often the test of a floor alone tells equal floors apart where every rate p turned
to 1 - p, ten times as many pairs each.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from pytest_fairmedagent.comparing.baseline import compare_sides
from pytest_fairmedagent.comparing.side import Side
from pytest_fairmedagent.domain import ACTIONS, Contrast, Family, Plan
from pytest_fairmedagent.relations.invariance import compare
from pytest_fairmedagent.report.entries import comparison_entry
from pytest_fairmedagent.stats import floor_change_test
from pytest_fairmedagent.testing import Truth, blank_vignettes, draw_table

SWAPS = ("race_black", "race_hispanic", "insurance_medicaid")
CASES = blank_vignettes(16)
FAMILY = Family("primary", SWAPS, tuple(ACTIONS), tuple(CASES), replicates=10)
PLAN = Plan((FAMILY,), "reference", ("rerender",), ("sham_left_handed", "sham_born_in_june"))
FOUND = ("worse", "better", "more", "fewer")


def side(truth: Truth, seed: int, plan: Plan = PLAN, cases: Mapping[str, Any] = CASES) -> Side:
    """Return one run of an agent with this truth, as a record would hold it."""
    table = draw_table(truth, plan, plan.families[0].members, dict(cases), seed=seed)
    contrasts = []
    for member in plan.families[0].members:
        contrast = Contrast(member.family, member.swap, member.action)
        entry = comparison_entry(compare(table, contrast, tuple(cases), plan.reference))
        contrasts.append({**entry, "q": None, "run": 0, "config_digest": "drawn"})
    actions = plan.actions
    rows = [
        {
            "vignette": vignette,
            "condition": condition,
            "replicate": replicate + 1,
            "config": "drawn",
            "outputs": dict(trajectory.outputs),
            "labels": {
                action: table.labels(vignette, condition, action)[replicate] for action in actions
            },
        }
        for (vignette, condition), row in table.rows.items()
        for replicate, trajectory in enumerate(row)
    ]
    run = {
        "number": 0,
        "model": "simulated",
        "config_digest": "drawn",
        "plan_digest": plan.digest,
        "configuration": {},
        "seed": seed,
        "complete": True,
    }
    described: dict[str, Any] = {"conditions": {}, "vignettes": {}}
    record = {
        **described,
        "plan": asdict(plan),
        "runs": [run],
        "contrasts": contrasts,
        "rows": rows,
    }
    return Side(f"run {seed}", record, run)


def counts(before: Truth, after: Truth, seed: int, plan: Plan = PLAN) -> dict[str, int]:
    """Return how many changes of each kind are reported between two runs of one truth or two."""
    cases = {name: CASES[name] for name in plan.families[0].vignettes}
    pair = side(before, 2 * seed, plan, cases), side(after, 2 * seed + 1, plan, cases)
    found: dict[str, int] = compare_sides(*pair)["counts"]
    return found


def turned(n_vignettes: int, replicates: int, rate: float | None, pairs: int) -> float:
    """Return the share of p at or below .05 where rates turn from p to 1 - p; None for many p."""
    rng, n, hits = np.random.default_rng(9), [replicates] * n_vignettes, 0
    for _ in range(pairs):
        p = rng.beta(0.3, 0.3, n_vignettes) if rate is None else np.full(n_vignettes, rate)
        k_b, k_a = rng.binomial(replicates, 1 - p), rng.binomial(replicates, p)
        hits += floor_change_test(k_b, n, k_a, n) <= 0.05
    return hits / pairs


def main() -> None:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    start = time.monotonic()
    print(f"16 cases, R=10, family of 18 with three controls, {pairs} pairs each")
    for floor in (0.087, 0.25, 0.05):
        worse = anything = 0
        for seed in range(pairs):
            truth = Truth(floor=floor, seed=seed)
            found = counts(truth, truth, seed)
            worse += bool(found["worse"])
            anything += any(found[change] for change in FOUND)
        print(
            f"  unchanged, floor {floor:<5}: a regression in {worse / pairs:.3f}, anything at all "
            f"in {anything / pairs:.3f}",
            flush=True,
        )
    few = max(1, pairs // 4)
    gap = floor_up = 0
    for seed in range(few):
        truth = Truth(seed=seed)
        gap += bool(counts(truth, Truth(gap=0.15, swap="race_black", seed=seed), seed)["worse"])
        noisier = Truth(floor=0.3, seed=seed)
        floor_up += bool(counts(truth, noisier, seed)["worse"])
    print(f"  a gap of .15 in one swap, floor .087: a regression in {gap / few:.3f} ({few} pairs)")
    print(f"  another agent with a floor of .3:     a regression in {floor_up / few:.3f}")
    shapes = [(4, 20), (16, 10), (40, 5), (40, 10)]
    sizes = [turned(*shape, rate, 10 * pairs) for shape in shapes for rate in (None, 0.3, 0.1)]
    print(f"  rates turned at equal floors: p <= .05 in {min(sizes):.3f} to {max(sizes):.3f}")
    print(f"  {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
