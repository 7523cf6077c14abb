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

from ._check import Floats

_NORMAL = NormalDist()
_N_NULL, _N_POWER, _SEED = 200_000, 20_000, 20_26
_RARE = 2e-3  # below it quantiles are those of independent actions, for draws are too few


@dataclass(frozen=True)
class Cuts:
    """A swap is found where max |z| or the sum of z squared reaches `highest` or `total`.

    An action of a swap that was found is named where its own |z| reaches `named`.
    """

    highest: float
    total: float
    named: float


@lru_cache(maxsize=256)
def cuts(level: float, n_actions: int, rho: float = 0.0) -> Cuts:
    """The cuts of a swap with so many actions that may use `level`, in 0..1.

    `rho` is the correlation of two actions' z; see `correlation`.
    """
    if n_actions == 1:
        z = -_NORMAL.inv_cdf(level / 2)
        return Cuts(z, z * z, z)
    tops, sums = _null(n_actions, rho)
    if level < _RARE:
        half = 0.55 * level  # what each of two tests may use, so that both together use `level`
        return Cuts(
            _independent(half, n_actions), _chi2(half, n_actions), _independent(level, n_actions)
        )
    n = len(tops)
    rank = np.minimum(n - _rank(tops), n - _rank(sums)) / n  # the smaller of both p-values
    each = float(np.quantile(rank, level))
    return Cuts(
        float(np.quantile(tops, 1 - each)),
        float(np.quantile(sums, 1 - each)),
        float(np.quantile(tops, 1 - level)),
    )


@lru_cache(maxsize=16)
def normals(n_actions: int, n_looks: int = 1, rho: float = 0.0) -> Floats:
    """Standard normal values `(20,000 / n_looks, n_looks, n_actions)`, the same every time."""
    rng = np.random.default_rng(_SEED)
    n = max(2_000, _N_POWER // n_looks)
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


@lru_cache(maxsize=16)
def _null(n_actions: int, rho: float) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(_SEED + 1)
    z = _correlated(rng.standard_normal((_N_NULL, n_actions)), rho, rng)
    return np.abs(z).max(axis=1), (z * z).sum(axis=1)


def _rank(values: Floats) -> Floats:
    found: Floats = np.argsort(np.argsort(values)).astype(float)
    return found


def _independent(level: float, n_actions: int) -> float:
    each = -math.expm1(math.log1p(-level) / n_actions)
    return -_NORMAL.inv_cdf(each / 2)


def _chi2(level: float, n: int) -> float:
    """The upper quantile of chi squared by Wilson and Hilferty (1931)."""
    z, spread = -_NORMAL.inv_cdf(level), 2 / (9 * n)
    return float(n * (1 - spread + z * math.sqrt(spread)) ** 3)
