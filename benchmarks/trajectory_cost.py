"""What a trajectory of the simulated agent costs, with prompts, parsing and the store.

The aim is at most 1 ms of CPU. Prints the median of five runs of 560 trajectories.
"""

from __future__ import annotations

import statistics
import time

from benchmarks import gate_truth
from pytest_fairmedagent.models.simulated import Truth


def main() -> None:
    costs = []
    for seed in range(5):
        before = time.process_time()
        study = gate_truth.draw(Truth(seed=seed))
        trials = study.info.drawn if study.info else 0
        costs.append((time.process_time() - before) / trials * 1e3)
    print(f"{statistics.median(costs):.2f} ms of CPU a trajectory (5 calls, each committed)")


if __name__ == "__main__":
    main()
