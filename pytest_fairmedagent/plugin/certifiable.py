"""A plan that is to certify its contrasts is refused where it could not."""

from __future__ import annotations

from pytest_fairmedagent.domain import Plan
from pytest_fairmedagent.errors import PlanError
from pytest_fairmedagent.relations.certify import certification
from pytest_fairmedagent.report.looked import MOST_REPLICATES


def refuse_uncertifiable(plan: Plan, *, floor: float, target: float | None) -> None:
    """Raise PlanError for a gating family whose chance to be certified whole is below the target.

    `floor` is the assumed one. Without a target every plan may be run.
    """
    if target is None:
        return
    for family in plan.families:
        if not family.gating or not family.size:
            continue
        found = certification(plan, family, floor=floor, target=target)
        if found.chance >= target:
            continue
        cases = max(1, family.n_pooled)
        advice = (
            f"{found.needed:.0f} replicates would do with these {cases} vignettes: "
            f"--fairmed-replicates={found.needed:.0f}, or more vignettes."
            if found.needed <= MOST_REPLICATES
            else "Give a margin, such as --fairmed-margin=0.1, or a wider one."
        )
        most = "at most " if plan.first_leg else ""
        raise PlanError(
            f"family {family.name!r} could not be shown equivalent: at a floor of {floor} the "
            f"chance that all {family.size} contrasts fit inside ±{family.margin or 0:g} with "
            f"{most}{found.replicates} replicates of {cases} vignettes is {found.chance:.2f}, and "
            f"the plan asks for {target}.\n  {advice}"
        )
