"""Columns of trajectories in two arms: argument checks, units, and exact tails of each column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._check import Floats
from ._convolution import SMALLEST, sum_of_hypergeometrics

Arm = Sequence[ArrayLike]


@dataclass(frozen=True)
class Tails:
    """Exact two-sided tails of single columns, at the observed sums after shrinking."""

    arms: tuple[list[Floats], list[Floats]]
    factors: Floats

    @property
    def binary(self) -> list[bool]:
        """Per column, whether all its values are 0, 1 or missing."""
        stacked = np.concatenate([*self.arms[0], *self.arms[1]])
        yes_or_no = np.isnan(stacked) | (stacked == 0) | (stacked == 1)
        return [bool(b) for b in yes_or_no.all(axis=0)]

    def tail(self, column: int) -> float:
        """Twice the smaller tail in 0..1, given who was missing; 1 for other than yes or no.

        At a factor of 1 it is `stratified_test(...).p`.
        """
        margins: dict[tuple[int, int, int], int] = {}
        statistic = smallest = mean = 0.0
        for x, y in zip(*self.arms, strict=True):
            a, b = x[:, column], y[:, column]
            a, b = a[~np.isnan(a)], b[~np.isnan(b)]
            if not (((a == 0) | (a == 1)).all() and ((b == 0) | (b == 1)).all()):
                return 1.0
            m, n, s = a.size, b.size, int(a.sum() + b.sum())
            if m and n and 0 < s < m + n:
                margins[m, n, s] = margins.get((m, n, s), 0) + 1
                statistic += float(a.sum())
                smallest += max(0, s - n)
                mean += m * s / (m + n)
        if not margins or np.isinf(self.factors[column]):
            return 1.0
        law = sum_of_hypergeometrics(sorted(margins.items()))
        off = (statistic - mean) / float(self.factors[column])
        at = mean + off - smallest
        upper = float(law[max(0, int(np.ceil(at - 1e-9))) :].sum())
        lower = float(law[: int(np.floor(at + 1e-9)) + 1].sum())
        return min(1.0, max(SMALLEST, 2 * min(upper, lower)))


def as_trajectories(swap: Arm, reference: Arm) -> tuple[list[Floats], list[Floats]]:
    arms = [[np.asarray(rows, dtype=np.float64) for rows in arm] for arm in (swap, reference)]
    x, y = arms
    if len(x) != len(y) or not x:
        raise ValueError(
            f"swap and reference: expected the same vignettes, got {len(x)} and {len(y)}"
        )
    widths = {rows.shape[1] if rows.ndim == 2 else None for rows in x + y}
    if len(widths) != 1 or widths & {None, 0}:
        raise ValueError(
            "swap and reference: expected arrays (trajectories, columns) with the same columns, "
            f"got shapes {sorted({str(rows.shape) for rows in x + y})}"
        )
    if any(np.isinf(rows).any() for rows in x + y):
        raise ValueError("swap and reference: expected finite values or nan, got infinity")
    return x, y


def unit_free(arms: tuple[list[Floats], list[Floats]]) -> tuple[list[Floats], list[Floats]]:
    """Both arms with each column in units of its largest value: rounding then knows no unit."""
    stacked = np.abs(np.concatenate([*arms[0], *arms[1], np.zeros((1, arms[0][0].shape[1]))]))
    largest = np.where(np.isnan(stacked), 0.0, stacked).max(axis=0)
    unit = np.where(largest > 0, largest, 1.0)
    return [rows / unit for rows in arms[0]], [rows / unit for rows in arms[1]]


def as_groups(groups: Sequence[int] | None, n_columns: int) -> NDArray[np.int64]:
    found = np.arange(n_columns) if groups is None else np.asarray(groups, dtype=np.int64)
    if found.shape != (n_columns,) or set(found.tolist()) != set(range(int(found.max()) + 1)):
        raise ValueError(
            f"groups: expected the outcome 0..K-1 of each of {n_columns} columns, got {groups!r}"
        )
    return found


def as_factors(shrink: ArrayLike | None, n_columns: int) -> Floats:
    found = np.ones(n_columns) if shrink is None else np.asarray(shrink, dtype=np.float64)
    if found.shape != (n_columns,) or not (found >= 1).all():
        raise ValueError(f"shrink: expected {n_columns} factors of at least 1, got {shrink!r}")
    return found
