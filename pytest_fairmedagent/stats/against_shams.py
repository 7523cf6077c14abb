"""A swap against its reference, and against what meaningless edits do: noise and common shift."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ._columns import Arm
from ._result import Result
from .omnibus import SwapTest, swap_test
from .surface import SurfaceNoise, surface_noise

# The swap is compared with the shams too from this p of their common shift on. Always would cost
# quiet sets a tenth of their power; at .10 it costs a hundredth (benchmarks/results/swap_level.md).
_SHIFTED = 0.10


@dataclass(frozen=True, repr=False, eq=False)
class ShamSwapTest(Result):
    """A swap's test with its shams inside.

    `test` is what decides. `noise` is what shams take off every z. `shift` tests all shams together
    against the reference, as if they were one swap; where it shows that any edit moves decisions,
    `to_shams` is the swap against the shams, and each p of `test` the larger of both. Else None.
    """

    test: SwapTest
    noise: SurfaceNoise
    shift: SwapTest
    to_shams: SwapTest | None

    def __str__(self) -> str:
        also = "" if self.to_shams is None else f"; shams move decisions too, p={self.shift.p:.3g}"
        return f"{self.test}; {self.noise}{also}"


def swap_against_shams(
    swap: Arm,
    reference: Arm,
    shams: Sequence[Arm],
    *,
    groups: Sequence[int] | None = None,
    clusters: Sequence[Hashable] | None = None,
    noise: SurfaceNoise | None = None,
    n_relabellings: int = 9999,
) -> ShamSwapTest:
    """Test whether a swap moves decisions further than meaningless edits do.

    Arguments as `swap_test` and `surface_noise`. Noise that differs from case to case is in the
    z; a shift that any edit makes in all cases is not noise, and a swap that only shares it must
    not be red for it. `noise` stands in for what `surface_noise` finds in these arms, where they
    leave out answers by which it is measured. ValueError as there.
    """
    if noise is None:
        noise = surface_noise(swap, reference, shams, clusters=clusters)
    test = swap_test(
        swap, reference, groups=groups, shrink=noise.shrink, n_relabellings=n_relabellings
    )
    pooled = [np.concatenate(rows) for rows in zip(*shams, strict=True)]
    shift = swap_test(pooled, reference, groups=groups, n_relabellings=n_relabellings)
    if shift.p > _SHIFTED:
        return ShamSwapTest(test, noise, shift, None)
    other = swap_test(swap, pooled, groups=groups, n_relabellings=n_relabellings)
    both = zip(test.p_outcomes, other.p_outcomes, strict=True)
    larger = replace(test, p=max(test.p, other.p), p_outcomes=tuple(max(pair) for pair in both))
    return ShamSwapTest(larger, noise, shift, other)
