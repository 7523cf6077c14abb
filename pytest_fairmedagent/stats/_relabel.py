"""Relabelling whole trajectories between two arms, vignette by vignette.

What comes out are the values that sums over the swap arm take when the labels within each vignette
are dealt anew: every value with its probability where there are few, else a seeded sample.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ._check import Floats

# All relabellings of one vignette are listed up to so many; of more, a sample stands for them.
_LISTED = 1000
# Up to so many values of the sums are enumerated, with their probabilities.
_ENUMERATED = 3_000
# Rows that all sampled tables of a data set share out among them, and the least of each.
_ROWS, _LEAST = 32_768, 512
_DIGITS = 9


@dataclass(frozen=True)
class Cell:
    """One vignette: the rows of both arms, `(m + n, K)`, the first `m` under the swap.

    `rows` are centred on the mean of the known values of the vignette; a missing one is 0.
    """

    m: int
    rows: Floats

    @property
    def total(self) -> Floats:
        """Sums over the swap arm, `(K,)`."""
        return _summed(self.rows[: self.m])

    @property
    def variance(self) -> Floats:
        """Variances of the sums under relabelling, `(K,)`, exact."""
        size = len(self.rows)
        factor = self.m * (size - self.m) / (size * (size - 1))
        return factor * _summed(self.rows**2)


@dataclass(frozen=True)
class Relabelled:
    """Values of the sums, `(n_values, K)`, and their probabilities, `(n_values,)`.

    `exact`: all values there are. Otherwise row 0 is the sum observed and the rest a sample.
    """

    sums: Floats
    probability: Floats
    exact: bool


def cells(swap: Sequence[Floats], reference: Sequence[Floats]) -> list[Cell]:
    """The vignettes with both arms, in an order that depends on their contents alone."""
    found = []
    for x, y in zip(swap, reference, strict=True):
        if len(x) and len(y):
            both = np.concatenate((_sorted(x), _sorted(y)))
            known = ~np.isnan(both)
            filled = np.where(known, both, 0.0)
            mean = _summed(filled) / np.maximum(1, known.sum(axis=0))
            found.append(Cell(len(x), np.where(known, filled - mean, 0.0)))
    return sorted(found, key=_key)


def seed_of(found: Sequence[Cell], seed: int) -> int:
    """A seed drawn from the data: one data set has one answer, on every machine."""
    digest = hashlib.blake2b(str(seed).encode(), digest_size=16)
    for cell in found:
        digest.update(repr(_key(cell)[:2]).encode())
        digest.update(_key(cell)[2])
    return int.from_bytes(digest.digest(), "little")


def relabel(found: Sequence[Cell], n_relabellings: int, seed: int) -> Relabelled:
    """The sums of `found` under relabelling; a sample of `n_relabellings` where not exact."""
    generate = np.random.default_rng(seed)
    share = max(_LEAST, _ROWS // max(1, len(found)))
    tables = [_table(cell, min(share, n_relabellings), generate) for cell in found]
    if all(listed for _, listed in tables):
        enumerated = _enumerate([table for table, _ in tables])
        if enumerated is not None:
            return enumerated
    sums = np.zeros((n_relabellings + 1, found[0].rows.shape[1]))
    for cell, (table, _) in zip(found, tables, strict=True):
        sums[0] += cell.total
        sums[1:] += table[generate.integers(len(table), size=n_relabellings)]
    return Relabelled(sums, np.full(len(sums), 1 / len(sums)), False)


def _table(cell: Cell, size: int, generate: np.random.Generator) -> tuple[Floats, bool]:
    """Sums of one vignette under its relabellings, `(n, K)`, and whether these are all.

    A sample has the sum observed as its first row. Under the null that row is exchangeable with
    the others, so given the table the observed one is a uniform draw from it: dealing from the
    table is as exact as dealing from all relabellings.
    """
    n_rows, m = len(cell.rows), cell.m
    if math.comb(n_rows, m) <= _LISTED:
        return _summed(cell.rows[_subsets(n_rows, m)], axis=1), True
    ranked = generate.random((size - 1, n_rows))
    chosen = np.sort(np.argpartition(ranked, m - 1, axis=1)[:, :m], axis=1)
    sums = np.zeros((size, cell.rows.shape[1]))
    sums[0] = cell.total
    for at in range(m):
        sums[1:] += cell.rows[chosen[:, at]]
    return sums, False


@lru_cache(maxsize=64)
def _subsets(size: int, m: int) -> NDArray[np.int64]:
    return np.array(list(combinations(range(size), m)), dtype=np.int64)


def _enumerate(tables: Sequence[Floats]) -> Relabelled | None:
    """All values of the sum over tables, equal ones once; None where they are too many."""
    sums, probability = np.zeros((1, tables[0].shape[1])), np.ones(1)
    for table in sorted(tables, key=len):
        values, often = _distinct(table, np.full(len(table), 1 / len(table)))
        if len(sums) * len(values) > _ENUMERATED:
            return None
        together = (sums[:, None, :] + values[None, :, :]).reshape(-1, values.shape[1])
        sums, probability = _distinct(together, np.outer(probability, often).ravel())
    return Relabelled(sums, probability, True)


def _distinct(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    rounded = np.round(values, _DIGITS) + 0.0
    _, first, where = np.unique(rounded, axis=0, return_index=True, return_inverse=True)
    added = np.zeros(len(first))
    np.add.at(added, where.ravel(), weights)
    # The values themselves go on: rounded ones would drift apart over many vignettes.
    return values[first], added


def _sorted(rows: Floats) -> Floats:
    return rows[np.lexsort(rows.T[::-1])]


def _key(cell: Cell) -> tuple[int, int, bytes]:
    return len(cell.rows), cell.m, (np.round(cell.rows, _DIGITS) + 0.0).astype("<f8").tobytes()


def _summed(values: Floats, axis: int = 0) -> Floats:
    total: Floats = values.sum(axis=axis)
    return total
