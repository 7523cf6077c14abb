"""The exact conditional odds ratio common to all vignettes.

An extra beside the signed gap. It conditions on the margins, so mapped to the scale of the gap its
interval can cover as little as .07: quote it as an odds ratio only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ._check import Floats, fraction
from ._convolution import sum_of_hypergeometrics
from ._result import Result
from .exact import StratifiedTest


@dataclass(frozen=True, repr=False, eq=False)
class OddsRatio(Result):
    """Odds of a positive outcome under the swap over those under the reference, 0..inf.

    Above 1: more positives under the swap. The conditional maximum likelihood estimate and the
    exact interval from the two one-sided tails. nan and (0, inf) when nothing varies.
    """

    estimate: float
    low: float
    high: float
    confidence: float
    test: StratifiedTest

    def __str__(self) -> str:
        return (
            f"common odds ratio {self.estimate:.3g} "
            f"[{self.low:.3g}, {self.high:.3g}] over {self.test.n_strata} strata"
        )


def odds_ratio(test: StratifiedTest, confidence: float = 0.95) -> OddsRatio:
    """The common odds ratio of the strata of `test` (Cox 1970; as fisher.test in R for one).

    ValueError for a confidence outside (0, 1).
    """
    tail = (1 - fraction("confidence", confidence)) / 2
    law = sum_of_hypergeometrics(test.margins)
    if law.size == 1:
        return OddsRatio(math.nan, 0.0, math.inf, confidence, test)
    low = int(np.maximum(0, test.k_swap + test.k_ref - test.n_ref).sum())
    at = test.statistic - low
    with np.errstate(divide="ignore"):
        log_law = np.log(law)
    steps = np.arange(law.size)

    def tilted(theta: float) -> Floats:
        exponent = log_law + theta * steps
        weights = np.exp(exponent - exponent.max())
        scaled: Floats = weights / weights.sum()
        return scaled

    first, last = at == 0, at == law.size - 1
    estimate = 0.0 if first else math.inf
    if not (first or last):
        estimate = _root(lambda x: float(tilted(x) @ steps) - at)
    lower = 0.0 if first else _root(lambda x: float(tilted(x)[at:].sum()) - tail)
    upper = math.inf if last else _root(lambda x: tail - float(tilted(x)[: at + 1].sum()))
    return OddsRatio(estimate, lower, upper, confidence, test)


def _root(rising: Callable[[float], float]) -> float:
    """exp of where an increasing function of the log odds ratio crosses 0."""
    low, high = -1.0, 1.0
    while rising(low) > 0 and low > -700:
        low *= 2
    while rising(high) < 0 and high < 700:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) > 0 else (middle, high)
    return math.exp((low + high) / 2)
