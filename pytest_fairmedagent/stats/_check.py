"""Argument checks: what comes in is counts, rates or probabilities, or is refused by name."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Rng: TypeAlias = "int | np.random.Generator"


def as_counts(name: str, value: ArrayLike, *, ndim: tuple[int, ...] = (1,)) -> Ints:
    """Whole numbers >= 0 as int64, of one of the dimensions `ndim`, or ValueError."""
    raw = _array(name, value)
    if raw.ndim not in ndim:
        wanted = " or ".join(f"{d}-d" for d in ndim)
        raise ValueError(f"{name}: expected a {wanted} array of counts, got shape {raw.shape}")
    if raw.size == 0:
        raise ValueError(f"{name}: expected at least one vignette, got an empty array")
    if raw.dtype.kind in "iub":
        counts: Ints = raw.astype(np.int64, copy=False)
    elif raw.dtype.kind == "f":
        # NaN is caught before the cast, which would turn it into an arbitrary integer.
        if not np.isfinite(raw).all():
            raise ValueError(f"{name}: expected counts, got NaN or infinity")
        counts = raw.astype(np.int64)
        if (counts != raw).any():
            bad = raw[counts != raw].flat[0]
            raise ValueError(f"{name}: expected whole numbers, got {bad}")
    else:
        raise ValueError(f"{name}: expected counts, got values of type {raw.dtype}")
    least = counts.min()
    if least < 0:
        raise ValueError(f"{name}: expected counts >= 0, got {least}")
    return counts


def as_pair(
    name_k: str, k: ArrayLike, name_n: str, n: ArrayLike, *, ndim: tuple[int, ...] = (1,)
) -> tuple[Ints, Ints]:
    """Positives and replicates of the same shape, with `0 <= k <= n` everywhere."""
    ks, ns = as_counts(name_k, k, ndim=ndim), as_counts(name_n, n, ndim=ndim)
    if ks.shape != ns.shape:
        raise ValueError(
            f"{name_k} and {name_n}: expected equal shapes, got {ks.shape} and {ns.shape}"
        )
    over = ks > ns
    if over.any():
        at = int(np.flatnonzero(over)[0])
        raise ValueError(
            f"{name_k}: expected no more positives than {name_n}, "
            f"got {ks.flat[at]} of {ns.flat[at]} at index {at}"
        )
    return ks, ns


def as_arms(
    k_swap: ArrayLike, m_swap: ArrayLike, k_ref: ArrayLike, n_ref: ArrayLike
) -> tuple[Ints, Ints, Ints, Ints]:
    """The counts of both arms, each `(n_strata,)`."""
    k, m = as_pair("k_swap", k_swap, "m_swap", m_swap)
    j, n = as_pair("k_ref", k_ref, "n_ref", n_ref)
    if k.shape != j.shape:
        raise ValueError(
            f"k_swap and k_ref: expected the same strata in both arms, got {k.size} and {j.size}"
        )
    return k, m, j, n


def as_clusters(clusters: Sequence[Hashable] | None, size: int) -> Ints:
    """The number of each row's cluster, `(size,)`, in order of appearance.

    Without `clusters` every row is one of its own. ValueError for another number of labels.
    """
    if clusters is None:
        return np.arange(size)
    labels = list(clusters)
    if len(labels) != size:
        raise ValueError(f"clusters: expected {size} labels, one per row, got {len(labels)}")
    seat: dict[Hashable, int] = {}
    return np.array([seat.setdefault(label, len(seat)) for label in labels], dtype=np.int64)


def added(values: Floats | Ints, clusters: Ints) -> Floats:
    """The rows of `values`, `(size, ...)`, added up by cluster; whole numbers stay exact."""
    sums = np.zeros((int(clusters.max()) + 1, *values.shape[1:]))
    np.add.at(sums, clusters, values)
    return sums


def as_probabilities(name: str, value: ArrayLike) -> Floats:
    """A 1-d array of numbers in 0..1."""
    raw = _array(name, value)
    if raw.ndim != 1 or raw.dtype.kind not in "fiu":
        raise ValueError(f"{name}: expected a 1-d array of numbers, got shape {raw.shape}")
    numbers: Floats = raw.astype(np.float64)
    wrong = ~((numbers >= 0) & (numbers <= 1))  # also catches NaN
    if wrong.any():
        raise ValueError(f"{name}: expected values in 0..1, got {numbers[wrong][0]}")
    return numbers


def fraction(name: str, value: float, *, ends: bool = False) -> float:
    """A number in (0, 1), or in [0, 1] with `ends`."""
    number = _number(name, value)
    inside = 0 <= number <= 1 if ends else 0 < number < 1
    if not inside:
        where = "in 0..1" if ends else "strictly between 0 and 1"
        raise ValueError(f"{name}: expected a number {where}, got {value}")
    return number


def positive(name: str, value: float) -> float:
    """A finite number above 0."""
    number = _number(name, value)
    if not number > 0:
        raise ValueError(f"{name}: expected a number above 0, got {value}")
    return number


def whole(name: str, value: int, *, least: int = 1) -> int:
    """A whole number of at least `least`."""
    number = _number(name, value)
    if number != int(number) or number < least:
        raise ValueError(f"{name}: expected a whole number of at least {least}, got {value}")
    return int(number)


def one_of(name: str, value: str, allowed: Sequence[str]) -> str:
    """One of the words `allowed`."""
    if value not in allowed:
        raise ValueError(f"{name}: expected one of {', '.join(allowed)}, got {value!r}")
    return value


def generator(rng: Rng) -> np.random.Generator:
    """A generator from a seed, or the generator that was given."""
    if isinstance(rng, np.random.Generator):
        return rng
    return np.random.default_rng(whole("rng", rng, least=0))


def _number(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: expected a number, got {value!r}") from None
    if not math.isfinite(number):
        raise ValueError(f"{name}: expected a finite number, got {value}")
    return number


def _array(name: str, value: ArrayLike) -> NDArray[Any]:
    try:
        return np.asarray(value)
    except ValueError:  # ragged rows
        raise ValueError(f"{name}: expected a rectangular array, got unequal rows") from None
