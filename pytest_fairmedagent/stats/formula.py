"""The formulas of one contrast by itself: normal, with half a lattice step of the exact test off.

For a gap that is the mean over the very vignettes that are drawn, and a floor that stays what it
is. Where the vignettes are known in number, `stats.planning` and `stats.certifying` do better.
"""

from __future__ import annotations

import math
from statistics import NormalDist

_NORMAL = NormalDist()


def smallest_gap(floor: float, n_pairs: float, level: float, power: float) -> float:
    """(z_level/2 + z_power) sqrt(floor / n) + 1 / n, at most 1."""
    z = _NORMAL.inv_cdf(power) - _NORMAL.inv_cdf(level / 2)
    return min(1.0, max(0.0, z * math.sqrt(floor / n_pairs)) + 1 / n_pairs)


def gap_power(gap: float, floor: float, n_pairs: float, level: float) -> float:
    """Phi((gap n - 1) / sqrt(floor n) - z_level/2): rejecting on the side of the gap."""
    return _phi(gap * n_pairs - 1, math.sqrt(floor * n_pairs), -_NORMAL.inv_cdf(level / 2))


def gap_pairs(gap: float, floor: float, level: float, power: float) -> float:
    """Pairs, not rounded, at which `gap_power` reaches `power`."""
    z = max(0.0, _NORMAL.inv_cdf(power) - _NORMAL.inv_cdf(level / 2))
    root = (z * math.sqrt(floor) + math.sqrt(z * z * floor + 4 * gap)) / (2 * gap)
    return root * root


def margin_power(margin: float, floor: float, n_pairs: float, alpha: float, gap: float) -> float:
    """Chance that the interval "pooled floor plus one" at 1 - 2 alpha is inside the margin."""
    reach = -_NORMAL.inv_cdf(alpha) * math.sqrt(floor * n_pairs + 1) / n_pairs
    room = margin - reach
    if room <= 0:
        return 0.0
    spread = math.sqrt(floor / n_pairs)
    return max(0.0, _phi(room - gap, spread) - _phi(-room - gap, spread))


def _phi(distance: float, spread: float, less: float = 0.0) -> float:
    """Phi(distance / spread - less); without spread, whether the distance is there at all."""
    if spread == 0:
        return 1.0 if distance > 0 else 0.0
    return _NORMAL.cdf(distance / spread - less)
