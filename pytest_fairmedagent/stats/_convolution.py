"""Laws of sums of independent whole numbers, by direct convolution.

Direct rather than by Fourier transform: all terms are positive, so even the far tails keep their
relative accuracy, and tails are what a p-value is made of.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from ._check import Floats

# A probability below this has left the range in which doubles keep their precision. It is never
# reported as 0: what happened cannot be impossible.
SMALLEST = 2.2250738585072014e-308

# Up to so many outcomes a stratum's law is divided out of whole numbers, each value rounded once.
_EXACT = 200


@lru_cache(maxsize=16384)
def hypergeometric(m: int, n: int, s: int) -> tuple[int, Floats]:
    """Smallest value and probabilities of the positives among `m` of `m + n` with `s` positive."""
    low, high = max(0, s - n), min(m, s)
    if m + n <= _EXACT:
        total = math.comb(m + n, s)
        law = np.array(
            [math.comb(m, x) * math.comb(n, s - x) / total for x in range(low, high + 1)]
        )
    else:
        # Neighbours' ratios, from the middle outwards: no factor overflows, no tail loses digits.
        x = np.arange(low, high, dtype=np.float64)
        ratios = (m - x) * (s - x) / ((x + 1) * (n - s + x + 1))
        mode = int(np.count_nonzero(ratios > 1))
        left = np.cumprod(1 / ratios[:mode][::-1])[::-1]
        law = np.concatenate((left, [1.0], np.cumprod(ratios[mode:])))
        law /= law.sum()
    law.setflags(write=False)
    return low, law


@lru_cache(maxsize=1024)
def _hypergeometric_power(m: int, n: int, s: int, times: int) -> Floats:
    base = hypergeometric(m, n, s)[1]
    if base.size == 2 and base[0] == base[1]:
        return _fair_binomial(times)
    return power(base, times)


def _fair_binomial(times: int) -> Floats:
    """Binomial(times, 1/2), built from the middle outwards so that 2**-times cannot underflow."""
    half = times // 2
    at = np.arange(half, times, dtype=np.float64)
    right = np.concatenate(([1.0], np.cumprod((times - at) / (at + 1))))
    both = np.concatenate((right[::-1][:half], right))
    law: Floats = both / both.sum()
    law.setflags(write=False)
    return law


def power(base: Floats, times: int) -> Floats:
    """`base` convolved with itself `times` times."""
    result = np.ones(1)
    while times:
        if times & 1:
            result = np.convolve(result, base)
        times >>= 1
        if times:
            base = np.convolve(base, base)
    return result


def convolve_all(laws: list[Floats]) -> Floats:
    """The law of the sum, by a balanced tree: neighbours of like length meet first."""
    if not laws:
        return np.ones(1)
    laws = sorted(laws, key=len)
    while len(laws) > 1:
        paired = [np.convolve(a, b) for a, b in zip(laws[::2], laws[1::2], strict=False)]
        if len(laws) % 2:
            paired.append(laws[-1])
        laws = sorted(paired, key=len)
    return laws[0]


def sum_of_hypergeometrics(groups: Iterable[tuple[tuple[int, int, int], int]]) -> Floats:
    """Law of the sum of k over strata, counted from its smallest value.

    `groups` holds ((m, n, s), how many strata have these margins). Equal strata are raised to a
    power once and remembered, which is what makes the checks of a family share their work.
    """
    return convolve_all([_hypergeometric_power(m, n, s, times) for (m, n, s), times in groups])


def integer_coefficients(factors: list[list[int]]) -> list[int]:
    """Coefficients of a product of polynomials with whole coefficients >= 0, exactly.

    Each polynomial is packed into one large integer, in slots wide enough for the product's value
    at 1 and so for each of its coefficients: one big multiplication instead of many small ones.
    """
    slot = math.prod(sum(f) for f in factors).bit_length() // 8 + 1
    length = sum(len(f) - 1 for f in factors) + 1
    packed = [
        int.from_bytes(b"".join(c.to_bytes(slot, "little") for c in factor), "little")
        for factor in factors
    ]
    while len(packed) > 1:
        packed.sort()
        half = [a * b for a, b in zip(packed[::2], packed[1::2], strict=False)]
        packed = half + ([packed[-1]] if len(packed) % 2 else [])
    data = (packed[0] if packed else 1).to_bytes(slot * length, "little")
    return [int.from_bytes(data[i : i + slot], "little") for i in range(0, slot * length, slot)]
