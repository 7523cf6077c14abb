"""Relabelling inside strata: how probable is a studentised sum as far out as the one observed?

Every stratum has a table of what its relabellings come to: a difference of the arms and the
estimated variance of that difference. Sums over strata are listed where they are few, else drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from ._check import Floats, Ints

# (counts of the swap arm per distinct value, of the reference) -> (difference, its variance)
Reading = Callable[[Ints, Ints], tuple[Floats, Floats]]
Law = tuple[Floats, Floats, Floats]  # differences, variances, probabilities

_LISTED = 1 << 16  # up to so many relabellings of all strata together are listed
_LAW = 1 << 10  # of one stratum, its law; beyond, a pool of random ones, of at least so many:
_POOL = 1 << 8
# A tail as small as the first is counted over so many times as many draws.
_SMALL, _LONGER = 0.005, 5


@dataclass(frozen=True)
class Stratum:
    """One stratum: how often each distinct value was seen in all, and how often by the swap."""

    ties: tuple[int, ...]
    swap: tuple[int, ...]
    read: Reading

    @property
    def m(self) -> int:
        return sum(self.swap)

    def table(self, counts: Ints) -> tuple[Floats, Floats]:
        difference, variance = self.read(counts, np.array(self.ties) - counts)
        return difference, np.where(variance > 1e-12 * (difference**2 + variance), variance, 0.0)

    @cached_property
    def observed(self) -> tuple[float, float]:
        difference, variance = self.table(np.array([self.swap]))
        return float(difference[0]), float(variance[0])


@dataclass(frozen=True)
class Tails:
    """p of a sum as high, and as low; the smallest of a side that there can be; and by which way.

    `method` is "exact", or "permutation": then p = (1 + hits) / (1 + draws).
    """

    greater: float
    less: float
    attainable: float
    method: str


def tails(strata: Sequence[Stratum], n_resamples: int, rng: np.random.Generator) -> Tails:
    """Return both tails of the studentised sum over strata under relabelling inside them.

    Strata in which nothing varies are left out by the caller; without any, all is 1.
    """
    if not strata:
        return Tails(1.0, 1.0, 1.0, "exact")
    seen = np.array([stratum.observed for stratum in strata])
    numbers = [_n_labellings(stratum.m, stratum.ties) for stratum in strata]
    # A sum of differences that is 0 but for rounding must not be divided by a variance of 0.
    scale = 1e-9 * float(np.abs(seen[:, 0]).sum() + np.sqrt(seen[:, 1]).sum())
    observed = float(_studentised(seen[:, :1].sum(axis=0), seen[:, 1:].sum(axis=0), scale)[0])
    if math.prod(numbers) <= _LISTED:
        return _listed(strata, observed, scale)
    return _drawn(strata, numbers, observed, scale, n_resamples, rng)


def _studentised(sums: Floats, variances: Floats, scale: float) -> Floats:
    """Sums over their standard errors; endless where the variance is 0 and the sum is not."""
    sums = np.where(np.abs(sums) > scale, sums, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(sums / np.sqrt(variances), nan=0.0, posinf=np.inf, neginf=-np.inf)


def _reached(values: Floats, observed: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which are as high, and which are as low; a hair inside, for sums differ in last digits."""
    slack = 1e-9 * max(1.0, abs(observed)) if math.isfinite(observed) else 0.0
    return values >= observed - slack, values <= observed + slack


def _listed(strata: Sequence[Stratum], observed: float, scale: float) -> Tails:
    sums, variances, chance = np.zeros(1), np.zeros(1), np.ones(1)
    for stratum in strata:
        counts, law = _labellings(stratum.m, stratum.ties)
        difference, variance = stratum.table(counts)
        sums = np.add.outer(sums, difference).ravel()
        variances = np.add.outer(variances, variance).ravel()
        chance = np.multiply.outer(chance, law).ravel()
    values = _studentised(sums, variances, scale)
    high, low = _reached(values, observed)
    top, _ = _reached(values, float(values.max()))
    _, bottom = _reached(values, float(values.min()))
    greater, less, most, least = (
        min(1.0, math.fsum(chance[kept].tolist())) for kept in (high, low, top, bottom)
    )
    return Tails(greater, less, min(most, least), "exact")


def _drawn(
    strata: Sequence[Stratum],
    numbers: Sequence[float],
    observed: float,
    scale: float,
    n_resamples: int,
    rng: np.random.Generator,
) -> Tails:
    """Tails of seeded draws: exact for any level, since each side is (1 + hits) / (1 + draws).

    A side whose p is small is counted over more draws. That keeps the level: above the border a
    rejection is one of the first count too, and below it one of the longer count.
    """
    n, laws = n_resamples + 1, _laws(strata, numbers, n_resamples, rng)

    def hits(draws: int) -> Floats:
        found = _sums(laws, draws, rng) if laws else _alone(strata[0], draws, rng)
        sides = _reached(_studentised(*found, scale), observed)
        return np.array([np.count_nonzero(side) for side in sides], dtype=np.float64)

    seen = hits(n_resamples)
    found = first = (1 + seen) / n
    if first.min() <= _SMALL:
        longer = (1 + seen + hits((_LONGER - 1) * n)) / (_LONGER * n)
        found = np.where(first <= _SMALL, longer, first)
    attainable = max([1 / (_LONGER * n), *_shares_of_ends(laws)])
    return Tails(float(found[0]), float(found[1]), attainable, "permutation")


def _laws(
    strata: Sequence[Stratum], numbers: Sequence[float], n: int, rng: np.random.Generator
) -> list[Law]:
    """Return the law of each stratum, or a pool of its labellings where these are many.

    None for a single stratum: its draws need no other to be combined with.
    """
    size = max(_POOL, 6 * n // max(1, sum(number > _LAW for number in numbers)))
    return [
        _law(stratum) if number <= _LAW else _pool(stratum, size, rng)
        for stratum, number in zip(strata, numbers, strict=True)
        if len(strata) > 1
    ]


def _alone(stratum: Stratum, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    difference, variance, _ = _pool(stratum, n + 1, rng)
    return difference[1:], variance[1:]


def _shares_of_ends(laws: Sequence[Law]) -> list[float]:
    """Chance that all strata are at their highest at once, or at their lowest."""
    return [
        math.prod(float(chance[found == pick(found)].sum()) for found, _, chance in laws)
        for pick in (np.max, np.min)
        if laws
    ]


def _sums(laws: Sequence[Law], n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Sums of n draws, each of one labelling of every stratum, and their variances."""
    sums, variances = np.zeros(n), np.zeros(n)
    for difference, variance, chance in laws:
        at = np.repeat(np.arange(chance.size), rng.multinomial(n, chance))
        rng.shuffle(at)
        sums += difference[at]
        variances += variance[at]
    return sums, variances


def _law(stratum: Stratum) -> Law:
    counts, law = _labellings(stratum.m, stratum.ties)
    return *stratum.table(counts), law


def _pool(stratum: Stratum, size: int, rng: np.random.Generator) -> Law:
    """The observed labelling and others drawn at random, all alike.

    Under the null the observed one is any of them, so draws from such pools, one a stratum and
    each independent of the others, are exchangeable with what was observed.
    """
    total, ends = sum(stratum.ties), np.cumsum(stratum.ties)
    labels = np.tile(np.arange(total) < stratum.m, (size - 1, 1)).astype(np.int64)
    labels = rng.permuted(labels, axis=1)
    counts = np.add.reduceat(labels, np.concatenate(([0], ends[:-1])), axis=1)
    counts = np.vstack((np.array(stratum.swap), counts))
    return *stratum.table(counts), np.full(size, 1 / size)


@lru_cache(maxsize=4096)
def _n_labellings(m: int, ties: tuple[int, ...]) -> float:
    """How many different ways there are to give m of all values to the swap arm."""
    ways = np.ones(1)
    for tie in ties:
        ways = np.convolve(ways, np.ones(tie + 1))[: m + 1]
    return float(ways[m])


def _labellings(m: int, ties: tuple[int, ...]) -> tuple[Ints, Floats]:
    """Counts of the swap arm, `(ways, values)`, and the probability of each under relabelling."""
    small = _n_labellings(m, ties) <= _LAW
    return _remembered(m, ties) if small else _all_labellings(m, ties)


def _all_labellings(m: int, ties: tuple[int, ...]) -> tuple[Ints, Floats]:
    counts, taken = np.zeros((1, 0), dtype=np.int64), np.zeros(1, dtype=np.int64)
    ways, left = np.ones(1), sum(ties)
    for tie in ties:
        left -= tie
        parts = []
        for more in range(tie + 1):
            kept = (taken + more <= m) & (taken + more + left >= m)
            column = np.full((int(kept.sum()), 1), more)
            parts.append((np.hstack((counts[kept], column)), ways[kept] * math.comb(tie, more)))
        counts, ways = np.vstack([c for c, _ in parts]), np.concatenate([w for _, w in parts])
        taken = counts.sum(axis=1)
    return counts, ways / math.comb(sum(ties), m)


_remembered = lru_cache(maxsize=4096)(_all_labellings)
