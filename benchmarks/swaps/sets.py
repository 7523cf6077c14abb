"""Whole simulated sets, many at once: three swaps, six actions, one reference arm."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]

ACTIONS, SWAPS = 6, 3
CORRELATION = 0.3
VARYING = (0.022, 0.044, 0.066, 0.087, 0.13, 0.179)
_GRID = np.linspace(-6.0, 6.0, 4001)


@dataclass(frozen=True)
class Plan:
    """One cell: floors per action, vignettes, replicates of a swap, of the reference, of a sham.

    `gaps` `(SWAPS, ACTIONS)` are mean shifts of the action rate, made by a common shift in logits.
    `jitter` is the standard deviation in logits by which every string moves every vignette.
    """

    floors: tuple[float, ...]
    vignettes: int
    replicates: int
    n_reference: int
    gaps: tuple[tuple[float, ...], ...] = ((0.0,) * ACTIONS,) * SWAPS
    jitter: float | tuple[float, ...] = 0.0
    reference_jitter: bool = False
    shams: int = 0
    prevalence: float = 0.5
    seed: int = 0
    extra: dict[str, float] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Sets:
    """0/1 outcomes `(sets, arms, vignettes, trajectories, actions)` of swaps, reference, shams."""

    swaps: Array
    reference: Array
    shams: Array


def rates(floor: float, prevalence: float = 0.5) -> NDArray[np.float64]:
    """Rates at the quantiles of `_GRID` of the Beta law with E 2 p (1 - p) = floor."""
    from scipy import special

    spread = 2 * prevalence * (1 - prevalence)
    total = floor / (spread - floor)  # a + b
    law = special.betaincinv(total * prevalence, total * (1 - prevalence), special.ndtr(_GRID))
    return np.clip(law, 1e-9, 1 - 1e-9)


def logits(floor: float, gap: float, prevalence: float = 0.5) -> NDArray[np.float64]:
    """Logits at the quantiles of `_GRID`, moved so that the mean rate moves by `gap`."""
    from scipy import optimize, special, stats

    law = rates(floor, prevalence)
    weight = stats.norm.pdf(_GRID)
    weight /= weight.sum()
    base = special.logit(law)
    if not gap:
        return base

    def moved(shift: float) -> float:
        return float(weight @ special.expit(base + shift) - weight @ law) - gap

    return base + optimize.brentq(moved, -60, 60)


def draw(plan: Plan, n_sets: int, rng: np.random.Generator) -> Sets:
    """`n_sets` sets of the plan, independent of one another."""
    v = plan.vignettes
    shared = rng.standard_normal((n_sets, v, 1), dtype=np.float32)
    own = rng.standard_normal((n_sets, v, ACTIONS), dtype=np.float32)
    place = np.sqrt(CORRELATION) * shared + np.sqrt(1 - CORRELATION) * own
    tables = {}

    def arm(gaps: tuple[float, ...], size: int, jitter: float | tuple[float, ...]) -> Array:
        at = np.empty((n_sets, v, ACTIONS), dtype=np.float32)
        for a, (floor, gap) in enumerate(zip(plan.floors, gaps, strict=True)):
            if (floor, gap) not in tables:
                tables[floor, gap] = logits(floor, gap, plan.prevalence)
            at[..., a] = np.interp(place[..., a], _GRID, tables[floor, gap])
        if np.any(jitter):
            at += np.asarray(jitter, dtype=np.float32) * rng.standard_normal(
                at.shape, dtype=np.float32
            )
        return _outcomes(at, size, rng)

    none = (0.0,) * ACTIONS
    swaps = np.stack([arm(g, plan.replicates, plan.jitter) for g in plan.gaps], axis=1)
    own_jitter = plan.jitter if plan.reference_jitter else 0.0
    reference = arm(none, plan.n_reference, own_jitter)
    shams = [arm(none, plan.replicates, plan.jitter) for _ in range(plan.shams)]
    empty = np.zeros((n_sets, 0, v, plan.replicates, ACTIONS), dtype=np.float32)
    return Sets(swaps, reference, np.stack(shams, axis=1) if shams else empty)


def _outcomes(at: Array, size: int, rng: np.random.Generator) -> Array:
    """0/1 draws `(sets, vignettes, size, actions)`, correlated within a trajectory."""
    from scipy import special

    threshold = special.ndtri(special.expit(at.astype(np.float64))).astype(np.float32)
    n_sets, v, k = at.shape
    latent = np.sqrt(1 - CORRELATION) * rng.standard_normal((n_sets, v, size, k), dtype=np.float32)
    latent += np.sqrt(CORRELATION) * rng.standard_normal((n_sets, v, size, 1), dtype=np.float32)
    return (latent < threshold[:, :, None, :]).astype(np.float32)
