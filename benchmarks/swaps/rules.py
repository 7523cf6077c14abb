"""The rules that are compared, over many sets at once.

Arrays: z `(sets, swaps, actions, relabellings + 1)`, the observed labelling first; p `(sets,
swaps)` and `(sets, swaps, actions)`. All data sets of a chunk share their relabellings, which makes
them matrix products; every p stays a relabelling p of its own data.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pytest_fairmedagent.stats._convolution import convolve_all, sum_of_hypergeometrics

from .sets import Array, Sets

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
ALPHA = 0.05


def masks(n_relabellings: int, v: int, m: int, n: int, rng: np.random.Generator) -> Array:
    """Swap labels `(v (m + n), n_relabellings + 1)`: `m` ones in each vignette of each column."""
    labels = np.zeros((n_relabellings + 1, v, m + n), dtype=np.float32)
    labels[..., :m] = 1
    labels[1:] = rng.permuted(labels[1:], axis=2)
    return np.ascontiguousarray(labels.reshape(n_relabellings + 1, -1).T)


def standardised(drawn: Sets, labels: Array) -> tuple[Array, Floats]:
    """Signed z of all swaps under all labels; variances of the sums `(sets, swaps, actions)`."""
    found = [_standardised(arm, drawn.reference, labels) for arm in drawn.swaps.swapaxes(0, 1)]
    return np.stack([z for z, _ in found], axis=1), np.stack([v for _, v in found], axis=1)


def _standardised(swap: Array, reference: Array, labels: Array) -> tuple[Array, Floats]:
    both = np.concatenate((swap, reference), axis=2)
    sets, v, size, k = both.shape
    m, n = swap.shape[2], reference.shape[2]
    centred = both - both.mean(axis=2, keepdims=True)
    variance = (m * n / (size * (size - 1))) * (centred.astype(np.float64) ** 2).sum(axis=(1, 2))
    rows = np.ascontiguousarray(centred.transpose(0, 3, 1, 2).reshape(sets * k, v * size))
    sums = (rows @ labels).reshape(sets, k, -1)
    scale = np.where(variance > 1e-9, 1 / np.sqrt(np.maximum(variance, 1e-9)), 0)
    return np.round(sums * scale[..., None].astype(np.float32), 4), variance


class Omnibus:
    """Omnibus p-values of many swaps at any observed |z|, from the same relabellings."""

    def __init__(self, size: Array) -> None:
        """`size` `(rows, actions, relabellings + 1)`: |z|."""
        self.size = size
        self.largest = size.max(axis=1)
        self.squares = np.round((size * size).sum(axis=1), 3)
        self.p_largest, self.p_squares = upper(self.largest), upper(self.squares)

    def parts(self, seen: Floats) -> tuple[Floats, Floats]:
        """p of max |z| and of the sum of squares at `seen` `(rows, actions)`."""
        largest, squares = seen.max(axis=1) - 1e-4, np.round((seen**2).sum(axis=1), 3) - 1e-3
        return (
            (self.largest >= largest[:, None]).mean(axis=1),
            (self.squares >= squares[:, None]).mean(axis=1),
        )

    def harmonic(self, seen: Floats, weight: float = 2.0) -> Floats:
        """The rule adopted: weight / p1 + 1 / p2."""
        p1, p2 = (np.maximum(p, 1e-9) for p in self.parts(seen))
        all_of_them = weight / self.p_largest + 1 / self.p_squares
        return (all_of_them >= ((weight / p1 + 1 / p2) * (1 - 1e-5))[:, None]).mean(axis=1)

    def smaller(self, seen: Floats, weight: float = 1.0) -> Floats:
        """min(p1, weight p2), calibrated."""
        p1, p2 = self.parts(seen)
        all_of_them = np.minimum(self.p_largest, weight * self.p_squares)
        return (all_of_them <= np.minimum(p1, weight * p2)[:, None] + 1e-7).mean(axis=1)


def upper(values: Array) -> Array:
    """Share of each row that is at least each of its values, ties counted."""
    order = np.argsort(values, axis=1)
    ranked = np.take_along_axis(values, order, axis=1)
    fresh = np.ones(ranked.shape, dtype=bool)
    fresh[:, 1:] = ranked[:, 1:] > ranked[:, :-1]
    first = np.where(fresh, np.arange(ranked.shape[1], dtype=np.int32), 0)
    first = np.maximum.accumulate(first, axis=1)
    found = np.empty(values.shape, dtype=np.float32)
    np.put_along_axis(found, order, 1 - first / np.float32(values.shape[1]), axis=1)
    return found


def step_down(size: Array, seen: Floats) -> Floats:
    """Step-down max-T p `(rows, actions)` of `seen` against `size` (rows, actions, n)."""
    order = np.argsort(-seen, axis=1, kind="stable")
    ranked = np.take_along_axis(size, order[..., None], axis=1)[:, ::-1]
    largest = np.maximum.accumulate(ranked, axis=1)[:, ::-1]
    own = np.take_along_axis(seen, order, axis=1) - 1e-4
    p = np.maximum.accumulate((largest >= own[..., None]).mean(axis=2), axis=1)
    found = np.empty_like(p)
    np.put_along_axis(found, order, p, axis=1)
    return found


def decided(omnibus: Floats, steps: Floats) -> Bools:
    """`(sets, swaps, 1 + actions)`: swap red, and its actions named, as `stats.inherited` does."""
    n_swaps = steps.shape[1]
    chains = np.concatenate((omnibus[..., None], np.maximum(omnibus[..., None], steps)), axis=2)
    hit = np.zeros(chains.shape, dtype=bool)
    for _ in range(n_swaps):
        left = n_swaps - hit.all(axis=2).sum(axis=1)
        hit = chains <= (ALPHA / np.maximum(1, left))[:, None, None] + 1e-9
    return hit


def with_swap(named: Bools) -> Bools:
    """Named actions with their swap in front: red where any action is."""
    return np.concatenate((named.any(axis=2, keepdims=True), named), axis=2)


def holm_of_all(drawn: Sets) -> Bools:
    """The rule before: Holm over all actions of all swaps on the exact two-sided p."""
    p = np.stack([exact_p(arm, drawn.reference) for arm in drawn.swaps.swapaxes(0, 1)], axis=1)
    flat = p.reshape(len(p), -1)
    order = np.argsort(flat, axis=1)
    ranked = np.take_along_axis(flat, order, axis=1)
    adjusted = np.maximum.accumulate(ranked * (flat.shape[1] - np.arange(flat.shape[1])), axis=1)
    found = np.empty(flat.shape, bool)
    np.put_along_axis(found, order, adjusted <= ALPHA, axis=1)
    return with_swap(found.reshape(p.shape))


def exact_p(swap: Array, reference: Array) -> Floats:
    """Two-sided exact p of every action of many sets, `(sets, actions)`."""
    m, n = swap.shape[2], reference.shape[2]
    k = swap.sum(axis=2).astype(int)
    s, seen = k + reference.sum(axis=2).astype(int), k.sum(axis=1)
    at = seen - np.maximum(0, s - n).sum(axis=1)
    found = np.ones(at.shape)
    laws: dict[bytes, tuple[Floats, Floats]] = {}
    for i, a in np.ndindex(*at.shape):
        often = np.bincount(s[i, :, a], minlength=m + n + 1)[1 : m + n]
        key = often.tobytes()
        if key not in laws:
            groups = [((m, n, int(c) + 1), int(often[c])) for c in np.flatnonzero(often)]
            law = sum_of_hypergeometrics(groups) if groups else convolve_all([])
            laws[key] = (np.cumsum(law), np.cumsum(law[::-1])[::-1])
        less, more = laws[key]
        found[i, a] = min(1.0, 2 * min(less[at[i, a]], more[at[i, a]]))
    return found


class Shams:
    """What the shams of many sets say, as `stats.surface_noise` and the guard before it have it."""

    def __init__(self, drawn: Sets, z: Floats, variance: Floats) -> None:
        from scipy import special

        self.special, self.z = special, z
        v, r, n = drawn.swaps.shape[2], drawn.swaps.shape[3], drawn.reference.shape[2]
        base, shams = drawn.reference.mean(axis=2), drawn.shams.mean(axis=3)
        noise = shams * (1 - shams) / (r - 1) + (base * (1 - base) / (n - 1))[:, None]
        moved = ((shams - base[:, None]) ** 2 - noise).mean(axis=1)  # (sets, v, actions)
        self.n_cases = v
        squares = v * (r * n / (r + n)) ** 2
        self.of_case = (moved * squares)[:, None]  # (sets, 1, v, actions)
        self.variance = np.maximum(variance, 1e-9)
        gap_to = drawn.swaps.mean(axis=(2, 3))[:, :, None] - shams.mean(axis=2)[:, None]
        self.same_sign = (gap_to * np.sign(z)[:, :, None] > 0).all(axis=2)

    def guard(self) -> Bools:
        """The guard before: t of each gap at .05, unadjusted, and the same sign."""
        own = np.maximum(0, self.of_case.mean(axis=2)) / self.variance
        quantile = self.special.stdtrit(self.n_cases - 1, 1 - ALPHA / 2)
        return (np.abs(self.z) / np.sqrt(1 + own) > quantile) & self.same_sign

    def shrunk(self, seen: float = 0.75, seen_alone: float = 1.5) -> Floats:
        """|z| as `SurfaceNoise.shrink` leaves it; `seen_alone` huge: all actions together only."""
        together, spread = self._estimate(self.of_case.sum(axis=3), self.variance.sum(axis=2))
        shared = np.where(together > seen * spread, np.maximum(together, 0), 0)[..., None]
        df = np.where(shared > 0, self._degrees(shared, spread[..., None]), 1e6)
        alone, spread = self._estimate(self.of_case, self.variance)
        use = alone > np.maximum(shared, seen_alone * spread)
        ratio = np.where(use, alone, shared)
        df = np.where(use, self._degrees(alone, spread), df)
        t = np.abs(self.z) / np.sqrt(1 + ratio)
        normal = -self.special.ndtri(np.maximum(self.special.stdtr(df, -t), 1e-300))
        return np.where(ratio > 0, np.minimum(np.abs(self.z), normal), np.abs(self.z))

    def _estimate(self, values: Floats, sampling: Floats) -> tuple[Floats, Floats]:
        spread = np.sqrt(values.var(axis=2, ddof=1) / self.n_cases)
        return values.mean(axis=2) / sampling, spread / sampling

    @staticmethod
    def _degrees(ratio: Floats, spread: Floats) -> Floats:
        with np.errstate(divide="ignore", over="ignore"):
            return np.clip(2 * (1 + ratio) ** 2 / np.maximum(spread, 1e-12) ** 2, 3, 1e6)
