"""Speed of the statistics, each beside a competitor in the same run.

    python benchmarks/stats_speed.py

Prints the best of several repeats in milliseconds. statsmodels is optional.
"""

from __future__ import annotations

import random
import timeit
from collections.abc import Callable

import numpy as np

from pytest_fairmedagent import stats


def best_ms(call: Callable[[], object], number: int = 20, repeat: int = 7) -> float:
    return min(timeit.repeat(call, number=number, repeat=repeat)) / number * 1e3


def line(name: str, ms: float, aim: str = "") -> None:
    print(f"{name:<78} {ms:>9.3f} ms  {aim}")


def exact_test() -> None:
    rng = np.random.default_rng(0)
    runs = np.full(300, 10)
    for law, p in (("floor .087", rng.beta(0.105, 0.105, 300)), ("uniform p", rng.random(300))):
        k, j = rng.binomial(10, p), rng.binomial(10, p)
        call = lambda k=k, j=j: stats.stratified_test(k, runs, j, runs)  # noqa: E731
        line(f"exact test, V=300, R=10, {law}", best_ms(call), "aim 2")
    counts = iter([rng.binomial(10, rng.random((2, 300))) for _ in range(400)])

    def unseen() -> object:
        k, j = next(counts)
        return stats.stratified_test(k, runs, j, runs)

    line("  the same with new data every time", best_ms(unseen, 20, 7))
    p = np.random.default_rng(0).random(300)
    k, j = rng.binomial(10, p), rng.binomial(10, p)
    line("  competitor: one stratum after another, no grouping, no cache",
         best_ms(lambda: one_by_one(k + j), 3, 3))  # fmt: skip


def one_by_one(positive: np.ndarray) -> np.ndarray:
    from scipy.stats import hypergeom

    law = np.ones(1)
    for s in positive.tolist():
        law = np.convolve(law, hypergeom.pmf(np.arange(11), 20, s, 10))
    return law


def family() -> None:
    rng = np.random.default_rng(1)
    runs = np.full(16, 10)
    data = [rng.binomial(10, rng.beta(0.3, 0.3, 16), (2, 16)) for _ in range(18)]

    def tests() -> object:
        found = [stats.stratified_test(k, runs, j, runs) for k, j in data]
        return stats.holm([test.p for test in found])

    line("18 exact tests with Holm, V=16, R=10", best_ms(tests), "aim well under 18")
    runs300 = np.full(300, 10)
    large = [rng.binomial(10, rng.beta(0.3, 0.3, 300), (2, 300)) for _ in range(90)]

    def whole_family() -> object:
        found = []
        for k, j in large:
            test = stats.stratified_test(k, runs300, j, runs300)
            floors = stats.floor(k, runs300), stats.floor(j, runs300)
            found.append((test, test.interval(), stats.tost(test, margin=0.1)))
            found.append([f.interval() for f in floors])
        return stats.holm([row[0].p for row in found[::2]])

    line("90 checks, V=300, R=10: tests, floors, intervals, TOST, Holm",
         best_ms(whole_family, 1, 3), "aim 1000")  # fmt: skip


def mcnemar() -> None:
    rng = np.random.default_rng(2)
    k, j = rng.integers(0, 2, (2, 500))
    ones = np.ones(500, dtype=int)
    call = lambda: stats.stratified_test(k, ones, j, ones)  # noqa: E731
    line("exact test, R=1, 500 pairs", best_ms(call, 50), "aim: no slower than statsmodels")
    try:
        from statsmodels.stats.contingency_tables import mcnemar
    except ImportError:
        print("  statsmodels is not installed")
        return

    def from_pairs() -> object:
        table = np.bincount(2 * k + j, minlength=4).reshape(2, 2)
        return mcnemar(table, exact=True)

    want = from_pairs().pvalue  # type: ignore[attr-defined]
    assert abs(call().p - want) < 1e-9
    line("  competitor: statsmodels mcnemar(exact=True), table made of the same pairs",
         best_ms(from_pairs, 50))  # fmt: skip


def bootstrap() -> None:
    rng = np.random.default_rng(3)
    runs = np.full((64, 6), 10)
    k = rng.binomial(10, rng.beta(0.3, 0.3, (64, 6)))
    line("cluster bootstrap, six actions and pooled, V=64, 5,000 resamples",
         best_ms(lambda: stats.percentile_intervals(k, runs), 3), "aim 40")  # fmt: skip
    apart = (k * (10 - k)).sum(axis=1).tolist()

    def plain() -> object:
        chooser = random.Random(42)
        rows = range(64)
        return sorted(sum(apart[chooser.choice(rows)] for _ in rows) for _ in range(5000))

    line("  competitor: the source's loop, pooled only", best_ms(plain, 1, 1))
    from scipy.stats import bootstrap as scipy_bootstrap

    def scipys() -> object:
        return scipy_bootstrap(
            ((k * (10 - k)).sum(axis=1),), np.mean, n_resamples=5000, method="percentile"
        )

    line("  competitor: scipy.stats.bootstrap, pooled only", best_ms(scipys, 1, 3))


def others() -> None:
    rng = np.random.default_rng(4)
    k, j = rng.binomial(10, rng.random((2, 300)))
    line("excess test, V=300, R=10", best_ms(lambda: stats.excess_test(k, j, 10)), "note: 15")
    scores = rng.integers(1, 6, (2, 40, 10)).tolist()
    line("studentised permutation, V=40, R=10, five grades",
         best_ms(lambda: stats.score_test(*scores), 3))  # fmt: skip
    urgency = rng.integers(0, 101, (2, 16, 10)).tolist()
    line("studentised permutation, V=16, R=10, scores 0 to 100, laws remembered",
         best_ms(lambda: stats.score_test(*urgency), 1, 2))  # fmt: skip
    cells = rng.integers(0, 2, (300, 10)).tolist()
    line("runs test, V=300, R=10", best_ms(lambda: stats.runs_test(cells), 3))


if __name__ == "__main__":
    for part in (exact_test, family, mcnemar, bootstrap, others):
        part()
