"""Assertions beside invariance: a floor below a bound, and a relation of the user's own."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from pytest_fairmedagent.domain import Outcome
from pytest_fairmedagent.errors import (
    DisparityError,
    InconclusiveError,
    PlanError,
    UnreliableError,
)
from pytest_fairmedagent.plugin.assertions import ContrastUnderTest, check_action, id_of
from pytest_fairmedagent.plugin.parametrise import function_id
from pytest_fairmedagent.plugin.session import outcomes_of, registry_of, state
from pytest_fairmedagent.stats import Floor
from pytest_fairmedagent.stats import floor as floor_of
from pytest_fairmedagent.study import Study
from pytest_fairmedagent.verdict import (
    DISPARITY,
    INCONCLUSIVE,
    RELIABLE,
    UNRELIABLE,
    RelationVerdict,
    Reliability,
)


@dataclass(frozen=True, repr=False)
class Floors:
    """What the fixture `floor` is: a callable from an action to its floor in the reference arm."""

    study: Study
    item: pytest.Item

    def __call__(self, action: str | Outcome) -> Floor:
        __tracebackhide__ = True
        return _reliability(self.study, self.item, id_of(action), 1.0).floor


def assert_floor_below(
    tested: Floors | ContrastUnderTest | Study, action: str | Outcome, bound: float
) -> Reliability:
    """Assert that two runs of one case seldom disagree on an action; return what was found.

    Fails only where the whole 95 % interval of the floor, over vignettes like these, lies above
    `bound` (a share of replicate pairs, in 0..1). Where the interval holds the bound the item ends
    as INCONCLUSIVE, and it passes where all of it lies at or below. Answers that are no replicates,
    or of which more than 10 % are missing, leave it UNMEASURED.

    Args:
        tested: the fixture `floor`, `contrast` or `study`.
        action: an action that the function registers, by its id or as a value.
        bound: above 0 and below 1.

    Raises:
        UnreliableError: for a floor above the bound.
        InconclusiveError: for an interval that holds the bound, under strict.
        PlanError: for an action that is not registered, or no action.
    """
    __tracebackhide__ = True
    is_number = isinstance(bound, (int, float)) and not isinstance(bound, bool)
    if not is_number or not 0 < bound < 1:
        raise PlanError(f"the bound of a floor is {bound!r}, expected a number above 0 and below 1")
    study, item = _whose(tested)
    action = id_of(action)
    found = _reliability(study, item, action, float(bound))
    if found not in study.reliability:
        study.reliability.append(found)
    low, high = found.interval
    numbers = {"floor": found.floor.rate, "floor_low": low, "floor_high": high, "bound": bound}
    state(item, {f"fairmed.{action}.{key}": round(value, 6) for key, value in numbers.items()})
    gating = registry_of(item.config).gates(function_id(item))
    outcomes_of(item).append(("" if found.status == RELIABLE else found.status, found.headline))
    if found.status == UNRELIABLE and gating:
        raise UnreliableError(found.headline)
    if found.status == INCONCLUSIVE and gating and registry_of(item.config).strict:
        raise InconclusiveError(found.headline)
    return found


def assert_relation(contrast: ContrastUnderTest, action: str | Outcome) -> RelationVerdict:
    """Assert the relation that the mark names in `relation=`; return its verdict.

    Fails only where the relation returned a p-value that, adjusted in its family, is at or below
    the family's level. Without a p-value the verdict is DESCRIPTIVE and nothing can fail.

    Raises:
        DisparityError: for such a p-value.
        InconclusiveError: for any other p-value, under strict.
        PlanError: without `relation=`, or for an action that is not registered.
        OwnCodeError: for a relation that fails or returns something else.
    """
    __tracebackhide__ = True
    if not isinstance(contrast, ContrastUnderTest):
        raise PlanError(
            f"assert_relation got {type(contrast).__name__} {contrast!r}, expected the fixture "
            "'contrast' of a test marked with @pytest.mark.fairmed(...)"
        )
    action = id_of(action)
    item = contrast.item
    registry = registry_of(item.config)
    relation = registry.registrations[function_id(item)].relation
    if relation is None:
        raise PlanError(
            "assert_relation needs a relation=... in the mark: a function with @relation"
        )
    member = contrast.member(action)
    judged = contrast.study.judge_relation(relation, contrast.family)
    found = next((verdict for verdict in judged if verdict.contrast == member), None)
    if found is None:
        raise PlanError(
            f"{action!r} was not selected for this run, so nothing was drawn for it. Leave it out "
            "of the check, or widen --fairmed-actions."
        )
    numbers: dict[str, object] = {"relation": found.relation, "verdict": found.status}
    if found.p is not None and found.p_adjusted is not None:
        numbers |= {"p": found.p, "p_adjusted": found.p_adjusted}
    state(item, {f"fairmed.{action}.{key}": value for key, value in numbers.items()})
    outcomes_of(item).append((found.status, found.headline))
    if found.status == DISPARITY and found.family.gating:
        raise DisparityError(found.headline)
    if found.status == INCONCLUSIVE and found.family.gating and registry.strict:
        raise InconclusiveError(found.headline)
    return found


def _whose(tested: Floors | ContrastUnderTest | Study) -> tuple[Study, pytest.Item]:
    study = tested if isinstance(tested, Study) else getattr(tested, "study", None)
    item = getattr(tested, "item", None) or getattr(study, "asked_by", None)
    if not isinstance(study, Study) or not isinstance(item, pytest.Item):
        raise PlanError(
            f"assert_floor_below got {type(tested).__name__} {tested!r}, expected the fixture "
            "'floor', 'contrast' or 'study' of a test marked with @pytest.mark.fairmed(...)"
        )
    return study, item


def _reliability(study: Study, item: pytest.Item, action: str, bound: float) -> Reliability:
    """Return the floor of an action over the item's own vignettes. Raises PlanError."""
    __tracebackhide__ = True
    assert study.table is not None  # noqa: S101 - it is sampled
    family = registry_of(item.config).registrations[function_id(item)].family
    check_action(action, study, family.actions)
    vignettes = family.cases
    if family.per_vignette:
        params = getattr(getattr(item, "callspec", None), "params", {})
        vignettes = family.cases_of(params["vignette"])
    arm = study.table.counts(vignettes, study.plan.reference, action)
    found = floor_of(arm.k, arm.n, clusters=arm.clusters or None)
    reference = study.plan.reference
    reasons = study.judge().guards.against(reference, reference, action)
    return Reliability(action, bound, found, sum(arm.missing), tuple(dict.fromkeys(reasons)))
