"""Gwet's AC1: agreement of any number of raters that does not sink where one answer prevails."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from ._check import fraction
from ._result import Result


@dataclass(frozen=True, repr=False, eq=False)
class Agreement(Result):
    """AC1 in -1..1 with its standard error over cases, and the plain share of agreeing pairs.

    nan where no case has two answers. `n` counts the cases that have at least two.
    """

    value: float
    se: float
    agreement: float
    n: int
    n_raters: int

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Normal interval clipped to -1..1; (-1, 1) where nothing can be said."""
        z = NormalDist().inv_cdf((1 + fraction("confidence", confidence)) / 2)
        if math.isnan(self.value) or math.isnan(self.se):
            return -1.0, 1.0
        return max(-1.0, self.value - z * self.se), min(1.0, self.value + z * self.se)

    def __str__(self) -> str:
        low, high = self.interval()
        return (
            f"AC1 {self.value:.3f} [{low:.3f}, {high:.3f}] over {self.n} cases and "
            f"{self.n_raters} raters, agreement {self.agreement:.3f}"
        )


def ac1(answers: Sequence[Sequence[Hashable | None]], labels: Sequence[Hashable]) -> Agreement:
    """Return the agreement of raters: one row a case, one column a rater, None for no answer.

    Args:
        labels: all answers that can be given, at least two.

    Gwet, Computing inter-rater reliability and its variance in the presence of high agreement,
    British Journal of Mathematical and Statistical Psychology 61, 2008. ValueError for fewer than
    two labels or for an answer that is none of them.
    """
    order = {label: i for i, label in enumerate(labels)}
    if len(order) < 2:
        raise ValueError(f"labels: expected at least two, got {len(order)}")
    counts = np.zeros((len(answers), len(order)))
    for i, row in enumerate(answers):
        for answer in row:
            if answer is not None and answer not in order:
                raise ValueError(f"answers: {answer!r} is none of the labels")
            if answer is not None:
                counts[i, order[answer]] += 1
    n_raters = max((len(row) for row in answers), default=0)
    counts = counts[counts.sum(axis=1) > 0]
    given = counts.sum(axis=1, keepdims=True)
    several = given[:, 0] >= 2
    n, n_several = len(counts), int(several.sum())
    if not n_several:
        return Agreement(math.nan, math.nan, math.nan, 0, n_raters)
    pairs = np.zeros(n)
    r = given[several, 0]
    pairs[several] = (counts[several] * (counts[several] - 1)).sum(axis=1) / (r * (r - 1))
    observed = float(pairs[several].mean())
    shares = counts / given
    prevalence = shares.mean(axis=0)
    scale = 1 / (len(order) - 1)
    chance = float(scale * (prevalence * (1 - prevalence)).sum())
    value = (observed - chance) / (1 - chance)
    if n < 2:
        return Agreement(value, math.nan, observed, n_several, n_raters)
    own = np.where(several, (n / n_several) * (pairs - chance) / (1 - chance), 0.0)
    own_chance = scale * (prevalence * (1 - shares)).sum(axis=1)
    own = own - 2 * (1 - value) * (own_chance - chance) / (1 - chance)
    variance = float(((own - value) ** 2).sum()) / (n * (n - 1))
    return Agreement(value, math.sqrt(variance), observed, n_several, n_raters)
