"""The agent that plans are made for: action rates over vignettes, and what a swap does to them.

The reference's rates follow a Beta law with the floor asked for, U-shaped at low floors: most cases
are decided one way. A swap shifts them by one amount in logits, so that the mean moves by the gap:
decided cases hardly move, open ones move far. That is harder to find than an even shift of the same
mean, so a plan made for it is not too hopeful.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ._check import Floats

_STEP, _REACH = 0.25, 60.0  # of the grid of logits; beyond it a rate is 0 or 1 for any purpose
_EVEN_UP_TO = 0.4  # gaps; for larger ones the reference's mean goes down, to leave them room
LEAST_FLOOR, MOST_FLOOR = 1e-4, 0.499


@dataclass(frozen=True)
class Moments:
    """Moments, of one vignette, of the test's statistic T and of its variance W under relabelling.

    T is positives under the swap less their share of all positives of the vignette, W as in
    `StratifiedTest.null_var`. `shared` is the part of `var_t` that no replicate lowers: vignettes
    differ in how far they move. `k4` is the fourth cumulant under relabelling.
    """

    t: float
    var_t: float
    shared: float
    w: float
    var_w: float
    cov: float
    k4: float


@lru_cache(maxsize=4096)
def moments(floor: float, gap: float, m: float, n: float) -> Moments:
    """Moments at `m` swap and `n` reference draws per vignette, which need not be whole numbers.

    `gap` in 0..0.98, `floor` in 0..1/2: ends are moved inside by a hair.
    """
    p, q, weight = rates(floor, gap)
    size = m + n
    t = m * n / size * (q - p)
    noise = (m * n / size) ** 2 * (q * (1 - q) / m + p * (1 - p) / n)
    scale = m * n / (size * size * max(size - 1, 1e-9))
    k, j = _powers(q, m), _powers(p, n)
    s = _sums(k, j)
    # W = scale s (N - s); the centred T = (n k - m j) / N
    w = scale * (size * s[1] - s[2])
    w2 = scale**2 * (size * size * s[2] - 2 * size * s[3] + s[4])
    # E[(n k - m j) s] and with s^2, from joint powers of k and j
    with_s = n * (k[2] + k[1] * j[1]) - m * (k[1] * j[1] + j[2])
    with_s2 = n * (k[3] + 2 * k[2] * j[1] + k[1] * j[2]) - m * (
        k[2] * j[1] + 2 * k[1] * j[2] + j[3]
    )
    tw = scale / size * (size * with_s - with_s2)
    mean_t, mean_w = float(weight @ t), float(weight @ w)
    return Moments(
        t=mean_t,
        var_t=float(weight @ (noise + t * t)) - mean_t**2,
        shared=float(weight @ (t * t)) - mean_t**2,
        w=mean_w,
        var_w=max(0.0, float(weight @ w2) - mean_w**2),
        cov=float(weight @ tw) - mean_t * mean_w,
        k4=_k4(m, n, mean_w, float(weight @ w2)),
    )


@lru_cache(maxsize=1024)
def rates(floor: float, gap: float) -> tuple[Floats, Floats, Floats]:
    """(reference rates, swap rates, weights) on a grid of logits.

    Weights sum to 1 less the mass of cases that are decided whatever happens, which move nothing.
    Near a floor of 0 no shift inside the grid moves enough; what is short of the gap are cases that
    go from never to always.
    """
    gap = min(abs(gap), 0.98)
    mean = 0.5 if gap <= _EVEN_UP_TO else 0.5 * (1 - gap) / (1 - _EVEN_UP_TO)
    most = 2 * mean * (1 - mean)
    floor = min(max(floor, LEAST_FLOOR), MOST_FLOOR * 2 * most)
    size = floor / (most - floor)
    a, b = mean * size, (1 - mean) * size
    x = np.arange(-_REACH, _REACH + _STEP / 2, _STEP)
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    weight = np.exp(-a * np.logaddexp(0, -x) - b * np.logaddexp(0, x) - log_beta) * _STEP
    p = _expit(x)
    q = _expit(x + _shift(gap, x, weight))
    short = gap - float(weight @ (q - p))
    return np.append(p, 0.0), np.append(q, 1.0), np.append(weight, max(0.0, short))


def _k4(m: float, n: float, w: float, w2: float) -> float:
    """Mean fourth cumulant of a hypergeometric count, by its variance w and the square of it."""
    size = m + n
    if size <= 3.5:  # one answer stands out, or none
        return w * (1 - 6 * m * n / size**2)
    scale = m * n / (size * size * (size - 1))
    once = (size - 1) * size**2 * (size * (size + 1) - 6 * m * n)
    twice = 6 * m * n * (5 * size - 6) - 6 * (size - 1) * size**2
    below = size**2 * (size - 1) * (size - 2) * (size - 3)
    return (once * w + twice * w2 / scale) / below


def _shift(gap: float, x: Floats, weight: Floats) -> float:
    if not gap:
        return 0.0
    low, high, p = 0.0, _REACH, _expit(x)
    for _ in range(50):
        middle = (low + high) / 2
        moved = float(weight @ (_expit(x + middle) - p))
        low, high = (middle, high) if moved < gap else (low, middle)
    return (low + high) / 2


def _expit(x: Floats) -> Floats:
    found: Floats = 0.5 * (1 + np.tanh(x / 2))
    return found


def _powers(rate: Floats, n: float) -> list[Floats]:
    """E[k^i], i = 0..4, of a binomial count, by its factorial moments."""
    f = [np.ones_like(rate)]
    for i in range(4):
        f.append(f[-1] * (n - i) * rate)
    return [
        f[0],
        f[1],
        f[2] + f[1],
        f[3] + 3 * f[2] + f[1],
        f[4] + 6 * f[3] + 7 * f[2] + f[1],
    ]


def _sums(k: list[Floats], j: list[Floats]) -> list[Floats]:
    """E[(k + j)^i], i = 0..4, of independent k and j."""
    return [
        sum((math.comb(i, h) * k[h] * j[i - h] for h in range(i + 1)), np.zeros_like(k[0]))
        for i in range(5)
    ]
