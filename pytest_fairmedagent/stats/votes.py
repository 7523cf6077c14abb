"""What fewer draws, taken from the recorded replicates, would have said.

Expectations over all subsets of a cell's `n` replicates, of which `k` are positive: hypergeometric,
so no subset is ever drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from ._check import Floats, Ints, as_pair, whole
from ._result import Result


@dataclass(frozen=True, repr=False, eq=False)
class VoteFloor(Result):
    """How often two majority votes of the same configuration disagree, in 0..1.

    `rate` is the mean of the measured cells, nan if there are none. It describes a deployed agent
    that votes. It is not the floor of a test: a vote hides the near-threshold cases in which a
    small gap shows.
    """

    rate: float
    votes: int
    n_cells: int
    cells: Floats
    k: Ints
    n: Ints

    def __str__(self) -> str:
        return f"floor of majority votes of {self.votes}: {self.rate:.3f} over {self.n_cells} cells"


def vote_floor(
    k: ArrayLike, n: ArrayLike, *, votes: int, replicates: int | None = None
) -> VoteFloor:
    """The floor of majority votes of `votes` runs, from `k` positives of `n` replicates.

    Arrays `(n_vignettes,)` or `(n_vignettes, n_outcomes)`. `votes` is odd; the two votes come from
    disjoint sets of replicates, so a cell needs n >= 2 votes and is nan otherwise. Unbiased for
    2 P (1 - P) with P the probability of a positive vote.

    The source study instead lets missing outcomes sit in the sets and abstain, drops ties, and
    weights cells by the pairs of sets that are left: give `replicates`, the number planned per
    cell, to do the same. Without missing outcomes both agree. ValueError for even votes, impossible
    counts or n above `replicates`.
    """
    ks, ns = as_pair("k", k, "n", n, ndim=(1, 2))
    if whole("votes", votes) % 2 == 0:
        raise ValueError(f"votes: expected an odd number, got {votes}")
    measured = ns >= 2 * votes
    if replicates is None:
        cells = _each(
            lambda a, b: float(vote_cell(a, b, votes)) if b >= 2 * votes else math.nan, ks, ns
        )
        rate = _mean(cells)
    else:
        if whole("replicates", replicates) < ns.max():
            raise ValueError(f"replicates: expected at least {ns.max()}, got {replicates}")
        apart = _each(lambda a, b: _splits(a, b, votes, replicates)[0], ks, ns)
        of = _each(lambda a, b: _splits(a, b, votes, replicates)[1], ks, ns)
        measured = of > 0
        cells = np.divide(apart, of, out=np.full(of.shape, math.nan), where=measured)
        rate = float(apart.sum() / of.sum()) if measured.any() else math.nan
    return VoteFloor(rate, votes, int(np.count_nonzero(measured)), cells, ks, ns)


def vote_cell(k: int, n: int, votes: int) -> Fraction:
    """The exact vote floor of one cell, over all pairs of disjoint sets of `votes` replicates.

    ValueError unless 0 <= k <= n, votes is odd and n >= 2 votes.
    """
    if not (0 <= k <= n and votes % 2 and 0 < 2 * votes <= n):
        raise ValueError(
            f"k, n, votes: expected 0 <= k <= n and odd votes up to n / 2, got {k}, {n}, {votes}"
        )
    return Fraction(*_splits(k, n, votes, n))


@lru_cache(maxsize=65536)
def _splits(k: int, n: int, votes: int, replicates: int) -> tuple[int, int]:
    """Ordered pairs of disjoint sets of `votes` replicates: how many disagree, how many decide.

    The `replicates - n` missing ones may be in a set; they abstain, and a tied set decides nothing.
    """

    def sets(k: int, others: int, absent: int) -> Iterator[tuple[int, int, int, int]]:
        for a in range(min(votes, k) + 1):
            for b in range(max(0, votes - a - absent), min(votes - a, others) + 1):
                ways = math.comb(k, a) * math.comb(others, b) * math.comb(absent, votes - a - b)
                if a != b:
                    yield a, b, votes - a - b, ways

    apart = decided = 0
    for a, b, none, first in sets(k, n - k, replicates - n):
        for c, d, _, second in sets(k - a, n - k - b, replicates - n - none):
            decided += first * second
            apart += first * second * ((a > b) != (c > d))
    return apart, decided


def rarefied_flags(k: ArrayLike, n: ArrayLike, *, draws: int) -> Floats:
    """Chance, in 0..1 per cell, that `draws` replicates would not all agree; shape of `k`.

    The more often one looks, the more cells are caught disagreeing. Cells flagged by runs of
    different length are compared at the same number of draws (rarefaction). nan where n < draws.
    ValueError for draws below 1 or impossible counts.
    """
    ks, ns = as_pair("k", k, "n", n, ndim=(1, 2))
    draws = whole("draws", draws)

    def flagged(a: int, b: int) -> float:
        if b < draws:
            return math.nan
        return 1 - (math.comb(a, draws) + math.comb(b - a, draws)) / math.comb(b, draws)

    return _each(flagged, ks, ns)


def pass_hat_k(k: ArrayLike, n: ArrayLike, *, draws: int) -> Floats:
    """Chance, in 0..1 per cell, that `draws` replicates would all be positive; shape of `k`.

    The pass^k of agent benchmarks (Yao et al. 2024): C(k, draws) / C(n, draws), unbiased for
    p**draws. nan where n < draws. ValueError as `rarefied_flags`.
    """
    ks, ns = as_pair("k", k, "n", n, ndim=(1, 2))
    draws = whole("draws", draws)
    return _each(
        lambda a, b: math.comb(a, draws) / math.comb(b, draws) if b >= draws else math.nan, ks, ns
    )


def _each(of: Callable[[int, int], float], k: Ints, n: Ints) -> Floats:
    values = [of(a, b) for a, b in zip(k.ravel().tolist(), n.ravel().tolist(), strict=True)]
    return np.array(values, dtype=np.float64).reshape(k.shape)


def _mean(cells: Floats) -> float:
    known = cells[~np.isnan(cells)]
    return math.fsum(known.tolist()) / known.size if known.size else math.nan
