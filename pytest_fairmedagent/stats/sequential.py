"""Looking after every round: evidence that stays valid whenever one stops.

A round is one fresh pair of runs per vignette, arms interleaved. Of its pairs `b` are positive
under the swap only, `c` under the reference only, `z` agree. Pairs are formed in the order of
arrival, before the data, so no choice of pairing is left. Stop between rounds only, and keep quiet
vignettes in: otherwise the claim shrinks to "no vignette changes".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from ._check import Floats, Ints, as_counts, fraction, positive, whole
from ._result import Result

_NODES = 200


@dataclass(frozen=True, repr=False, eq=False)
class EProcess(Result):
    """Evidence against "no mean gap" after each round, arrays `(n_rounds,)`.

    `e` is the e-value, 0..inf: the null keeps P(ever e >= 1/alpha) <= alpha. `p` is the anytime
    p-value 1 / max e so far, in 0..1, which may enter Holm.
    """

    e: Floats
    p: Floats
    b: Ints
    c: Ints

    def first_rejection(self, alpha: float = 0.05) -> int | None:
        """Number of rounds at the first e >= 1 / alpha; None if it never got there."""
        reached = np.flatnonzero(self.e >= 1 / fraction("alpha", alpha))
        return int(reached[0]) + 1 if reached.size else None

    def __str__(self) -> str:
        return (
            f"e={self.e[-1]:.3g} after {self.e.size} rounds "
            f"(b={self.b.sum()}, c={self.c.sum()}), anytime p={self.p[-1]:.3g}"
        )


def e_value(b: int, c: int) -> float:
    """Evidence against "no mean gap" in 0..inf from `b` and `c` discordant pairs.

    2**n / ((n + 1) C(n, b)), n = b + c: the uniform mixture of the bets prod(1 + lambda D) over
    lambda in -1..1, with D = +1 or -1 for a discordant pair. 1 without any; eight on one side are
    the fewest that reach 20. Ville's inequality at the end of any round, for the weak null too
    (Waudby-Smith and Ramdas 2024). ValueError for negative or fractional counts.
    """
    b, c = whole("b", b, least=0), whole("c", c, least=0)
    n = b + c
    try:
        return (1 << n) / ((n + 1) * math.comb(n, b))
    except OverflowError:
        return math.inf


def e_process(b: ArrayLike, c: ArrayLike) -> EProcess:
    """The e-values after each round; `b` and `c` are the new discordant pairs of each round.

    ValueError for impossible counts or arrays of unequal length.
    """
    bs, cs = as_counts("b", b), as_counts("c", c)
    if bs.shape != cs.shape:
        raise ValueError(f"b and c: expected one value per round in both, got {bs.size}, {cs.size}")
    so_far = zip(np.cumsum(bs).tolist(), np.cumsum(cs).tolist(), strict=True)
    e = np.array([e_value(x, y) for x, y in so_far])
    return EProcess(e, np.minimum(1.0, 1 / np.maximum.accumulate(e)), bs, cs)


def smallest_detectable_gap_e(
    floor: float, n_pairs: float, *, alpha: float = 0.05, power: float = 0.8, n_members: int = 1
) -> float:
    """Smallest signed gap, in 0..1, whose e-value after `n_pairs` reaches n_members / alpha.

    With chance `power` at the last round alone, so the earlier ones only add to it. A gap brings
    discordant pairs of both signs with it, as many as it is uneven over vignettes: floor + gap / 2
    of the pairs are taken to be discordant, which simulation shows to be cautious or right. 1 where
    no gap is enough. ValueError for numbers out of range.
    """
    floor, alpha = fraction("floor", floor, ends=True), fraction("alpha", alpha)
    pairs, bar = positive("n_pairs", n_pairs), whole("n_members", n_members) / alpha
    short = NormalDist().inv_cdf(fraction("power", power))

    def reaches(gap: float) -> bool:
        share = min(1.0, max(gap, floor + gap / 2))
        difference = pairs * gap - short * math.sqrt(pairs * (share - gap * gap))
        c = pairs * (share - gap) / 2
        return difference > 0 and e_value(round(c + difference), round(c)) >= bar

    if not reaches(1.0):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high


def confidence_sequence(b: int, c: int, z: int, *, alpha: float = 0.05) -> tuple[float, float]:
    """Interval of the mean signed gap, in -1..1, that holds at all rounds together.

    All g that the mixture over lambda in (-1/(1-g), 1/(1+g)) of
    (1 + lambda (1-g))**b (1 - lambda g)**z (1 - lambda (1+g))**c does not refute at 1 / alpha.
    (-1, 1) without pairs. ValueError for impossible counts or alpha.
    """
    counts = _three(b, c, z)
    bar = -math.log(fraction("alpha", alpha))
    n = sum(counts)
    if not n:
        return -1.0, 1.0
    centre = (counts[0] - counts[1]) / n

    def end(far: float) -> float:
        near, edge = centre, far
        if _log_mixture(far, counts) < bar:
            return far
        for _ in range(40):  # to 1e-12 of the scale
            middle = (near + edge) / 2
            near, edge = (near, middle) if _log_mixture(middle, counts) >= bar else (middle, edge)
        return near

    return end(-1.0), end(1.0)


def margin_e_values(b: int, c: int, z: int, *, margin: float) -> tuple[float, float]:
    """(evidence that the gap is above -margin, evidence that it is below margin), each 0..inf.

    EQUIVALENT as soon as both have reached 1 / alpha: two one-sided tests, safe at every round.
    The same mixture as `confidence_sequence`, over the bets on one side. ValueError for impossible
    counts or a margin outside (0, 1).
    """
    counts, margin = _three(b, c, z), fraction("margin", margin)
    above = _log_mixture(-margin, counts, side=1)
    below = _log_mixture(margin, counts, side=-1)
    return _exp(above), _exp(below)


def _three(b: int, c: int, z: int) -> tuple[int, int, int]:
    return whole("b", b, least=0), whole("c", c, least=0), whole("z", z, least=0)


def _exp(log: float) -> float:
    return math.exp(log) if log < 709 else math.inf


@lru_cache(maxsize=1)
def _nodes() -> tuple[Floats, Floats]:
    at, weight = np.polynomial.legendre.leggauss(_NODES)
    return at, np.log(weight / 2)


def _log_mixture(g: float, counts: tuple[int, int, int], side: int = 0) -> float:
    """log wealth of the mixture of bets against a mean gap of g; `side` keeps one sign of bets."""
    b, c, z = counts
    # At the very ends one side of the bets is unbounded; stop a hair before.
    g = min(1 - 1e-9, max(-1 + 1e-9, g))
    low = 0.0 if side > 0 else -1 / (1 - g)
    high = 0.0 if side < 0 else 1 / (1 + g)
    at, log_weight = _nodes()
    bets = (low + high) / 2 + (high - low) / 2 * at
    log_wealth = (
        log_weight
        + b * np.log1p(bets * (1 - g))
        + z * np.log1p(-bets * g)
        + c * np.log1p(-bets * (1 + g))
    )
    top = float(log_wealth.max())
    return top + math.log(float(np.exp(log_wealth - top).sum()))
