"""What a check asserts. A raw flip never fails; an exact signed test beyond the floor does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from types import EllipsisType
from typing import NoReturn, overload

import pytest

from pytest_fairmedagent.domain import BINARY, Contrast, Outcome
from pytest_fairmedagent.errors import DisparityError, InconclusiveError, PlanError, closest
from pytest_fairmedagent.plugin.lifetime import red_over_life
from pytest_fairmedagent.plugin.parametrise import function_id
from pytest_fairmedagent.plugin.registry import Registry
from pytest_fairmedagent.plugin.session import outcomes_of, state, verdicts_of
from pytest_fairmedagent.relations.invariance import Comparison
from pytest_fairmedagent.running.info import RunInfo
from pytest_fairmedagent.study import Study
from pytest_fairmedagent.verdict import (
    DESCRIPTIVE,
    DISPARITY,
    INCONCLUSIVE,
    SEVERITY,
    UNMEASURED,
    SwapVerdict,
    Verdict,
)

EXPLORATORY = "EXPLORATORY"


@dataclass(frozen=True, repr=False)
class ContrastUnderTest:
    """What the fixture `contrast` is: a swap against its reference, as this item sees it.

    `swap` is a condition id, `vignette` the one it is confined to or None where it pools.
    """

    swap: str
    vignette: str | None
    family: str
    study: Study
    strict: bool
    gate_heterogeneous: bool
    item: pytest.Item

    def member(self, action: str) -> Contrast:
        """Return the registered contrast on one outcome. Raises PlanError for what is none."""
        __tracebackhide__ = True
        family = self.study.plan.family(self.family)
        for kind, word, known in (
            ("action", action, family.actions),
            ("swap", self.swap, family.swaps),
            ("vignette", self.vignette, family.vignettes),
        ):
            if word is not None and word not in known:
                raise PlanError(
                    f"{kind} {word!r} is not registered in family {family.name!r}, whose error "
                    f"rate is shared by {family.size} contrasts. Add it to {kind}s= of the mark."
                    f"{closest(str(word), known)}"
                )
        return Contrast(family.name, self.swap, action, self.vignette)

    def verdict(self, action: str) -> Verdict:
        """Return the verdict on one outcome. Raises PlanError for what is not registered."""
        __tracebackhide__ = True
        member = self.member(action)
        if self.study.plan.family(self.family).relation:
            raise PlanError(
                "this function's family is tested by its relation=..., and one family has one "
                "test: call assert_relation(contrast, action)"
            )
        found = self.study.judge().of(member)
        if found is None:
            raise PlanError(
                f"{action!r} was not selected for this run, so nothing was drawn for it. Leave it "
                "out of the check, or widen --fairmed-actions."
            )
        return found

    def as_a_whole(self) -> SwapVerdict:
        """Return the verdict on the swap over all registered outcomes together.

        Raises PlanError where the family tests each outcome for itself.
        """
        __tracebackhide__ = True
        family = self.study.plan.family(self.family)
        found = self.study.judge().swap_of(self.member(family.actions[0])) if family.joint else None
        if found is None:
            raise PlanError(
                f"family {family.name!r} tests each outcome for itself: it has one outcome only, "
                "is exploratory, or declares a minimum_gap or a relation.\n  Name the outcome: "
                f"assert_invariant(contrast, {family.actions[0]!r})"
            )
        return found

    def __str__(self) -> str:
        return self.swap

    def __repr__(self) -> str:
        where = "" if self.vignette is None else f" on {self.vignette}"
        return f"<contrast {self.swap} vs reference{where}>"


def id_of(action: str | Outcome) -> str:
    """Return the id of an outcome that is named by it, or given as a value. Raises PlanError."""
    __tracebackhide__ = True
    if isinstance(action, Outcome):
        return action.id
    if isinstance(action, str):
        return action
    raise PlanError(
        f"the outcome to assert is {action!r}, expected one id, such as 'admission', or a function "
        "with @outcome"
    )


def check_action(action: str, study: Study, registered: Iterable[str]) -> None:
    """Raise PlanError for what is not registered, or is an outcome of another kind."""
    __tracebackhide__ = True
    names = tuple(registered)
    if action not in names:
        raise PlanError(
            f"action {action!r} is not registered here. Add it to actions= of the mark."
            f"{closest(action, names)}"
        )
    if study.plan.kind_of(action) != BINARY:
        raise PlanError(
            f"{action!r} is of kind {study.plan.kind_of(action)!r}: only actions have a rate and a "
            "floor in 0..1, and only these are asserted so.\n  For other outcomes there is "
            "assert_invariant(contrast, outcome)."
        )


@overload
def assert_invariant(contrast: ContrastUnderTest, action: str | Outcome) -> Verdict: ...
@overload
def assert_invariant(contrast: ContrastUnderTest) -> SwapVerdict: ...


def assert_invariant(
    contrast: ContrastUnderTest, action: str | Outcome | EllipsisType = ...
) -> Verdict | SwapVerdict:
    """Assert that an outcome does not depend on the swapped descriptor; return the verdict.

    Fails only for DISPARITY: the signed test of the outcome's kind, adjusted in its family, exceeds
    what chance explains. It also fails for the outcome with the smallest p of a swap that differs
    somewhere although no single outcome can be named, so that no such swap ends green. Under strict
    it fails for everything that was not shown. INCONCLUSIVE and UNMEASURED do not raise here; the
    item is reported as such when it ends.

    Args:
        contrast: the fixture of that name.
        action: an action, or an outcome of another kind, that the mark (or the plan's family)
            registers: its id, or the outcome itself. Without it the swap is asserted as a whole,
            over all registered outcomes together.

    Raises:
        DisparityError: for a gap beyond the floor, or a heterogeneous one if these gate.
        InconclusiveError: for anything not shown, under strict.
        PlanError: for an action that is not registered.
    """
    __tracebackhide__ = True
    if not isinstance(contrast, ContrastUnderTest):
        raise PlanError(
            f"assert_invariant got {type(contrast).__name__} {contrast!r}, expected the fixture "
            "'contrast' of a test marked with @pytest.mark.fairmed(...)"
        )
    if isinstance(action, EllipsisType):
        return _whole_swap(contrast)
    verdict = contrast.verdict(id_of(action))
    verdicts_of(contrast.item).append(verdict)
    state(contrast.item, dict(properties(verdict, contrast.study)))
    judgement = contrast.study.judge()
    whole = judgement.swap_of(verdict.contrast)
    if whole is not None:
        state(contrast.item, dict(swap_properties(whole)))
    gating = verdict.family.gating
    if verdict.status == DISPARITY and gating:
        raise DisparityError(_failure(verdict, contrast.study))
    carried = judgement.carries(verdict.contrast)
    if carried is not None:
        raise DisparityError(f"{carried.headline}\n{_failure(verdict, contrast.study)}")
    over_life = red_over_life(contrast.item.config, contrast.study, verdict.contrast)
    if over_life and gating:
        raise DisparityError(f"{over_life}\n{_failure(verdict, contrast.study)}")
    heterogeneous = any(flag.startswith("HETEROGENEOUS") for flag in verdict.flags)
    if heterogeneous and contrast.gate_heterogeneous and gating:
        raise DisparityError(_failure(verdict, contrast.study))
    # Where a difference can be clinically right nothing can be shown, so strict asks nothing.
    asked = contrast.strict and gating and not verdict.wholly_confounded
    if verdict.status == INCONCLUSIVE and asked:
        raise InconclusiveError(_failure(verdict, contrast.study))
    return verdict


def _whole_swap(contrast: ContrastUnderTest) -> SwapVerdict:
    __tracebackhide__ = True
    verdict = contrast.as_a_whole()
    verdicts_of(contrast.item).append(verdict)
    state(contrast.item, dict(swap_properties(verdict)))
    if verdict.status == DISPARITY:
        raise DisparityError(_failure(verdict, contrast.study))
    if verdict.status == INCONCLUSIVE and contrast.strict and not verdict.wholly_confounded:
        raise InconclusiveError(_failure(verdict, contrast.study))
    return verdict


def _failure(verdict: Verdict | SwapVerdict, study: Study) -> str:
    lines = [verdict.explain()]
    if study.info is not None:
        lines.append(f"  configuration {study.info.config_digest[:12]}, model {study.info.model}")
        if study.info.id is not None:
            lines.append(f"  replay: {_replay(study.info)}")
    return "\n".join(lines)


def _replay(info: RunInfo) -> str:
    """Return what shows this run again: where only fresh draws are judged, no second judgement."""
    if info.only_fresh:
        return f"fairmed show {info.store} --run {info.id}"
    instead = " in place of --fairmed-fresh" if info.fresh else ""
    return f"--fairmed-offline{instead} with {info.store}"


def properties(verdict: Verdict, study: Study) -> list[tuple[str, object]]:
    """Return the numbers of a verdict as properties of its item, for JUnit and other reporters."""
    name, comparison = f"fairmed.{verdict.contrast.action}", verdict.comparison
    low, high = verdict.evidence.interval
    numbers: dict[str, object] = {"verdict": verdict.status, "swap": verdict.contrast.swap}
    if comparison.kind != BINARY:
        numbers |= {"kind": comparison.kind, "unit": comparison.unit or "rate"}
    if comparison.weight:
        numbers |= {"gap": round(comparison.gap, 6), "low": round(low, 6), "high": round(high, 6)}
        if isinstance(comparison, Comparison):
            test = comparison.test
            numbers |= {"b": round(test.b, 6), "c": round(test.c, 6)}
        numbers["p_adjusted"] = float(f"{verdict.p_adjusted:.6g}")
        if comparison.measured:
            numbers["floor"] = round(comparison.floor, 6)
    numbers["family_size"] = verdict.family.size
    if study.info is not None:
        numbers["config_digest"] = study.info.config_digest
    return [(f"{name}.{key}", value) for key, value in numbers.items()]


def swap_properties(verdict: SwapVerdict) -> list[tuple[str, object]]:
    """Return the numbers of a swap's verdict as properties of its item."""
    numbers = {
        "verdict": verdict.status,
        "swap": verdict.swap,
        "p_adjusted": float(f"{verdict.p_adjusted:.6g}"),
        "named": " ".join(v.contrast.action for v in verdict.named),
        "family_size": verdict.family.n_groups,
    }
    return [(f"fairmed.swap.{key}", value) for key, value in numbers.items()]


def settle(item: pytest.Item, registry: Registry) -> None:
    """End a marked item that has passed so far: it takes the worst of its verdicts.

    INCONCLUSIVE ends as a skip of its own category, and so does a DISPARITY that is exploratory.
    UNMEASURED fails or skips by policy, and so does an item that came to no verdict at all: silence
    is not a pass. What the test asserted and caught fails it all the same. What is exploratory
    never fails.
    """
    found, gating = verdicts_of(item), registry.gates(function_id(item))
    for status, message in outcomes_of(item):
        if status == UNMEASURED:
            told = f"UNMEASURED: {message}"
            _end(told, UNMEASURED, fails=gating and registry.fails_unmeasured)
        elif status == INCONCLUSIVE:
            _end(message, INCONCLUSIVE, fails=gating and registry.strict)
        elif status:
            _end(message, EXPLORATORY, fails=gating and status != DESCRIPTIVE)
    if not found and outcomes_of(item):
        return
    if not found:
        message = (
            "UNMEASURED: the test ended without a verdict. Call assert_invariant(contrast, action)"
        )
        _end(message, UNMEASURED, fails=gating and registry.fails_unmeasured)
        return
    worst = worst_of(found)
    if worst.status == UNMEASURED:
        _end(worst.headline, UNMEASURED, fails=gating and registry.fails_unmeasured)
    elif worst.status == INCONCLUSIVE:
        strict = gating and registry.strict and not worst.wholly_confounded
        _end(worst.headline, INCONCLUSIVE, fails=strict)
    elif worst.status == DISPARITY:
        _end(worst.headline, EXPLORATORY, fails=gating)


def worst_of(verdicts: Iterable[Verdict | SwapVerdict]) -> Verdict | SwapVerdict:
    return min(verdicts, key=lambda verdict: SEVERITY.index(verdict.status))


def _end(message: str, category: str, *, fails: bool) -> None:
    if fails:
        pytest.fail(message, pytrace=False)
    skip_as(category, message)


def skip_as(category: str, message: str) -> NoReturn:
    """Skip the item that runs, and have it reported as `category` rather than as skipped."""
    __tracebackhide__ = True
    skipped = pytest.skip.Exception(message, _use_item_location=True)
    skipped.fairmed_category = category  # type: ignore[attr-defined]
    raise skipped
