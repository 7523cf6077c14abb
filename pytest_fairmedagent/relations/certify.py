"""What a plan can certify: the chance that all contrasts of a family come out EQUIVALENT."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pytest_fairmedagent.domain import Family
from pytest_fairmedagent.stats import pairs_to_certify, power_to_certify


@dataclass(frozen=True)
class Certification:
    """Whether a family can be shown equivalent as a whole, if nothing differs.

    `chance` (in 0..1) counts contrasts as independent, which is the cautious side of not knowing
    how they hang together. `pairs_needed` is per contrast; inf where no number is enough.
    """

    family: str
    chance: float
    pairs: int
    pairs_needed: float


def certification(family: Family, *, floor: float, target: float) -> Certification:
    """Return the chance that all contrasts of a family come out EQUIVALENT at this floor."""
    margin = family.margin or 0.0
    pairs = family.replicates * family.n_pooled
    if not margin:
        return Certification(family.name, 0.0, pairs, math.inf)
    each = power_to_certify(margin, floor, pairs, alpha=family.alpha)
    needed = pairs_to_certify(
        margin, floor, alpha=family.alpha, power=target ** (1 / max(1, family.size))
    )
    return Certification(family.name, each**family.size, pairs, needed)
