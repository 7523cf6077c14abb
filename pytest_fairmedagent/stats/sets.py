"""Set outcomes: which orders were placed, which phrases were used.

Two sets disagree by the Jaccard distance, the share of their union that only one of them has. As
with actions, disagreement across arms means nothing until that within arms is taken off.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ._check import Floats, Rng, generator, whole
from ._result import Result
from .exact import StratifiedTest, stratified_test
from .multiplicity import holm

Sets = Iterable[Sequence[Collection[Hashable] | None]]
SetRows = tuple[tuple[frozenset[Hashable], ...], ...]


@dataclass(frozen=True, repr=False, eq=False)
class ElementTest(Result):
    """One element of the sets as a binary outcome: placed or not. `p_adjusted` is Holm's."""

    element: Hashable
    test: StratifiedTest
    p_adjusted: float

    def __str__(self) -> str:
        return f"{self.element}: {self.test}, Holm p={self.p_adjusted:.3g}"


@dataclass(frozen=True, repr=False, eq=False)
class SetContrast(Result):
    """Disagreement of sets across arms against that within them, all means over vignettes in 0..1.

    `excess` = `crossed` - (`within_swap` + `within_ref`) / 2, at least -1/2, expected 0 without
    effect. `p` is one-sided, from seeded relabelling inside vignettes. `elements` holds the signed
    exact test of each element, smallest p first, adjusted over all that occurred.
    """

    excess: float
    crossed: float
    within_swap: float
    within_ref: float
    p: float
    n_vignettes: int
    n_dropped: int
    n_resamples: int
    cells: Floats
    elements: tuple[ElementTest, ...]
    sets_swap: SetRows
    sets_ref: SetRows

    def __str__(self) -> str:
        if not self.n_vignettes:
            return "excess of sets not measured: no vignette has two replicates in both arms"
        return (
            f"sets differ by {self.crossed:.3f} across arms, {self.within_swap:.3f} and "
            f"{self.within_ref:.3f} within: excess {self.excess:+.3f}, p={self.p:.3g}, "
            f"{self.n_vignettes} vignettes"
        )


def set_contrast(
    sets_swap: Sets, sets_ref: Sets, *, n_resamples: int = 1999, rng: Rng = 0
) -> SetContrast:
    """Compare sets of two arms, per vignette.

    `sets_swap[v]` holds the sets of the replicates of vignette v under the swap; None is missing,
    an empty set is not. Two empty sets agree. Vignettes with fewer than two replicates in an arm
    are dropped from the excess and counted; the tests of elements use them all. With none left the
    rates are nan and p = 1. ValueError for unequal numbers of vignettes, or none.
    """
    swap, ref = _rows(sets_swap), _rows(sets_ref)
    if len(swap) != len(ref) or not swap:
        raise ValueError(
            f"sets_swap and sets_ref: expected the same vignettes, got {len(swap)} and {len(ref)}"
        )
    n_resamples, generate = whole("n_resamples", n_resamples), generator(rng)
    kept = [(x, y) for x, y in zip(swap, ref, strict=True) if len(x) > 1 and len(y) > 1]
    parts = np.zeros((len(kept), 3))
    sums = np.zeros(n_resamples)
    for row, (x, y) in zip(parts, kept, strict=True):
        distance = _distances(x + y)
        first = np.zeros((1, len(x) + len(y)), dtype=np.float64)
        first[0, : len(x)] = 1
        row[:] = _parts(distance, first)[0]
        shuffled = generate.permuted(np.tile(first, (n_resamples, 1)), axis=1)
        sums += _excess(_parts(distance, shuffled))
    cells = _excess(parts)
    means = parts.mean(axis=0) if kept else np.full(3, math.nan)
    # A hair inside, since equal sums may differ in the last digit.
    hits = int(np.count_nonzero(sums >= cells.sum() - 1e-9))
    return SetContrast(
        float(means[0] - (means[1] + means[2]) / 2),
        float(means[0]),
        float(means[1]),
        float(means[2]),
        (1 + hits) / (1 + n_resamples),
        len(kept),
        len(swap) - len(kept),
        n_resamples,
        cells,
        _element_tests(swap, ref),
        swap,
        ref,
    )


def _rows(sets: Sets) -> SetRows:
    return tuple(tuple(frozenset(s) for s in row if s is not None) for row in sets)


def _distances(sets: Sequence[frozenset[Hashable]]) -> Floats:
    distance = np.zeros((len(sets), len(sets)))
    for i, a in enumerate(sets):
        for j in range(i):
            together = len(a | sets[j])
            apart = len(a ^ sets[j]) / together if together else 0.0
            distance[i, j] = distance[j, i] = apart
    return distance


def _parts(distance: Floats, swap: Floats) -> Floats:
    """Mean distance across, within swap and within reference; `swap` marks rows `(size, n)`."""
    ref = 1 - swap
    m, n = float(swap[0].sum()), float(ref[0].sum())
    to_swap, to_ref = swap @ distance, ref @ distance
    crossed = (to_swap * ref).sum(axis=1) / (m * n)
    within_swap = (to_swap * swap).sum(axis=1) / (m * (m - 1))
    within_ref = (to_ref * ref).sum(axis=1) / (n * (n - 1))
    return np.stack((crossed, within_swap, within_ref), axis=1)


def _excess(parts: Floats) -> Floats:
    result: Floats = parts[:, 0] - (parts[:, 1] + parts[:, 2]) / 2
    return result


def _element_tests(swap: SetRows, ref: SetRows) -> tuple[ElementTest, ...]:
    elements = sorted({e for row in swap + ref for s in row for e in s}, key=repr)

    def counts(rows: SetRows, element: Hashable) -> list[int]:
        return [sum(element in s for s in row) for row in rows]

    m, n = [len(row) for row in swap], [len(row) for row in ref]
    tests = [stratified_test(counts(swap, e), m, counts(ref, e), n) for e in elements]
    adjusted = holm([test.p for test in tests]).tolist()
    found = [ElementTest(*row) for row in zip(elements, tests, adjusted, strict=True)]
    return tuple(sorted(found, key=lambda found: found.test.p))
