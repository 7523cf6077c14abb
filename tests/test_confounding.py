"""Judging where a difference can be clinically right: left out, shown apart, never claimed."""

from dataclasses import replace

import pytest

from pytest_fairmedagent.domain import (
    Confounded,
    Confounder,
    Contrast,
    Family,
    Plan,
    ReplicateTable,
    Trajectory,
)
from pytest_fairmedagent.stats import stratified_test
from pytest_fairmedagent.verdict import DISPARITY, INCONCLUSIVE, judge

R = 10
VIGNETTES = tuple(f"v{i}" for i in range(12))
FAMILY = Family("f", ("swap",), ("referral", "admission"), VIGNETTES, R)
CONTRAST = Contrast("f", "swap", "referral")
ENTRY = Confounder("referral", "more", "A guideline, 2020", "anatomy", attribute="sex")


def plan(named, **changes):
    found = Confounded("swap", "referral", tuple(named), (ENTRY,))
    family = replace(FAMILY, **changes)
    return Plan((family,), "reference", confounded=(found,) if named else ())


def table(swap, reference):
    """Both actions are answered alike; counts of positives per vignette."""
    rows = {}
    for condition, counts in (("swap", swap), ("reference", reference)):
        for salt, (vignette, k) in enumerate(zip(VIGNETTES, counts, strict=True)):
            order = sorted(range(R), key=lambda i: (i * 7 + salt * 3) % 11)
            yes = [i in order[:k] for i in range(R)]
            rows[vignette, condition] = [
                Trajectory({"actions": {"referral": y, "admission": y}, "note": {"i": i}})
                for i, y in enumerate(yes)
            ]
    return ReplicateTable(rows, "digest")


# The whole gap lies on the last four vignettes.
REFERENCE = [3, 5, 2, 6, 4, 5, 3, 6, 2, 3, 1, 4]
SWAP = [3, 5, 2, 6, 4, 5, 3, 6, 9, 9, 8, 10]
LAST = VIGNETTES[8:]


def test_a_gap_on_confounded_vignettes_alone_is_no_disparity():
    found = table(SWAP, REFERENCE)
    assert judge(found, plan(()), [CONTRAST]).of(CONTRAST).status == DISPARITY
    judgement = judge(found, plan(LAST), [CONTRAST])
    verdict = judgement.of(CONTRAST)
    assert verdict.status == INCONCLUSIVE
    assert verdict.comparison.swap.vignettes == VIGNETTES[:8]
    assert verdict.comparison.test.gap == 0
    assert "left out and explored apart: v8, v9, v10, v11" in verdict.explain()


def test_what_was_left_out_is_shown_apart_with_its_source():
    (apart,) = judge(table(SWAP, REFERENCE), plan(LAST), [CONTRAST]).apart
    test = stratified_test(SWAP[8:], [R] * 4, REFERENCE[8:], [R] * 4)
    assert apart.comparison.swap.vignettes == LAST
    assert (apart.comparison.test.gap, apart.q) == (test.gap, test.p)
    assert str(apart.confounded) == "CONFOUNDED: more: anatomy (A guideline, 2020)"


def test_another_action_of_the_same_swap_is_judged_on_all_vignettes():
    other = replace(CONTRAST, action="admission")
    verdict = judge(table(SWAP, REFERENCE), plan(LAST), [CONTRAST, other]).of(other)
    assert verdict.status == DISPARITY
    assert verdict.comparison.swap.vignettes == VIGNETTES


@pytest.mark.parametrize("gating", [True, False])
def test_a_contrast_that_is_confounded_everywhere_is_looked_at_and_never_claimed(gating):
    found = plan(VIGNETTES, gating=gating)
    other = replace(CONTRAST, action="admission")
    judgement = judge(table(SWAP, REFERENCE), found, [CONTRAST, other])
    verdict = judgement.of(CONTRAST)
    assert (verdict.status, verdict.p_adjusted) == (INCONCLUSIVE, 1.0)
    assert verdict.reasons == ("CONFOUNDED: more: anatomy (A guideline, 2020)",)
    assert verdict.comparison.test.gap > 0.2
    assert judgement.of(other).status == DISPARITY


def test_a_contrast_on_one_vignette_is_confounded_there_and_not_elsewhere():
    found = plan(["v0"], per_vignette=True)
    contrasts = [replace(CONTRAST, vignette=v) for v in ("v0", "v1")]
    judgement = judge(table([9] * 12, [0] * 11 + [1]), found, contrasts)
    assert [judgement.of(c).status for c in contrasts] == [INCONCLUSIVE, DISPARITY]
    assert [a.comparison.contrast.vignette for a in judgement.apart] == ["v0"]


def test_what_is_confounded_is_registered_with_the_plan():
    assert plan(()).digest != plan(LAST).digest != plan(LAST[:2]).digest
