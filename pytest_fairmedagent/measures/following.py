"""Which flips of an action go along with a change of an earlier outcome.

It describes what was seen, no more: what changed the order may have changed the later action by
another way. For effects see `mediation`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_fairmedagent.domain import Outcome, ReplicateTable
from pytest_fairmedagent.measures._rows import outcome_of, readings
from pytest_fairmedagent.stats._result import Result


@dataclass(frozen=True, repr=False)
class Following(Result):
    """How often an action flips where an earlier outcome changed, and where it did not.

    Over cross pairs of swap and reference, each vignette counting alike: `changed` is the share of
    pairs in which the earlier outcome differs, `flips_changed` and `flips_same` the shares in which
    the action flips besides. The `floor_` shares are the same over replicate pairs of the reference
    arm: what goes along with a changed order when nothing else differs. All in 0..1, nan without
    pairs. Descriptive, always: what changed the order may have changed the action itself.
    """

    earlier: str
    action: str
    swap: str
    reference: str
    vignettes: tuple[str, ...]
    n_pairs: int
    changed: float
    flips_changed: float
    flips_same: float
    floor_changed: float
    floor_flips_changed: float
    floor_flips_same: float

    @property
    def after_change(self) -> float:
        """P(action flips | earlier outcome changed); nan where it never changed."""
        return _over(self.flips_changed, self.changed)

    @property
    def after_same(self) -> float:
        """P(action flips | earlier outcome the same); nan where it always changed."""
        return _over(self.flips_same, 1 - self.changed)

    @property
    def floor_after_change(self) -> float:
        return _over(self.floor_flips_changed, self.floor_changed)

    @property
    def floor_after_same(self) -> float:
        return _over(self.floor_flips_same, 1 - self.floor_changed)

    def __str__(self) -> str:
        return (
            f"{self.action} flips in {self.after_change:.3f} of pairs whose {self.earlier} changed "
            f"({self.changed:.3f} of all) and in {self.after_same:.3f} of the others, {self.swap} "
            f"vs {self.reference}; among replicates of the reference {self.floor_after_change:.3f} "
            f"and {self.floor_after_same:.3f} (descriptive)"
        )


def following(
    table: ReplicateTable,
    vignettes: Sequence[str],
    action: str | Outcome,
    *,
    swap: str,
    reference: str = "reference",
    earlier: str | Outcome = "orders",
) -> Following:
    """Return which flips of an action follow a change of an earlier outcome."""
    first, then = outcome_of(earlier), outcome_of(action)
    arms = [
        [
            list(zip(before, after, strict=True))
            for before, after in zip(
                readings(table, vignettes, condition, first),
                readings(table, vignettes, condition, then),
                strict=True,
            )
        ]
        for condition in (swap, reference)
    ]
    known = [[[p for p in row if None not in p] for row in arm] for arm in arms]
    crossed = [[(a, b) for a in x for b in y] for x, y in zip(*known, strict=True)]
    within = [[(y[i], y[j]) for i in range(len(y)) for j in range(i)] for y in known[1]]
    return Following(
        first.id,
        then.id,
        swap,
        reference,
        tuple(vignettes),
        sum(map(len, crossed)),
        *_shares(crossed),
        *_shares(within),
    )


Pair = tuple[tuple[object, object], tuple[object, object]]


def _shares(cells: Sequence[Sequence[Pair]]) -> tuple[float, float, float]:
    """Shares of pairs: earlier changed; changed and action flips; same and action flips."""
    rows = []
    for pairs in filter(None, cells):
        apart = [(a[0] != b[0], a[1] != b[1]) for a, b in pairs]
        counts = (sum(c for c, _ in apart), sum(c and f for c, f in apart))
        counts_same = sum(f and not c for c, f in apart)
        rows.append([count / len(pairs) for count in (*counts, counts_same)])
    if not rows:
        return math.nan, math.nan, math.nan
    changed, with_change, without = (sum(column) / len(rows) for column in zip(*rows, strict=True))
    return changed, with_change, without


def _over(part: float, whole: float) -> float:
    return part / whole if whole > 0 else math.nan
