"""Which p-value may claim a mean gap: by the replicates of each cell, not by their totals.

Cells of 2 against 20 and of 20 against 2 are balanced in total and rejected in 30 % of data sets
without a mean gap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ._check import as_counts, positive
from ._result import Result
from .exact import StratifiedTest
from .mean_gap import MeanGapTest, mean_gap_test

EXACT, LARGER = "exact", "larger"


@dataclass(frozen=True, repr=False, eq=False)
class CellBalance(Result):
    """How the replicates of both arms compare, vignette by vignette.

    `equal`: both arms have one and the same number everywhere, so the exact test may claim a mean
    gap. `worst` is the largest factor, at least 1, by which a vignette's ratio n / m differs from
    `planned_ratio`; nan without vignettes. `n_single` vignettes have one answer in an arm.
    """

    equal: bool
    worst: float
    planned_ratio: float
    n_single: int
    n_strata: int

    def __str__(self) -> str:
        if self.equal:
            return f"both arms have equal replicates in all {self.n_strata} vignettes"
        return (
            f"replicates differ by cell: up to {self.worst:.3g} times off the planned ratio of "
            f"{self.planned_ratio:g} over {self.n_strata} vignettes"
        )


def imbalance_of_cells(m: ArrayLike, n: ArrayLike, planned_ratio: float = 1.0) -> CellBalance:
    """The balance of `m` swap against `n` reference answers, both `(n_vignettes,)`.

    `planned_ratio` is n / m as it was fixed beforehand: 2 where an identical re-render is pooled
    into the reference. Vignettes without answers in an arm are left out. ValueError for counts that
    are none, unequal shapes, or a ratio that is not above 0.
    """
    ms, ns = as_counts("m", m), as_counts("n", n)
    if ms.shape != ns.shape:
        raise ValueError(f"m and n: expected equal shapes, got {ms.shape} and {ns.shape}")
    planned = positive("planned_ratio", planned_ratio)
    kept = (ms > 0) & (ns > 0)
    ms, ns = ms[kept], ns[kept]
    if not ms.size:
        return CellBalance(False, math.nan, planned, 0, 0)
    off = ns / (ms * planned)
    return CellBalance(
        bool((ms == ns).all() and (ms == ms[0]).all()),
        float(max(off.max(), 1 / off.min())),
        planned,
        int(np.count_nonzero((ms == 1) | (ns == 1))),
        int(ms.size),
    )


@dataclass(frozen=True, repr=False, eq=False)
class SignedP(Result):
    """The p-value that decides about a signed gap, two-sided, and what it rests on.

    `basis` is "exact" (equal replicates everywhere, or one vignette alone, where no gap and no mean
    gap are the same) or "larger" (the larger of the exact p and that of the mean gap).
    """

    p: float
    basis: str
    exact: float
    mean_gap: MeanGapTest | None
    balance: CellBalance

    def __str__(self) -> str:
        return f"p={self.p:.3g} ({self.basis}): {self.balance}"


def signed_p(test: StratifiedTest, planned_ratio: float = 1.0) -> SignedP:
    """The p-value of `test` that may claim a mean gap, and not only that some vignette changes.

    `planned_ratio` is how many reference outcomes were meant for each of the swap. ValueError for a
    ratio that is not above 0.
    """
    if not test.n_strata:
        nothing = CellBalance(False, math.nan, positive("planned_ratio", planned_ratio), 0, 0)
        return SignedP(test.p, EXACT, test.p, None, nothing)
    balance = imbalance_of_cells(test.m_swap, test.n_ref, planned_ratio)
    if balance.equal or balance.n_strata < 2:
        return SignedP(test.p, EXACT, test.p, None, balance)
    mean = mean_gap_test(test.k_swap, test.m_swap, test.k_ref, test.n_ref)
    return SignedP(max(test.p, mean.p), LARGER, test.p, mean, balance)
