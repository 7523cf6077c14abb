"""After a run: what gap it could find, by the rule that decided, and without trying it out.

As in `stats.planning`, with the normal approximation of one action that is named. It is within 6 %
of `smallest_detectable_gap` there (looks after every round: 25 %, of what is smaller than a tenth),
and costs a fraction, so every contrast can say it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

from . import formula
from ._check import fraction, positive
from .certifying import pairs_to_certify
from .cuts import independent_cut
from .looks import spending_levels
from .planning import (
    MOST_PAIRS,
    MOST_ROUNDS,
    Rule,
    first_whole,
    looks_at,
    replicates_of,
    standardised,
    thinned,
)
from .sequential import smallest_detectable_gap_e

_NORMAL = NormalDist()
# An action is named only where its swap is found: it takes a gap so much larger, at any floor.
_SWAP_TOO = 1.03
_MOST_GAP = 0.98


@lru_cache(maxsize=4096)
def gap_in_sight(
    floor: float, n_pairs: float, rule: Rule, *, n_vignettes: float, power: float = 0.8
) -> float:
    """Smallest signed gap, in 0..1, of one action that is named with this power; 1 where none is.

    At the last look, to whose level the earlier ones only add. ValueError for numbers out of range.
    """
    floor, power = fraction("floor", floor, ends=True), fraction("power", power)
    pairs, v = positive("n_pairs", n_pairs), positive("n_vignettes", n_vignettes)
    if rule.kind == "e_process":
        members = rule.n_groups * rule.n_actions
        return smallest_detectable_gap_e(
            floor, pairs, alpha=rule.alpha, power=power, n_members=members
        )
    replicates = replicates_of(pairs, v, rule.ratio)
    z = _NORMAL.inv_cdf(power)

    def beyond(gap: float) -> float:
        return _distance(gap, floor, v, replicates, rule) - z

    about = formula.smallest_gap(floor, pairs, rule.level / rule.n_actions, power)
    found = _root(beyond, min(about, _MOST_GAP))
    return min(1.0, found * (_SWAP_TOO if rule.n_actions > 1 else 1.0))


def replicates_to_find(
    gap: float, floor: float, rule: Rule, *, n_vignettes: int, power: float = 0.8
) -> float:
    """Fewest replicates of a swap at which `gap_in_sight` is `gap` or less; inf for none.

    ValueError for numbers out of range.
    """
    floor, power = fraction("floor", floor, ends=True), fraction("power", power)
    gap = gap / (_SWAP_TOO if rule.n_actions > 1 and rule.kind != "e_process" else 1.0)
    if gap <= 0:
        return math.inf
    if rule.kind == "e_process":

        def enough(rounds: int) -> bool:
            pairs = float(n_vignettes * rounds)
            return gap_in_sight(floor, pairs, rule, n_vignettes=n_vignettes, power=power) <= gap

        return first_whole(enough, MOST_ROUNDS)
    z = _NORMAL.inv_cdf(power)
    most = MOST_PAIRS // n_vignettes
    return first_whole(lambda r: _distance(gap, floor, n_vignettes, r, rule) >= z, most)


def replicates_to_rule_out(
    margin: float, floor: float, rule: Rule, *, n_vignettes: int, power: float = 0.8
) -> float:
    """Fewest replicates that show one contrast inside the margin, if nothing differs.

    nan for looks after every round, which have no formula. ValueError for numbers out of range.
    """
    if rule.kind == "e_process":
        return math.nan
    level = rule.alpha
    if rule.kind != "fixed":
        level = spending_levels(looks_at(100), alpha=rule.alpha, kind=rule.kind)[-1]
    pairs = pairs_to_certify(
        margin, floor, n_vignettes=n_vignettes, alpha=level, power=power, ratio=rule.ratio
    )
    return round(replicates_of(pairs, n_vignettes, rule.ratio))


@lru_cache(maxsize=8192)
def _distance(gap: float, floor: float, v: float, replicates: float, rule: Rule) -> float:
    """How far the action's z is beyond its cut, in its own standard deviations."""
    level = rule.level
    if rule.kind != "fixed" and replicates > 2:
        level = spending_levels(looks_at(replicates), alpha=level, kind=rule.kind)[-1]
    cut = independent_cut(level, rule.n_actions)
    centre, spread, _ = standardised(floor, gap, v, replicates, rule.ratio)
    farther, _ = thinned(cut, gap, floor, v, replicates, rule, 1)
    return (centre - cut * farther) / spread


def _root(beyond: Callable[[float], float], about: float) -> float:
    """Where a rising function crosses 0, found from about there; 1 where it does not."""
    low = high = about
    at_low = at_high = beyond(about)
    while at_high < 0:
        if high >= _MOST_GAP:
            return 1.0
        low, at_low = high, at_high
        high = min(_MOST_GAP, 1.2 * high)
        at_high = beyond(high)
    while at_low >= 0:
        if low < 1e-4:
            return low
        high, at_high = low, at_low
        low = low / 1.2
        at_low = beyond(low)
    return low - at_low * (high - low) / (at_high - at_low)  # between so near ends it is a line
