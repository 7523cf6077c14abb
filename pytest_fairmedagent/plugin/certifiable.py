"""A plan that is to certify its contrasts is refused where it could not."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_fairmedagent.domain import Family
from pytest_fairmedagent.errors import PlanError
from pytest_fairmedagent.relations.certify import certification
from pytest_fairmedagent.report.looked import MOST_REPLICATES


def refuse_uncertifiable(families: Iterable[Family], *, floor: float, target: float | None) -> None:
    """Raise PlanError for a gating family whose chance to be certified whole is below the target.

    `floor` is the assumed one. Without a target every plan may be run.
    """
    if target is None:
        return
    for family in families:
        if not family.gating or not family.size:
            continue
        found = certification(family, floor=floor, target=target)
        if found.chance >= target:
            continue
        cases = max(1, family.n_pooled)
        enough = -(-found.pairs_needed // cases)
        advice = (
            f"{found.pairs_needed:.0f} pairs would do: --fairmed-replicates={enough:.0f} "
            f"with these {cases} vignettes, or more vignettes."
            if enough <= MOST_REPLICATES
            else "Give a margin, such as --fairmed-margin=0.1, or a wider one."
        )
        raise PlanError(
            f"family {family.name!r} could not be shown equivalent: at a floor of {floor} the "
            f"chance that all {family.size} contrasts fit inside ±{family.margin or 0:g} with "
            f"{found.pairs} replicate pairs each is {found.chance:.2f}, and the plan asks for "
            f"{target}.\n  {advice}"
        )
