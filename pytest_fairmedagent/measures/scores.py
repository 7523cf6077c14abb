"""Scores and ordinal levels: how far they move, which way, and beside how much they move anyway."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_fairmedagent.domain import Outcome, ReplicateTable
from pytest_fairmedagent.measures._rows import outcome_of, readings
from pytest_fairmedagent.stats import ScoreTest, score_test
from pytest_fairmedagent.stats._result import Result


@dataclass(frozen=True, repr=False)
class ScoreShift(Result):
    """A number under a swap and under its reference.

    `test` holds the signed mean difference, the mean absolute difference (MASD) and that within the
    arms, its floor; superiority, and p of the mean difference. `transitions` maps (level under the
    reference, level under the swap) to its share of cross pairs, each vignette counting alike;
    `up`, `down` and `same` in 0..1 sum them. `missing_swap` and `missing_ref` count trials without
    the number.
    """

    outcome: str
    swap: str
    reference: str
    vignettes: tuple[str, ...]
    test: ScoreTest
    transitions: Mapping[tuple[float, float], float]
    missing_swap: int
    missing_ref: int

    @property
    def signed(self) -> float:
        """Mean difference, swap minus reference, in units of the score."""
        return self.test.difference

    @property
    def absolute(self) -> float:
        """Mean absolute difference of cross pairs, in units of the score."""
        return self.test.absolute_difference

    @property
    def floor(self) -> float:
        """The same between replicates of one arm, mean of both; nan without replicate pairs."""
        return self.test.floor

    @property
    def up(self) -> float:
        return _share(self.transitions, 1)

    @property
    def down(self) -> float:
        return _share(self.transitions, -1)

    @property
    def same(self) -> float:
        return _share(self.transitions, 0)

    def __str__(self) -> str:
        return (
            f"{self.outcome}, {self.swap} vs {self.reference}: {self.test}; higher in "
            f"{self.up:.3f}, lower in {self.down:.3f} of pairs"
        )


def score_shift(
    table: ReplicateTable,
    vignettes: Sequence[str],
    outcome: str | Outcome,
    *,
    swap: str,
    reference: str = "reference",
    unit: float = 1.0,
    rng: int = 0,
) -> ScoreShift:
    """Return how a score or an ordinal level shifts under a swap.

    `unit` is the step that counts as one discordant pair in the interval. ValueError without
    vignettes, or for an outcome that is not a number.
    """
    read = outcome_of(outcome)
    x = readings(table, vignettes, swap, read)
    y = readings(table, vignettes, reference, read)
    return ScoreShift(
        outcome=read.id,
        swap=swap,
        reference=reference,
        vignettes=tuple(vignettes),
        test=score_test(x, y, unit=unit, rng=rng),
        transitions=_transitions(x, y),
        missing_swap=sum(row.count(None) for row in x),
        missing_ref=sum(row.count(None) for row in y),
    )


def _transitions(
    swap: Sequence[Sequence[float | None]], reference: Sequence[Sequence[float | None]]
) -> dict[tuple[float, float], float]:
    shares: dict[tuple[float, float], float] = {}
    n_cells = 0
    for row, base in zip(swap, reference, strict=True):
        pairs = [(b, a) for a in row for b in base if a is not None and b is not None]
        n_cells += bool(pairs)
        for pair in pairs:
            shares[pair] = shares.get(pair, 0.0) + 1 / len(pairs)
    return {pair: share / n_cells for pair, share in sorted(shares.items())}


def _share(transitions: Mapping[tuple[float, float], float], sign: int) -> float:
    if not transitions:
        return math.nan
    return sum(s for (a, b), s in transitions.items() if (b > a) - (b < a) == sign)
