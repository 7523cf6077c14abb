"""Where the rule of a swap cuts: its omnibus test and the naming of single actions, as planned for.

The rule itself takes its cuts from relabelling the data. Before there are data they are those of
correlated normal values, drawn once with a fixed seed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from ._check import Floats
from .omnibus import OF_LARGEST

_NORMAL = NormalDist()
_N_NULL, _N_POWER, _SEED = 100_000, 6_000, 20_26
_RARE = 2e-3  # below it cuts are those of independent actions, for draws are too few


@dataclass(frozen=True)
class Cuts:
    """What a swap of `n_actions` needs to be found, and an action of it to be named.

    `named` is the |z| of an action that is named where its swap is found.
    """

    level: float
    n_actions: int
    rho: float
    named: float

    def found(self, top: Floats, total: Floats) -> NDArray[np.bool_]:
        """Whether a largest |z| and a sum of z squared, arrays of one shape, find the swap."""
        if self.n_actions == 1:
            return top >= self.named
        if self.level < _RARE:
            # What each of the two may use, so that both together use the level.
            high = independent_cut(0.7 * self.level, self.n_actions)
            return (top >= high) | (total >= _chi2(0.4 * self.level, self.n_actions))
        tops, sums, statistic = _null(self.n_actions, self.rho)
        bar = _upper(statistic, self.level)
        return _statistic(_tail(tops, top), _tail(sums, total)) >= bar


@lru_cache(maxsize=256)
def cuts(level: float, n_actions: int, rho: float = 0.0) -> Cuts:
    """The cuts of a swap with so many actions that may use `level`, in 0..1.

    `rho` is the correlation of two actions' z; see `correlation`.
    """
    if n_actions == 1 or level < _RARE:
        return Cuts(level, n_actions, rho, independent_cut(level, n_actions))
    return Cuts(level, n_actions, rho, _upper(_null(n_actions, rho)[0], level))


@lru_cache(maxsize=16)
def normals(n_actions: int, n_looks: int = 1, rho: float = 0.0, n: int = _N_POWER) -> Floats:
    """Standard normal values `(n / n_looks, n_looks, n_actions)`, the same every time."""
    rng = np.random.default_rng(_SEED)
    n = max(2_000, n // n_looks)
    return _correlated(rng.standard_normal((n, n_looks, n_actions)), rho, rng)


def correlation(floor: float) -> float:
    """How two actions' z hang together in agents whose trajectories' latent values do by .3.

    Only cases where both are open show it, and these are as few as the floor is low: half of it.
    """
    return round(min(0.2, floor / 2), 2)


def _correlated(own: Floats, rho: float, rng: np.random.Generator) -> Floats:
    common = rng.standard_normal((*own.shape[:-1], 1))
    found: Floats = math.sqrt(1 - rho) * own + math.sqrt(rho) * common
    return found


@lru_cache(maxsize=8)
def _null(n_actions: int, rho: float) -> tuple[Floats, Floats, Floats]:
    """Largest |z|, sum of z squared and the omnibus statistic where nothing differs, sorted."""
    rng = np.random.default_rng(_SEED + 1)
    z = _correlated(rng.standard_normal((_N_NULL, n_actions)), rho, rng)
    top, total = np.abs(z).max(axis=1), (z * z).sum(axis=1)
    tops, sums = np.sort(top), np.sort(total)
    return tops, sums, np.sort(_statistic(_tail(tops, top), _tail(sums, total)))


def _statistic(p_top: Floats, p_total: Floats) -> Floats:
    found: Floats = OF_LARGEST / p_top + 1 / p_total
    return found


def _tail(law: Floats, value: Floats) -> Floats:
    found: Floats = (law.size + 1 - np.searchsorted(law, value)) / (law.size + 1)
    return found


def _upper(law: Floats, level: float) -> float:
    return float(law[min(law.size - 1, math.ceil((1 - level) * law.size))])


def independent_cut(level: float, n_actions: int) -> float:
    """The |z| that the largest of so many independent ones passes with chance `level`."""
    each = -math.expm1(math.log1p(-level) / n_actions)
    return -_NORMAL.inv_cdf(each / 2)


def _chi2(level: float, n: int) -> float:
    """The upper quantile of chi squared by Wilson and Hilferty (1931)."""
    z, spread = -_NORMAL.inv_cdf(level), 2 / (9 * n)
    return float(n * (1 - spread + z * math.sqrt(spread)) ** 3)
