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
    counts = []
    for each in (np.append(q * (1 - p), 0.0), np.append(p * (1 - q), 0.0)):
        share = each[kind]
        mean, squares = share.mean(axis=1), (share * share).mean(axis=1)
        if v > size:  # a sample stands for more vignettes, with as much less spread
            typical = float(np.diff(edges, prepend=0.0) @ each / edges[-1])
            mean = np.maximum(0, typical + (mean - typical) * math.sqrt(size / v))
        counts.append(_rounds(mean * v, squares * v, n_rounds, rng))
    b, c = (np.cumsum(count, axis=1) for count in counts)
    n = b + c
    log_choose = special.gammaln(n + 1) - special.gammaln(b + 1) - special.gammaln(c + 1)
    found: Floats = n * math.log(2) - np.log(n + 1) - log_choose
    return found


def _rounds(mean: Floats, squares: Floats, n_rounds: int, rng: np.random.Generator) -> Floats:
    """Counts of each round with the mean and variance of unequal coins, `(n_runs, n_rounds)`."""
    trials = np.maximum(
        1, np.rint(np.divide(mean**2, squares, out=np.ones_like(mean), where=squares > 0))
    )
    share = np.clip(mean / trials, 0, 1)
    found: Floats = rng.binomial(
        trials.astype(np.int64)[:, None], share[:, None], (len(mean), n_rounds)
    ).astype(float)
    return found


def _log_mean(log_e: Floats) -> Floats:
    top = log_e.max(axis=2, keepdims=True)
    found: Floats = top[..., 0] + np.log(np.exp(log_e - top).mean(axis=2))
    return found
