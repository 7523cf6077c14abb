"""Simulated runs of swaps with several actions, judged by the rule that decides.

Outcomes of one trajectory hang together by a latent normal value with correlation .3. Relabelling
is that of `swap_test` with fewer draws, which are the same for all data sets of a design.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ._check import Floats
from .looks import spending_levels
from .omnibus import OF_LARGEST
from .planning import looks_at

LATENT = 0.3
_RELABELLINGS = 999


@dataclass(frozen=True)
class Runs:
    """Runs of `n_vignettes` x `n_replicates`, the reference `ratio` times as many.

    `level` is what a swap may use, `alpha` what EQUIVALENT does. `rule` as `simulate_plan` has it.
    """

    n_vignettes: int
    n_replicates: int
    ratio: int
    n_actions: int
    n_swaps: int
    rule: str
    level: float
    alpha: float

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """The replicates at which is looked."""
        if self.rule == "fixed":
            return (self.n_replicates,)
        return tuple(int(end) for end in looks_at(self.n_replicates))

    @cached_property
    def _relabelled(self) -> list[Any]:
        rng = np.random.default_rng(self.n_replicates)
        return [_relabellings(self.n_vignettes, end, end * self.ratio, rng) for end in self.ends]

    def found(
        self, p: Floats, q: Floats, every: bool, rng: np.random.Generator
    ) -> tuple[bool, int]:
        """Whether the swap is red (`every`) or its first action named, and after how many draws.

        `p` and `q` are the rates of reference and swap, `(n_vignettes, n_actions)`.
        """
        x = answers(q, self.n_replicates, rng)
        y = answers(p, self.n_replicates * self.ratio, rng)
        if self.rule == "e_process":
            return _by_rounds(x, y, every, 1 / self.level)
        levels: Sequence[float] = (self.level,)
        if len(self.ends) > 1:
            levels = spending_levels(self.ends, alpha=self.level, kind=self.rule)
        for end, allowed, labels in zip(self.ends, levels, self._relabelled, strict=True):
            omnibus, named = _p(x[:, :end], y[:, : end * self.ratio], labels)
            if omnibus <= allowed and (every or named <= allowed):
                return True, end
        return False, self.n_replicates

    def all_inside(self, p: Floats, margin: float, rng: np.random.Generator) -> bool:
        """Whether all contrasts of all swaps are EQUIVALENT where nothing differs."""
        levels: Sequence[float] = (self.alpha,)
        if len(self.ends) > 1:
            levels = spending_levels(self.ends, alpha=self.alpha, kind=self.rule)
        y = answers(p, self.n_replicates * self.ratio, rng)
        for _ in range(self.n_swaps):
            x = answers(p, self.n_replicates, rng)
            inside = np.zeros(self.n_actions, dtype=bool)
            for end, level in zip(self.ends, levels, strict=True):
                inside |= _inside(x[:, :end], y[:, : end * self.ratio], margin, level)
            if not inside.all():
                return False
        return True


def answers(rate: Floats, runs: int, rng: np.random.Generator) -> Floats:
    """Yes and no of whole trajectories, `(n_vignettes, runs, n_actions)`."""
    from scipy import special

    own = rng.standard_normal((len(rate), runs, rate.shape[1]))
    common = rng.standard_normal((len(rate), runs, 1))
    latent = math.sqrt(1 - LATENT) * own + math.sqrt(LATENT) * common
    found: Floats = (latent < special.ndtri(rate)[:, None, :]).astype(np.float32)
    return found


def _relabellings(v: int, m: int, n: int, rng: np.random.Generator) -> Any:
    """Which runs are called the swap's, `(n_vignettes, n_relabellings, m + n)`."""
    out = np.zeros((v, _RELABELLINGS, m + n), np.float32)
    for vignette in out:
        order = np.argpartition(rng.random(vignette.shape, dtype=np.float32), m - 1, axis=1)
        np.put_along_axis(vignette, order[:, :m], np.float32(1), axis=1)
    return out


def _p(x: Any, y: Any, labels: Any) -> tuple[float, float]:
    """The swap's p, and the first action's max-T p."""
    m = x.shape[1]
    both = np.concatenate([x, y], axis=1)
    centred = both - both.mean(axis=1, keepdims=True)
    sd = np.sqrt(_variance(both, m).sum(axis=0))
    u = np.vstack([centred[:, :m].sum(axis=(0, 1)), np.matmul(labels, centred).sum(axis=0)])
    z = np.abs(np.divide(u, sd, out=np.zeros_like(u), where=sd > 0)).round(4)
    top, total = z.max(axis=1), (z * z).sum(axis=1).round(3)
    statistic = OF_LARGEST / _tail(top) + 1 / _tail(total)
    omnibus = float((statistic >= statistic[0] * (1 - 1e-9)).mean())
    return omnibus, float((top >= z[0, 0]).mean())


def _variance(both: Any, m: int) -> Any:
    """Variance under relabelling, `(n_vignettes, n_actions)`."""
    size, s = both.shape[1], both.sum(axis=1)
    return m * (size - m) * s * (size - s) / (size * size * (size - 1.0))


def _tail(values: Any) -> Any:
    return (values.size - np.searchsorted(np.sort(values), values, "left")) / values.size


def _inside(x: Any, y: Any, margin: float, level: float) -> Any:
    from statistics import NormalDist

    m, n, v = x.shape[1], y.shape[1], len(x)
    weight = v * m * n / (m + n)
    gap = (x.mean(axis=1) - y.mean(axis=1)).mean(axis=0)
    w = _variance(np.concatenate([x, y], axis=1), m).sum(axis=0)
    reach = -NormalDist().inv_cdf(level) * np.sqrt(w + 0.25) / weight
    return np.abs(gap) + reach < margin


def _by_rounds(x: Any, y: Any, every: bool, bar: float) -> tuple[bool, int]:
    """Whether the e-processes ever reach 1 / level, and after how many rounds."""
    from scipy import special

    b, c = (np.cumsum(((x - y) == sign).sum(axis=0), axis=0) for sign in (1, -1))
    n = b + c
    log_e = n * math.log(2) - np.log(n + 1)
    log_e -= special.gammaln(n + 1) - special.gammaln(b + 1) - special.gammaln(c + 1)
    e = np.exp(np.minimum(log_e, 600))
    evidence = e.mean(axis=1)
    if not every:  # by closure: the smallest mean of any of the actions that it belongs to
        ordered = np.concatenate([e[:, :1], np.sort(e[:, 1:], axis=1)], axis=1)
        evidence = (np.cumsum(ordered, axis=1) / np.arange(1, e.shape[1] + 1)).min(axis=1)
    at = np.flatnonzero(evidence >= bar)
    return bool(at.size), int(at[0]) + 1 if at.size else len(e)
