"""Checks on the measurement itself: surface noise as shams show it, and missing outcomes.

That replicates are independent draws is checked in `serial`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._check import Ints, added, as_arms, as_clusters, as_counts, as_pair, fraction
from ._result import Result
from .exact import StratifiedTest, stratified_test
from .excess import excess
from .multiplicity import holm
from .serial import Counts
from .serial import runs_test as runs_test  # beside the other controls, for who looks here


@dataclass(frozen=True, repr=False, eq=False)
class ShamGuard(Result):
    """Whether a gap exceeds sampling noise and surface noise together, as shams measured it.

    `statistic` = |gap| / sqrt(sampling variance + tau2 / n_vignettes), compared with `quantile`,
    the two-sided t quantile with n_vignettes - 1 degrees of freedom. `tau2` is the mean excess of
    the shams over the reference, not below 0; nan when it could not be measured (one replicate),
    and then nothing passes. Variants of one case count as one vignette: `tau2` is then the mean
    square by which a sham moves a case's mean, and cases enter by their share of the weight.
    `same_sign`: against every sham the swap keeps the sign of its gap.
    """

    passes: bool
    statistic: float
    quantile: float
    tau2: float
    same_sign: bool
    gap: float
    gaps_to_shams: tuple[float, ...]
    n_vignettes: int
    alpha: float
    test: StratifiedTest
    to_shams: tuple[StratifiedTest, ...]

    def __str__(self) -> str:
        verb = "exceeds" if self.passes else "does not exceed"
        return (
            f"the gap {self.gap:+.3f} {verb} surface noise: statistic {self.statistic:.2f} against "
            f"{self.quantile:.2f}, tau2 {self.tau2:.4f} from {len(self.gaps_to_shams)} shams, "
            f"{'same sign' if self.same_sign else 'not the same sign'} against every sham"
        )


def sham_guard(
    k_swap: ArrayLike,
    m_swap: ArrayLike,
    k_ref: ArrayLike,
    n_ref: ArrayLike,
    shams: Sequence[tuple[ArrayLike, ArrayLike]],
    *,
    alpha: float = 0.05,
    clusters: Sequence[Hashable] | None = None,
) -> ShamGuard:
    """The gap of a swap set against what meaningless edits of the same kind do.

    Arrays `(n_vignettes,)`; `shams` holds the (k, m) of each sham arm on the same vignettes. Any
    edit moves each vignette a little in some direction, so "no vignette changes" is false for every
    swap, and the vignette is the unit. Assumes that the swap's surface noise has the variance of
    the shams': match length, rarity and position. `clusters` labels variants of one case alike.
    ValueError for impossible counts, no shams.
    """
    alpha = fraction("alpha", alpha)
    k, m, j, n = as_arms(k_swap, m_swap, k_ref, n_ref)
    arms = [as_pair(f"shams[{i}] k", a, f"shams[{i}] m", b) for i, (a, b) in enumerate(shams)]
    if not arms:
        raise ValueError("shams: expected at least one sham arm, got none")
    for i, (a, _) in enumerate(arms):
        if a.shape != k.shape:
            raise ValueError(f"shams[{i}]: expected {k.size} vignettes, got {a.size}")
    main = stratified_test(k, m, j, n)
    case = as_clusters(clusters, k.size)
    surface = [_surface(a, b, j, n, case) for a, b in arms]
    tau2 = math.nan if any(map(math.isnan, surface)) else max(0.0, math.fsum(surface) / len(arms))
    to_shams = tuple(stratified_test(k, m, a, b) for a, b in arms)
    gaps = tuple(test.gap for test in to_shams)
    same_sign = all(gap * main.gap > 0 for gap in gaps)
    quantile, statistic = math.inf, 0.0
    weights = added(m * n / np.maximum(m + n, 1), case)
    n_cases = int(np.count_nonzero(weights))
    if n_cases > 1:
        from scipy import special

        quantile = float(special.stdtrit(n_cases - 1, 1 - alpha / 2))
        equal = float(weights @ weights) / main.weight**2 if clusters is not None else 1 / n_cases
        variance = main.null_var / main.weight**2 + tau2 * equal
        if variance > 0:
            statistic = abs(main.gap) / math.sqrt(variance)
        elif not math.isnan(variance):
            statistic = math.inf if main.gap else 0.0
        else:
            statistic = math.nan
    return ShamGuard(
        passes=same_sign and statistic > quantile,
        statistic=statistic,
        quantile=quantile,
        tau2=tau2,
        same_sign=same_sign,
        gap=main.gap,
        gaps_to_shams=gaps,
        n_vignettes=n_cases,
        alpha=alpha,
        test=main,
        to_shams=to_shams,
    )


def _surface(a: Ints, b: Ints, j: Ints, n: Ints, case: Ints) -> float:
    """Mean square by which an arm moves the mean of a case, sampling taken off; or nan.

    Where every case is one row it is the mean excess.
    """
    found = excess(a, b, j, n)
    seen = ~np.isnan(found.cells)
    if not seen.any():
        return math.nan
    moved, case = (a[seen] / b[seen] - j[seen] / n[seen]), case[seen]
    rows = added(np.ones(case.size), case)
    noise = added(moved**2 - found.cells[seen], case)
    squares = (added(moved, case) ** 2 - noise)[rows > 0] / rows[rows > 0] ** 2
    return math.fsum(squares.tolist()) / squares.size


def worst_case(
    k_swap: ArrayLike,
    m_swap: ArrayLike,
    missing_swap: ArrayLike,
    k_ref: ArrayLike,
    n_ref: ArrayLike,
    missing_ref: ArrayLike,
    *,
    sign: float,
) -> Counts:
    """(k_swap, m_swap, k_ref, n_ref) with all missing outcomes filled in against `sign`.

    For a gap above 0 the missing outcomes of the swap count as negative and those of the reference
    as positive; below 0 the other way round. A gap that survives this does not hang on who was
    missing. Arrays `(n_vignettes,)`. ValueError for impossible counts and for a sign of 0.
    """
    k, m, j, n = as_arms(k_swap, m_swap, k_ref, n_ref)
    lost_swap = as_counts("missing_swap", missing_swap)
    lost_ref = as_counts("missing_ref", missing_ref)
    if not lost_swap.shape == lost_ref.shape == k.shape:
        raise ValueError(
            f"missing_swap and missing_ref: expected {k.size} vignettes, "
            f"got {lost_swap.size} and {lost_ref.size}"
        )
    if sign > 0:
        return k, m + lost_swap, j + lost_ref, n + lost_ref
    if sign < 0:
        return k + lost_swap, m + lost_swap, j, n + lost_ref
    raise ValueError(f"sign: expected the sign of a gap, above or below 0, got {sign}")


def missingness_test(
    missing_swap: ArrayLike, total_swap: ArrayLike, missing_ref: ArrayLike, total_ref: ArrayLike
) -> StratifiedTest:
    """The exact stratified test with "missing, refused or unreadable" as the outcome.

    Counts of missing outcomes among all trials, `(n_vignettes,)`. ValueError as `stratified_test`.
    """
    return stratified_test(missing_swap, total_swap, missing_ref, total_ref)


def guard_rejections(
    p: ArrayLike, *, alpha: float = 0.01, n_members: int | None = None
) -> NDArray[np.bool_]:
    """Which guards fire, `(n,)`, when all guards of one kind in a run share one budget (Holm).

    Without a common budget a clean run of six actions and three swaps would fail some guard in 9
    to 33 % of runs. ValueError as `holm`.
    """
    fired: NDArray[np.bool_] = holm(p, n_members=n_members) <= fraction("alpha", alpha)
    return fired
