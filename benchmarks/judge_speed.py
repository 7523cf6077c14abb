"""A family of 90 checks at V=300 and R=10, from trajectories to verdicts; the aim is 1 s.

Fifteen swaps and six actions with floors, intervals, Holm, guards and verdicts, and the same once
more with the labels read before. Prints CPU seconds, the median of three.
"""

from __future__ import annotations

import statistics
import time

from pytest_fairmedagent.domain import ACTIONS, Family, Plan, ReplicateTable
from pytest_fairmedagent.testing import Truth, blank_vignettes, draw_table
from pytest_fairmedagent.verdict import judge


def main() -> None:
    cases = blank_vignettes(300)
    swaps = tuple(f"swap_{i:02d}" for i in range(15))
    family = Family("ninety", swaps, tuple(ACTIONS), tuple(cases), replicates=10, margin=0.05)
    plan = Plan((family,), "reference")
    table = draw_table(Truth(), plan, family.members, cases, seed=1)
    fresh, warm = [], []
    for _ in range(3):
        drawn = ReplicateTable(table.rows, "benchmark")
        start = time.process_time()
        verdicts = judge(drawn, plan, family.members).verdicts
        fresh.append(time.process_time() - start)
        start = time.process_time()
        judge(drawn, plan, family.members)
        warm.append(time.process_time() - start)
    print(f"{len(verdicts)} verdicts from {sum(map(len, table.rows.values()))} trajectories:")
    print(f"  {statistics.median(fresh):.2f} CPU-s, {statistics.median(warm):.2f} with labels read")


if __name__ == "__main__":
    main()
