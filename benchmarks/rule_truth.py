"""The whole judge on simulated tables: how often a gate is red, by the rule before and by this one.

64 vignettes, six actions with U-shaped rates, three swaps, a re-render and two shams; the profiles
`ci` (2 draws, margin .10) and `release` (10 draws, margin .05). Before: DISPARITY asked Holm over
18 exact tests, an interval beyond the margin, and the sham guard afterwards; the reference was not
pooled. That rule lives here only. `python -m benchmarks rule_truth 200` makes 200 runs a cell and
writes benchmarks/results/rule_truth.md.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import special

from pytest_fairmedagent.domain import ACTIONS, Contrast, Family, Plan, ReplicateTable, Trajectory
from pytest_fairmedagent.stats import holm, sham_guard, stratified_test
from pytest_fairmedagent.verdict import DISPARITY, EQUIVALENT, UNMEASURED, judge

V, SIX = 64, tuple(ACTIONS)
NAMES = tuple(f"v{i}" for i in range(V))
SWAPS, SHAMS = ("a", "b", "c"), ("s1", "s2")
ARMS = ("reference", "rerender", *SHAMS, *SWAPS)
RESULTS = Path(__file__).parent / "results" / "rule_truth.md"


@dataclass(frozen=True)
class Cell:
    """One row of the table: what is true, and under which profile it is judged."""

    name: str
    floor: float
    replicates: int
    margin: float
    shift: tuple[float, ...] = (0.0,) * 6  # mean gap of each action under the swap "a"
    jitter: float = 0.0  # sd in logits, for each vignette and string
    shams: bool = True

    @property
    def plan(self) -> Plan:
        family = Family("primary", SWAPS, SIX, NAMES, self.replicates, margin=self.margin)
        return Plan((family,), "reference", ("rerender",), SHAMS if self.shams else (), pooled=True)


def logit_shift(logits: np.ndarray, gap: float) -> float:
    """Return the common shift that moves the mean rate by `gap`."""
    low, high = -20.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        moved = special.expit(logits + middle).mean() - special.expit(logits).mean()
        low, high = (middle, high) if moved < gap else (low, middle)
    return low


def table_of(cell: Cell, rng: np.random.Generator) -> ReplicateTable:
    a = cell.floor / (1 - 2 * cell.floor)
    logits = special.logit(np.clip(rng.beta(a, a, (V, 6)), 1e-9, 1 - 1e-9))
    rows = {}
    for arm in ARMS if cell.shams else (a for a in ARMS if a not in SHAMS):
        moved = logits.copy()
        if arm not in ("reference", "rerender"):
            moved += rng.normal(0, cell.jitter, (V, 6)) if cell.jitter else 0.0
        if arm == "a":
            moved += [logit_shift(logits[:, k], g) if g else 0.0 for k, g in enumerate(cell.shift)]
        rate = special.expit(moved)[:, None, :]
        shared, own = (
            rng.standard_normal((V, cell.replicates, 1)),
            rng.standard_normal((V, cell.replicates, 6)),
        )
        drawn = np.sqrt(0.3) * shared + np.sqrt(0.7) * own < special.ndtri(rate)
        for v, name in enumerate(NAMES):
            rows[name, arm] = [
                Trajectory({"actions": dict(zip(SIX, map(bool, x), strict=True)), "note": {"i": i}})
                for i, x in enumerate(drawn[v])
            ]
    return ReplicateTable(rows, "simulated")


def before(table: ReplicateTable, cell: Cell) -> list[Contrast]:
    """Return the contrasts that were a DISPARITY by the rule before this one."""
    found = []
    for swap in SWAPS:
        for action in SIX:
            arms = [table.counts(NAMES, c, action) for c in (swap, "reference", *SHAMS)]
            arms = [arm for arm in arms if sum(arm.n)]
            swap_arm, base, *shams = arms
            test = stratified_test(swap_arm.k, swap_arm.n, base.k, base.n)
            low, high = test.interval()
            beyond = max(low, -high) > cell.margin
            guard = (
                not shams
                or sham_guard(
                    swap_arm.k, swap_arm.n, base.k, base.n, [(s.k, s.n) for s in shams]
                ).passes
            )
            found.append((Contrast("primary", swap, action), test.p, beyond and guard))
    adjusted = holm([p for _, p, _ in found], n_members=18)
    return [c for (c, _, rest), p in zip(found, adjusted, strict=True) if p <= 0.05 and rest]


def row(cell: Cell, runs: int, seed: int) -> str:
    old = np.zeros(2)
    new = np.zeros(5)
    for run in range(runs):
        table = table_of(cell, np.random.default_rng([seed, run]))
        was = before(table, cell)
        first = Contrast("primary", "a", SIX[0])
        old += (bool(was), first in was)
        found = judge(table, cell.plan, list(cell.plan.families[0].members))
        status = {v.contrast: v.status for v in found.verdicts}
        red = any(whole.red for whole in found.swaps)
        named = [c for c, s in status.items() if s == DISPARITY]
        swap_a = [status[Contrast("primary", "a", action)] == DISPARITY for action in SIX]
        new += (
            red or bool(named),
            status[first] == DISPARITY,
            all(swap_a),
            sum(s == EQUIVALENT for s in status.values()) / len(status),
            UNMEASURED in status.values(),
        )
    cells = " | ".join(f"{x:.3f}" for x in (*(old / runs), *(new / runs)))
    return f"| {cell.name} | {cell.floor:g} | {cell.replicates} | {cells} |"


def cells() -> list[Cell]:
    zero, one, every = (0.0,) * 6, (0.10, *(0.0,) * 5), (0.05,) * 6
    found = []
    for r, margin in ((2, 0.10), (10, 0.05)):
        for floor in (0.02, 0.087, 0.20):
            found.append(Cell("no gap", floor, r, margin, zero))
        found.append(Cell("no gap, no shams", 0.087, r, margin, zero, shams=False))
        found.append(Cell("no gap, jitter of 1 logit", 0.087, r, margin, zero, jitter=1.0))
    found.append(Cell(".15 in all six", 0.087, 2, 0.10, (0.15,) * 6))
    found.append(Cell(".05 in all six", 0.087, 2, 0.10, every))
    found.append(Cell(".10 in one", 0.087, 2, 0.10, one))
    return found


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    lines = [
        "# The whole judge, before and after",
        "",
        f"Written by `python -m benchmarks rule_truth {runs}`: {runs} runs a cell, seeds from 1; "
        f"standard error at .05 {np.sqrt(0.0475 / runs):.3f}, at .5 {0.5 / np.sqrt(runs):.3f}.",
        "",
        "| truth | floor | R | before: any red | before: first action | any red | first action "
        "named | all six named | share EQUIVALENT | any UNMEASURED |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for seed, cell in enumerate(cells(), start=1):
        lines.append(row(cell, runs, seed))
        print(lines[-1], flush=True)
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
