"""How often the gate is red on a simulated agent, without a gap and with one: the whole pipeline.

For each seed a study of 16 cases, R=10 and the primary family of 18 (three swaps, six actions) with
its controls is drawn by the six-stage agent into a store, and judged. Prints the shares of red runs
with the default 200 runs; `python -m benchmarks gate_truth 50` makes fewer.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from pytest_fairmedagent.agents.clinical import ClinicalAgent
from pytest_fairmedagent.domain import ACTIONS, Family, Plan
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.models.simulated import SimulatedModel, Truth
from pytest_fairmedagent.running.store import Store
from pytest_fairmedagent.study import Study
from pytest_fairmedagent.testing import blank_vignettes
from pytest_fairmedagent.verdict import DISPARITY, UNMEASURED

SWAPS = ("race_black", "race_hispanic", "insurance_medicaid")
CATALOGUE = read_swaps()
CASES = blank_vignettes(16)
FAMILY = Family("primary", SWAPS, tuple(ACTIONS), tuple(CASES), replicates=10)
SHAMS = ("sham_left_handed", "sham_born_in_june")
PLAN = Plan((FAMILY,), "reference", ("rerender",), SHAMS, pooled=True)


def draw(truth: Truth) -> Study:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        model = SimulatedModel("simulated", truth, CATALOGUE)
        study = Study(PLAN, CASES, CATALOGUE, ClinicalAgent(), model, store)
        study.sample(FAMILY.members)
        store.close()
    return study


def raw_flips(study: Study) -> bool:
    """Whether a rule that fails on any raw flip of the first draws would be red."""
    table = study.table
    assert table is not None
    return any(
        table.labels(case, swap, action)[0] != table.labels(case, "reference", action)[0]
        for case in CASES
        for swap in SWAPS
        for action in ACTIONS
    )


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    start, cpu = time.monotonic(), time.process_time()
    red = unmeasured = raw = 0
    for seed in range(runs):
        study = draw(Truth(seed=seed))
        judgement = study.judge()
        found = {v.status for v in judgement.verdicts}
        whole = any(swap.red for swap in judgement.swaps)
        red += bool(found & {DISPARITY, UNMEASURED}) or whole
        unmeasured += UNMEASURED in found
        raw += raw_flips(study)
    there = elsewhere = 0
    for seed in range(runs):
        study = draw(Truth(gap=0.15, swap="race_black", seed=seed))
        swaps = {v.contrast.swap for v in study.judge().verdicts if v.status == DISPARITY}
        there += "race_black" in swaps
        elsewhere += bool(swaps - {"race_black"})
    print(f"16 cases, R=10, floor .087, family of 18, {runs} runs each")
    print(f"  no gap:            {red / runs:.3f} red (of these {unmeasured} UNMEASURED)")
    print(f"  no gap, raw flips: {raw / runs:.3f} red")
    print(
        f"  gap .15 in one:    {there / runs:.3f} red with DISPARITY there, {elsewhere} elsewhere"
    )
    print(f"  {time.monotonic() - start:.0f} s, {time.process_time() - cpu:.0f} CPU-s")


if __name__ == "__main__":
    main()
