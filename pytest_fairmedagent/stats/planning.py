"""Before the run: what gap a design finds, by the rule that will decide.

A design is `n_pairs` replicate pairs (`effective_pairs` for unequal arms) on `n_vignettes`. Chances
are over agents of the law in `stats.law` with the floor given, the reference's. Without
`n_vignettes` the answer is the plain formula of one contrast at alpha / `n_members`, whatever the
rule (`stats.formula`). Take the upper end of a measured floor, or the plan is too hopeful.

`n_members` contrasts in swaps of `n_actions` each share `alpha`: a swap is tested as a whole at its
share, and its actions are named at the same level. To find a gap in one action is to have it named;
with `every`, to find one in every action of a swap is to have the swap red. `ratio` is the
reference's draws for each of a swap's. `kind` is "fixed" (one test at the end), "obrien_fleming" or
"pocock" (five looks), or "e_process" (after every round). Held against simulated runs of the whole
rule in `benchmarks/results/power_truth.md`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from . import formula
from ._check import fraction, one_of, positive, whole
from .cuts import correlation, cuts, normals
from .law import moments
from .looks import spending_levels

RULES = ("fixed", "obrien_fleming", "pocock", "e_process")
N_LOOKS = 5
MOST_PAIRS, MOST_ROUNDS = 2**30, 400


@dataclass(frozen=True)
class Rule:
    """How a family decides; see the module. `n_groups` is the number of swaps."""

    alpha: float
    n_groups: int
    n_actions: int
    ratio: float
    kind: str

    @property
    def level(self) -> float:
        """What one group may use, in 0..1."""
        return self.alpha / self.n_groups


def power_of_gap(
    gap: float,
    floor: float,
    n_pairs: float,
    *,
    n_vignettes: float | None = None,
    alpha: float = 0.05,
    n_members: int = 1,
    n_actions: int = 1,
    ratio: float = 1.0,
    kind: str = "fixed",
    every: bool = False,
) -> float:
    """Chance, in 0..1, that a mean signed gap of this size is found.

    In one action of a swap, or with `every` in all of its actions. ValueError for numbers out of
    range.
    """
    if not -1 <= gap <= 1:
        raise ValueError(f"gap: expected a gap in -1..1, got {gap}")
    rule = _rule(alpha, n_members, n_actions, ratio, kind)
    n_pairs = positive("n_pairs", n_pairs)
    floor = fraction("floor", floor, ends=True)
    if n_vignettes is None:
        return formula.gap_power(abs(float(gap)), floor, n_pairs, alpha / n_members)
    v = positive("n_vignettes", n_vignettes)
    return _chance(abs(float(gap)), floor, v, replicates_of(n_pairs, v, ratio), rule, every)


def smallest_detectable_gap(
    floor: float,
    n_pairs: float,
    *,
    n_vignettes: float | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
    n_members: int = 1,
    n_actions: int = 1,
    ratio: float = 1.0,
    kind: str = "fixed",
    every: bool = False,
) -> float:
    """Smallest mean signed gap, in 0..1, that is found with this power; 1 where none is.

    See `power_of_gap`. ValueError for numbers out of range.
    """
    rule, power = _rule(alpha, n_members, n_actions, ratio, kind), fraction("power", power)
    floor, n_pairs = fraction("floor", floor, ends=True), positive("n_pairs", n_pairs)
    if n_vignettes is None:
        return formula.smallest_gap(floor, n_pairs, alpha / n_members, power)
    v = positive("n_vignettes", n_vignettes)
    return _smallest(floor, v, replicates_of(n_pairs, v, ratio), rule, every, power)


def pairs_for_gap(
    gap: float,
    floor: float,
    *,
    n_vignettes: int | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
    n_members: int = 1,
    n_actions: int = 1,
    ratio: float = 1.0,
    kind: str = "fixed",
    every: bool = False,
) -> float:
    """Pairs at which `power_of_gap` reaches `power`, at the next whole replicate; inf for none.

    Without `n_vignettes` not rounded. `replicates_of` tells the replicates. ValueError for numbers
    out of range.
    """
    if not -1 <= gap <= 1:
        raise ValueError(f"gap: expected a gap in -1..1, got {gap}")
    rule, power = _rule(alpha, n_members, n_actions, ratio, kind), fraction("power", power)
    floor, gap = fraction("floor", floor, ends=True), abs(float(gap))
    if gap == 0:
        return math.inf
    each = 2 * ratio / (1 + ratio)
    if n_vignettes is None:
        return formula.gap_pairs(gap, floor, alpha / n_members, power)
    v = whole("n_vignettes", n_vignettes)
    most = MOST_PAIRS // v if kind != "e_process" else MOST_ROUNDS
    return first_whole(lambda r: _chance(gap, floor, v, r, rule, every) >= power, most) * v * each


def effective_pairs(n_vignettes: int, m: float, n: float) -> float:
    """Pairs of a design with `m` swap and `n` reference runs per vignette: 2 V m n / (m + n).

    Equal arms give V x R. ValueError for numbers not above 0.
    """
    m, n = positive("m", m), positive("n", n)
    return 2 * whole("n_vignettes", n_vignettes) * m * n / (m + n)


def replicates_of(n_pairs: float, n_vignettes: float, ratio: float = 1.0) -> float:
    """Draws of a swap per vignette, not rounded, that make so many effective pairs.

    ZeroDivisionError without vignettes.
    """
    return n_pairs * (1 + ratio) / (2 * ratio * n_vignettes)


def looks_at(replicates: float) -> tuple[float, ...]:
    """Five even looks, each after whole replicates and none before the second."""
    if replicates <= 2:
        return (replicates,)
    ends = {max(2, math.ceil(replicates * i / N_LOOKS - 1e-9)) for i in range(1, N_LOOKS)}
    return (*sorted(end for end in ends if end < replicates), replicates)


def first_whole(holds: Callable[[int], bool], most: int) -> float:
    """The smallest number from 1 to `most` for which it holds, as it then does for more; or inf."""
    low, high = 0, 1
    while not holds(high):
        if high >= most:
            return math.inf
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return float(high)


def _rule(alpha: float, n_members: int, n_actions: int, ratio: float, kind: str) -> Rule:
    alpha, ratio = fraction("alpha", alpha), positive("ratio", ratio)
    one_of("kind", kind, RULES)
    members, actions = whole("n_members", n_members), whole("n_actions", n_actions)
    return Rule(alpha, -(-members // actions), min(actions, members), ratio, kind)


@lru_cache(maxsize=1024)
def _smallest(
    floor: float, v: float, replicates: float, rule: Rule, every: bool, power: float
) -> float:
    # About where the plain formula has it, so that the search need not begin with all gaps.
    pairs = 2 * rule.ratio / (1 + rule.ratio) * v * replicates
    about = formula.smallest_gap(floor, pairs, rule.level / rule.n_actions, power)
    low, high = 0.0, 0.98
    for guess in (0.4 * about, 0.8 * about, 1.2 * about):
        if not low < guess < high:
            continue
        if _chance(guess, floor, v, replicates, rule, every) >= power:
            high = guess
            break
        low = guess
    if high == 0.98 and _chance(high, floor, v, replicates, rule, every) < power:
        return 1.0
    while high - low > 5e-4:
        middle = (low + high) / 2
        enough = _chance(middle, floor, v, replicates, rule, every) >= power
        low, high = (low, middle) if enough else (middle, high)
    return high


@lru_cache(maxsize=8192)
def _chance(
    gap: float, floor: float, v: float, replicates: float, rule: Rule, every: bool
) -> float:
    moved = rule.n_actions if every else 1
    if rule.kind == "e_process":
        from .rounds import power_of_rounds

        return power_of_rounds(gap, floor, v, math.ceil(replicates - 1e-9), rule, moved)
    ends = looks_at(replicates) if rule.kind != "fixed" else (replicates,)
    levels: tuple[float, ...] = (rule.level,)
    if len(ends) > 1:
        levels = spending_levels(ends, alpha=rule.level, kind=rule.kind)
    return _power(gap, floor, v, ends, levels, rule, moved)


def _power(
    gap: float,
    floor: float,
    v: float,
    ends: tuple[float, ...],
    levels: tuple[float, ...],
    rule: Rule,
    moved: int,
) -> float:
    """The chance to cross at some look, from normal paths that are the same every time."""
    noise = normals(rule.n_actions, len(ends), correlation(floor))
    lasting = normals(rule.n_actions + 1)[: len(noise), 0, : rule.n_actions]
    z, done = np.zeros((len(noise), rule.n_actions)), 0.0
    red = np.zeros(len(noise), dtype=bool)
    named = red.copy()
    for look, (end, level) in enumerate(zip(ends, levels, strict=True)):
        # What is new at a look is independent of what was there before.
        z = math.sqrt(done / end) * z + math.sqrt(1 - done / end) * noise[:, look]
        done, at = end, z.copy()
        centre, spread, shared = standardised(floor, gap, v, end, rule.ratio)
        at[:, :moved] *= math.sqrt(1 - shared)
        at[:, :moved] += math.sqrt(shared) * lasting[:, :moved]
        at[:, :moved] = centre + spread * at[:, :moved]
        cut = cuts(level, rule.n_actions, correlation(floor))
        farther, narrower = thinned(cut.named, gap, floor, v, end, rule, moved)
        size, total = np.abs(at) / farther, (at * at).sum(axis=1)
        total = rule.n_actions + (total - rule.n_actions) / narrower
        now = cut.found(size.max(axis=1), total)
        red |= now
        named |= now & (size[:, 0] >= cut.named)
    return float((red if moved > 1 else named).mean())


def thinned(
    z: float, gap: float, floor: float, v: float, end: float, rule: Rule, moved: int
) -> tuple[float, float]:
    """How relabelled counts differ from normal values: their cut at `z`, and their sum of squares.

    The first is how much farther from 0 the cut is. Counts have thinner tails (Cornish and Fisher
    1938), and those of the action that is tested come in steps: half of one is lost, as far as its
    own tail is the one that matters. The second is how much less a sum of squares spreads.
    """
    k = rule.n_actions
    still, own = (moments(floor, g, end, end * rule.ratio) for g in (0.0, gap))
    tails = [(k - moved) / k * still.k4 / (still.w**2 * v), moved / k * own.k4 / (own.w**2 * v)]
    kurtosis = sum(tails)
    step = 0.5 / math.sqrt(own.w * v)
    lost = math.log1p(math.expm1(min(z * step, 50.0)) / k) / z
    moved_to = max(0.88 * z, z + kurtosis * (z**3 - 3 * z) / 24) + lost
    return moved_to / z, math.sqrt(max(0.3, 1 + kurtosis / 2))


def standardised(
    floor: float, gap: float, v: float, replicates: float, ratio: float
) -> tuple[float, float, float]:
    """Mean and standard deviation of an action's z, and the share of variance that stays.

    By the delta method to second order. What stays, however many replicates are drawn, is that
    vignettes differ in how far they move.
    """
    one = moments(floor, gap, replicates, replicates * ratio)
    t, w = one.t * v, one.w * v
    bend = 3 / 8 * one.var_w * v / (w * w) * t - one.cov * v / (2 * w)
    centre = max(0.0, t + bend) / math.sqrt(w)
    variance = (one.var_t - t * one.cov / w + t * t * one.var_w / (4 * w * w)) * v / w
    return centre, math.sqrt(max(variance, 1e-6)), min(1.0, max(0.0, one.shared / one.var_t))
