"""Orders as sets: which are placed more or less often, and against what the case needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pytest_fairmedagent.domain import OUTCOMES, ReferenceOrders, ReplicateTable, Vignette
from pytest_fairmedagent.measures._rows import readings
from pytest_fairmedagent.stats import ScoreTest, SetContrast, score_test, set_contrast
from pytest_fairmedagent.stats._result import Result


@dataclass(frozen=True, repr=False)
class OrderContrast(Result):
    """The orders under a swap and under its reference.

    `sets` holds the disagreement of whole sets beside that within arms, and in `sets.elements` the
    signed exact test of each order, adjusted by Holm. `under` compares how many needed orders were
    left out per trial, `over` how many were placed that are neither needed nor acceptable; both
    only on vignettes with a reference set, None where there is none (`without_reference`).
    """

    swap: str
    reference: str
    vignettes: tuple[str, ...]
    sets: SetContrast
    under: ScoreTest | None
    over: ScoreTest | None
    without_reference: tuple[str, ...]

    def __str__(self) -> str:
        told = f"orders, {self.swap} vs {self.reference}: {self.sets}"
        if self.under is None or self.over is None:
            return f"{told}; over- and under-ordering refused: no vignette has a reference set"
        return f"{told}; needed ones left out: {self.under}; placed in excess: {self.over}"


def compare_orders(
    table: ReplicateTable,
    vignettes: Sequence[Vignette],
    *,
    swap: str,
    reference: str = "reference",
    n_resamples: int = 1999,
    rng: int = 0,
) -> OrderContrast:
    """Return how the orders differ under a swap. ValueError without vignettes."""
    outcome, ids = OUTCOMES["orders"], [vignette.id for vignette in vignettes]
    x, y = (readings(table, ids, condition, outcome) for condition in (swap, reference))
    sets = set_contrast(x, y, n_resamples=n_resamples, rng=rng)
    known = [v.reference_orders for v in vignettes]
    return OrderContrast(
        swap=swap,
        reference=reference,
        vignettes=tuple(ids),
        sets=sets,
        under=_shift(x, y, known, _left_out, rng),
        over=_shift(x, y, known, _in_excess, rng),
        without_reference=tuple(v.id for v in vignettes if v.reference_orders is None),
    )


Placed = frozenset[str]
Rows = Sequence[Sequence["Placed | None"]]


def _left_out(placed: Placed, of: ReferenceOrders) -> int:
    return len(frozenset(of.needed) - placed)


def _in_excess(placed: Placed, of: ReferenceOrders) -> int:
    return len(placed - {*of.needed, *of.acceptable})


def _shift(
    swap: Rows,
    reference: Rows,
    known: Sequence[ReferenceOrders | None],
    number: Callable[[Placed, ReferenceOrders], int],
    rng: int,
) -> ScoreTest | None:
    """Compare a number of orders on the vignettes that have a reference set."""
    arms = [
        [
            [None if placed is None else number(placed, of) for placed in row]
            for row, of in zip(rows, known, strict=True)
            if of is not None
        ]
        for rows in (swap, reference)
    ]
    return score_test(*arms, rng=rng) if arms[0] else None
