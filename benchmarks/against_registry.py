"""How often is a gap claimed against the registered direction, without and with one?

Draws runs of three swaps on 24 vignettes, of which a registry takes 16 out of each contrast as
right to be *more*, with two shams and an identical arm, and judges them. Case probabilities are
U-shaped with the floor that is named. `python -m benchmarks against_registry 1000` sets the number
of runs of a cell; the table is `results/against_registry.md`.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from pytest_fairmedagent.domain import (
    Confounded,
    Contrast,
    Family,
    Plan,
    ReplicateTable,
    Trajectory,
)
from pytest_fairmedagent.verdict import judge

SWAPS = ("swap_a", "swap_b", "swap_c")
SHAMS = ("sham_a", "sham_b")
VIGNETTES = tuple(f"v{i:02d}" for i in range(24))
APART = VIGNETTES[:16]
ANSWER = {yes: Trajectory({"reassess": {"admit": yes}}) for yes in (False, True)}


def draw(
    rng: np.random.Generator, floor: float, r: int, *, gap: float, jitter: float
) -> ReplicateTable:
    """Return a table in which swap_a moves the vignettes set apart by `gap` on average.

    `jitter` is the standard deviation, in logits, by which any edit moves a vignette.
    """
    shape = floor / (1 - 2 * floor)
    base = np.clip(rng.beta(shape, shape, len(VIGNETTES)), 1e-6, 1 - 1e-6)
    rows = {}
    for arm in ("reference", "rerender", *SHAMS, *SWAPS):
        p = base.copy()
        if jitter and arm not in ("reference", "rerender"):
            logit = np.log(p / (1 - p)) + rng.normal(0, jitter, p.size)
            p = 1 / (1 + np.exp(-logit))
        if arm == "swap_a":
            # Down in proportion to how far down there is, up to how far up.
            room = p if gap < 0 else 1 - p
            p = np.where(
                np.arange(p.size) < len(APART), p + room * min(1, 2 * abs(gap)) * np.sign(gap), p
            )
        yes = rng.random((p.size, r)) < p[:, None]
        for vignette, cell in zip(VIGNETTES, yes.tolist(), strict=True):
            rows[vignette, arm] = [ANSWER[answer] for answer in cell]
    return ReplicateTable(rows, "simulated")


def opposed(
    floor: float, r: int, runs: int, *, gap: float = 0.0, jitter: float = 0.0, shams: bool = True
) -> float:
    """Return the share of runs in which some contrast goes against its registered direction."""
    family = Family("f", SWAPS, ("admission",), VIGNETTES, r)
    towards = tuple((vignette, "more") for vignette in APART)
    found = tuple(Confounded(swap, "admission", APART, (), towards) for swap in SWAPS)
    plan = Plan((family,), "reference", (), SHAMS if shams else (), confounded=found)
    members = [Contrast("f", swap, "admission") for swap in SWAPS]
    rng = np.random.default_rng([round(1000 * floor), r, round(100 * abs(gap)), round(10 * jitter)])
    hits = 0
    for _ in range(runs):
        table = draw(rng, floor, r, gap=gap, jitter=jitter)
        hits += any(apart.opposed for apart in judge(table, plan, members).apart)
    return hits / runs


def main() -> None:
    runs, start = int(sys.argv[1]) if len(sys.argv) > 1 else 1000, time.process_time()
    print("| truth | floor | R | shams | some contrast opposed |")
    print("| --- | --- | --- | --- | --- |")
    cells = [
        *(("nothing differs", f, r, 0.0, 0.0, True) for f in (0.02, 0.087, 0.2) for r in (2, 10)),
        ("nothing differs", 0.087, 10, 0.0, 0.0, False),
        *(("surface jitter of 1 logit", f, 10, 0.0, 1.0, True) for f in (0.087, 0.2)),
        ("+.10 in the registered direction", 0.087, 10, 0.10, 0.0, True),
        *((f"{g:+.2f} against it", 0.087, r, g, 0.0, True) for g in (-0.1, -0.2) for r in (2, 10)),
        ("-0.48 against it", 0.087, 2, -0.48, 0.0, True),
    ]
    for told, floor, r, gap, jitter, shams in cells:
        n = runs if gap >= 0 else max(1, runs // 5)
        share = opposed(floor, r, n, gap=gap, jitter=jitter, shams=shams)
        print(
            f"| {told} | {floor} | {r} | {'two' if shams else 'none'} | {share:.4f} |", flush=True
        )
    print(
        f"\n{runs} runs a cell (a fifth where there is a gap to be found), three contrasts each, "
        f"Holm at .01 over them; Monte Carlo error of .01 is {np.sqrt(0.01 * 0.99 / runs):.4f}; "
        f"{time.process_time() - start:.0f} CPU-s."
    )


if __name__ == "__main__":
    main()
