"""Size of the p that may claim a mean gap, and its power with a pooled reference."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.unbalanced.laws import (
    DESIGNS,
    FLOORS,
    VARIED,
    WEAK,
    Rates,
    law,
    no_mean_gap,
    replicates,
    shifted,
)
from benchmarks.unbalanced.trials import LEVELS, both_p, drawn, head, row, shown
from pytest_fairmedagent.stats._check import Floats, Ints


def cells(size: int) -> Iterator[str]:
    rng = np.random.default_rng(1)
    yield "## Cells that are not balanced: no mean gap, so that every finding is false"
    yield (
        f"\n{size} data sets a cell (standard error at .05: {(0.0475 / size) ** 0.5:.4f}; at "
        f".05/18, times 18: {18 * (0.00277 / size) ** 0.5:.4f}). `before` is the exact test alone, "
        f"over {size // 10} of them.\n"
    )
    yield from head("replicates", "V", "rates", "floor", "before", "after", "after, .05/18 x 18")
    worst: dict[str, list[float]] = {}
    for design in DESIGNS:
        for v in (16, 64):
            for name in (*VARIED, *WEAK):
                for floor in FLOORS if name in VARIED else (0.0,):
                    m, n = replicates(design, v, size, rng)
                    k, j = drawn(no_mean_gap(name, v, floor, size, rng), m, n, rng)
                    part = slice(0, size // 10)
                    exact, _ = both_p(k[part], m[part], j[part], n[part])
                    _, after = both_p(k, m, j, n, before=False)
                    first, second = shown(after)
                    told = f"{(exact <= LEVELS[0]).mean():.3f}"
                    yield row(design, v, name, floor or "", told, first, second)
                    values = [float(told), float(first), float(second)]
                    found = worst.get(design, values)
                    worst[design] = [max(a, b) for a, b in zip(found, values, strict=True)]
    yield "\nWorst of each design:\n"
    yield from head("replicates", "before", "after", "after, .05/18 x 18")
    for design, most in worst.items():
        yield row(design, *(f"{value:.4f}" for value in most))


def search(size: int) -> Iterator[str]:
    """Random rates with no mean gap over few vignettes: what the fixed cells did not think of."""
    rng = np.random.default_rng(2)
    yield "\n## A search for worse cells: random rates without a mean gap\n"
    yield (
        "600 settings: 2 to 24 vignettes, replicates by vignette of one of eleven designs (drawn "
        "once, then fixed), rates from 0, 1, .5 and a law, reference rates shuffled into those of "
        "the swap or averaged over groups. 2,000 data sets each; the ten worst again, over "
        f"{4 * size}.\n"
    )
    found = []
    for _ in range(600):
        v = int(rng.integers(2, 25))
        design = DESIGNS[int(rng.integers(len(DESIGNS)))]
        m, n = (x[0] for x in replicates(design, v, 1, rng))
        values = np.array([0.0, 1.0, 0.5, rng.random(), rng.random()])
        p = rng.choice(values, v)
        q = rng.permutation(p)
        if rng.random() < 0.6:  # the swap averages the reference over a group of vignettes
            group = rng.permutation(v)[: int(rng.integers(1, v + 1))]
            q = p.copy()
            q[group] = p[group].mean()
        if rng.random() < 0.5:
            p, q = q, p
        found.append((again(p, q, m, n, 2000, rng), design, p, q, m, n))
    found.sort(key=lambda setting: -setting[0][0])
    yield from head("replicates", "V", "searched", "again", "again, .05/18 x 18")
    for (first, _), design, p, q, m, n in found[:10]:
        once, twice = again(p, q, m, n, 4 * size, rng)
        yield row(design, len(p), f"{first:.3f}", f"{once:.4f}", f"{twice:.4f}")


def again(
    p: Floats, q: Floats, m: Ints, n: Ints, size: int, rng: np.random.Generator
) -> tuple[float, float]:
    ms, ns = np.tile(m, (size, 1)), np.tile(n, (size, 1))
    k, j = rng.binomial(ms, q), rng.binomial(ns, p)
    _, after = both_p(k, ms, j, ns, before=False)
    first, second = (float(x) for x in shown(after))
    return first, second


def issue_law(gap: float, size: int, rng: np.random.Generator) -> Rates:
    """Return 17.4 % coins, the rest certain; a share of the zeros turns to 1."""
    v, u = 64, rng.random((size, 64))
    p = np.where(u < 0.174, 0.5, np.where(rng.random((size, v)) < 0.5, 0.0, 1.0))
    q, moved = p.copy(), rng.binomial(v, gap, size)
    for i in range(size):
        zeros = rng.permutation(np.flatnonzero(p[i] == 0))
        q[i, zeros[: moved[i]]] = 1
    return p, q


def pooled(size: int) -> Iterator[str]:
    rng = np.random.default_rng(3)
    few = max(200, size // 4)
    yield "\n## The identical re-render pooled into the reference: power at V = 64, R = 2, .05/18\n"
    yield f"Floor .087, {few} data sets a cell. `coins`: 17.4 % of cells at .5, the rest certain.\n"
    yield from head("law", "gap", "2 v 2", "2 v 4, exact alone", "2 v 4, larger of both")
    for name in ("coins", "U-shaped"):
        for gap in (0.05, 0.10, 0.15):
            if name == "coins":
                rates = issue_law(gap, few, rng)
            else:
                p = law(64, 0.087, few, rng)
                rates = p, shifted(p, gap)
            told = []
            for reference in (2, 4):
                m, n = np.full((few, 64), 2), np.full((few, 64), reference)
                k, j = drawn(rates, m, n, rng)
                told.append([(x <= LEVELS[1]).mean() for x in both_p(k, m, j, n)])
            yield row(name, gap, f"{told[0][0]:.3f}", *(f"{x:.3f}" for x in told[1]))
