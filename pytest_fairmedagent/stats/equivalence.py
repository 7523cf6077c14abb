"""Inside a margin, or hopeless: two one-sided tests, and stopping for futility."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from ._check import fraction
from ._result import Result
from .exact import StratifiedTest

_NORMAL = NormalDist()


@dataclass(frozen=True, repr=False, eq=False)
class Equivalence(Result):
    """Two one-sided tests of a gap against -margin and +margin (Schuirmann 1987).

    `p` in 0..1 is the larger of `p_below` (against a gap at or below -margin) and `p_above`
    (against one at or above margin). `equivalent` is p < alpha, the same as the
    1 - 2 alpha `interval` lying inside the margin.
    """

    equivalent: bool
    p: float
    p_below: float
    p_above: float
    gap: float
    margin: float
    interval: tuple[float, float]
    alpha: float
    test: StratifiedTest

    def __str__(self) -> str:
        low, high = self.interval
        verb = "inside" if self.equivalent else "not shown inside"
        return (
            f"gap {self.gap:+.3f} with {1 - 2 * self.alpha:.0%} interval [{low:.3f}, {high:.3f}] "
            f"{verb} +-{self.margin:g}, p={self.p:.3g}"
        )


def tost(test: StratifiedTest, *, margin: float, alpha: float = 0.05) -> Equivalence:
    """Whether the signed gap of `test` is shown to be inside (-margin, margin).

    Uses the interval of `StratifiedTest` ("pooled floor plus one"). There is no default margin:
    what gap would not matter is for people to say. Without pairs p = 1. ValueError for a margin
    outside (0, 1) or alpha outside (0, 1/2).
    """
    margin, alpha = fraction("margin", margin), fraction("alpha", alpha)
    if alpha >= 0.5:
        raise ValueError(f"alpha: expected a level below one half, got {alpha}")
    if not test.weight:
        return Equivalence(False, 1.0, 1.0, 1.0, test.gap, margin, (-1.0, 1.0), alpha, test)
    se = test.se()
    below, above = _NORMAL.cdf(-(test.gap + margin) / se), _NORMAL.cdf((test.gap - margin) / se)
    p = max(below, above)
    interval = test.interval(1 - 2 * alpha)
    return Equivalence(p < alpha, p, below, above, test.gap, margin, interval, alpha, test)


@dataclass(frozen=True, repr=False, eq=False)
class Futility(Result):
    """Chances, in 0..1, of each verdict at the planned end, if things go on as they are.

    `stop` when neither exceeds `threshold`. Non-binding: stopping, or not, leaves the level alone.
    `equivalent` is nan without a margin.
    """

    stop: bool
    disparity: float
    equivalent: float
    threshold: float
    share_done: float
    test: StratifiedTest

    def __str__(self) -> str:
        certify = "" if math.isnan(self.equivalent) else f", of EQUIVALENT {self.equivalent:.2f}"
        return (
            f"{self.share_done:.0%} done; chance of DISPARITY at the end {self.disparity:.2f}"
            f"{certify}: {'stop' if self.stop else 'go on'}"
        )


def futility(
    test: StratifiedTest,
    *,
    share_done: float,
    margin: float | None = None,
    alpha: float = 0.05,
    threshold: float = 0.1,
) -> Futility:
    """Whether a run that has done `share_done` (0..1) of its pairs can still reach a verdict.

    The rest is imagined at the gap seen so far, with the floor seen so far plus one discordant
    pair; normal, with half a lattice step off as in planning. ValueError for numbers out of range
    or a test without pairs.
    """
    share_done, alpha = fraction("share_done", share_done, ends=True), fraction("alpha", alpha)
    threshold = fraction("threshold", threshold)
    if not test.weight:
        raise ValueError("test: expected a test with pairs in both arms, got none")
    if not share_done:
        raise ValueError("share_done: expected a share above 0, got 0")
    done = test.n_pairs
    pairs = done / share_done
    floor = (4 * test.null_var + 1) / done
    mean, spread = test.gap * pairs, math.sqrt(floor * (pairs - done))
    critical = 1 - _NORMAL.inv_cdf(alpha / 2) * math.sqrt(floor * pairs)
    disparity = _above(mean - critical, spread) + _above(-mean - critical, spread)
    equivalent = math.nan
    if margin is not None:
        reach = -_NORMAL.inv_cdf(alpha) * math.sqrt(floor * pairs + 1)
        room = fraction("margin", margin) * pairs - reach
        outside = _above(mean - room, spread) + _above(-mean - room, spread)
        equivalent = max(0.0, 1 - outside) if room > 0 else 0.0
    best = disparity if math.isnan(equivalent) else max(disparity, equivalent)
    return Futility(best <= threshold, min(1.0, disparity), equivalent, threshold, share_done, test)


def _above(distance: float, spread: float) -> float:
    if spread == 0:
        return 1.0 if distance > 0 else 0.0
    return _NORMAL.cdf(distance / spread)
