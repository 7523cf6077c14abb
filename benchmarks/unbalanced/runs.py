"""Two runs of unequal replicates: how often is a gap, a rate or a floor told to have changed?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.unbalanced.trials import head, row
from pytest_fairmedagent.stats import (
    StratifiedTest,
    floor_change_test,
    gap_change_test,
    signed_p,
    stratified_test,
)
from pytest_fairmedagent.stats._check import Floats, Ints
from pytest_fairmedagent.stats.change import _permuted


def baseline(size: int) -> Iterator[str]:
    rng = np.random.default_rng(7)
    few = max(200, size // 10)
    yield "\n## Two runs of unequal replicates whose gap, rate or floor is the same\n"
    yield (
        f"{few} pairs a cell, 16 vignettes. One run has certain answers, the other noise of the "
        "same mean: a gap or a rate that is said to have changed is a false finding.\n"
    )
    yield from head("what", "run a", "run b", "before", "after")
    v = 16
    certain: Floats = np.arange(v) % 2.0
    coin: Floats = np.full(v, 0.5)
    certain_gap: Floats = np.where(np.arange(16) < 2, 1.0, certain)
    laws: dict[str, tuple[Floats, Floats]] = {
        "gap of 0": (certain, coin),
        "gap of .06": (certain_gap, np.full(v, float(certain_gap.mean()))),
    }
    for name, (before, after) in laws.items():
        for a, b in ((10, 10), (10, 2), (2, 10)):
            for first, second in ((before, after), (after, before)):
                tests = []
                for _ in range(few):
                    arms = [
                        (rng.binomial(r, rate).tolist(), [r] * v)
                        for r, rate in ((a, first), (a, certain), (b, second), (b, certain))
                    ]
                    tests.append(gap_change_test(arms[0], arms[1], arms[2], arms[3]))
                yield _changed(name, a, b, first is before, tests)
    for a, b in ((10, 2), (2, 10)):
        for first, second in ((certain, coin), (coin, certain)):
            tests = [
                stratified_test(rng.binomial(b, second), [b] * v, rng.binomial(a, first), [a] * v)
                for _ in range(few)
            ]
            yield _changed("rate of .5", a, b, first is certain, tests)
    flat: Floats = np.full(v, (1 - 0.75**0.5) / 2)
    coins: Floats = np.repeat([0.5, 0.0], [4, 12])
    for a, b in ((10, 2), (2, 10), (3, 10)):
        for first, second in ((coins, flat), (flat, coins)):
            told = [
                _floors(rng.binomial(a, first), [a] * v, rng.binomial(b, second), [b] * v, rng)
                for _ in range(few)
            ]
            old, new = (np.mean(np.array(column) <= 0.05) for column in zip(*told, strict=True))
            name = "floor of .125, " + ("coins first" if first is coins else "coins second")
            yield row(name, a, b, f"{old:.3f}", f"{new:.3f}")


def _floors(
    k_a: Ints, n_a: Sequence[int], k_b: Ints, n_b: Sequence[int], rng: np.random.Generator
) -> tuple[float, float]:
    """Return the p of a floor's change by permuted labels alone, and as it is now."""
    a, b = np.array(n_a), np.array(n_b)
    readings = ((k_b, k_a), (np.minimum(k_b, b - k_b), np.minimum(k_a, a - k_a)))
    old = max(_permuted(x, b, y, a, 499, rng) for x, y in readings)
    return old, floor_change_test(k_b, n_b, k_a, n_a, n_resamples=499, rng=rng)


def _changed(name: str, a: int, b: int, quiet: bool, tests: Sequence[StratifiedTest]) -> str:
    order = "certain first" if quiet else "noisy first"
    old = np.mean([test.p <= 0.05 for test in tests])
    new = np.mean([signed_p(test).p <= 0.05 for test in tests])
    return row(f"{name}, {order}", a, b, f"{old:.3f}", f"{new:.3f}")
