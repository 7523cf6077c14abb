"""Before a run that looks after every round: what gap its e-processes find, tried out.

A round is one pair per vignette: `b` under the swap only, `c` under the reference only. The e-value
of a swap is the mean of its actions'; an action is named by closure over such means, so by the
smallest mean of any of the swap's actions that it belongs to.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ._check import Floats
from .law import rates

if TYPE_CHECKING:
    from .planning import Rule

_N_RUNS, _SEED = 1_000, 11
_MOST = 200  # vignettes of a run that are drawn one by one


def power_of_rounds(
    gap: float, floor: float, v: float, n_rounds: int, rule: Rule, moved: int
) -> float:
    """Chance, in 0..1, to find a gap in the first `moved` actions, from 1,000 runs tried out.

    In several actions the swap has to be red, in one the action is named. The same runs every time.
    """
    bar = math.log(1 / rule.level)
    log_e = np.stack(
        [
            _log_e(gap if action < moved else 0.0, floor, v, n_rounds, action)
            for action in range(rule.n_actions)
        ],
        axis=2,
    )
    swap = _log_mean(log_e)
    if moved > 1 or rule.n_actions == 1:
        return float((swap >= bar).any(axis=1).mean())
    # The smallest mean with the action in it takes in the others from the smallest up.
    others = np.sort(log_e[..., 1:], axis=2)
    ordered = np.concatenate([log_e[..., :1], others], axis=2)
    sums = np.logaddexp.accumulate(ordered, axis=2) - np.log(np.arange(1, rule.n_actions + 1))
    return float((sums.min(axis=2) >= bar).any(axis=1).mean())


@lru_cache(maxsize=16)
def _log_e(gap: float, floor: float, v: float, n_rounds: int, action: int) -> Floats:
    """log e-values after each round, `(n_runs, n_rounds)`, of agents drawn from the law."""
    from scipy import special

    rng = np.random.default_rng((_SEED, action))
    p, q, weight = rates(floor, gap)
    size = max(1, min(round(v), _MOST))
    # What is decided in both arms is one more kind of vignette, which never disagrees.
    edges = np.cumsum(np.append(weight, max(0.0, 1 - weight.sum())))
    kind = np.searchsorted(edges / edges[-1], rng.random((_N_RUNS, size)))
    up, down = np.append(q * (1 - p), 0.0)[kind], np.append(p * (1 - q), 0.0)[kind]
    # A pair is one of both kinds or none, so the counts are not independent: drawn pair by pair.
    counts = np.zeros((2, _N_RUNS, n_rounds))
    low, high = up.astype(np.float32), (up + down).astype(np.float32)
    for index in range(n_rounds):
        chance = rng.random(up.shape, dtype=np.float32)
        first = chance < low
        counts[0, :, index] = first.sum(axis=1)
        counts[1, :, index] = ((chance < high) & ~first).sum(axis=1)
    if v > size:
        counts = _as_many(counts, v / size)
    b, c = np.cumsum(counts, axis=2)
    n = b + c
    log_choose = special.gammaln(n + 1) - special.gammaln(b + 1) - special.gammaln(c + 1)
    found: Floats = n * math.log(2) - np.log(n + 1) - log_choose
    return found


def _as_many(counts: Floats, times: float) -> Floats:
    """Counts of a sample taken for so many times the vignettes: spread less about their mean."""
    mean = counts.mean(axis=(1, 2), keepdims=True)
    found: Floats = np.maximum(0.0, mean * times + (counts - mean) * math.sqrt(times))
    return np.rint(found)


def _log_mean(log_e: Floats) -> Floats:
    top = log_e.max(axis=2, keepdims=True)
    found: Floats = top[..., 0] + np.log(np.exp(log_e - top).mean(axis=2))
    return found
