"""Whether replicates are independent draws: serial dependence, a first draw apart, copies.

The exact tests count every replicate as evidence. That is wrong when a replicate resembles the one
before it, when the first differs from the rest, or when all are copies of one cached answer.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ._check import Floats, Ints, as_arms
from ._convolution import SMALLEST, convolve_all, integer_coefficients
from ._result import Result

Counts = tuple[Ints, Ints, Ints, Ints]


@dataclass(frozen=True, repr=False, eq=False)
class RunsTest(Result):
    """Runs (stretches of equal answers) in the replicate order of each vignette, added up.

    `p` is the exact probability of so few runs or fewer if the order were random: small means that
    a replicate resembles the one before it, so that they are not independent. Unanimous vignettes
    cannot tell (`n_cells` counts the others); with none, p = 1.
    """

    p: float
    runs: int
    expected: float
    n_cells: int
    cells: tuple[tuple[object, ...], ...]
    p_fraction: Fraction | None = None

    def __str__(self) -> str:
        return (
            f"{self.runs} runs where {self.expected:.1f} are expected in {self.n_cells} mixed "
            f"cells, p={self.p:.3g}"
        )


def runs_test(cells: Iterable[Sequence[object]], *, fractions: bool = False) -> RunsTest:
    """Exact test against sticky replicates, stratified by vignette.

    `cells` holds one sequence of 0/1 per vignette in the order in which it was drawn; None is a
    missing outcome and is left out. The law of the runs of a cell given its ones and zeros (Wald
    and Wolfowitz 1940) is convolved over cells. ValueError for other values and for no cells.
    """
    observed, shapes = 0, []
    kept_cells = _kept(cells)
    for index, cell in enumerate(kept_cells):
        order = [_bit(value, index) for value in cell if value is not None]
        ones = sum(order)
        if 0 < ones < len(order):
            observed += 1 + sum(a != b for a, b in pairwise(order))
            shapes.append((min(ones, len(order) - ones), max(ones, len(order) - ones)))
    shapes.sort()
    expected = math.fsum(1 + 2 * a * b / (a + b) for a, b in shapes)
    # Every mixed cell has at least two runs; laws are counted from there.
    at = observed - 2 * len(shapes)
    law = convolve_all([_runs_law(*shape) for shape in shapes])
    exact = None
    if fractions:
        ways = integer_coefficients([_runs_ways(*shape) for shape in shapes])
        exact = Fraction(sum(ways[: at + 1]), sum(ways))
    p = min(1.0, max(SMALLEST, float(law[: at + 1].sum())))
    return RunsTest(p, observed, expected, len(shapes), kept_cells, exact)


@dataclass(frozen=True, repr=False, eq=False)
class FirstDraw(Result):
    """How often the first replicate differs from the others, against how often those differ.

    `rate_first` is the share of (first, other) pairs that differ, `rate_rest` the share of pairs
    among the others, both in 0..1 and nan without such pairs. `p` is the exact probability of a
    first draw this much apart or more if any replicate could have been the first.
    """

    p: float
    rate_first: float
    rate_rest: float
    n_cells: int
    cells: tuple[tuple[Hashable | None, ...], ...]

    def __str__(self) -> str:
        return (
            f"the first draw differs from later ones in {self.rate_first:.3f} of pairs, later ones "
            f"among themselves in {self.rate_rest:.3f} ({self.n_cells} cells), p={self.p:.3g}"
        )


def first_draw_effect(cells: Iterable[Sequence[Hashable | None]]) -> FirstDraw:
    """Exact test of "the first replicate is like the others": a cold start fails it.

    `cells` holds one sequence per vignette in the order of the replicates; values are compared for
    equality, so they may be outcomes or whole outputs. None is missing; a cell whose first is
    missing, or with fewer than two others, is left out, and with none left p = 1. ValueError for
    no cells.
    """
    laws: list[Floats] = []
    observed = pairs_first = rest = pairs_rest = 0
    kept_cells = _kept(cells)
    for cell in kept_cells:
        kept = [value for value in cell if value is not None]
        if not cell or cell[0] is None or len(kept) < 3:
            continue
        alike = Counter(kept)
        differs = [len(kept) - alike[value] for value in kept]
        laws.append(np.bincount(differs).astype(np.float64) / len(kept))
        observed += differs[0]
        pairs_first += len(kept) - 1
        rest += sum(differs) // 2 - differs[0]
        pairs_rest += (len(kept) - 1) * (len(kept) - 2) // 2
    if not laws:
        return FirstDraw(1.0, math.nan, math.nan, 0, kept_cells)
    p = min(1.0, max(SMALLEST, float(convolve_all(laws)[observed:].sum())))
    return FirstDraw(p, observed / pairs_first, rest / pairs_rest, len(laws), kept_cells)


def collapse_unanimous(
    k_swap: ArrayLike, m_swap: ArrayLike, k_ref: ArrayLike, n_ref: ArrayLike
) -> tuple[Counts, bool]:
    """One outcome per vignette and arm if every cell is unanimous, else the counts as they are.

    Copies of one answer are one answer: without this, one vignette that flips in all of ten copies
    would be worth p = 1e-5. The second value says whether the counts were collapsed. ValueError for
    impossible counts.
    """
    k, m, j, n = as_arms(k_swap, m_swap, k_ref, n_ref)
    unanimous = bool((((k == 0) | (k == m)) & ((j == 0) | (j == n))).all())
    if not unanimous or max(m.max(), n.max()) < 2:
        return (k, m, j, n), False
    once = np.minimum(k, 1), np.minimum(m, 1), np.minimum(j, 1), np.minimum(n, 1)
    return once, True


Value = TypeVar("Value")


def _kept(cells: Iterable[Sequence[Value]]) -> tuple[tuple[Value, ...], ...]:
    kept = tuple(tuple(cell) for cell in cells)
    if not kept:
        raise ValueError("cells: expected at least one sequence of outcomes, got none")
    return kept


def _bit(value: object, index: int) -> int:
    if value in (0, 1):
        return int(value == 1)
    raise ValueError(f"cells[{index}]: expected 0, 1 or None, got {value!r}")


def _runs_ways(few: int, many: int) -> list[int]:
    """In how many orders `few` and `many` symbols form 2, 3, ... runs."""
    ways = []
    for runs in range(2, 2 * few + (2 if many > few else 1)):
        half, odd = divmod(runs, 2)
        if odd:
            count = math.comb(few - 1, half) * math.comb(many - 1, half - 1)
            count += math.comb(few - 1, half - 1) * math.comb(many - 1, half)
        else:
            count = 2 * math.comb(few - 1, half - 1) * math.comb(many - 1, half - 1)
        ways.append(count)
    return ways


@lru_cache(maxsize=4096)
def _runs_law(few: int, many: int) -> Floats:
    ways = _runs_ways(few, many)
    total = sum(ways)
    law = np.array([count / total for count in ways])
    law.setflags(write=False)
    return law
