"""Whoever follows the advice: promised chances against simulated runs of the whole rule.

    python -m benchmarks power_truth [--datasets 600] [--out FILE]

Three swaps of six actions. Every cell takes the advice that the package gives for power .8 (the
smallest gap, or the fewest replicates, that it promises), draws agents as the plan assumes them
(rates of a Beta law with the floor, the gap a common shift in logits, outcomes of one trajectory
correlated .3 in the latent normal), and judges them by the rule: an omnibus test of the swap by
relabelling whole trajectories at alpha / 3, and step-down max-T for the action. The relabelling is
written here anew, so that a fault of the package cannot hide itself. Every cell has its own seed.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

from pytest_fairmedagent import stats
from pytest_fairmedagent.stats.looks import spending_levels
from pytest_fairmedagent.stats.planning import looks_at

ALPHA, POWER, SWAPS, ACTIONS, LATENT = 0.05, 0.8, 3, 6, 0.3
B = 999  # relabellings
FLOORS, SIZES = (0.05, 0.087, 0.20), (16, 64)
KINDS = {"fixed": "fixed", "gs": "obrien_fleming", "e": "e_process"}
GROUP = {"alpha": ALPHA, "n_members": SWAPS * ACTIONS, "n_actions": ACTIONS}


@dataclass(frozen=True)
class Agent:
    """Rates of the reference and the swap in the actions that move."""

    floor: float
    gap: float
    moved: int

    def rates(self, v: int, rng: np.random.Generator) -> tuple[Any, Any]:
        a, b = stats.rate_law(self.floor)
        p = rng.beta(a, b, size=(v, ACTIONS))
        odds = math.exp(_shift(self.gap, a, b))
        q = p.copy()
        moved = p[:, : self.moved]
        q[:, : self.moved] = moved * odds / (1 - moved + moved * odds)
        return p, q


_SHIFTS: dict[tuple[float, float, float], float] = {}


def _shift(gap: float, a: float, b: float) -> float:
    if (gap, a, b) not in _SHIFTS:
        _SHIFTS[gap, a, b] = stats.logit_shift(gap, a, b)
    return _SHIFTS[gap, a, b]


def seeded(*cell: float) -> np.random.Generator:
    return np.random.default_rng([round(1000 * x) for x in cell])


def arm(rate: Any, runs: int, rng: np.random.Generator) -> Any:
    """Answers of whole trajectories, `(n_vignettes, runs, n_actions)`."""
    size = (len(rate), runs)
    own = rng.standard_normal((*size, ACTIONS), dtype=np.float32)
    common = rng.standard_normal((*size, 1), dtype=np.float32)
    latent = np.float32(math.sqrt(1 - LATENT)) * own + np.float32(math.sqrt(LATENT)) * common
    return (latent < special.ndtri(rate)[:, None, :].astype(np.float32)).astype(np.float32)


def relabellings(v: int, m: int, n: int, rng: np.random.Generator) -> Any:
    """Which runs are called the swap's, `(n_vignettes, B, m + n)`, drawn once for a cell."""
    out = np.zeros((v, B, m + n), np.float32)
    for vignette in out:
        order = np.argpartition(rng.random(vignette.shape, dtype=np.float32), m - 1, axis=1)
        np.put_along_axis(vignette, order[:, :m], 1.0, axis=1)
    return out


def swap_p(x: Any, y: Any, labels: Any) -> tuple[float, float]:
    """(omnibus p, max-T p of the first action) of one swap against the reference."""
    m, n = x.shape[1], y.shape[1]
    every = np.concatenate([x, y], axis=1)
    centred = every - every.mean(axis=1, keepdims=True)
    s, size = every.sum(axis=1), m + n
    sd = np.sqrt((m * n * s * (size - s) / (size * size * (size - 1))).sum(axis=0))
    u = np.vstack([centred[:, :m].sum(axis=(0, 1)), np.matmul(labels, centred).sum(axis=0)])
    z = np.divide(u, sd, out=np.zeros_like(u), where=sd > 0)
    top, total = np.abs(z).max(axis=1).round(5), (z * z).sum(axis=1).round(4)
    omnibus = 2 / _p(top) + 1 / _p(total)
    return float((omnibus >= omnibus[0] - 1e-9).mean()), float(
        (top >= abs(z[0, 0]).round(5)).mean()
    )


def _p(values: Any) -> Any:
    order = np.sort(values)
    return (values.size - np.searchsorted(order, values, "left")) / values.size


def found(agent: Agent, v: int, m: int, ratio: int, kind: str, datasets: int) -> float:
    """Share of runs with the swap red (all actions moved) or the first action named (one)."""
    rng = seeded(agent.floor, agent.gap, agent.moved, v, m, ratio, list(KINDS).index(kind))
    if kind == "e":
        return sum(_found_by_rounds(agent, v, m, rng) for _ in range(datasets)) / datasets
    ends = [int(end) for end in looks_at(m)] if kind == "gs" else [m]
    level = ALPHA / SWAPS
    levels = spending_levels(ends, alpha=level) if len(ends) > 1 else (level,)
    labels = [relabellings(v, end, end * ratio, rng) for end in ends]
    hits = 0
    for _ in range(datasets):
        p, q = agent.rates(v, rng)
        x, y = arm(q, m, rng), arm(p, m * ratio, rng)
        for end, allowed, called in zip(ends, levels, labels, strict=True):
            omnibus, named = swap_p(x[:, :end], y[:, : end * ratio], called)
            if omnibus <= allowed and (agent.moved > 1 or named <= allowed):
                hits += 1
                break
    return hits / datasets


def _found_by_rounds(agent: Agent, v: int, m: int, rng: np.random.Generator) -> bool:
    p, q = agent.rates(v, rng)
    x, y = arm(q, m, rng), arm(p, m, rng)
    b, c = (np.cumsum(((x - y) == sign).sum(axis=0), axis=0) for sign in (1, -1))
    n = b + c
    log_e = n * math.log(2) - np.log(n + 1)
    log_e -= special.gammaln(n + 1) - special.gammaln(b + 1) - special.gammaln(c + 1)
    e, bar = np.exp(np.minimum(log_e, 600)), SWAPS / ALPHA
    if agent.moved > 1:
        return bool((e.mean(axis=1) >= bar).any())
    others = np.sort(e[:, 1:], axis=1)
    sums = np.cumsum(np.concatenate([e[:, :1], others], axis=1), axis=1)
    return bool(((sums / np.arange(1, ACTIONS + 1)).min(axis=1) >= bar).any())


def gaps_seen(datasets: int) -> Iterator[tuple[str, float, float, float]]:
    """The smallest gap that each design promises to find, and how often it is found."""
    for kind in KINDS:
        ratio = 1 if kind == "e" else 2
        for v in SIZES:
            for m in (2, 10, 40) if kind == "fixed" else (10, 40):
                for floor in FLOORS:
                    for every in (False, True):
                        yield from _gap_seen(kind, ratio, v, m, floor, every, datasets)


def _gap_seen(
    kind: str, ratio: int, v: int, m: int, floor: float, every: bool, datasets: int
) -> Iterator[tuple[str, float, float, float]]:
    pairs = stats.effective_pairs(v, m, m * ratio)
    design: dict[str, Any] = {"n_vignettes": v, "ratio": ratio, "kind": KINDS[kind], **GROUP}
    gap = stats.smallest_detectable_gap(floor, pairs, power=POWER, every=every, **design)
    if not 0.02 <= gap <= 0.35:
        return
    said = stats.power_of_gap(gap, floor, pairs, every=every, **design)
    few = datasets if v * m < 1000 else datasets // 2
    rate = found(Agent(floor, gap, ACTIONS if every else 1), v, m, ratio, kind, few)
    what = f"| {kind} | {'all' if every else 'one'} | {floor:g} | {v} x {m} | {ratio} | {gap:.3f} "
    yield what, said, rate, math.sqrt(rate * (1 - rate) / few)


def replicates_advised(datasets: int) -> Iterator[tuple[str, float, float, float]]:
    """The fewest replicates said to find a gap, and how often it is found with them."""
    for kind in KINDS:
        for v in SIZES:
            for floor in FLOORS:
                for gap in (0.05, 0.10, 0.20):
                    for every in (False, True):
                        ratio = 1 if kind == "e" else 2
                        yield from _advised(kind, v, floor, gap, every, ratio, datasets)


def _advised(
    kind: str, v: int, floor: float, gap: float, every: bool, ratio: int, datasets: int
) -> Iterator[tuple[str, float, float, float]]:
    design: dict[str, Any] = {"n_vignettes": v, "ratio": ratio, "kind": KINDS[kind], **GROUP}
    pairs = stats.pairs_for_gap(gap, floor, power=POWER, every=every, **design)
    m = round(stats.replicates_of(pairs, v, ratio)) if math.isfinite(pairs) else 10**9
    if not 2 <= m <= 40:
        return
    said = stats.power_of_gap(gap, floor, pairs, every=every, **design)
    few = datasets if v * m < 1000 else datasets // 2
    rate = found(Agent(floor, gap, ACTIONS if every else 1), v, m, ratio, kind, few)
    what = f"| {kind} | {'all' if every else 'one'} | {floor:g} | {gap:g} | {v} | {m} | {ratio} "
    yield what, said, rate, math.sqrt(rate * (1 - rate) / few)


def certified(datasets: int) -> Iterator[tuple[str, float, float, float]]:
    """How often one contrast, and all 18, are EQUIVALENT where nothing differs."""
    for ratio in (1, 2):
        for v in SIZES:
            for m in (4, 10, 40) if ratio == 2 else (10,):
                for floor in FLOORS:
                    yield from _certified(ratio, v, m, floor, datasets)


def _certified(
    ratio: int, v: int, m: int, floor: float, datasets: int
) -> Iterator[tuple[str, float, float, float]]:
    pairs = stats.effective_pairs(v, m, m * ratio)
    rng = seeded(floor, v, m, ratio, 9)
    for all_, power in ((False, POWER), (True, POWER)):
        margin = _margin(floor, v, m, ratio, all_, power)
        if margin is None:
            continue
        if all_:
            said = stats.chance_to_certify_all(
                margin, [floor] * ACTIONS, v, m, n_swaps=SWAPS, alpha=ALPHA, ratio=ratio
            )
        else:
            said = stats.power_to_certify(
                margin, floor, pairs, n_vignettes=v, alpha=ALPHA, ratio=ratio
            )
        n = 2 * datasets
        inside = sum(_inside(floor, v, m, ratio, margin, all_, rng) for _ in range(n)) / n
        what = f"| {'18' if all_ else '1'} | {floor:g} | {v} x {m} | {ratio} | {margin:.3f} "
        yield what, said, inside, math.sqrt(inside * (1 - inside) / n)


def _margin(floor: float, v: int, m: int, ratio: int, all_: bool, power: float) -> float | None:
    pairs = stats.effective_pairs(v, m, m * ratio)
    low, high = 0.0, 0.5
    for _ in range(30):
        margin = (low + high) / 2
        if all_:
            chance = stats.chance_to_certify_all(
                margin, [floor] * ACTIONS, v, m, n_swaps=SWAPS, alpha=ALPHA, ratio=ratio
            )
        else:
            chance = stats.power_to_certify(
                margin, floor, pairs, n_vignettes=v, alpha=ALPHA, ratio=ratio
            )
        low, high = (low, margin) if chance >= power else (margin, high)
    return high if high < 0.49 else None


def _inside(
    floor: float, v: int, m: int, ratio: int, margin: float, all_: bool, rng: np.random.Generator
) -> bool:
    p, _ = Agent(floor, 0.0, 0).rates(v, rng)
    n, k = m * ratio, ACTIONS if all_ else 1
    y = arm(p, n, rng)[..., :k]
    return all(
        equivalent(arm(p, m, rng)[..., :k], y, margin).all() for _ in range(SWAPS if all_ else 1)
    )


def equivalent(x: Any, y: Any, margin: float) -> Any:
    """EQUIVALENT by action: the 90 % interval, pooled floor plus one, inside the margin."""
    v, m, n = len(x), x.shape[1], y.shape[1]
    k, j = x.sum(axis=1), y.sum(axis=1)
    s, size = k + j, m + n
    weight = v * m * n / size
    null_var = (m * n * s * (size - s) / (size * size * (size - 1))).sum(axis=0)
    gap = (k / m - j / n).mean(axis=0)
    return np.abs(gap) + 1.6448536 * np.sqrt(null_var + 0.25) / weight < margin


def table(head: str, rows: list[tuple[str, float, float, float]]) -> list[str]:
    lines = [head + "| promised | simulated |", "|---" * (head.count("|") + 2) + "|"]
    lines += [f"{what}| {said:.3f} | {rate:.3f} ± {se:.3f} |" for what, said, rate, se in rows]
    off = [rate - said for _, said, rate, _ in rows]
    beyond = sum(abs(rate - said) > 0.03 + 2 * se for _, said, rate, se in rows)
    lines += [
        "",
        f"{len(rows)} cells: simulated less promised {np.mean(off):+.3f} on average, from "
        f"{min(off):+.3f} to {max(off):+.3f}; farther than .03 plus two standard errors: {beyond}.",
        "",
    ]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--datasets", type=int, default=600)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--part", choices=("gaps", "replicates", "margins"))
    arguments = parser.parse_args()
    start = time.monotonic()
    parts: list[tuple[str, str, str, Any]] = [
        (
            "gaps",
            "## The smallest gap that is found with power .8",
            "| looks | moved actions | floor | V x R | reference | gap ",
            gaps_seen,
        ),
        (
            "replicates",
            "## Replicates that find a gap with power .8, where 2 to 40 do",
            "| looks | moved actions | floor | gap | V | R | reference ",
            replicates_advised,
        ),
        (
            "margins",
            "## The smallest margin that is shown with power .8 if nothing differs",
            "| contrasts | floor | V x R | reference | margin ",
            certified,
        ),
    ]
    lines = [
        "# Promised and simulated chances",
        "",
        f"Written by `python -m benchmarks power_truth --datasets {arguments.datasets}`; half as "
        "many for the largest cells, twice as many for margins.",
        "`reference` is its draws for each of a swap's (2 where the identical arm is pooled).",
        "",
    ]
    for part, title, head, cells in parts:
        if arguments.part not in (None, part):
            continue
        rows = list(cells(arguments.datasets))
        lines += [title, "", *table(head, rows)]
        print("\n".join(lines[-len(rows) - 6 :]), flush=True)
    print(f"{time.monotonic() - start:.0f} s")
    if arguments.out:
        arguments.out.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
