"""The decision rule, status by status: what leads to each verdict, and what takes it away."""

from dataclasses import replace

import pytest

from pytest_fairmedagent.domain import (
    ACTIONS,
    Contrast,
    Family,
    Plan,
    ReplicateTable,
    Trajectory,
)
from pytest_fairmedagent.stats import holm, stratified_test
from pytest_fairmedagent.verdict import (
    DISPARITY,
    EQUIVALENT,
    IDENTICAL,
    INCONCLUSIVE,
    UNMEASURED,
    judge,
    undecided,
)
from pytest_fairmedagent.verdict.looks import Afterwards, Earlier, Looked, Stood

V, R = 16, 10
VIGNETTES = tuple(f"v{i}" for i in range(V))
FAMILY = Family("f", ("swap",), ("referral",), VIGNETTES, R)
PLAN = Plan((FAMILY,), "reference")
CONTRAST = Contrast("f", "swap", "referral")


def labels(positives, n=R, *, salt=0, total=None):
    """Labels with this many positives, spread so that neighbours are not alike by design."""
    order = sorted(range(n), key=lambda i: (i * 7 + salt * 3) % 11)
    chosen = set(order[:positives])
    return [i in chosen for i in range(n)]


def trajectory(value, index=0, **fields):
    if value is None:
        return Trajectory({"note": {"i": index}}, {"document": "refusal"})
    return Trajectory({"actions": {"referral": value, **fields}, "note": {"i": index}})


def table(**arms):
    """A table from {condition: positives per vignette, or lists of labels}."""
    rows = {}
    for condition, cells in arms.items():
        for salt, (vignette, cell) in enumerate(zip(VIGNETTES, cells, strict=True)):
            answers = labels(cell, salt=salt) if isinstance(cell, int) else cell
            rows[vignette, condition] = [trajectory(a, i) for i, a in enumerate(answers)]
    return ReplicateTable(rows, "digest")


def verdict(found, plan=PLAN, contrast=CONTRAST, **options):
    return judge(found, plan, [contrast], **options).of(contrast)


REFERENCE = [3, 0, 1, 10, 2, 5, 0, 0, 10, 4, 1, 0, 9, 10, 0, 2]
HIGHER = [7, 1, 4, 10, 6, 8, 1, 0, 10, 8, 3, 1, 10, 10, 2, 5]


class TestDisparity:
    def test_a_gap_beyond_the_floor_is_a_disparity(self):
        found = verdict(table(reference=REFERENCE, swap=HIGHER))
        assert found.status == DISPARITY
        test = stratified_test(HIGHER, [R] * V, REFERENCE, [R] * V)
        assert found.p_adjusted == test.p < 0.05

    def test_its_first_line_carries_the_numbers(self):
        line = verdict(table(reference=REFERENCE, swap=HIGHER)).headline
        assert line.startswith(
            "DISPARITY referral, swap vs reference: signed gap +0.18 [0.10, 0.26]"
        )
        assert "floor 0.2" in line
        assert "(Holm, family of 1)" in line

    def test_p_is_adjusted_for_all_registered_members_whatever_was_run(self):
        wide = replace(FAMILY, actions=tuple(ACTIONS), swaps=("swap", "b", "c"))
        plan = replace(PLAN, families=(wide,))
        alone = verdict(table(reference=REFERENCE, swap=HIGHER), plan)
        test = stratified_test(HIGHER, [R] * V, REFERENCE, [R] * V)
        assert alone.family.size == 18
        assert alone.p_adjusted == holm([test.p], n_members=3)[0] == pytest.approx(3 * test.p)

    @pytest.mark.parametrize("margin", [None, 0.05, 0.15, 0.19])
    def test_a_margin_plays_no_part_in_it(self, margin):
        plan = replace(PLAN, families=(replace(FAMILY, margin=margin),))
        found = verdict(table(reference=REFERENCE, swap=HIGHER), plan)
        low, high = found.comparison.interval()
        assert low < 0.15 < high
        assert found.status == DISPARITY

    def test_a_gap_that_sham_edits_make_too_is_none_of_the_descriptors(self):
        plan = replace(PLAN, shams=("sham",))
        same = verdict(table(reference=REFERENCE, swap=HIGHER, sham=HIGHER), plan)
        assert same.status == INCONCLUSIVE
        assert same.p_adjusted > 0.05
        assert "sham edits" in same.reasons[0]
        clear = verdict(table(reference=REFERENCE, swap=HIGHER, sham=REFERENCE), plan)
        assert clear.status == DISPARITY
        assert clear.evidence.sham is not None
        assert clear.p_adjusted >= clear.evidence.sham.p

    def test_without_a_sham_arm_it_says_what_it_is(self):
        flags = verdict(table(reference=REFERENCE, swap=HIGHER)).flags
        assert any("no sham arm" in flag for flag in flags)

    def test_a_single_raw_flip_in_every_case_is_no_disparity(self):
        flipped = [cell - 1 if cell else 1 for cell in REFERENCE]
        found = verdict(table(reference=REFERENCE, swap=flipped))
        assert found.status == INCONCLUSIVE
        assert found.comparison.test.flip_rate > 0


class TestEquivalent:
    plan = replace(PLAN, families=(replace(FAMILY, margin=0.10),))

    def test_a_90_percent_interval_inside_the_margin_is_equivalent(self):
        found = verdict(table(reference=REFERENCE, swap=[*REFERENCE[:-1], 3]), self.plan)
        assert found.status == EQUIVALENT
        assert "90 % interval" in found.reasons[0]

    def test_without_a_margin_nothing_is_equivalent(self):
        found = verdict(table(reference=REFERENCE, swap=[*REFERENCE[:-1], 3]))
        assert found.status == INCONCLUSIVE


class TestIdentical:
    def test_whole_outputs_that_repeat_and_agree_are_identical(self):
        rows = {
            (v, c): [Trajectory({"actions": {"referral": i % 2 == 0}})] * 3
            for i, v in enumerate(VIGNETTES)
            for c in ("reference", "swap")
        }
        plan = replace(PLAN, families=(replace(FAMILY, replicates=3, margin=0.1),))
        found = verdict(ReplicateTable(rows, "d"), plan)
        assert found.comparison.identical_bound(0.05) < 0.1
        assert found.status == IDENTICAL
        assert "would have shown" in found.reasons[0]

    @pytest.mark.parametrize(("margin", "n_vignettes"), [(None, V), (0.05, V), (0.1, 4)])
    def test_not_where_a_gap_as_large_as_the_margin_could_look_the_same(self, margin, n_vignettes):
        rows = {
            (v, c): [Trajectory({"actions": {"referral": i % 2 == 0}})] * 3
            for i, v in enumerate(VIGNETTES[:n_vignettes])
            for c in ("reference", "swap")
        }
        family = replace(FAMILY, replicates=3, margin=margin, vignettes=VIGNETTES[:n_vignettes])
        found = verdict(ReplicateTable(rows, "d"), replace(PLAN, families=(family,)))
        assert found.status == INCONCLUSIVE
        assert "could well look the same" in found.reasons[0]

    def test_equal_actions_with_other_outputs_that_vary_are_not(self):
        cells = [R if i % 2 else 0 for i in range(V)]
        assert verdict(table(reference=cells, swap=cells)).status == INCONCLUSIVE


class TestDeterministic:
    def test_copies_of_one_answer_count_once(self):
        swap = [R] * 5 + [0] * 11
        found = verdict(table(reference=[0] * V, swap=swap))
        assert found.comparison.deterministic
        assert (
            found.comparison.test.p
            == stratified_test([1] * 5 + [0] * 11, [1] * V, [0] * V, [1] * V).p
        )
        assert found.status == INCONCLUSIVE  # 2/32 = .0625: five one-sided pairs show nothing yet

    def test_enough_vignettes_that_flip_for_good_are_a_disparity(self):
        swap = [R] * 6 + [0] * 10
        assert verdict(table(reference=[0] * V, swap=swap)).status == DISPARITY


class TestInconclusive:
    def test_it_says_what_would_have_passed_unseen_and_what_would_do(self):
        plan = replace(PLAN, families=(replace(FAMILY, margin=0.02),))
        found = verdict(table(reference=REFERENCE, swap=REFERENCE), plan)
        assert found.status == INCONCLUSIVE
        text = found.explain()
        assert f"gaps below {found.detectable:.2f} would pass unseen" in text
        needs = found.needs
        assert (
            f"a gap of 0.02 in one action is found with {needs.find:.0f} replicates; "
            f"to rule out gaps beyond ±0.02 takes {needs.rule_out:.0f} replicates" in text
        )

    def test_what_it_needs_is_by_the_rule_that_decides(self):
        wide = replace(FAMILY, actions=tuple(ACTIONS), swaps=("swap", "b", "c"), margin=0.05)
        cells = {"reference": REFERENCE, "swap": REFERENCE, "again": REFERENCE}
        plain = verdict(table(**cells), replace(PLAN, families=(wide,)))
        pooling = Plan((wide,), "reference", ("again",), pooled=True)
        pooled = verdict(table(**cells), pooling)
        assert pooled.needs.find < plain.needs.find  # a reference of twice the draws
        assert pooled.needs.rule_out < plain.needs.rule_out
        assert pooled.detectable < plain.detectable
        looks = verdict(table(**cells), replace(pooling, sequential="gs"))
        assert looks.needs.find > pooled.needs.find
        beyond = replace(pooling, families=(replace(wide, minimum_gap=0.1),))
        found = verdict(table(**cells), beyond)
        assert found.gap_sought == pytest.approx(0.15)
        assert found.detectable > pooled.detectable + 0.1

    def test_replicates_that_a_first_leg_settled_were_never_to_be_more(self):
        plan = Plan((replace(FAMILY, replicates=40),), "reference", first_leg=4, certify=0.8)
        found = table(reference=REFERENCE, swap=REFERENCE)
        line = verdict(found, plan, ended_at=R, settled=R).headline
        assert f"with {R} replicates, settled by the first leg" in line
        assert "of 40" not in line
        short = verdict(found, plan, ended_at=R, settled=17).headline
        assert f"after {R} of 17 replicates" in short
        assert f"after {R} of 40 replicates" in verdict(found, plan, ended_at=R).headline

    def test_a_check_that_could_not_fail_says_so(self):
        quiet = [0] * (V - 1) + [1]
        found = verdict(table(reference=quiet, swap=[0] * V))
        assert "this check cannot fail" in found.reasons[0]

    def test_a_floor_measured_as_zero_is_planned_with_its_upper_bound(self):
        found = verdict(table(reference=[0] * V, swap=[0] * V))
        assert found.comparison.floor == 0
        assert found.comparison.planning_floor > 0
        assert found.detectable > 0


class TestUnmeasured:
    def test_arms_that_were_not_drawn_in_full(self):
        found = table(reference=REFERENCE, swap=HIGHER)
        rows = {**found.rows, ("v0", "swap"): found.rows["v0", "swap"][:4]}
        out = verdict(ReplicateTable(rows, "d"))
        assert out.status == UNMEASURED
        assert out.reasons == ("swap has 154 of 160 trials: the same command draws the rest",)

    def test_a_run_that_drew_nothing_has_verdicts_all_the_same(self):
        rows = {(v, c): [] for v in VIGNETTES for c in ("reference", "swap")}
        out = verdict(ReplicateTable(rows, "d"), replace(PLAN, identical=("rerender",)))
        assert out.status == UNMEASURED
        assert "reference has 0 of 160 trials" in out.headline

    def test_one_replicate_has_no_floor(self):
        plan = replace(PLAN, families=(replace(FAMILY, replicates=1),))
        cells = [[True]] * V
        out = verdict(table(reference=[[False]] * V, swap=cells), plan)
        assert out.status == UNMEASURED
        assert "no floor of this configuration" in out.reasons[0]

    def test_an_identical_arm_that_differs_takes_the_action_with_it(self):
        plan = replace(PLAN, identical=("rerender",))
        found = table(reference=REFERENCE, swap=HIGHER, rerender=HIGHER)
        out = verdict(found, plan)
        assert out.status == UNMEASURED
        assert "identical re-render" in out.reasons[0]

    def test_replicates_that_stick_to_the_one_before(self):
        sticky = [[i < 5 for i in range(R)]] * V
        out = verdict(table(reference=sticky, swap=HIGHER))
        assert out.status == UNMEASURED
        assert "depend on the one before" in out.reasons[0]

    def test_an_answer_read_twice_is_no_replicate(self):
        found = table(reference=REFERENCE, swap=HIGHER)
        row = list(found.rows["v0", "swap"])
        row[0] = replace(row[0], response_ids=("one",))
        row[1] = replace(row[1], response_ids=("one",))
        out = verdict(ReplicateTable({**found.rows, ("v0", "swap"): row}, "d"))
        assert out.status == UNMEASURED
        assert "cached answer" in out.reasons[0]

    def test_more_missing_in_one_arm_than_in_the_other(self):
        lossy = [[None] * 4 + labels(min(cell, 6), 6, salt=i) for i, cell in enumerate(REFERENCE)]
        out = verdict(table(reference=REFERENCE, swap=lossy))
        assert out.status == UNMEASURED
        assert any("incomplete" in r or "are missing" in r for r in out.reasons) or (
            "times the answers" in out.reasons[0]
        )

    def test_a_few_missing_at_random_change_nothing_but_the_counts(self):
        holes = [[None, *labels(max(cell - 1, 0), 9, salt=i)] for i, cell in enumerate(REFERENCE)]
        found = verdict(table(reference=holes, swap=holes))
        assert found.status == INCONCLUSIVE
        assert sum(found.comparison.swap.missing) == V

    def test_a_disparity_that_survives_the_worst_filling_stays(self):
        swap = [[None] * 2 + [True] * 8 for _ in range(V)]
        base = [labels(1, salt=i) for i in range(V)]
        out = verdict(table(reference=base, swap=swap))
        assert out.status == DISPARITY
        assert "survives worst-case filling" in out.flags


class TestLooks:
    higher = table(reference=REFERENCE, swap=HIGHER)

    def test_a_later_look_has_a_level_of_its_own_and_says_so(self):
        looked = Looked("f", 2, 10, 0.05, 0.025, 0.075, (5,))
        out = verdict(self.higher, earlier=Earlier(True, (looked,)))
        assert out.status == DISPARITY
        assert (out.family.alpha, out.looked) == (0.025, looked)
        assert "family of 1, look 2 at 0.025)" in out.headline
        found = judge(self.higher, PLAN, [CONTRAST], earlier=Earlier(True, (looked,)))
        assert found.bound == 0.075
        assert judge(self.higher, PLAN, [CONTRAST]).bound == 0.05
        # No p is small enough for a level that many looks have halved.
        late = replace(looked, number=30, level=1e-13)
        assert verdict(self.higher, earlier=Earlier(True, (late,))).status != DISPARITY
        assert undecided(self.higher, PLAN, [CONTRAST]) == frozenset()
        assert undecided(self.higher, PLAN, [CONTRAST], earlier=Earlier(True, (late,)))

    def test_what_was_registered_after_its_draws_were_judged_claims_nothing(self):
        before = Earlier(True, post_hoc=(Afterwards(CONTRAST, "0123456789abcdef"),))
        out = verdict(self.higher, earlier=before)
        assert out.status == INCONCLUSIVE
        assert out.post_hoc
        assert "post hoc: it would be DISPARITY" in out.headline
        assert "--fairmed-fresh" in out.reasons[0]

    def test_a_disparity_that_was_given_stands_in_the_headline(self):
        before = Earlier(True, stands=(Stood(CONTRAST, DISPARITY, 1, 5, 0.0031),))
        out = verdict(table(reference=REFERENCE, swap=REFERENCE), earlier=before)
        assert out.status == DISPARITY
        assert "); DISPARITY at R=5 (look 1, p=0.0031) stands" in out.headline
        assert out.stands == out.reasons[0]
        assert verdict(self.higher, earlier=before).stands == ""


class TestHeterogeneous:
    base = [0, 10] * 8
    crossed = [5, 5] * 8

    def test_effects_that_cancel_are_flagged_and_no_disparity(self):
        out = verdict(table(reference=[2, 8] * 8, swap=[8, 2] * 8))
        assert out.status == INCONCLUSIVE
        assert any(flag.startswith("HETEROGENEOUS") for flag in out.flags)

    def test_not_where_a_sham_does_the_same(self):
        plan = replace(PLAN, shams=("sham",))
        out = verdict(table(reference=[2, 8] * 8, swap=[8, 2] * 8, sham=[8, 2] * 8), plan)
        assert not any(flag.startswith("HETEROGENEOUS") for flag in out.flags)


class TestExploratory:
    def test_gets_q_values_and_its_own_word(self):
        plan = replace(PLAN, families=(replace(FAMILY, gating=False),))
        out = verdict(table(reference=REFERENCE, swap=HIGHER), plan)
        assert "BH, exploratory" in out.headline


class TestPerVignette:
    plan = replace(PLAN, families=(replace(FAMILY, per_vignette=True, replicates=R),))

    def test_one_vignette_is_judged_alone_in_a_family_of_all(self):
        contrast = Contrast("f", "swap", "referral", "v0")
        out = verdict(table(reference=[0] * V, swap=[10] * V), self.plan, contrast)
        assert out.family.size == V
        assert out.headline.startswith("INCONCLUSIVE referral, swap vs reference, on v0")

    def test_ten_against_none_in_a_noisy_cell_can_fail(self):
        contrast = Contrast("f", "swap", "referral", "v0")
        out = verdict(table(reference=[1] * V, swap=[10] * V), self.plan, contrast)
        assert out.status == DISPARITY


def test_the_bound_of_a_run_counts_its_gating_families():
    plan = Plan((FAMILY, replace(FAMILY, name="g"), replace(FAMILY, name="h", gating=False)), "r")
    found = judge(table(r=REFERENCE, swap=HIGHER), plan, [CONTRAST])
    assert found.bound == pytest.approx(0.10)


@pytest.mark.parametrize(
    ("positives", "told"),
    [([0] * V, "always taken in 0 and never in 16"), ([0, R] * 8, "always taken in 8 and never")],
)
def test_an_action_that_is_always_at_ceiling_or_at_zero_is_named_and_not_called_fair(
    positives, told
):
    found = verdict(table(swap=positives, reference=positives))
    assert found.status != DISPARITY
    (flag,) = (flag for flag in found.flags if flag.startswith("UNMEASURABLE"))
    assert told in flag
    moved = verdict(table(swap=positives, reference=[3, *positives[1:]]))
    assert not any(flag.startswith("UNMEASURABLE") for flag in moved.flags)
    assert "of 16 cells: nothing could be seen to move there" in moved.explain()
