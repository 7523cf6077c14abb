"""Tests over many data sets at once, and rows of tables."""

from __future__ import annotations

import numpy as np

from benchmarks.unbalanced.laws import Rates
from pytest_fairmedagent.stats import stratified_test
from pytest_fairmedagent.stats._check import Floats, Ints
from pytest_fairmedagent.stats.mean_gap import parts, two_sided

FAMILY = 18
LEVELS = (0.05, 0.05 / FAMILY)


def both_p(k: Ints, m: Ints, j: Ints, n: Ints, *, before: bool = True) -> tuple[Floats, Floats]:
    """Return the exact p and the larger of both; exact where either can matter, else 1."""
    mean = two_sided(parts(k, m, j, n))
    exact = np.ones(len(k))
    for i in range(len(k)) if before else np.flatnonzero(mean <= LEVELS[0]):
        exact[i] = stratified_test(k[i], m[i], j[i], n[i]).p
    return exact, np.maximum(exact, mean)


def drawn(rates: Rates, m: Ints, n: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    p, q = rates
    return rng.binomial(m, q), rng.binomial(n, p)


def shown(p: Floats) -> list[str]:
    return [f"{(p <= level).mean() * 0.05 / level:.4f}" for level in LEVELS]


def row(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def head(*names: str) -> list[str]:
    return [row(*names), "|" + "---|" * len(names)]
