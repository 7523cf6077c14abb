"""Swaps as a whole: what the joint test says, what it names, and who fails for it."""

from dataclasses import replace

import numpy as np
import pytest

from pytest_fairmedagent.domain import ACTIONS, Contrast, Family, Plan, ReplicateTable, Trajectory
from pytest_fairmedagent.errors import DisparityError, InconclusiveError, PlanError
from pytest_fairmedagent.plugin.assertions import ContrastUnderTest, assert_invariant
from pytest_fairmedagent.stats import holm, stratified_test
from pytest_fairmedagent.verdict import (
    DISPARITY,
    EQUIVALENT,
    INCONCLUSIVE,
    UNMEASURED,
    judge,
)

V, R = 40, 4
VIGNETTES = tuple(f"v{i}" for i in range(V))
SIX = tuple(ACTIONS)
WHERE = {"high_acuity": ("triage", "esi_acuity")}  # the others read a yes or no as it is
FAMILY = Family("f", ("a", "b", "c"), SIX, VIGNETTES, R)
PLAN = Plan((FAMILY,), "reference")


def table(rng, *, swaps=("a",), shift=(), floor=0.087, missing=(), copies=()):
    """Six actions with U-shaped rates; `shift` maps a swap to what is added to each rate."""
    a = floor / (1 - 2 * floor)
    rates = rng.beta(a, a, (V, 6))
    shifts = dict(shift)
    rows = {}
    for condition in ("reference", "rerender", *swaps):
        moved = np.clip(rates + shifts.get(condition, np.zeros(6)), 0, 1)
        drawn = rng.random((V, R, 6)) < moved[:, None]
        for v, vignette in enumerate(VIGNETTES):
            rows[vignette, condition] = [
                Trajectory(
                    {
                        "actions": {
                            action: None if (condition, action) in missing else bool(x)
                            for action, x in zip(SIX, answers, strict=True)
                        },
                        "note": {"i": 0 if condition in copies else r},
                    }
                )
                for r, answers in enumerate(drawn[v])
            ]
    return ReplicateTable(rows, "made")


def judged(found, plan=PLAN, swaps=("a",), actions=SIX):
    return judge(found, plan, [Contrast("f", s, action) for s in swaps for action in actions])


ALL = np.full(6, 0.12)
ONE = np.array([0.3, 0, 0, 0, 0, 0])


@pytest.fixture(scope="module")
def unnamed():
    """A judgement with a red swap of which no outcome is named."""
    for seed in range(40):
        found = judged(table(np.random.default_rng(seed), shift={"a": np.full(6, 0.045)}))
        if found.swaps[0].red and not found.swaps[0].named:
            return found
    raise AssertionError("no such data set among 40")


class TestRed:
    def test_a_shift_of_all_outcomes_is_red_and_names_them(self):
        found = judged(table(np.random.default_rng(1), shift={"a": ALL}))
        [whole] = found.swaps
        assert whole.status == DISPARITY
        assert whole.red
        assert {v.contrast.action for v in whole.named} == {
            v.contrast.action for v in found.verdicts if v.status == DISPARITY
        }
        assert len(whole.named) >= 3

    def test_a_shift_of_one_outcome_names_it_alone(self):
        found = judged(table(np.random.default_rng(2), shift={"a": ONE}))
        [whole] = found.swaps
        assert [v.contrast.action for v in whole.named] == [SIX[0]]
        assert "differs in high_acuity" in whole.headline

    def test_a_small_shift_of_all_can_be_red_without_a_name_and_one_item_carries_it(self, unnamed):
        [whole] = unnamed.swaps
        assert "no outcome singled out" in whole.headline
        carriers = [v.contrast for v in unnamed.verdicts if unnamed.carries(v.contrast) is whole]
        assert carriers == [min(unnamed.verdicts, key=lambda v: v.evidence.p).contrast]
        assert all(v.status == INCONCLUSIVE for v in unnamed.verdicts)

    def test_who_was_not_run_carries_nothing(self, unnamed):
        least = min(unnamed.verdicts, key=lambda v: v.evidence.p).contrast
        others = tuple(v for v in unnamed.verdicts if v.contrast != least)
        found = replace(unnamed, verdicts=others)
        [carrier] = [v for v in others if found.carries(v.contrast)]
        assert carrier == min(others, key=lambda v: v.evidence.p)

    def test_selecting_fewer_outcomes_changes_nothing_of_the_whole(self):
        data = table(np.random.default_rng(1), shift={"a": ALL})
        every, few = judged(data), judged(data, actions=SIX[1:3])
        assert few.swaps[0].p == every.swaps[0].p
        assert [v.contrast.action for v in few.verdicts] == list(SIX[1:3])
        for verdict in few.verdicts:
            assert verdict.p_adjusted == every.of(verdict.contrast).p_adjusted

    def test_a_named_outcome_is_its_own_red_and_carries_no_other(self):
        found = judged(table(np.random.default_rng(2), shift={"a": ONE}))
        assert not any(found.carries(v.contrast) for v in found.verdicts)


class TestLevels:
    def test_nothing_is_red_where_nothing_differs(self):
        found = judged(table(np.random.default_rng(4)))
        assert found.swaps[0].status == INCONCLUSIVE
        assert found.swaps[0].p > 0.05

    def test_swaps_share_the_level_and_absent_ones_hold_their_part(self):
        data = table(np.random.default_rng(5), shift={"a": ONE})
        one, three = replace(FAMILY, swaps=("a",)), FAMILY
        alone = judged(data, replace(PLAN, families=(one,))).swaps[0]
        among = judged(data, replace(PLAN, families=(three,))).swaps[0]
        assert alone.p == among.p
        assert among.p_adjusted == pytest.approx(min(1, 3 * alone.p_adjusted))

    def test_no_outcome_has_a_smaller_p_than_its_swap(self):
        found = judged(table(np.random.default_rng(6), shift={"a": ALL}))
        whole = found.swaps[0]
        assert all(v.p_adjusted >= whole.p_adjusted for v in found.verdicts)

    def test_a_family_of_one_outcome_is_holm_on_the_exact_p(self):
        family = replace(FAMILY, actions=(SIX[0],))
        data = table(np.random.default_rng(7), swaps=("a", "b"), shift={"a": ONE})
        found = judged(data, replace(PLAN, families=(family,)), ("a", "b"), (SIX[0],))
        assert not found.swaps
        tests = []
        for swap in ("a", "b"):
            arms = [data.counts(VIGNETTES, c, SIX[0]) for c in (swap, "reference")]
            tests.append(stratified_test(arms[0].k, arms[0].n, arms[1].k, arms[1].n).p)
        expected = holm(tests, n_members=3)
        assert [v.p_adjusted for v in found.verdicts] == pytest.approx(list(expected))

    def test_exploratory_families_have_no_swap_level(self):
        family = replace(FAMILY, gating=False)
        found = judged(
            table(np.random.default_rng(8), shift={"a": ALL}), replace(PLAN, families=(family,))
        )
        assert found.swaps == ()

    def test_the_same_data_give_the_same_p_in_any_order(self):
        data = table(np.random.default_rng(9), shift={"a": ALL / 3})
        turned = ReplicateTable(
            {key: row[::-1] for key, row in reversed(data.rows.items())}, "made"
        )
        assert judged(data).swaps[0].p == judged(turned).swaps[0].p


class TestEquivalent:
    def test_all_outcomes_inside_the_margin_are_green_whatever_the_whole_says(self):
        family = replace(FAMILY, margin=0.25)
        data = table(np.random.default_rng(10), shift={"a": ALL})
        found = judged(data, replace(PLAN, families=(family,)))
        [whole] = found.swaps
        assert whole.p_adjusted <= 0.05
        assert {v.status for v in found.verdicts} == {EQUIVALENT}
        assert whole.status == EQUIVALENT
        assert not whole.red
        assert whole.flags == ("not zero, but inside the margin",)

    def test_one_open_outcome_makes_it_red(self):
        family = replace(FAMILY, margin=0.25)
        shift = ALL + np.array([0.4, 0, 0, 0, 0, 0])
        found = judged(
            table(np.random.default_rng(10), shift={"a": shift}),
            replace(PLAN, families=(family,)),
        )
        assert sum(v.status != EQUIVALENT for v in found.verdicts) == 1
        assert found.swaps[0].red


class TestUnmeasured:
    def test_a_swap_without_answers_is_unmeasured(self):
        missing = [("a", action) for action in SIX]
        found = judged(table(np.random.default_rng(11), missing=missing))
        assert found.swaps[0].status == UNMEASURED
        assert not found.swaps[0].red

    def test_an_outcome_without_answers_leaves_the_others_their_test(self):
        data = table(np.random.default_rng(12), shift={"a": ALL}, missing=[("a", SIX[5])])
        found = judged(data)
        assert found.of(Contrast("f", "a", SIX[5])).status == UNMEASURED
        assert found.swaps[0].red

    def test_answers_that_may_be_missing_for_the_gap_s_sake_decide_nothing(self):
        data = table(np.random.default_rng(13), floor=0.3)
        rows = dict(data.rows)
        for vignette in VIGNETTES:  # every no of the first action is lost under the swap
            rows[vignette, "a"] = [
                replace(
                    t,
                    outputs={
                        **t.outputs,
                        "actions": {
                            **t.outputs["actions"],
                            SIX[0]: t.outputs["actions"][SIX[0]] or None,
                        },
                    },
                )
                for t in rows[vignette, "a"]
            ]
        found = judged(ReplicateTable(rows, "made"))
        assert found.of(Contrast("f", "a", SIX[0])).status == UNMEASURED
        assert not found.swaps[0].red


def test_copies_count_once_in_the_joint_test_too():
    data = table(np.random.default_rng(14), shift={"a": ONE}, copies=("a", "reference"))
    plain = table(np.random.default_rng(14), shift={"a": ONE})
    assert judged(data).swaps[0].p > judged(plain).swaps[0].p


def test_a_rerendered_reference_is_pooled_where_the_plan_says_so():
    data = table(np.random.default_rng(15), shift={"a": ONE})
    pooled = replace(PLAN, identical=("rerender",), pooled=True)
    verdict = judged(data, pooled).of(Contrast("f", "a", SIX[0]))
    assert set(verdict.comparison.reference.n) == {2 * R}
    apart = judged(data, replace(pooled, pooled=False)).of(Contrast("f", "a", SIX[0]))
    assert set(apart.comparison.reference.n) == {R}


def test_a_minimum_gap_has_no_swap_level_and_is_tested_by_itself():
    family = replace(FAMILY, minimum_gap=0.2)
    data = table(np.random.default_rng(16), shift={"a": ALL})
    found = judged(data, replace(PLAN, families=(family,)))
    assert found.swaps == ()
    assert all(v.status != DISPARITY for v in found.verdicts)
    large = table(np.random.default_rng(16), shift={"a": ONE * 2})
    named = judged(large, replace(PLAN, families=(family,)))
    assert named.of(Contrast("f", "a", SIX[0])).status == DISPARITY


@pytest.mark.parametrize("rule", ["gs", "e"])
def test_looks_keep_the_swap_level(rule):
    plan = replace(PLAN, sequential=rule)
    found = judged(table(np.random.default_rng(17), shift={"a": ALL * 2}), plan)
    assert found.swaps[0].red
    null = judged(table(np.random.default_rng(18)), plan)
    assert null.swaps[0].status == INCONCLUSIVE


class Judged:
    """What `assert_invariant` asks of a study, with a judgement that was made before."""

    info = None

    def __init__(self, judgement):
        self.plan, self.judgement = judgement.plan, judgement

    def judge(self):
        return self.judgement


def contrast(judgement, request, *, strict=False):
    return ContrastUnderTest("a", None, "f", Judged(judgement), strict, False, request.node)


class TestAssertInvariant:
    def test_exactly_one_outcome_fails_for_a_red_swap_without_a_name(self, unnamed, request):
        failed = []
        for action in SIX:
            try:
                assert_invariant(contrast(unnamed, request), action)
            except DisparityError as error:
                failed.append(str(error))
        [message] = failed
        assert message.startswith("DISPARITY a vs reference: differs somewhere, no outcome singled")
        assert "6 outcomes together" in message.splitlines()[0]

    def test_the_swap_itself_can_be_asserted(self, unnamed, request):
        with pytest.raises(DisparityError, match="differs somewhere"):
            assert_invariant(contrast(unnamed, request))

    def test_a_swap_that_shows_nothing_does_not_fail_unless_strict(self, request):
        nothing = judged(table(np.random.default_rng(4)))
        assert assert_invariant(contrast(nothing, request)).status == INCONCLUSIVE
        with pytest.raises(InconclusiveError):
            assert_invariant(contrast(nothing, request, strict=True))

    def test_a_family_without_a_swap_level_says_so(self, request):
        family = replace(FAMILY, actions=(SIX[0],))
        plan = replace(PLAN, families=(family,))
        one = judged(table(np.random.default_rng(4)), plan, actions=(SIX[0],))
        with pytest.raises(PlanError, match="assert_invariant\\(contrast, 'high_acuity'\\)"):
            assert_invariant(contrast(one, request))
