"""A few planned looks at the exact test: group sequential testing by error spending.

The level is spent in steps. Each look may use the step it was given and no more, so that by the
union bound the whole keeps its level exactly: no Gaussian increments are assumed (Lan and DeMets
1983 for the spending functions).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist

from ._check import fraction, one_of, positive
from ._result import Result

_NORMAL = NormalDist()
KINDS = ("obrien_fleming", "pocock")


@dataclass(frozen=True, repr=False, eq=False)
class GroupSequential(Result):
    """Planned looks after so many replicates, and the level of each, which add up to `alpha`.

    At look i the exact p-value of all data so far is compared with `levels[i]`.
    """

    looks: tuple[int, ...]
    levels: tuple[float, ...]
    alpha: float
    kind: str

    def first_rejection(self, p: Sequence[float]) -> int | None:
        """Replicates at the first look whose p is at or below its level; None if there is none.

        `p` holds the p-values of the looks taken so far, in order. ValueError for more p-values
        than looks or values outside 0..1.
        """
        for look, level, value in zip(self.looks, self.levels, self._checked(p), strict=False):
            if value <= level:
                return look
        return None

    def adjusted(self, p: Sequence[float]) -> float:
        """One p-value in 0..1 for the looks taken so far, which may enter Holm.

        The smallest overall level at which some look so far would have rejected; 1 above one half,
        where spending functions lose their order. ValueError as `first_rejection`.
        """
        values = self._checked(p)
        low, high = 0.0, 0.5
        if not self._rejects(values, high):
            return 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if self._rejects(values, middle) else (middle, high)
        return high

    def _rejects(self, values: list[float], alpha: float) -> bool:
        if alpha <= 0:
            return False
        levels = spending_levels(self.looks, alpha=alpha, kind=self.kind)
        return any(value <= level for value, level in zip(values, levels, strict=False))

    def _checked(self, p: Sequence[float]) -> list[float]:
        if len(p) > len(self.looks):
            raise ValueError(f"p: expected at most {len(self.looks)} looks, got {len(p)}")
        return [fraction(f"p[{i}]", value, ends=True) for i, value in enumerate(p)]

    def __str__(self) -> str:
        steps = ", ".join(
            f"{level:.2g} at {look}" for look, level in zip(self.looks, self.levels, strict=True)
        )
        return f"{self.kind} spending of {self.alpha:g}: {steps} replicates"


def group_sequential(
    looks: Sequence[int], *, alpha: float = 0.05, kind: str = "obrien_fleming"
) -> GroupSequential:
    """A plan of looks after `looks` replicates (rising; the last is the maximum).

    `kind` is "obrien_fleming" (hardly anything early, nearly all at the end) or "pocock" (evenly).
    For a family pass alpha divided by its size, or put `adjusted` through Holm. ValueError for
    looks that do not rise, or an unknown kind.
    """
    levels = spending_levels(looks, alpha=alpha, kind=kind)
    return GroupSequential(tuple(int(look) for look in looks), levels, alpha, kind)


def spending_levels(
    looks: Sequence[float], *, alpha: float = 0.05, kind: str = "obrien_fleming"
) -> tuple[float, ...]:
    """What each look may spend of alpha, in 0..alpha, summing to alpha; see `group_sequential`.

    ValueError as there.
    """
    alpha = fraction("alpha", alpha)
    one_of("kind", kind, KINDS)
    times = [positive(f"looks[{i}]", look) for i, look in enumerate(looks)]
    if not times or any(a >= b for a, b in pairwise(times)):
        raise ValueError(f"looks: expected rising numbers of replicates, got {list(looks)}")
    z = -_NORMAL.inv_cdf(alpha / 2)
    spent = [0.0]
    for time in times:
        share = time / times[-1]
        if kind == "pocock":
            spent.append(alpha * math.log1p((math.e - 1) * share))
        else:
            spent.append(2 * _NORMAL.cdf(-z / math.sqrt(share)))
    return tuple(b - a for a, b in pairwise(spent))
