"""What a family sees and needs, by the rule that decides: to find a gap, and to rule one out.

The two are different questions with different answers, so they are never one number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from pytest_fairmedagent.domain import BINARY, Family, Plan
from pytest_fairmedagent.relations.certify import KINDS, ratio_of
from pytest_fairmedagent.relations.evidence import E
from pytest_fairmedagent.stats import (
    effective_pairs,
    pairs_for_gap,
    pairs_to_certify,
    replicates_of,
    smallest_detectable_gap,
)


@dataclass(frozen=True)
class Needs:
    """Replicates with power .8: inf where no number does it.

    To find a gap in one action (it is named) or in all of a swap (it is red), and to show one
    contrast inside the margin if nothing differs; nan without a margin.
    """

    find_in_one: float
    find_in_all: float
    rule_out: float


def seen(
    plan: Plan,
    family: Family,
    *,
    floor: float,
    n_vignettes: int,
    replicates: float,
    every: bool = False,
    power: float = 0.8,
) -> float:
    """Return the smallest gap, in 0..1, that is found in one action, or in all of a swap's.

    1 where none is. `replicates` are a swap's; a pooled reference has more by itself.
    """
    ratio = _ratio(plan)
    return smallest_detectable_gap(
        floor,
        effective_pairs(n_vignettes, replicates, replicates * ratio),
        n_vignettes=n_vignettes,
        power=power,
        every=every,
        **_rule(plan, family),
    )


def needs(
    plan: Plan,
    family: Family,
    *,
    floor: float,
    n_vignettes: int,
    gap: float,
    power: float = 0.8,
) -> Needs:
    """Return the replicates that these vignettes need at this floor, to find and to rule out."""
    ratio, rule = _ratio(plan), _rule(plan, family)

    def found(every: bool) -> float:
        pairs = pairs_for_gap(gap, floor, n_vignettes=n_vignettes, power=power, every=every, **rule)
        return replicates_of(pairs, n_vignettes, ratio)

    rule_out = math.nan
    if family.margin:
        pairs = pairs_to_certify(
            family.margin,
            floor,
            n_vignettes=n_vignettes,
            alpha=family.alpha,
            power=power,
            ratio=ratio,
        )
        rule_out = replicates_of(pairs, n_vignettes, ratio)
    return Needs(found(False), found(True), rule_out)


def _ratio(plan: Plan) -> float:
    return 1.0 if plan.sequential == E else ratio_of(plan)


def _rule(plan: Plan, family: Family) -> dict[str, Any]:
    actions = [action for action in family.actions if plan.kind_of(action) == BINARY]
    return {
        "alpha": family.alpha,
        "n_members": family.size,
        "n_actions": max(1, len(actions)) if family.gating else 1,
        "ratio": _ratio(plan),
        "kind": KINDS[plan.sequential],
    }
