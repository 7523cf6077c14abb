"""Outcomes that are no actions: their verdicts, words and units; and outcomes of one's own."""

import math
from dataclasses import replace

import pytest
from scipy import stats as scipy_stats

from pytest_fairmedagent.domain import (
    Contrast,
    Family,
    Plan,
    ReplicateTable,
    Trajectory,
)
from pytest_fairmedagent.domain.own import outcome, relation
from pytest_fairmedagent.errors import OwnCodeError, PlanError
from pytest_fairmedagent.relations.scores import ScoreShams
from pytest_fairmedagent.stats import floor, holm, stratified_test, stratum_gaps
from pytest_fairmedagent.verdict import (
    DESCRIPTIVE,
    DISPARITY,
    EQUIVALENT,
    IDENTICAL,
    INCONCLUSIVE,
    RELIABLE,
    UNMEASURED,
    Reliability,
    judge,
    judge_relation,
    undecided,
)

CASES = tuple(f"case_{i}" for i in range(8))
SCORES = [40, 50, 44, 46]


def table_of(name, arms):
    """A table of one outcome: for each condition the same values in every case."""
    rows = {
        (case, condition): [
            Trajectory({"actions": {name: value}, "x": {"n": n}}) for n, value in enumerate(values)
        ]
        for case in CASES
        for condition, values in arms.items()
    }
    return ReplicateTable(rows, "made")


def verdict_of(name, arms, *, margin=None, shams=(), sequential="off", **family):
    table = table_of(name, arms)
    replicates = len(arms["reference"])
    one = Family("one", ("swap",), (name,), CASES, replicates, margins=((name, margin),), **family)
    plan = Plan((one,), "reference", (), shams, sequential)
    return judge(table, plan, one.members).verdicts[0]


def test_a_shift_of_a_score_is_a_disparity_told_in_its_units():
    found = verdict_of("urgency_score", {"reference": SCORES, "swap": [x + 9 for x in SCORES]})
    assert found.status == DISPARITY
    assert found.comparison.gap == pytest.approx(9)
    assert "mean difference +9 points [" in found.headline
    assert "floor 5.33 points (mean absolute difference within arms)" in found.headline
    assert "flip rate" not in found.explain()


def test_the_sign_of_a_score_is_that_of_swap_minus_reference():
    found = verdict_of("urgency_score", {"reference": SCORES, "swap": [x - 9 for x in SCORES]})
    assert found.comparison.gap == pytest.approx(-9)


@pytest.mark.parametrize(("margin", "status"), [(None, INCONCLUSIVE), (5.0, EQUIVALENT)])
def test_a_score_is_equivalent_only_with_a_margin_in_its_own_units(margin, status):
    same = {"reference": SCORES, "swap": SCORES[::-1]}
    found = verdict_of("urgency_score", same, margin=margin)
    assert found.status == status
    # The margin of rates says nothing of points.
    assert verdict_of("urgency_score", {**same}, alpha=0.05).family.margin is None


def test_the_margin_of_rates_makes_no_score_equivalent():
    arms = {"reference": SCORES, "swap": SCORES[::-1]}
    table = table_of("urgency_score", arms)
    one = Family(
        "one", ("swap",), ("urgency_score",), CASES, 4, 0.9, margins=(("urgency_score", None),)
    )
    assert judge(table, Plan((one,), "reference"), one.members).verdicts[0].status == INCONCLUSIVE


def test_a_difference_inside_the_margin_is_no_disparity():
    arms = {"reference": SCORES, "swap": [x + 9 for x in SCORES]}
    found = verdict_of("urgency_score", arms, margin=12.0)
    assert found.status != DISPARITY
    assert "±12" in found.reasons[0]


def test_a_score_that_shams_move_as_much_is_no_disparity():
    moved = [x + 9 for x in SCORES]
    found = verdict_of(
        "urgency_score",
        {"reference": SCORES, "swap": moved, "sham": moved},
        shams=("sham",),
    )
    assert found.status == INCONCLUSIVE
    assert "sham" in found.reasons[0]


def test_a_sham_that_moves_nothing_leaves_a_disparity_standing():
    arms = {"reference": SCORES, "swap": [x + 9 for x in SCORES], "sham": SCORES[::-1]}
    found = verdict_of("urgency_score", arms, shams=("sham",))
    assert found.status == DISPARITY
    assert "exceeds surface noise" in found.explain()


OUTLIER = {"reference": [50, 53, 51, 54, 52, 55], "swap": [40, 43, 41, 44, 42, 200]}


def test_a_score_is_tested_on_its_mean_and_not_on_its_ranks():
    # Most scores are lower under the swap, and one outlier lifts their mean.
    found = verdict_of("urgency_score", OUTLIER)
    assert found.status == INCONCLUSIVE
    comparison = found.comparison
    assert (comparison.estimand, comparison.unit) == ("mean difference", "points")
    assert comparison.gap == pytest.approx(comparison.test.difference)
    assert comparison.gap > 0 > comparison.test.superiority
    assert comparison.p > 0.05
    assert "net superiority -0.667, not tested; p is of the mean difference" in found.explain()


def test_levels_are_tested_on_how_much_more_often_one_is_higher():
    arms = {"reference": [2, 3, 3, 2], "swap": [3, 3, 4, 2]}
    found = verdict_of("esi_acuity", arms, margin=0.4)
    comparison = found.comparison
    assert comparison.gap == pytest.approx((3 * 2 - 0) / 16 + (2 + 0) / 16 - 2 / 16)
    assert comparison.estimand == comparison.unit == "net superiority"
    assert comparison.floor == pytest.approx((5 / 6 + 4 / 6) / 2)
    assert "net superiority +0.38 [" in found.headline
    assert "floor 0.750 (pairs within arms that differ)" in found.headline
    assert "mean difference +0.5 levels, not tested; p is of the net superiority" in found.explain()
    assert comparison.detectable(found.rule, 0.8) == pytest.approx(
        (comparison.test.quantile(0.025) + 0.8416212) * comparison.test.error()
    )


def test_a_sham_has_a_two_sided_p_over_vignettes():
    shams = ScoreShams(gap=-6.0, variance=3.0, tau2=8.0, gaps=(-5.0, -7.0), n_vignettes=8)
    law = scipy_stats.t(7)
    assert shams.p == shams.p_sham == pytest.approx(2 * law.sf(6 / math.sqrt(3 + 1)))
    assert shams.shrink == pytest.approx(math.sqrt((3 + 1) / 3))
    assert shams.passes == (shams.p_sham < 0.05)
    assert replace(shams, gap=-4.0).passes == (replace(shams, gap=-4.0).p_sham < 0.05)
    assert replace(shams, gaps=(-5.0, 1.0)).p_sham == 1
    assert (replace(shams, tau2=math.nan).p_sham, replace(shams, tau2=math.nan).shrink) == (1, 1)
    one = replace(shams, n_vignettes=1)
    assert (one.p_sham, replace(one, gaps=(1.0,)).p_sham) == (0, 1)
    assert replace(shams, tau2=0.0).shrink == 1


def test_shams_of_levels_are_read_on_the_scale_of_the_gap():
    arms = {"reference": [2, 3, 3, 2], "swap": [4, 4, 4, 3], "sham": [2, 3, 4, 2]}
    found = verdict_of("esi_acuity", arms, shams=("sham",)).comparison
    guard = found.against_shams(table_of("esi_acuity", arms), ("sham",))
    (gap,) = guard.gaps
    assert gap == pytest.approx((3 * 3 + 2 - 1) / 16)
    (one,) = stratum_gaps([arms["sham"]], [arms["reference"]], estimand="net superiority")
    assert guard.tau2 == pytest.approx(max(0, one[0] ** 2 - one[1]))
    assert guard.variance == found.test.error() ** 2


def test_cells_whose_whole_outputs_repeat_count_once():
    rows = {
        (case, condition): [
            Trajectory({"triage": {"urgency_score": score if i < 4 else score + n}})
            for n in range(4)
        ]
        for i, case in enumerate(CASES)
        for condition, score in (("reference", 40), ("swap", 50))
    }
    one = Family("one", ("swap",), ("urgency_score",), CASES, 4)
    plan = Plan((one,), "reference")
    found = judge(ReplicateTable(rows, "made"), plan, one.members).verdicts[0].comparison
    assert found.once == CASES[:4]
    assert found.test.m_total == found.test.n_total == 4 + 4 * 4


@pytest.mark.parametrize(
    ("name", "widest"), [("esi_acuity", 1), ("urgency_score", 100), ("followup_days", 90)]
)
def test_the_widest_gap_of_one_pair_is_that_of_the_scale(name, widest):
    found = verdict_of(name, {"reference": [2, 2, 2, 3], "swap": [2, 2, 3, 3]}).comparison
    assert found.widest == widest
    assert replace(found, contrast=Contrast("one", "swap", "of_my_own")).widest == (
        1 if name == "esi_acuity" else math.inf
    )


def test_a_set_is_tested_member_by_member_with_holm_over_them():
    first = [["ecg"], [], ["ecg", "ct"], []]
    second = [["ecg", "ct"], ["ct"], ["ecg", "ct"], ["ct"]]
    found = verdict_of("orders", {"reference": first, "swap": second})
    n = [4] * len(CASES)
    ct = stratified_test(n, n, [1] * len(CASES), n).p
    ecg = stratified_test([2] * len(CASES), n, [2] * len(CASES), n).p
    assert found.comparison.p == pytest.approx(min(holm([ct, ecg])))
    assert found.status == DISPARITY
    assert "'ct' placed +0.75 [" in found.headline
    assert "2 members were placed at all" in found.explain()


def test_a_member_is_weighed_on_the_cases_where_it_occurs():
    rows = {}
    for case in CASES:
        only = ["ct"] if case == CASES[0] else []
        for condition, orders in (("reference", [[], only]), ("swap", [only, only])):
            rows[case, condition] = [Trajectory({"actions": {"orders": o}}) for o in orders]
    one = Family("one", ("swap",), ("orders",), CASES, 2, margins=(("orders", 0.2),))
    found = judge(ReplicateTable(rows, "made"), Plan((one,), "reference"), one.members).verdicts[0]
    assert found.comparison.gap == 0.5  # on one of eight cases; over all of them it would be .06
    assert found.status == INCONCLUSIVE


def test_sets_that_are_always_empty_differ_in_nothing():
    found = verdict_of("note_flags", {"reference": [[]] * 4, "swap": [[]] * 4})
    assert found.comparison.p == 1
    assert "nothing placed" in found.headline


@pytest.mark.parametrize(("name", "value"), [("esi_acuity", 2), ("note_flags", [])])
def test_an_outcome_that_never_varies_is_named_and_not_called_fair(name, value):
    arms = {"reference": [value] * 4, "swap": [value] * 4}
    found = verdict_of(name, arms, margin=0.9)
    (flag,) = found.flags
    assert flag.startswith("UNMEASURABLE on these vignettes: all answers were alike in each of 8")
    other = verdict_of("esi_acuity", {"reference": [2, 2, 2, 3], "swap": [2] * 4}, margin=0.9)
    assert not other.flags or "UNMEASURABLE" not in other.flags[0]


def test_unanimous_scores_count_once_in_each_case():
    found = verdict_of("esi_acuity", {"reference": [2] * 5, "swap": [3] * 5})
    assert found.comparison.deterministic
    assert found.comparison.test.m_total == len(CASES)


def test_missing_scores_take_a_verdict_back():
    swap = [x + 9 for x in SCORES[:3]] + [None]
    found = verdict_of("urgency_score", {"reference": [*SCORES[:3], None], "swap": swap})
    assert found.status == UNMEASURED
    assert "25 % of the answers of swap are missing" in found.headline


def test_planned_looks_decide_a_score_early():
    long = SCORES * 3
    arms = {"reference": long, "swap": [x + 30 for x in long]}
    found = verdict_of("urgency_score", arms, sequential="gs")
    assert found.status == DISPARITY
    assert found.look < 12


def test_scores_that_stick_to_the_one_before_are_unmeasured():
    sticky = [10] * 10 + [60] * 10
    found = verdict_of("urgency_score", {"reference": sticky, "swap": sticky})
    assert found.status == UNMEASURED
    assert "depend on the one before" in found.headline


def test_outcomes_of_other_kinds_have_no_part_in_the_floor_of_actions():
    one = Family("one", ("swap",), ("urgency_score",), CASES, 4, margins=(("urgency_score", None),))
    plan = Plan((one,), "reference")
    assert (plan.actions, plan.further) == ((), ("urgency_score",))
    arms = {"reference": SCORES, "swap": SCORES}
    assert judge(table_of("urgency_score", arms), plan, one.members).floors is None


def test_whole_outputs_that_repeat_are_identical_for_scores_too():
    rows = {
        (case, condition): [Trajectory({"triage": {"urgency_score": 5}})] * 3
        for case in CASES
        for condition in ("reference", "swap")
    }
    for margin, status in ((15.0, IDENTICAL), (5.0, INCONCLUSIVE), (None, INCONCLUSIVE)):
        margins = (("urgency_score", margin),)
        one = Family("one", ("swap",), ("urgency_score",), CASES, 3, margins=margins)
        plan = Plan((one,), "reference")
        assert judge(ReplicateTable(rows, "made"), plan, one.members).verdicts[0].status == status


def test_a_contrast_that_asks_for_a_floor_only_draws_the_reference_and_goes_on_to_the_end():
    one = Family("one", (), ("admission",), CASES, 4)
    plan = Plan((one,), "reference", ("rerender",), ("sham",), "gs")
    asked = Contrast("one", "reference", "admission")
    assert {arm.condition for arm in plan.arms([asked])} == {"reference"}
    table = table_of("admission", {"reference": [True, False, True, True]})
    assert undecided(table, plan, [asked]) == {asked}
    assert judge(table, plan, [asked]).bound == 0  # it can show no disparity


# One's own outcomes and relations.


@pytest.mark.parametrize(
    ("kind", "value"),
    [("binary", 1), ("score", True), ("score", float("nan")), ("ordinal", "2"), ("set", "ct")],
)
def test_an_outcome_that_returns_another_kind_is_an_error_that_names_it(kind, value):
    @outcome(kind=kind, version="1")
    def own(trajectory):
        return value

    with pytest.raises(OwnCodeError, match=f"outcome 'own' of kind '{kind}' returned"):
        own(Trajectory({}))


def test_an_outcome_that_fails_is_an_error_that_says_how():
    @outcome
    def own(trajectory):
        return trajectory.outputs["triage"]["level"] > 2

    with pytest.raises(
        OwnCodeError, match="outcome 'own' failed on a trajectory: KeyError: 'triage'"
    ):
        own(Trajectory({}))


def test_another_source_or_version_makes_another_digest():
    def versions(**given):
        @outcome(name="own", **given)
        def first(trajectory):
            return True

        @outcome(name="own", **given)
        def second(trajectory):
            return False

        return first.digest, second.digest

    first, second = versions()
    assert first != second
    first, second = versions(version="1")
    assert first == second != versions(version="2")[0]


def test_the_digest_of_an_outcome_is_part_of_the_plan():
    one = Family("one", ("swap",), ("own",), CASES, 4)
    plans = [Plan((one,), "reference", outcomes=(("own", "score", d),)) for d in ("a", "b")]
    assert plans[0].digest != plans[1].digest
    assert plans[0].further == ("own",)


def test_what_a_plan_does_not_use_leaves_its_digest_alone():
    plain = Plan((Family("one", ("swap",), ("admission",), CASES, 4),), "reference")
    assert '"outcomes"' not in str(plain._content())
    assert "margins" not in plain._content()["families"][0]


def test_a_built_in_name_is_taken():
    with pytest.raises(PlanError, match="'admission' is built in"):

        @outcome(version="1")
        def admission(trajectory):
            return True


def judged(test, arms, family=None, present=None):
    one = family or Family("one", ("swap",), ("admission",), CASES, 4, relation="r")
    plan = Plan((one,), "reference")
    table = table_of("admission", arms)
    members = list(one.members) if present is None else present
    guards = judge(table, plan, members).guards
    return judge_relation(table, plan, one, test, members, guards)


YES_NO = {"reference": [True, False, True, True], "swap": [True, True, False, True]}


def test_a_p_value_of_ones_own_enters_holm_of_the_whole_family():
    own = relation(version="1")(lambda swap, reference: 0.02)
    one = Family("one", ("swap", "other"), ("admission",), CASES, 4, relation="r")
    found = judged(own, YES_NO, one, [Contrast("one", "swap", "admission")])[0]
    assert (found.p, found.p_adjusted) == (0.02, 0.04)
    assert found.status == DISPARITY
    assert judged(relation(version="1")(lambda s, r: 0.03), YES_NO, one)[0].status != DISPARITY


def test_a_relation_without_a_p_value_is_descriptive():
    own = relation(version="1")(lambda swap, reference: dict.fromkeys(swap, False))
    found = judged(own, YES_NO)[0]
    assert (found.status, found.p) == (DESCRIPTIVE, None)
    assert "holds on 0 of 8 vignettes" in found.headline


def test_a_relation_gets_the_answers_of_both_arms_in_order_of_draw():
    seen = []
    own = relation(version="1")(lambda swap, reference: seen.append((swap, reference)) or 1.0)
    judged(own, YES_NO)
    swap, reference = seen[0]
    assert swap == dict.fromkeys(CASES, YES_NO["swap"])
    assert reference == dict.fromkeys(CASES, YES_NO["reference"])


@pytest.mark.parametrize("value", [None, True, 1.5, float("nan"), "0.05", {"case_0": True}])
def test_a_relation_that_returns_neither_is_an_error(value):
    with pytest.raises(OwnCodeError, match="returned"):
        judged(relation(version="1", name="own")(lambda swap, reference: value), YES_NO)


def test_a_relation_on_missing_answers_is_unmeasured():
    own = relation(version="1")(lambda swap, reference: 0.0)
    arms = {"reference": YES_NO["reference"], "swap": [None, True, True, True]}
    assert judged(own, arms)[0].status == UNMEASURED


def test_a_family_with_a_relation_has_no_other_test():
    one = Family("one", ("swap",), ("admission",), CASES, 4, relation="r")
    plan = Plan((one,), "reference")
    assert judge(table_of("admission", YES_NO), plan, one.members).verdicts == ()


def test_a_floor_is_judged_by_its_whole_interval():
    quiet = floor([0] * 60, [6] * 60)
    assert Reliability("admission", 0.1, quiet, 0).status == RELIABLE
    loud = floor([3] * 20, [6] * 20)
    assert Reliability("admission", 0.1, loud, 0).status == "UNRELIABLE"
    assert Reliability("admission", 0.1, floor([1], [6]), 0).status == INCONCLUSIVE
    assert Reliability("admission", 0.1, floor([1], [1]), 0).status == UNMEASURED


@pytest.mark.parametrize(
    ("missing", "obstacles", "said"),
    [
        (80, (), "18 % of the answers are missing"),
        (0, ("a cached answer is no replicate",), "cached"),
    ],
)
def test_a_floor_of_what_are_no_replicates_is_unmeasured(missing, obstacles, said):
    quiet = floor([0] * 60, [6] * 60)
    found = Reliability("admission", 0.1, quiet, missing, obstacles)
    assert found.status == UNMEASURED
    assert said in found.headline
