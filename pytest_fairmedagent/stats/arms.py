"""More than two arms at once, against the disagreement that so many draws show anyway.

"Any of these A descriptions changed the action" is more likely the larger A is, with no effect at
all. The matching null is not the floor of pairs but how often A draws of one configuration are not
all equal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ._check import Floats, Ints, Rng, as_pair, generator, whole
from ._result import Result


@dataclass(frozen=True, repr=False, eq=False)
class ArityMatched(Result):
    """Chance that one draw from each of `n_arms` arms is not unanimous, against no effect.

    `rate` and `expected` are means over vignettes in 0..1: the observed chance, and its exact
    expectation when the arms' labels mean nothing, given each vignette's outcomes. `excess` is
    their difference. `p` is one-sided, from seeded relabelling inside vignettes.
    """

    rate: float
    expected: float
    excess: float
    p: float
    n_arms: int
    n_vignettes: int
    n_dropped: int
    n_resamples: int
    cells: Floats
    expected_cells: Floats
    k: Ints
    n: Ints

    def __str__(self) -> str:
        return (
            f"one draw from each of {self.n_arms} arms disagrees in {self.rate:.3f}, "
            f"{self.expected:.3f} expected without any effect ({self.n_vignettes} vignettes), "
            f"p={self.p:.3g}"
        )


def arity_matched(
    k: ArrayLike, n: ArrayLike, *, n_resamples: int = 9999, rng: Rng = 0
) -> ArityMatched:
    """Several arms against the null of the same number of draws.

    `k` positives of `n` outcomes, `(n_vignettes, n_arms)`, at least two arms, the reference among
    them. Vignettes that lack outcomes in some arm are dropped and counted; if none is left the
    rates are nan and p = 1. ValueError for impossible counts or fewer than two arms.
    """
    ks, ns = as_pair("k", k, "n", n, ndim=(2,))
    n_arms, n_resamples = int(ks.shape[1]), whole("n_resamples", n_resamples)
    if n_arms < 2:
        raise ValueError(f"k: expected at least two arms, got {n_arms}")
    kept = (ns > 0).all(axis=1)
    ks, ns = ks[kept], ns[kept]
    n_dropped = int(kept.size - len(ks))
    if not len(ks):
        none = np.array([])
        nan = math.nan
        return ArityMatched(
            nan, nan, nan, 1.0, n_arms, 0, n_dropped, n_resamples, none, none, ks, ns
        )
    cells = _not_unanimous(ks, ns)
    totals = zip(ks.sum(axis=1).tolist(), ns.sum(axis=1).tolist(), strict=True)
    expected = np.array([_expected(s, total, n_arms) for s, total in totals])
    observed = math.fsum(cells.tolist())

    generate = generator(rng)
    hits = 0
    # In slices, so that many vignettes and arms do not fill the memory.
    per_slice = max(1, 2_000_000 // ks.size)
    for start in range(0, n_resamples, per_slice):
        size = min(per_slice, n_resamples - start)
        sums = _not_unanimous(_relabelled(ks, ns, size, generate), ns).sum(axis=1)
        hits += int(np.count_nonzero(sums >= observed - 1e-9))
    rate, null = observed / len(ks), math.fsum(expected.tolist()) / len(ks)
    return ArityMatched(
        rate,
        null,
        rate - null,
        (1 + hits) / (1 + n_resamples),
        n_arms,
        len(ks),
        n_dropped,
        n_resamples,
        cells,
        expected,
        ks,
        ns,
    )


def _not_unanimous(k: Ints, n: Ints) -> Floats:
    share = k / n
    result: Floats = 1 - share.prod(axis=-1) - (1 - share).prod(axis=-1)
    return result


def _expected(s: int, total: int, draws: int) -> float:
    """Chance that `draws` of `total` outcomes, `s` of them positive, are not all equal."""
    alike = math.comb(s, draws) + math.comb(total - s, draws)
    return 1 - alike / math.comb(total, draws)


def _relabelled(k: Ints, n: Ints, size: int, rng: np.random.Generator) -> Ints:
    """Positives per arm after shuffling labels inside vignettes, `(size, n_vignettes, n_arms)`."""
    positive = np.broadcast_to(k.sum(axis=1), (size, len(k))).copy()
    left = n.sum(axis=1)
    drawn = np.empty((size, *k.shape), dtype=np.int64)
    for arm in range(k.shape[1] - 1):
        drawn[:, :, arm] = rng.hypergeometric(positive, left - positive, n[:, arm])
        positive -= drawn[:, :, arm]
        left = left - n[:, arm]
    drawn[:, :, -1] = positive
    return drawn
