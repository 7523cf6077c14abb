"""What a family sees and needs, by the rule that decides: to find a gap, and to rule one out.

The two are different questions with different answers, so they are never one number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from pytest_fairmedagent.domain import Family, Plan
from pytest_fairmedagent.relations.certify import KINDS, ratio_of
from pytest_fairmedagent.relations.evidence import E
from pytest_fairmedagent.stats import (
    effective_pairs,
    replicates_to_find,
    replicates_to_rule_out,
    smallest_detectable_gap,
)
from pytest_fairmedagent.stats.planning import Rule

POWER = 0.8


@dataclass(frozen=True)
class Needs:
    """Replicates of a swap with power .8: to find a gap in one action, which is then named.

    And to show the contrast inside the margin if nothing differs. inf where no number does it; to
    rule out, nan without a margin, and for looks after every round, which have no formula.
    """

    find: float
    rule_out: float


def seen(
    plan: Plan,
    family: Family,
    *,
    floor: float,
    n_vignettes: int,
    replicates: float,
    every: bool = False,
    power: float = POWER,
) -> float:
    """Return the smallest gap, in 0..1, that is found in one action, or in all of a swap's.

    1 where none is. `replicates` are a swap's; a pooled reference has more by itself.
    """
    rule = rule_of(plan, family)
    gap = smallest_detectable_gap(
        floor,
        effective_pairs(n_vignettes, replicates, replicates * rule.ratio),
        n_vignettes=n_vignettes,
        power=power,
        every=every,
        alpha=rule.alpha,
        n_members=rule.n_groups * rule.n_actions,
        n_actions=rule.n_actions,
        ratio=rule.ratio,
        kind=rule.kind,
    )
    return min(1.0, gap + family.minimum_gap)


def needs(
    rule: Rule,
    family: Family,
    *,
    floor: float,
    n_vignettes: int,
    gap: float,
    power: float = POWER,
) -> Needs:
    """Return the replicates that these vignettes need at this floor, to find and to rule out."""
    beyond = gap - family.minimum_gap  # only that is tested
    find = replicates_to_find(beyond, floor, rule, n_vignettes=n_vignettes, power=power)
    rule_out = math.nan
    if family.margin:
        rule_out = replicates_to_rule_out(
            family.margin, floor, rule, n_vignettes=n_vignettes, power=power
        )
    return Needs(find, rule_out)


def rule_of(plan: Plan, family: Family) -> Rule:
    """Return how a family decides: by swaps first, or each member for itself."""
    n_actions = len(family.actions) if family.joint else 1
    ratio = 1.0 if plan.sequential == E else ratio_of(plan)
    return Rule(family.alpha, max(1, family.n_groups), n_actions, ratio, KINDS[plan.sequential])


def at_look(rule: Rule, level: float) -> Rule:
    """Return the rule of one look that may use `level`; looks after every round have but one."""
    kind = rule.kind if rule.kind == KINDS[E] else "fixed"
    return replace(rule, alpha=level, kind=kind)
