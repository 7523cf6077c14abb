"""Stored answers that are served again: draws of an arm which repeat each other as a whole.

Inside one arm, picks from a few stored answers look like an agent with a few fixed answers. They
are found where something is known of honest draws: two arms of the same text must agree with each
other as often as with themselves (`repeats_between`), and fields that hardly ever agree by
themselves cannot all agree at once (`repeats_of_fields`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ._check import Floats, Ints, Rng, generator, whole
from ._convolution import SMALLEST, convolve_all
from ._result import Result

Cell = Sequence[Hashable | None]

MOST_DRAWS = 40  # of each arm: the law of more draws is long, and so many show copies
_APART = 0.9  # a field that tells draws apart differs in so many of the pairs that differ at all
_REPEATED = 0.25  # share of pairs that are wholly alike, from where few stored answers are likely


@dataclass(frozen=True, repr=False, eq=False)
class ArmRepeats(Result):
    """Pairs of one whole output in two arms of the same text: `within` an arm and `between` them.

    `p` is the exact probability of so few `between` or fewer if draws were exchangeable between the
    arms, given the outputs of each cell; `expected` is their mean number. `n_cells` counts the
    cells that can tell.
    """

    p: float
    within: int
    between: int
    expected: float
    n_cells: int

    def __str__(self) -> str:
        return (
            f"{self.between} equal outputs between the arms where {self.expected:.1f} are expected "
            f"({self.within} within them, {self.n_cells} cells), p={self.p:.3g}"
        )


def repeats_between(first: Sequence[Cell], second: Sequence[Cell]) -> ArmRepeats:
    """Exact test that two arms of the same text repeat each other's whole outputs as their own.

    Both hold one sequence of whole outputs per vignette, compared for equality; None is missing.
    Where the answers of an arm come from a few that were stored for it, they repeat inside the arm
    and not between arms. Cells where each arm has one output only tell nothing here: such copies
    count as one answer anyway. Of more than 40 draws of an arm the first 40 are taken. ValueError
    for unequal numbers of cells.
    """
    if len(first) != len(second):
        raise ValueError(f"second: expected {len(first)} cells, got {len(second)}")
    laws: list[Floats] = []
    within = between = n_cells = 0
    expected = 0.0
    for a, b in zip(first, second, strict=True):
        one, two = Counter(_kept(a)), Counter(_kept(b))
        if len(one) < 2 and len(two) < 2:
            continue
        m, n = one.total(), two.total()
        shape = tuple(sorted((one + two).values()))
        met = sum(count * two[output] for output, count in one.items())
        within += sum(math.comb(c, 2) for c in (*one.values(), *two.values()))
        between += met
        expected += sum(math.comb(c, 2) for c in shape) * m * n / math.comb(m + n, 2)
        laws.append(_between_law(m, n, shape))
        n_cells += len(shape) < m + n
    p = min(1.0, max(SMALLEST, float(convolve_all(laws)[: between + 1].sum())))
    return ArmRepeats(p, within, between, expected, n_cells)


def _kept(cell: Cell) -> list[Hashable]:
    return [output for output in cell if output is not None][:MOST_DRAWS]


@lru_cache(maxsize=4096)
def _between_law(m: int, n: int, shape: tuple[int, ...]) -> Floats:
    """Law of the equal pairs between `m` and `n` draws, for outputs that occur `shape` times."""
    most = sum((c // 2) * (c - c // 2) for c in shape)
    ways = np.zeros((m + 1, most + 1))
    ways[0, 0] = 1.0
    for c in shape:
        after = np.zeros_like(ways)
        for x in range(min(c, m) + 1):
            met = x * (c - x)
            after[x:, met:] += math.comb(c, x) * ways[: m + 1 - x, : most + 1 - met]
        ways = after
    law: Floats = ways[m] / ways[m].sum()
    law.setflags(write=False)
    return law


@dataclass(frozen=True, repr=False, eq=False)
class FieldRepeats(Result):
    """How often draws of one arm repeat each other as a whole, beside what their fields explain.

    `fields` are the places of those that tell draws apart: in pairs which are not wholly alike they
    agree in fewer than a tenth. `repeated` is the share of pairs, in 0..1, that are wholly alike,
    among cells with more than one output; nan without such cells. `p` is of so many pairs that
    agree in all of `fields` if these were drawn independently of each other in each cell. It is 1,
    without a test, where fewer than two fields tell draws apart, where a text does not, and where
    fewer than a quarter of pairs are wholly alike: an honest agent can look like that.
    """

    p: float
    repeated: float
    fields: tuple[int, ...]
    n_cells: int

    @property
    def telling(self) -> bool:
        """Whether there are two fields that tell draws apart, so that copies could be found."""
        return len(self.fields) > 1

    def __str__(self) -> str:
        if not self.n_cells:
            return "no cell has two different outputs: nothing to be told, p=1"
        return (
            f"{100 * self.repeated:.0f} % of pairs in {self.n_cells} mixed cells are wholly alike, "
            f"and others hardly agree in {len(self.fields)} fields, p={self.p:.3g}"
        )


def repeats_of_fields(
    cells: Sequence[Sequence[Sequence[Hashable] | None]],
    *,
    texts: Sequence[int] = (),
    n_resamples: int = 1999,
    rng: Rng = 0,
) -> FieldRepeats:
    """Test whether draws of one arm are wholly alike or unlike: picks from a few stored answers.

    `cells` holds one sequence of draws per vignette, and a draw the values of its fields, always
    the same ones in the same order; None is missing. `texts` are the places of fields of free text.
    Fields with at most two values never tell draws apart; two that always say the same must be
    given once. Each field's values are permuted within cells, seeded, and p = (1 + hits) /
    (1 + n_resamples). ValueError for draws of unequal length.
    """
    n_resamples, generate = whole("n_resamples", n_resamples), generator(rng)
    coded = _coded(cells)
    mixed = [cell for cell in coded if len(cell) > 1 and (cell != cell[0]).any()]
    if not mixed:
        return FieldRepeats(1.0, math.nan, (), 0)
    equal = np.concatenate([_equal_pairs(cell) for cell in mixed])
    alike = equal.all(axis=1)
    unlike = ~equal[~alike]
    apart = (unlike.mean(axis=0) >= _APART) & (np.concatenate(coded).max(axis=0) > 1)
    fields = tuple(np.flatnonzero(apart).tolist())
    repeated = float(alike.mean())
    texts_apart = all(apart[place] or not unlike[:, place].any() for place in texts)
    p = 1.0
    if len(fields) > 1 and texts_apart and repeated >= _REPEATED:
        p = _permuted_fields([cell[:, fields] for cell in mixed], n_resamples, generate)
    return FieldRepeats(p, repeated, fields, len(mixed))


def _coded(cells: Sequence[Sequence[Sequence[Hashable] | None]]) -> list[Ints]:
    """The draws of each cell, `(n_draws, n_fields)`: equal numbers are equal values of a field."""
    seats: list[dict[Hashable, int]] = []
    coded = []
    for cell in cells:
        rows = []
        for draw in [draw for draw in cell if draw is not None][:MOST_DRAWS]:
            seats = seats or [{} for _ in draw]
            if len(draw) != len(seats):
                raise ValueError(f"cells: expected {len(seats)} fields a draw, got {len(draw)}")
            rows.append(
                [seat.setdefault(v, len(seat)) for seat, v in zip(seats, draw, strict=True)]
            )
        if rows:
            coded.append(np.array(rows, dtype=np.int64).reshape(len(rows), len(seats)))
    return coded


def _equal_pairs(cell: Ints) -> np.ndarray:
    first, second = np.triu_indices(len(cell), 1)
    equal: np.ndarray = cell[first] == cell[second]
    return equal


def _permuted_fields(cells: Sequence[Ints], n_resamples: int, rng: np.random.Generator) -> float:
    observed, totals = 0, np.zeros(n_resamples, dtype=np.int64)
    for cell in cells:
        observed += int(_equal_pairs(cell).all(axis=1).sum())
        joined = np.broadcast_to(cell[:, 0], (n_resamples, len(cell)))
        for field in cell.T[1:]:
            values = rng.permuted(np.broadcast_to(field, joined.shape), axis=1)
            joined = joined * (int(field.max()) + 1) + values
            joined = np.unique(joined, return_inverse=True)[1].reshape(joined.shape)
        ordered = np.sort(joined, axis=1)
        for step in range(1, len(cell)):  # draws that far apart in order are equal throughout
            totals += (ordered[:, step:] == ordered[:, :-step]).sum(axis=1)
    return (1 + int(np.count_nonzero(totals >= observed))) / (1 + n_resamples)
