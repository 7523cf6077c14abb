"""What stands against any verdict on a contrast, missing answers aside."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_fairmedagent.domain import Plan, ReplicateTable
from pytest_fairmedagent.relations.guards import Guards
from pytest_fairmedagent.relations.measured import Measured


def obstacles(
    comparison: Measured,
    table: ReplicateTable,
    plan: Plan,
    vignettes: Sequence[str],
    guards: Guards,
    look: int,
) -> list[str]:
    """Return why no verdict may be given; nothing where one may."""
    contrast = comparison.contrast
    arms = (plan.reference, contrast.swap, *(plan.identical if plan.pooled else ()))
    for condition in arms:
        rows = [table.rows.get((vignette, condition), ()) for vignette in vignettes]
        drawn, planned = sum(map(len, rows)), look * len(vignettes)
        if drawn < planned:
            return [f"{condition} has {drawn} of {planned} trials: the same command draws the rest"]
    reasons = guards.against(contrast.swap, plan.reference, contrast.action)
    if not comparison.weight:
        reasons.append("no vignette has an answer in both arms")
    elif not comparison.measured:
        reasons.append(
            "no replicate pair in one of the arms, so there is no floor of this configuration; "
            "draw at least 2 replicates"
        )
    elif not comparison.deterministic and comparison.untestable:
        reasons.append(comparison.untestable)
    return reasons
