"""Draws that are looked at again and again: how often a chain of null runs shows a DISPARITY.

Chains of R = 2, 4, 8 and longer ones, each contrast judged by the exact test and Holm: with the
whole level at every look (what comes of adding replicates until something is red), and with
`verdict.looks`, where look i spends alpha / 2^(i-1) and a DISPARITY stands. Seeded.
"""

from __future__ import annotations

import argparse

import numpy as np

from pytest_fairmedagent.domain import Family, Plan
from pytest_fairmedagent.stats import holm, stratified_test
from pytest_fairmedagent.verdict.looks import History, at_level, earlier, looks_now, registered

CHAINS = ((2, 4, 8), (2, 3, 4, 5, 6, 8, 10, 12))
FLOORS = (0.02, 0.087, 0.20)
ALPHA = 0.05


def levels(chain: tuple[int, ...]) -> list[float]:
    """Return what each look of a chain spends, as the rule that decides says."""
    keys = {("v", arm): arm for arm in ("reference", "swap")}
    known, looks, spent = [], [], []
    for replicates in chain:
        family = Family("f", ("swap",), ("a",), ("v",), replicates, alpha=ALPHA)
        plan = Plan((family,), "reference")
        known.append(registered(plan, keys))
        looks += looks_now(plan, family.members, keys).values()
        before = earlier(plan, family.members, keys, History(tuple(known), tuple(looks)))
        spent.append(at_level(family, before).alpha)
    return spent


def smallest(rng: np.random.Generator, chain: tuple[int, ...], floor: float, n: int) -> np.ndarray:
    """Return the smallest p after Holm of each look, of one null run with 6 contrasts."""
    a = floor / (1 - 2 * floor)
    p = rng.beta(a, a, size=(6, n, 1))
    most = chain[-1]
    swap, base = (rng.random((6, n, most)) < p for _ in range(2))
    found = []
    for r in chain:
        m = np.full(n, r)
        each = [
            stratified_test(swap[i, :, :r].sum(1), m, base[i, :, :r].sum(1), m).p for i in range(6)
        ]
        found.append(min(holm(each)))
    return np.array(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--vignettes", type=int, default=16)
    arguments = parser.parse_args()
    print(f"{arguments.runs} null chains a row, {arguments.vignettes} vignettes, 6 contrasts,")
    print(f"Holm at {ALPHA}, seed 12. `by itself` is each look's own rate of red at its level.\n")
    print("| looks at R | floor | whole level each time | the rule | at most | by itself |")
    print("| --- | ---: | ---: | ---: | ---: | --- |")
    for chain in CHAINS:
        spent = np.array(levels(chain))
        for floor in FLOORS:
            rng = np.random.default_rng(12)
            p = np.array(
                [smallest(rng, chain, floor, arguments.vignettes) for _ in range(arguments.runs)]
            )
            before = (p <= ALPHA).any(axis=1).mean()
            after = (p <= spent).any(axis=1).mean()
            each = ", ".join(f"{rate:.3f}" for rate in (p <= spent).mean(axis=0)[:3])
            print(
                f"| {', '.join(map(str, chain))} | {floor} | {before:.3f} | {after:.3f} | "
                f"{spent.sum():.4f} | {each} |"
            )


if __name__ == "__main__":
    main()
