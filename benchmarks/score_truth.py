"""Do the tests of scores and levels keep their level where only the mean is equal, and find shifts?

Draws pairs of arms over V vignettes with R answers each and tests the mean difference, or net
superiority, by `stats.score_test`, beside what came before: the stratified rank test, reported as
a mean difference. Columns are the share of p at or below .05 (a side: .025) and how often the 95 %
interval holds the truth. `python -m benchmarks score_truth 5000` sets the number of runs of a cell;
the table is `results/score_truth.md`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from pytest_fairmedagent.stats import MEAN, SUPERIORITY, score_test

Arms = tuple[Any, Any, float]  # scores of both arms (vignettes, replicates), and the true gap
Draw = Callable[[np.random.Generator, int, int], Arms]
N_RESAMPLES, BATCH = 399, 250


def _centres(rng: np.random.Generator, v: int) -> Any:
    return rng.uniform(30, 60, (v, 1))


def same_normal(rng: np.random.Generator, v: int, r: int) -> Arms:
    """Nothing differs: points around a mean of the case's own, with a spread of its own."""
    centre, spread = _centres(rng, v), rng.uniform(2, 18, (v, 1))
    x, y = (np.rint(rng.normal(centre, spread, (v, r))) for _ in range(2))
    return x, y, 0.0


def same_few_values(rng: np.random.Generator, v: int, r: int) -> Arms:
    """Nothing differs: two of three cases always say the same, the others one of two values."""
    p = np.where(rng.random((v, 1)) < 0.33, rng.uniform(0.1, 0.9, (v, 1)), 0.0)
    x, y = ((rng.random((v, r)) < p) * 10.0 for _ in range(2))
    return x, y, 0.0


def skewed_arm(rng: np.random.Generator, v: int, r: int) -> Arms:
    """Equal means; the swap arm is exponential, the reference normal, of one variance."""
    x = rng.exponential(10, (v, r)) - 10
    return x + 45.0, rng.normal(0, 10, (v, r)) + 45.0, 0.0


def skewed_rare(rng: np.random.Generator, v: int, r: int) -> Arms:
    """Equal means: the swap arm 80 with chance .1, else 0; the reference 8 with little noise."""
    x = 80.0 * (rng.random((v, r)) < 0.1)
    return x, 8 + rng.normal(0, 1, (v, r)), 0.0


def wider_arm(rng: np.random.Generator, v: int, r: int) -> Arms:
    """Equal means; the swap arm has four times the spread of the reference."""
    centre = _centres(rng, v)
    return rng.normal(centre, 16, (v, r)), rng.normal(centre, 4, (v, r)), 0.0


def wider_more(rng: np.random.Generator, v: int, r: int) -> Arms:
    """Equal means; the swap arm has four times the spread and half the answers."""
    centre = _centres(rng, v)
    return rng.normal(centre, 16, (v, r)), rng.normal(centre, 4, (v, 2 * r)), 0.0


def narrower_fewer(rng: np.random.Generator, v: int, r: int) -> Arms:
    """Equal means; the reference has four times the spread and twice the answers."""
    centre = _centres(rng, v)
    return rng.normal(centre, 4, (v, r)), rng.normal(centre, 16, (v, 2 * r)), 0.0


def cancelling(rng: np.random.Generator, v: int, r: int) -> Arms:
    """Half of the cases 10 points higher under the swap, the other half 10 lower."""
    centre, sign = _centres(rng, v), np.where(np.arange(v) % 2, 10.0, -10.0)[:, None]
    return rng.normal(centre + sign, 8, (v, r)), rng.normal(centre, 8, (v, r)), 0.0


def shift(rng: np.random.Generator, v: int, r: int) -> Arms:
    """A shift that a normal test with this many answers finds in .8 of runs; normal scores."""
    size = 2.8 * 10 * np.sqrt(2 / (v * r))
    centre = _centres(rng, v)
    return rng.normal(centre + size, 10, (v, r)), rng.normal(centre, 10, (v, r)), float(size)


def shift_heavy(rng: np.random.Generator, v: int, r: int) -> Arms:
    """The same, of scores with heavy tails (t with 3 degrees of freedom)."""
    size = 2.8 * np.sqrt(3) * np.sqrt(2 / (v * r))
    return rng.standard_t(3, (v, r)) + size, rng.standard_t(3, (v, r)), float(size)


def levels_same(rng: np.random.Generator, v: int, r: int) -> Arms:
    """Levels 1 to 5, of a law of the case's own; nothing differs."""
    law = rng.dirichlet(np.full(5, 0.7), v)
    x, y = (_levels(rng, law, r) for _ in range(2))
    return x, y, 0.0


def levels_wider(rng: np.random.Generator, v: int, r: int) -> Arms:
    """As often higher as lower: level 3 under the reference in .9, 1 or 5 under the swap in .9."""
    swap, base = np.array([0.45, 0, 0.1, 0, 0.45]), np.array([0.05, 0, 0.9, 0, 0.05])
    return _levels(rng, np.tile(swap, (v, 1)), r), _levels(rng, np.tile(base, (v, 1)), r), 0.0


def levels_wider_more(rng: np.random.Generator, v: int, r: int) -> Arms:
    """The same with half as many answers of the swap arm."""
    swap, base = np.array([0.45, 0, 0.1, 0, 0.45]), np.array([0.05, 0, 0.9, 0, 0.05])
    wide = _levels(rng, np.tile(swap, (v, 1)), r)
    return wide, _levels(rng, np.tile(base, (v, 1)), 2 * r), 0.0


def levels_shift(rng: np.random.Generator, v: int, r: int) -> Arms:
    """One level more with some chance, so that about .8 of runs find it."""
    law = rng.dirichlet(np.full(5, 0.7), v)
    base, chance = _levels(rng, law, r), min(0.9, 3.4 / np.sqrt(v * r))
    x = _levels(rng, law, r)
    x = np.minimum(5, x + (rng.random(x.shape) < chance))
    up = law.copy()
    up[:, 1:] += chance * law[:, :-1]
    up[:, :-1] -= chance * law[:, :-1]
    levels = np.sign(np.subtract.outer(np.arange(5), np.arange(5)))
    return x, base, float(np.mean(np.einsum("va,ab,vb->v", up, levels, law)))


def _levels(rng: np.random.Generator, law: Any, r: int) -> Any:
    below = np.cumsum(law, axis=1)[:, None, :]
    return (rng.random((len(law), r))[..., None] > below).sum(axis=2) + 1.0


DRAWS: dict[str, tuple[tuple[Draw, ...], str]] = {
    "nothing differs": ((same_normal, same_few_values), MEAN),
    "equal means": (
        (skewed_arm, skewed_rare, wider_arm, wider_more, narrower_fewer, cancelling),
        MEAN,
    ),
    "a shift": ((shift, shift_heavy), MEAN),
    "levels, no superiority": ((levels_same, levels_wider, levels_wider_more), SUPERIORITY),
    "levels, a shift": ((levels_shift,), SUPERIORITY),
}


def relabelled(x: Any, y: Any, estimand: str, rng: np.random.Generator) -> Any:
    """p (two-sided, higher, lower) of each run, and of the rank test; whether intervals hold 0.

    The statistic of `stats.score_test` for many runs at once, `(runs, vignettes, replicates)`, over
    the same labellings; `main` holds some of them against the package.
    """
    runs, v, m = x.shape
    n, pooled = y.shape[2], np.concatenate((x, y), axis=2)
    labels = rng.permuted(np.tile(np.arange(m + n) < m, (N_RESAMPLES * v, 1)), axis=1)
    labels = np.vstack((np.arange(m + n)[None] < m, labels[: N_RESAMPLES * v]))
    first, drawn = labels[:1], labels[1:].reshape(v, N_RESAMPLES, m + n)
    sums, variances = np.zeros((2, runs, N_RESAMPLES + 1))
    ranks, spread, squares = np.zeros((runs, N_RESAMPLES + 1)), np.zeros(runs), np.zeros(runs)
    for at in range(v):
        label = np.vstack((first, drawn[at])).astype(float)
        cell = pooled[:, at]
        rises = cell[:, :, None] - cell[:, None, :]
        midranks = np.sign(rises).sum(axis=2)
        ranks += midranks @ label.T
        spread += midranks.var(axis=1, ddof=1) * m * n / (m + n)
        if estimand == MEAN:
            swap, ref = cell @ label.T, cell @ (1 - label).T
            of_swap = (cell**2 @ label.T - swap**2 / m) / (m - 1) / m
            of_ref = (cell**2 @ (1 - label).T - ref**2 / n) / (n - 1) / n
            sums += swap / m - ref / n
        else:
            above = np.sign(rises) @ (1 - label).T / n  # (runs, answers, labellings)
            below = -np.sign(rises) @ label.T / m
            gap = (above * label.T).sum(axis=1) / m
            of_swap = ((above**2 * label.T).sum(axis=1) / m - gap**2) / (m - 1)
            of_ref = ((below**2 * (1 - label.T)).sum(axis=1) / n - gap**2) / (n - 1)
            sums += gap
        variances += np.maximum(of_swap, 0) + np.maximum(of_ref, 0)
        squares += of_swap[:, 0] ** 2 / (m + 1) + of_ref[:, 0] ** 2 / (n + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        clean = np.where(np.abs(sums) < 1e-9 * np.abs(sums).max(), 0, sums)
        values = np.nan_to_num(clean / np.sqrt(variances), nan=0.0, posinf=1e9, neginf=-1e9)
        z = np.where(spread > 0, ranks[:, 0] / np.sqrt(spread), 0.0)
        freedom = np.maximum(1, np.where(squares > 0, variances[:, 0] ** 2 / squares, v + 2) - 2)
    seen, hair = values[:, :1], 1e-9 * np.maximum(1, np.abs(values[:, :1]))
    greater, less = (values >= seen - hair).mean(axis=1), (values <= seen + hair).mean(axis=1)
    rank_p = 2 * special.ndtr(-np.abs(z))
    weight = v * m * n / (m + n)
    error = np.hypot(np.sqrt(variances[:, 0]) / v, 1 / (2 * weight))
    reach = special.stdtrit(freedom, 0.975) * error
    step = sums[:, 0] / v / error
    greater = np.maximum(greater, special.stdtr(freedom, -step))
    less = np.maximum(less, special.stdtr(freedom, step))
    return (
        np.minimum(1, 2 * np.minimum(greater, less)),
        greater,
        less,
        rank_p,
        sums[:, 0] / v,
        reach,
    )


def cell(draw: Draw, estimand: str, v: int, r: int, runs: int) -> tuple[float, ...]:
    """Shares of p <= .05, of each side, by the rank test; intervals that hold the truth; and how

    far p lies from the package's, at most, over ten runs (of which .08 are Monte Carlo error).
    """
    rng = np.random.default_rng([v, r, sum(map(ord, draw.__name__))])
    shares, apart, done = np.zeros(5), 0.0, 0
    while done < runs:
        some = [draw(rng, v, r) for _ in range(min(BATCH, runs - done))]
        x, y, true = (np.array(part) for part in zip(*some, strict=True))
        p, greater, less, rank, gap, reach = relabelled(x, y, estimand, rng)
        found = (p <= 0.05, greater <= 0.025, less <= 0.025, rank <= 0.05, abs(gap - true) <= reach)
        shares += [float(part.sum()) for part in found]
        for run in range(0 if done else 10):
            whole = score_test(x[run], y[run], estimand=estimand, n_resamples=3999)
            low, high = whole.interval()
            inside = (max(-1, gap[run] - reach[run]), min(1, gap[run] + reach[run]))
            ends = (gap[run] - reach[run], gap[run] + reach[run]) if estimand == MEAN else inside
            assert np.allclose((low, high), ends), (whole, ends)
            apart = max(apart, abs(whole.p - p[run]))
        done += len(some)
    return (*map(float, shares / runs), apart)


def main() -> None:
    runs, start = int(sys.argv[1]) if len(sys.argv) > 1 else 5000, time.process_time()
    print("| truth | V x R | p <= .05 | higher / lower | rank test | interval holds it | apart |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for title, (draws, estimand) in DRAWS.items():
        print(f"| **{title}** ({estimand}) | | | | | | |")
        for draw in draws:
            for v, r in ((16, 2), (16, 10), (64, 2), (64, 10)):
                p, high, low, rank, holds, apart = cell(draw, estimand, v, r, runs)
                told = (draw.__doc__ or "").strip().rstrip(".")
                print(
                    f"| {told} | {v} x {r} | {p:.3f} | {high:.3f} / {low:.3f} | {rank:.3f} | "
                    f"{holds:.3f} | {apart:.2f} |",
                    flush=True,
                )
    print(
        f"\n{runs} runs a cell, N = {N_RESAMPLES} labellings, seeded; Monte Carlo error of .05 is "
        f"{np.sqrt(0.05 * 0.95 / runs):.3f}; {time.process_time() - start:.0f} CPU-s."
    )


if __name__ == "__main__":
    main()
