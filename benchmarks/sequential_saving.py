"""What sequential sampling saves and what it errs: the whole pipeline on a simulated agent.

16 cases, floor .087, one swap against the reference, at most ten replicates, by the fixed plan, by
planned looks (gs) and by looks after every round (e): the share of runs that find a disparity, and
the trajectories they took, as a share of the fixed plan's. With 500 runs a cell by default;
`python -m benchmarks sequential_saving 50` makes fewer.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from pytest_fairmedagent.agents.clinical import ClinicalAgent
from pytest_fairmedagent.domain import Family, Plan
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.models.simulated import SimulatedModel, Truth
from pytest_fairmedagent.running.store import Store
from pytest_fairmedagent.study import Study
from pytest_fairmedagent.testing import blank_vignettes
from pytest_fairmedagent.verdict import DISPARITY

SWAP, ACTION, REPLICATES = "race_black", "admission", 10
CATALOGUE = read_swaps()
CASES = blank_vignettes(16)
FAMILY = Family("one", (SWAP,), (ACTION,), tuple(CASES), replicates=REPLICATES)


def run(gap: float, rule: str, seed: int) -> tuple[bool, int]:
    """Return whether a disparity was found, and how many trajectories it took."""
    truth = Truth(gap=gap, swap=SWAP, seed=seed) if gap else Truth(seed=seed)
    plan = Plan((FAMILY,), "reference", sequential=rule)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        model = SimulatedModel("simulated", truth, CATALOGUE)
        study = Study(plan, CASES, CATALOGUE, ClinicalAgent(), model, store)
        study.sample(FAMILY.members)
        store.close()
    [verdict] = study.judge().verdicts
    assert study.table is not None
    return verdict.status == DISPARITY, sum(map(len, study.table.rows.values()))


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    fixed = 2 * len(CASES) * REPLICATES
    print(f"16 cases, floor .087, one contrast, R at most {REPLICATES}, {runs} runs a cell")
    print("  gap   rule  found  trajectories, share of the fixed plan")
    for gap in (0.0, 0.20):
        for rule in ("off", "gs", "e"):
            found = [run(gap, rule, seed) for seed in range(runs)]
            power = sum(hit for hit, _ in found) / runs
            used = sum(n for _, n in found) / runs
            print(
                f"  {gap:.2f}  {rule:<4}  {power:.3f}  {used:6.1f}  {used / fixed:.2f}", flush=True
            )


if __name__ == "__main__":
    main()
