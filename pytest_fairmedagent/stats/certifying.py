"""Before the run: what margin a design can rule out gaps beyond, for one contrast and for all.

A contrast is EQUIVALENT where the 1 - 2 alpha interval of its gap lies inside the margin. That all
contrasts of a family are is one intersection-union claim: if one gap is at the margin, the chance
to clear all is at most alpha.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from ._check import Floats, fraction, positive, whole
from .cuts import normals
from .formula import margin_power
from .law import moments
from .looks import spending_levels
from .planning import MOST_PAIRS, first_whole, looks_at, replicates_of

_NORMAL = NormalDist()
_DATA_SETS = 6_000
_POINTS = 40  # of the law of a data set's own variance


def power_to_certify(
    margin: float,
    floor: float,
    n_pairs: float,
    *,
    n_vignettes: float | None = None,
    alpha: float = 0.05,
    gap: float = 0.0,
    ratio: float = 1.0,
) -> float:
    """Probability, in 0..1, that the 1 - 2 alpha interval of the gap is inside (-margin, margin).

    Two one-sided tests at alpha with the interval of `StratifiedTest.interval`, when the true mean
    gap is `gap`. With `n_vignettes` the floor that so many cases happen to have varies about
    `floor`. Both ends have to hold, so both are counted. 0 when the interval is wider than the
    margin whatever happens: such a design cannot certify anything. ValueError for numbers out of
    range.
    """
    margin, floor = fraction("margin", margin), fraction("floor", floor, ends=True)
    n_pairs, alpha = positive("n_pairs", n_pairs), fraction("alpha", alpha)
    if not -1 <= gap <= 1:
        raise ValueError(f"gap: expected a gap in -1..1, got {gap}")
    if n_vignettes is None:
        return margin_power(margin, floor, n_pairs, alpha, gap)
    v = positive("n_vignettes", n_vignettes)
    return _certified(margin, floor, n_pairs, v, alpha, abs(float(gap)), positive("ratio", ratio))


def pairs_to_certify(
    margin: float,
    floor: float,
    *,
    n_vignettes: int | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
    gap: float = 0.0,
    ratio: float = 1.0,
) -> float:
    """Pairs at which `power_to_certify` reaches `power`, at the next whole replicate.

    Without `n_vignettes`, at the next whole pair. inf when the true gap is not inside the margin.
    ValueError for numbers out of range.
    """
    margin, power = fraction("margin", margin), fraction("power", power)
    if not -1 <= gap <= 1:
        raise ValueError(f"gap: expected a gap in -1..1, got {gap}")
    if abs(gap) >= margin:
        return math.inf
    fixed = None if n_vignettes is None else whole("n_vignettes", n_vignettes)
    each = 1.0 if fixed is None else fixed * 2 * ratio / (1 + ratio)

    def enough(number: int) -> bool:
        pairs = number * each
        found = power_to_certify(
            margin, floor, pairs, n_vignettes=fixed, alpha=alpha, gap=gap, ratio=ratio
        )
        return found >= power

    return first_whole(enough, MOST_PAIRS) * each


def chance_to_certify_all(
    margin: float,
    floors: Sequence[float],
    n_vignettes: float | Sequence[float],
    replicates: float,
    *,
    n_swaps: int = 1,
    alpha: float = 0.05,
    ratio: float = 1.0,
    gs: bool = False,
    measured: bool = False,
) -> float:
    """Chance, in 0..1, that every contrast is EQUIVALENT if nothing differs.

    `floors` has the floor of each action, `n_vignettes` one number or that of each. All swaps are
    compared with one reference, which makes their gaps alike, and the actions of one trajectory
    hang together a little. `measured` tells that the floors are those of the very vignettes, and
    not of a law that they come from. With `gs`, at any of five looks. ValueError for numbers out of
    range.
    """
    margin = fraction("margin", margin)
    law = _law(floors, n_vignettes, replicates, n_swaps, alpha, ratio, gs, measured)
    return float(np.searchsorted(law, margin)) / law.size


def provable_margin(
    floors: Sequence[float],
    n_vignettes: float | Sequence[float],
    replicates: float,
    *,
    n_swaps: int = 1,
    alpha: float = 0.05,
    power: float = 0.8,
    ratio: float = 1.0,
    gs: bool = False,
) -> float:
    """Smallest margin, above 0, that all contrasts are shown inside with this power.

    1 or more where none is. See `chance_to_certify_all`; ValueError as there.
    """
    power = fraction("power", power)
    law = _law(floors, n_vignettes, replicates, n_swaps, alpha, ratio, gs, measured=False)
    return float(law[min(law.size - 1, math.ceil(power * law.size))]) + 1e-9


def replicates_to_certify_all(
    margin: float,
    floors: Sequence[float],
    n_vignettes: float | Sequence[float],
    *,
    n_swaps: int = 1,
    alpha: float = 0.05,
    power: float = 0.8,
    ratio: float = 1.0,
    measured: bool = False,
    most: int = 2**20,
) -> float:
    """Fewest replicates at which `chance_to_certify_all` reaches `power`; inf above `most`.

    See there, ValueError too.
    """

    def enough(replicates: int) -> bool:
        found = chance_to_certify_all(
            margin,
            floors,
            n_vignettes,
            replicates,
            n_swaps=n_swaps,
            alpha=alpha,
            ratio=ratio,
            measured=measured,
        )
        return found >= power

    return first_whole(enough, most)


def _law(
    floors: Sequence[float],
    n_vignettes: float | Sequence[float],
    replicates: float,
    n_swaps: int,
    alpha: float,
    ratio: float,
    gs: bool,
    measured: bool,
) -> Floats:
    swaps = whole("n_swaps", n_swaps)
    sizes = n_vignettes if isinstance(n_vignettes, Sequence) else [n_vignettes] * len(floors)
    if len(sizes) != len(floors) or not floors:
        raise ValueError(
            f"floors: expected one for each of {len(sizes)} actions, got {len(floors)}"
        )
    v = tuple(positive("n_vignettes", size) for size in sizes)
    found = tuple(fraction("floors", floor, ends=True) for floor in floors)
    alpha, replicates = fraction("alpha", alpha), positive("replicates", replicates)
    return _least_margins(found, v, replicates, swaps, alpha, ratio, gs, measured)


@lru_cache(maxsize=8192)
def _certified(
    margin: float, floor: float, n_pairs: float, v: float, alpha: float, gap: float, ratio: float
) -> float:
    replicates = replicates_of(n_pairs, v, ratio)
    weight, z = n_pairs / 2, -_NORMAL.inv_cdf(alpha)
    one = moments(floor, gap, replicates, replicates * ratio)
    # Given W, the gap varies by it; with a true gap also by what vignettes differ in.
    more = max(0.0, one.var_t / one.w) if gap else 1.0
    total = 0.0
    for w in _spread(one.w * v, one.var_w * v, v):
        room = margin - z * math.sqrt(w + 0.25) / weight
        if room <= 0:
            continue
        spread = math.sqrt(w * more) / weight
        if spread == 0:
            total += float(gap < room)
        else:
            total += _NORMAL.cdf((room - gap) / spread) - _NORMAL.cdf((-room - gap) / spread)
    return min(1.0, max(0.0, total / _POINTS))


def _spread(mean: float, variance: float, v: float) -> list[float]:
    """Equally likely values of a gamma law, by Wilson and Hilferty (1931)."""
    if mean <= 0:
        return [0.0] * _POINTS
    unit = min(variance / (mean * mean), 0.5) / 9
    at = [_NORMAL.inv_cdf((i + 0.5) / _POINTS) for i in range(_POINTS)]
    return [mean * max(0.0, 1 - unit + x * math.sqrt(unit)) ** 3 for x in at]


@lru_cache(maxsize=1024)
def _least_margins(
    floors: tuple[float, ...],
    v: tuple[float, ...],
    replicates: float,
    swaps: int,
    alpha: float,
    ratio: float,
    gs: bool,
    measured: bool,
) -> Floats:
    """The smallest margin that all contrasts of a data set are inside of, sorted over data sets.

    A contrast may be decided at any look, so its best one counts; of the contrasts the worst.
    """
    ends: tuple[float, ...] = looks_at(replicates) if gs else (replicates,)
    levels: tuple[float, ...] = spending_levels(ends, alpha=alpha) if len(ends) > 1 else (alpha,)
    actions = len(floors)
    # Independent draws of the swaps' and the reference's share of a gap, for each action.
    noise = normals(actions * (swaps + 1), len(ends), 0.0, _DATA_SETS)
    own = _own(len(noise), actions)
    drift, done = np.zeros((len(noise), actions * (swaps + 1))), 0.0
    least = np.full((len(noise), swaps, actions), np.inf)
    for look, (end, level) in enumerate(zip(ends, levels, strict=True)):
        drift = math.sqrt(done / end) * drift + math.sqrt(1 - done / end) * noise[:, look]
        done = end
        arms = drift.reshape(len(noise), swaps + 1, actions)
        shared = 1 / (1 + ratio)
        z = math.sqrt(1 - shared) * arms[:, :swaps] + math.sqrt(shared) * arms[:, swaps:]
        weight = np.array(v) * end * ratio / (1 + ratio)
        w = _variances(floors, v, end, ratio, own, measured)[:, None, :]
        reach = np.abs(z) * np.sqrt(w) - _NORMAL.inv_cdf(level) * np.sqrt(w + 0.25)
        least = np.minimum(least, reach / weight)
    found: Floats = np.sort(least.max(axis=(1, 2)))
    return found


@lru_cache(maxsize=16)
def _own(n: int, actions: int) -> Floats:
    found: Floats = np.random.default_rng(7).standard_normal((n, actions))
    return found


def _variances(
    floors: tuple[float, ...],
    sizes: tuple[float, ...],
    end: float,
    ratio: float,
    own: Floats,
    measured: bool,
) -> Floats:
    """W of each data set and action, `(n, n_actions)`."""
    columns = []
    for action, (floor, v) in enumerate(zip(floors, sizes, strict=True)):
        one = moments(floor, 0.0, end, end * ratio)
        mean = v * one.w if floor else 0.0
        if measured:
            columns.append(np.full(len(own), mean))
            continue
        unit = min(one.var_w / (v * one.w * one.w), 0.5) / 9
        columns.append(mean * np.maximum(0, 1 - unit + own[:, action] * math.sqrt(unit)) ** 3)
    found: Floats = np.stack(columns, axis=1)
    return found
