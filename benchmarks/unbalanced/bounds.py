"""Intervals and EQUIVALENT with a pooled reference, a minimum gap, and IDENTICAL."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.unbalanced.laws import FLOORS, Rates, law, shifted, turned
from benchmarks.unbalanced.trials import FAMILY, LEVELS, drawn, head, row, shown
from pytest_fairmedagent.stats import identical_bound, power_of_minimum_gap
from pytest_fairmedagent.stats.mean_gap import larger_se, parts
from pytest_fairmedagent.stats.minimum_gap import beyond


def interval(size: int) -> Iterator[str]:
    rng = np.random.default_rng(4)
    yield "\n## Intervals with n = 2 R, and EQUIVALENT at a true gap of the margin\n"
    yield (
        f"{size} data sets a cell. Coverage of the 95 % interval (aim: at least .945) by the "
        "pooled standard error alone and by the larger of both; EQUIVALENT at the margins .05 and "
        ".10 (aim: at most .055).\n"
    )
    yield from head(
        "replicates", "V", "rates", "floor", "gap", "pooled", "larger", "EQUIVALENT at the gap"
    )
    for m_of, n_of in ((2, 4), (10, 20)):
        for v in (16, 64):
            m, n = np.full((size, v), m_of), np.full((size, v), n_of)
            for name, floor, gap, rates in _gapped(v, size, rng):
                k, j = drawn(rates, m, n, rng)
                found, true = parts(k, m, j, n), (rates[1] - rates[0]).mean(axis=1)
                off, se = np.abs(found.gap - true), larger_se(found)
                alone = float((off <= 1.959964 * np.sqrt(found.pooled)).mean())
                inside = (
                    (np.abs(found.gap) + 1.644854 * se < gap).mean() if gap in (0.05, 0.1) else ""
                )
                yield row(
                    f"{m_of} v {n_of}",
                    v,
                    name,
                    floor or "",
                    gap,
                    f"{alone:.4f}",
                    f"{(off <= 1.959964 * se).mean():.4f}",
                    f"{inside:.4f}" if gap in (0.05, 0.1) else "",
                )


def _gapped(
    v: int, size: int, rng: np.random.Generator
) -> Iterator[tuple[str, float, float, Rates]]:
    for floor in FLOORS:
        for gap in (0.0, 0.05, 0.1, 0.2):
            p = law(v, floor, size, rng)
            yield "shifted" if gap else "sharp", floor, gap, (p, shifted(p, gap) if gap else p)
            if gap:
                yield "turned", floor, gap, turned(p, gap)
    certain = np.tile(np.arange(v) % 2.0, (size, 1))
    for gap in (0.0, 0.05, 0.1):
        yield "unanimous, swap noisy", 0.0, gap, (certain, np.full((size, v), 0.5 + gap))
        yield "ref noisy, swap unanimous", 0.0, gap, (np.full((size, v), 0.5 - gap), certain)


def minimum(size: int) -> Iterator[str]:
    rng = np.random.default_rng(5)
    yield "\n## A minimum gap: size at a true gap of the minimum, and power\n"
    yield f"{size} data sets a cell; the larger of the laws `shifted`, `turned` and `noisy`.\n"
    yield from head("replicates", "V", "minimum", "floor", "size", "size, .05/18 x 18")
    for m_of, n_of in ((2, 2), (10, 10), (2, 4), (10, 20)):
        for v in (16, 64):
            m, n = np.full((size, v), m_of), np.full((size, v), n_of)
            for least in (0.05, 0.1):
                for floor in (0.05, 0.087, 0.2):
                    p = law(v, floor, size, rng)
                    certain = np.tile(np.arange(v) % 2.0, (size, 1))
                    laws = (
                        (p, shifted(p, least)),
                        turned(p, least),
                        (certain, np.full((size, v), 0.5 + least)),
                    )
                    sizes = []
                    for rates in laws:
                        k, j = drawn(rates, m, n, rng)
                        sizes.append([float(x) for x in shown(beyond(k, m, j, n, least))])
                    first, second = (max(column) for column in zip(*sizes, strict=True))
                    yield row(f"{m_of} v {n_of}", v, least, floor, f"{first:.4f}", f"{second:.4f}")
    yield "\nPower against a minimum of .05, simulated and by `power_of_minimum_gap`:\n"
    yield from head("V", "R", "gap", "floor", "at .05", "planned", "at .05/18", "planned")
    for v, r in ((64, 2), (16, 10), (64, 10)):
        m = np.full((size, v), r)
        for gap in (0.10, 0.15, 0.20):
            for floor in (0.05, 0.087, 0.2):
                p = law(v, floor, size, rng)
                rates = p, shifted(p, gap)
                measured = float(sum((x * (1 - x)).mean() for x in rates))
                k, j = drawn(rates, m, m, rng)
                found = beyond(k, m, j, m, 0.05)
                told = []
                for level, members in zip(LEVELS, (1, FAMILY), strict=True):
                    planned = power_of_minimum_gap(
                        gap, measured, v * r, minimum=0.05, replicates=r, n_members=members
                    )
                    told += [f"{(found <= level).mean():.3f}", f"{planned:.3f}"]
                yield row(v, r, gap, floor, *told)


def identical(size: int) -> Iterator[str]:
    rng = np.random.default_rng(6)
    yield "\n## IDENTICAL of an agent that returns actions only\n"
    yield (
        f"{size} data sets a cell, all of the gap in as few or as many cells as `in`. Before: all "
        "answers repeat and agree. After: the bound lies inside the margin as well (aim: .05).\n"
    )
    yield from head("V", "R", "true gap = margin", "in", "bound", "before", "after")
    for v, r in ((4, 3), (16, 3), (16, 10), (64, 2), (64, 3), (64, 10)):
        bound = identical_bound([r] * v, [r] * v)
        for gap in (0.05, 0.08, bound):
            for spread in ("one", "all"):
                q = np.zeros(v)
                if spread == "all":
                    q[:] = gap
                else:
                    full, rest = divmod(gap * v, 1)
                    q[: int(full)] = 1
                    q[int(full)] = rest
                agree = (rng.binomial(r, np.tile(q, (size, 1))) == 0).all(axis=1)
                before = agree.mean()
                yield row(
                    v, r, f"{gap:.4f}", spread, f"{bound:.4f}", f"{before:.4f}",
                    f"{before if bound <= gap else 0.0:.4f}",
                )  # fmt: skip
