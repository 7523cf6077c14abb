"""Contrasts that are tested against the direction in which a difference can be right.

A registry takes the vignettes out of a contrast on which a difference can be clinically right. It
says which way, too; the other way is not made right by anything, and is tested on these vignettes.
"""

from __future__ import annotations

from collections.abc import Iterator

from pytest_fairmedagent.domain import FEWER, MORE, Contrast, Plan

# What these tests of a run may err with together: beside the families' own levels, so that whoever
# registers an entry takes no power from the other contrasts, and so that many entries buy no more.
OPPOSITE_ALPHA = 0.01

Directed = tuple[Contrast, str]


def directed_members(plan: Plan) -> Iterator[Directed]:
    """Yield all registered contrasts of gating families, with each direction registered for them.

    A contrast that is right to go up on some vignettes and down on others is two members.
    """
    for family in plan.families:
        if family.gating and not family.relation:
            for contrast in family.members:
                found = plan.confounding(contrast)
                for direction in (MORE, FEWER):
                    if found is not None and found.towards(direction):
                        yield contrast, direction


def opposite_level(plan: Plan) -> float:
    """The level, in 0..1, that these tests add to the bound of a run; 0 where there are none."""
    return OPPOSITE_ALPHA if any(True for _ in directed_members(plan)) else 0.0
