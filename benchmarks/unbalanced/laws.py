"""Action rates of two arms, and how often each vignette is drawn in them."""

from __future__ import annotations

import numpy as np

from pytest_fairmedagent.stats._check import Floats, Ints

Rates = tuple[Floats, Floats]  # of reference and swap, (data sets, vignettes)
FLOORS = (0.02, 0.087, 0.20)


def law(v: int, floor: float, size: int, rng: np.random.Generator) -> Floats:
    """Return rates of a symmetric U-shaped law with this mean floor."""
    a = floor / (1 - 2 * floor)
    return rng.beta(a, a, (size, v))


def logit(p: Floats) -> Floats:
    p = np.clip(p, 1e-12, 1 - 1e-12)
    found: Floats = np.log(p / (1 - p))
    return found


def expit(x: Floats) -> Floats:
    found: Floats = 1 / (1 + np.exp(-x))
    return found


def shifted(p: Floats, gap: float) -> Floats:
    """Return rates moved by one logit in each data set, so that its mean gap is exactly this."""
    low, high, at = np.zeros(len(p)), np.full(len(p), 60.0), logit(p)
    for _ in range(60):
        middle = (low + high) / 2
        over = (expit(at + middle[:, None]) - p).mean(axis=1) > gap
        low, high = np.where(over, low, middle), np.where(over, middle, high)
    return expit(at + high[:, None])


def turned(p: Floats, gap: float) -> Rates:
    """Return rates of which the lowest are raised to 1, one after the other, to this mean gap."""
    p = np.sort(p, axis=1)
    q, need = p.copy(), np.full(len(p), gap * p.shape[1])
    for v in range(p.shape[1]):
        step = np.minimum(need, 1 - q[:, v])
        q[:, v] += step
        need -= step
    return p, q


def no_mean_gap(name: str, v: int, floor: float, size: int, rng: np.random.Generator) -> Rates:
    """Return rates without a mean gap; all but "sharp" move single vignettes."""
    half = v // 2
    certain = np.tile(np.arange(v) % 2.0, (size, 1))
    if name == "sharp":
        p = law(v, floor, size, rng)
        return p, p
    if name == "cancelling":
        p = law(half, floor, size, rng)
        q = expit(logit(p) + 1.5)
        return np.hstack((p, 1 - p)), np.hstack((q, 1 - q))
    if name == "shuffled":
        p = law(v, floor, size, rng)
        return p, rng.permuted(p, axis=1)
    if name == "noisier":
        p = law(half, floor, size, rng)
        return np.hstack((p, 1 - p)), np.full((size, v), 0.5)
    if name == "unanimous, swap .5":
        return certain, np.full((size, v), 0.5)
    if name == "ref .5, swap unanimous":
        return np.full((size, v), 0.5), certain
    if name in ("ref 1/8, swap certain", "ref certain, swap 1/8"):
        few = np.tile((np.arange(v) < v // 8) * 1.0, (size, 1))
        eighth = np.full((size, v), 1 / 8)
        return (eighth, few) if name.startswith("ref 1/8") else (few, eighth)
    noisy = int(name.split()[0])  # "2 coins": so many swap cells at .5, half of them certain before
    p, q = np.zeros((size, v)), np.zeros((size, v))
    q[:, :noisy], p[:, : noisy // 2] = 0.5, 1.0
    return p, q


WEAK = (
    "unanimous, swap .5",
    "ref .5, swap unanimous",
    "ref 1/8, swap certain",
    "ref certain, swap 1/8",
    "2 coins",
    "4 coins",
)
VARIED = ("sharp", "cancelling", "shuffled", "noisier")


def replicates(name: str, v: int, size: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Return the answers of swap and reference, (data sets, vignettes)."""
    ones = np.ones((size, v), dtype=np.int64)
    if name.startswith("mixed"):
        few = (np.arange(v) % 2 == 0) if name.endswith("alternating") else (np.arange(v) < v // 2)
        swap = ones * np.where(few, 2, 20)
        return swap, 22 - swap
    if name == "2 to 10":
        return rng.integers(2, 11, (size, v)), rng.integers(2, 11, (size, v))
    words = name.split()
    m, n = int(words[0]), int(words[2])
    if "missing" not in name:
        return ones * m, ones * n
    # At least one answer stays: a vignette that is lost at random moves the mean of the others.
    return np.maximum(rng.binomial(m, 0.9, (size, v)), 1), np.maximum(
        rng.binomial(n, 0.9, (size, v)), 1
    )


DESIGNS = (
    "1 v 2",
    "1 v 20",
    "2 v 4",
    "3 v 10",
    "10 v 20",
    "mixed 2 v 20 alternating",
    "mixed 2 v 20 halves",
    "2 to 10",
    "2 v 2 missing",
    "2 v 4 missing",
    "10 v 10 missing",
)
