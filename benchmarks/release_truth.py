"""A release that settles its replicates by a blind first leg: size, and the chance to clear.

    python -m benchmarks release_truth [--datasets 1000] [--out FILE]

The shipped plan: 64 vignettes, three swaps of six actions, the reference and its identical re-draw
pooled, 10 replicates first, then as many as certify all 18 inside +-.05 with chance .8 by the floor
of all arms together, 40 at most. Rates follow a Beta law with the floor; outcomes of a trajectory
are correlated .3 in the latent normal. Three kinds of agents: nothing differs; one contrast lies at
the margin exactly, over the very vignettes; all 18 do. "Fixed" is the plan as it was, 10 replicates
and no pooling. Every cell has its own seed.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.power_truth import (
    ACTIONS,
    ALPHA,
    FLOORS,
    SWAPS,
    arm,
    equivalent,
    relabellings,
    seeded,
    swap_p,
)
from pytest_fairmedagent import stats

V, MARGIN, FIRST, CAP, TARGET = 64, 0.05, 10, 40, 0.8
_LABELS: dict[tuple[int, int], Any] = {}


def shifted(p: Any, gap: float) -> Any:
    """Rates of one action moved by a common shift in logits to a mean gap over these vignettes."""
    low, high = 0.0, 60.0
    for _ in range(50):
        middle = (low + high) / 2
        q = p * math.exp(middle) / (1 - p + p * math.exp(middle))
        low, high = (middle, high) if (q - p).mean() < gap else (low, middle)
    return q


def settled(arms: Any) -> tuple[int | None, float]:
    """Replicates by the first leg of all arms, None beyond the cap, and the blind floor."""
    n = arms.shape[1]
    s = arms.sum(axis=1)
    floors = (2 * s * (n - s) / (n * (n - 1))).mean(axis=0)
    told = [float(f) for f in floors]
    rule: dict[str, Any] = {"n_swaps": SWAPS, "alpha": ALPHA, "ratio": 2.0, "measured": True}
    if stats.chance_to_certify_all(MARGIN, told, V, FIRST, **rule) >= TARGET:
        return FIRST, float(floors.mean())
    needed = stats.replicates_to_certify_all(MARGIN, told, V, power=TARGET, most=CAP, **rule)
    return (max(FIRST, int(needed)) if needed <= CAP else None), float(floors.mean())


def one_run(floor: float, at_margin: int, rng: np.random.Generator, fixed: bool) -> dict[str, Any]:
    a, b = stats.rate_law(floor)
    p = rng.beta(a, b, size=(V, ACTIONS))
    rates = [p.copy() for _ in range(SWAPS)]
    for number in range(at_margin):
        swap, action = divmod(number, ACTIONS)
        rates[swap][:, action] = shifted(p[:, action], MARGIN)
    ratio = 1 if fixed else 2
    legs = [arm(p, FIRST * ratio, rng), *(arm(rate, FIRST, rng) for rate in rates)]
    replicates: int | None = FIRST
    if not fixed:
        replicates, _ = settled(np.concatenate(legs, axis=1))
    if replicates is None:
        return {"replicates": math.nan, "inside": np.zeros(SWAPS * ACTIONS, dtype=bool), "red": 0}
    more = replicates - FIRST
    if more:
        later = [arm(p, more * ratio, rng), *(arm(rate, more, rng) for rate in rates)]
        legs = [np.concatenate(pair, axis=1) for pair in zip(legs, later, strict=True)]
    y, *swaps = legs
    inside, red = [], False
    if (replicates, ratio) not in _LABELS:
        _LABELS[replicates, ratio] = relabellings(V, replicates, replicates * ratio, seeded(1))
    # The same relabellings for all runs would make one and the same error in all of them.
    labels = None if at_margin else _LABELS[replicates, ratio][rng.permutation(V)]
    for x in swaps:
        inside.append(equivalent(x, y, MARGIN))
        if not at_margin:
            red |= swap_p(x, y, labels)[0] <= ALPHA / SWAPS
    return {"replicates": replicates, "inside": np.concatenate(inside), "red": red}


def row(floor: float, at_margin: int, fixed: bool, datasets: int) -> str:
    rng = seeded(floor, at_margin, fixed, 5)
    runs = [one_run(floor, at_margin, rng, fixed) for _ in range(datasets)]
    replicates = np.array([run["replicates"] for run in runs])
    inside = np.array([run["inside"] for run in runs])
    refused = float(np.isnan(replicates).mean())
    chosen = "10" if fixed else _range(replicates)
    red = f"{np.mean([run['red'] for run in runs]):.4f}" if not at_margin else "-"
    wrong = inside[:, :at_margin] if at_margin else None
    single = "-" if wrong is None else f"{wrong.mean():.3f}"
    some = "-" if wrong is None else f"{wrong.any(axis=1).mean():.3f}"
    what = {0: "nothing differs", 1: "one at the margin", 18: "all 18 at the margin"}[at_margin]
    plan = "fixed" if fixed else "settled"
    return (
        f"| {plan} | {what} | {floor:g} | {chosen} | {refused:.3f} | "
        f"{inside.all(axis=1).mean():.3f} | {red} | {single} | {some} |"
    )


def _range(replicates: Any) -> str:
    known = replicates[~np.isnan(replicates)]
    if not known.size:
        return "-"
    low, middle, high = np.quantile(known, [0.05, 0.5, 0.95])
    return f"{middle:.0f} ({low:.0f} to {high:.0f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--datasets", type=int, default=1000)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--at-margin", type=int, nargs="*", default=[0, SWAPS * ACTIONS, 1])
    arguments = parser.parse_args()
    start = time.monotonic()
    lines = [
        "# A release that settles its replicates by a blind first leg",
        "",
        f"Written by `python -m benchmarks release_truth --datasets {arguments.datasets}`; 64 "
        "vignettes, 18 contrasts, margin .05, first leg 10, cap 40, chance asked for .8.",
        "`cleared`: all 18 EQUIVALENT. `red`: any swap at its share of .05. `one`: a contrast at "
        "the margin EQUIVALENT; `some`: at least one of them.",
        "",
        "| plan | agent | floor | R: median (5 to 95 %) | refused | cleared | red | one | some |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    for fixed in (False, True):
        for at_margin in (0,) if fixed else arguments.at_margin:
            for floor in FLOORS:
                lines.append(row(floor, at_margin, fixed, arguments.datasets))
                print(lines[-1], flush=True)
    print(f"{time.monotonic() - start:.0f} s")
    if arguments.out:
        arguments.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
