"""One swap, all its outcomes: does it change anything, and then what.

Whole trajectories are relabelled between the arms of each vignette, so the dependence between
outcomes is that of the data. The answers are exact for "no outcome of any vignette changes".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._check import Floats, whole
from ._columns import Arm, Tails, as_factors, as_groups, as_trajectories, unit_free
from ._relabel import Cell, Relabelled, cells, relabel, seed_of
from ._result import Result

# Equal sums differ in their last digits. What agrees in so many is equal, and what was seen is
# compared from a hair below: a tie that rounding splits must not make p smaller.
_DIGITS = 8
_HAIR = 2e-8
# The weight of 1 / p of max |z| beside that of the sum of squares. At 1 a change in one outcome is
# named less often than by max-T alone (.03); at 2 by .01 to .02, and changes spread over all
# outcomes are found nearly as often as by the sum of squares: benchmarks/results/swap_level.md.
OF_LARGEST = 2.0


@dataclass(frozen=True, repr=False, eq=False)
class SwapTest(Result):
    """Whether a swap changes any of K outcomes, and which.

    `p` is of "no outcome changes" (two-sided). `p_outcomes` `(K,)` are step-down max-T adjusted
    within the swap (Westfall and Young 1993); an outcome that no vignette varies in has 1. `z`
    `(K,)` is the signed sum over the swap arm in its standard deviations under relabelling; of an
    outcome with several columns that of `columns[k]`, the largest. `method` is "exact" (the
    conditional test of one yes or no), "enumeration", "Monte Carlo", "tail bound" (no relabelling
    reached the data) or "none" (nothing varies, p = 1). `n_relabellings` is 0 unless sampled.
    """

    p: float
    p_outcomes: tuple[float, ...]
    z: tuple[float, ...]
    columns: tuple[int, ...]
    shrink: tuple[float, ...]
    method: str
    n_relabellings: int
    n_vignettes: int

    @property
    def order(self) -> tuple[int, ...]:
        """The outcomes in the order in which they are tested, smallest p first."""
        keys = [
            (p, -abs(z), k) for k, (p, z) in enumerate(zip(self.p_outcomes, self.z, strict=True))
        ]
        return tuple(k for _, _, k in sorted(keys))

    @property
    def chain(self) -> tuple[float, ...]:
        """`(K + 1,)`: p of the swap, then of its outcomes in `order`, never falling."""
        steps = [self.p, *(self.p_outcomes[k] for k in self.order)]
        return tuple(float(q) for q in np.maximum.accumulate(steps))

    def __str__(self) -> str:
        if self.method == "none":
            return "no vignette varies in any outcome: p=1"
        least, plural = self.order[0], "s" * (len(self.z) > 1)
        return (
            f"any change in {len(self.z)} outcome{plural}: p={self.p:.3g} ({self.method}, "
            f"{self.n_vignettes} vignettes vary); largest is outcome {least}, "
            f"z={self.z[least]:+.2f}, p={self.p_outcomes[least]:.3g} within the swap"
        )


def swap_test(
    swap: Arm,
    reference: Arm,
    *,
    groups: Sequence[int] | None = None,
    shrink: ArrayLike | None = None,
    n_relabellings: int = 9999,
    seed: int = 0,
) -> SwapTest:
    """Test a swap against its reference on all outcomes together and on each.

    `swap[v]` is `(m_v, C)` and `reference[v]` `(n_v, C)`: a row per trajectory, nan where an
    outcome is missing. `groups` `(C,)` gives the outcome, 0..K-1, of each column (default: each its
    own): the members of a set outcome are columns of one. `shrink` `(C,)`, each at least 1, divides
    an observed z before it is compared: surface noise. The order of vignettes and of replicates
    changes nothing, and equal data have equal answers.

    The statistic is 2 / p1 + 1 / p2 (a weighted harmonic mean) of the relabelling p-values p1 of
    max |z| and p2 of the sum of z squared, calibrated by the same relabellings. Few values of the
    sums are enumerated; else p is
    (1 + hits) / (1 + N) over N seeded relabellings, which is exact for every N. Where no
    relabelling reaches the data it is the Bonferroni bound from the exact laws of the yes or no
    columns, if that is smaller. The whole keeps its level: below 1 / (N + 1), "p <= x" implies that
    the bound, a p-value by itself, is at most x; from there on it is "p of the relabellings
    <= x". The same holds for each step within the swap, where the bound is Holm's.

    One outcome with one yes-or-no column takes the two-sided p of `stratified_test`. ValueError for
    unequal numbers of vignettes or columns, none, infinite values, factors below 1.
    """
    arms = as_trajectories(swap, reference)
    n_columns = arms[0][0].shape[1]
    outcome_of = as_groups(groups, n_columns)
    factors = as_factors(shrink, n_columns)
    whole("n_relabellings", n_relabellings)
    found = cells(*unit_free(arms))
    variance = sum((cell.variance for cell in found), np.zeros(n_columns))
    varied = np.flatnonzero(np.round(variance, _DIGITS) > 0)
    n_outcomes = int(outcome_of.max()) + 1
    if not varied.size:
        ones, zeros = (1.0,) * n_outcomes, (0.0,) * n_outcomes
        first = tuple(int(np.flatnonzero(outcome_of == k)[0]) for k in range(n_outcomes))
        return SwapTest(1.0, ones, zeros, first, tuple(factors.tolist()), "none", 0, 0)
    found = [cell for cell in (_only(cell, varied) for cell in found) if cell.variance.any()]
    found = sorted(found, key=lambda cell: (len(cell.rows), cell.m, cell.rows.tobytes()))
    scale = np.sqrt(variance[varied])
    z = np.zeros(n_columns)
    z[varied] = sum((cell.total for cell in found), np.zeros(varied.size)) / scale
    z = np.round(z, _DIGITS)
    law = Tails(arms, factors)
    if n_columns == 1 and law.binary[0]:
        p = law.tail(0)
        return SwapTest(
            p, (p,), (float(z[0]),), (0,), tuple(factors.tolist()), "exact", 0, len(found)
        )
    drawn = relabel(found, n_relabellings, seed_of(found, seed))
    seats = [np.flatnonzero(outcome_of[varied] == k) for k in range(n_outcomes)]
    size = _by_outcome(np.abs(drawn.sums / scale), seats)
    observed = _by_outcome((np.abs(z) / factors)[varied][None, :], seats)[0]
    at_floor = 0.0 if drawn.exact else 1.5 / len(size)
    omnibus = _omnibus(size, observed, drawn)
    method = "enumeration" if drawn.exact else "Monte Carlo"
    if omnibus < at_floor:
        bound = varied.size * min(law.tail(int(c)) for c in varied)
        if bound < omnibus:
            omnibus, method = bound, "tail bound"
    steps = _steps(size, observed, drawn, at_floor, law, [varied[seat] for seat in seats])
    return SwapTest(
        p=omnibus,
        p_outcomes=tuple(steps),
        z=tuple(float(z[c]) for c in _leading(z, factors, outcome_of)),
        columns=tuple(_leading(z, factors, outcome_of)),
        shrink=tuple(factors.tolist()),
        method=method,
        n_relabellings=0 if drawn.exact else n_relabellings,
        n_vignettes=len(found),
    )


def _omnibus(size: Floats, observed: Floats, drawn: Relabelled) -> float:
    """p of the two p-values together, which are of the same relabellings as the whole."""
    together, seen = np.zeros(len(size)), 0.0
    for statistic, weight, hair in (
        (_largest, OF_LARGEST, _HAIR),
        (_squares, 1.0, 100 * _HAIR),
    ):
        values, own = statistic(size), statistic(observed[None, :]) - hair
        reached = _tail(values, drawn.probability)
        together += weight / reached(values)
        seen += weight / float(reached(own)[0])
    hits = together >= seen * (1 - 1e-9)
    return min(1.0, float(drawn.probability[hits].sum()))


def _steps(
    size: Floats,
    observed: Floats,
    drawn: Relabelled,
    at_floor: float,
    law: Tails,
    columns: list[NDArray[np.int64]],
) -> list[float]:
    """Step-down max-T p per outcome: each against the largest of those not larger than itself."""
    adjusted = [1.0] * observed.size
    order = sorted(range(observed.size), key=lambda k: (-observed[k], k))
    order = [k for k in order if columns[k].size]
    last = 0.0
    for position, k in enumerate(order):
        left = order[position:]
        p = float(drawn.probability[size[:, left].max(axis=1) >= observed[k] - _HAIR].sum())
        if p < at_floor:
            n_left = sum(columns[j].size for j in left)
            p = min(p, n_left * min(law.tail(int(c)) for c in columns[k]))
        last = max(last, min(1.0, p))
        adjusted[k] = last
    return adjusted


def _tail(values: Floats, probability: Floats) -> Callable[[Floats], Floats]:
    """The function t -> probability of a value of at least t."""
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    above = np.concatenate((np.cumsum(probability[order][::-1])[::-1], [0.0]))

    def reached(at: Floats) -> Floats:
        found: Floats = above[np.searchsorted(ranked, at, side="left")]
        return found

    return reached


def _largest(size: Floats) -> Floats:
    largest: Floats = np.round(size.max(axis=1), _DIGITS)
    return largest


def _squares(size: Floats) -> Floats:
    squares: Floats = np.round((size**2).sum(axis=1), _DIGITS - 2)
    return squares


def _by_outcome(columns: Floats, seats: list[NDArray[np.int64]]) -> Floats:
    found = np.zeros((len(columns), len(seats)))
    for k, seat in enumerate(seats):
        if seat.size:
            found[:, k] = columns[:, seat].max(axis=1)
    return np.round(found, _DIGITS)


def _leading(z: Floats, factors: Floats, outcome_of: NDArray[np.int64]) -> list[int]:
    size = np.abs(z) / factors
    found = []
    for k in range(int(outcome_of.max()) + 1):
        own = np.flatnonzero(outcome_of == k)
        found.append(int(own[np.argmax(size[own])]))
    return found


def _only(cell: Cell, columns: NDArray[np.int64]) -> Cell:
    return Cell(cell.m, cell.rows[:, columns])
