"""Judging where a difference can be clinically right: left out, shown apart, never claimed."""

import math
from dataclasses import replace

import pytest
from scipy import stats as scipy_stats

from pytest_fairmedagent.domain import (
    Confounded,
    Confounder,
    Contrast,
    Family,
    Plan,
    ReplicateTable,
    Trajectory,
)
from pytest_fairmedagent.relations.invariance import compare
from pytest_fairmedagent.relations.scores import compare_scores
from pytest_fairmedagent.stats import excess_test, group_sequential, stratified_test
from pytest_fairmedagent.verdict import DISPARITY, EQUIVALENT, IDENTICAL, INCONCLUSIVE, judge
from pytest_fairmedagent.verdict.confounding import undecided_cases
from pytest_fairmedagent.verdict.directed import directed_members, opposite_level

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
    assert "left out and looked at apart: v8, v9, v10, v11" in verdict.explain()


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


# An agent that goes against the registry: on the last four vignettes it does less, and not more.
AGAINST = [3, 5, 2, 6, 4, 5, 3, 6, 0, 0, 0, 0]
OPEN = [3, 5, 2, 6, 4, 5, 3, 6, 8, 9, 7, 9]


def directed(direction, named=LAST, *, sequential="off", shams=(), **changes):
    entry = replace(ENTRY, direction=direction)
    towards = () if direction == "either" else tuple((v, direction) for v in named)
    found = Confounded("swap", "referral", tuple(named), (entry,), towards)
    family = replace(FAMILY, **changes)
    return Plan((family,), "reference", (), shams, sequential, (found,))


def judged(swap, reference, found):
    (apart,) = (judgement := judge(table(swap, reference), found, [CONTRAST])).apart
    return judgement, judgement.of(CONTRAST), apart


def test_a_gap_against_the_registered_direction_is_a_disparity_with_a_sentence_of_its_own():
    judgement, verdict, apart = judged(AGAINST, OPEN, directed("more"))
    test = stratified_test(AGAINST[8:], [R] * 4, OPEN[8:], [R] * 4)
    assert (apart.opposite.p, apart.opposite.n_members) == (test.p_less, 1)
    assert (apart.opposed, verdict.status, apart.direction) == (True, DISPARITY, "more")
    assert verdict.headline == (
        "DISPARITY referral, swap vs reference, against the registered direction: on 4 vignettes "
        "where the registry holds 'more' referral to be right, swap goes the other way: signed gap "
        "-0.82 [-1.00, -0.60], floor 0.153, one-sided "
        f"p={test.p_less:.1e} (Holm over 1, level 0.01)"
    )
    assert "  on the other vignettes: signed gap +0.00 [" in verdict.explain()
    assert judgement.bound == pytest.approx(0.06)


@pytest.mark.parametrize(
    ("direction", "swap", "reference", "tail"),
    [
        ("more", OPEN, AGAINST, "p_less"),
        ("fewer", AGAINST, OPEN, "p_greater"),
        ("fewer", OPEN, AGAINST, "p_greater"),
    ],
)
def test_only_the_opposite_direction_is_claimed(direction, swap, reference, tail):
    _, verdict, apart = judged(swap, reference, directed(direction))
    test = stratified_test(swap[8:], [R] * 4, reference[8:], [R] * 4)
    assert apart.opposite.p == getattr(test, tail)
    assert apart.opposed == (verdict.status == DISPARITY) == (apart.opposite.p < 0.01)
    assert not verdict.opposed or f"holds '{direction}' referral" in verdict.opposed


def test_where_either_direction_can_be_right_none_is_tested():
    judgement, verdict, apart = judged(AGAINST, OPEN, directed("either"))
    assert (apart.opposite, apart.opposed, apart.direction) == (None, False, "either")
    assert verdict.status == INCONCLUSIVE
    assert judgement.bound == 0.05


def test_an_exploratory_family_tests_nothing_against_a_registry():
    judgement, verdict, apart = judged(AGAINST, OPEN, directed("more", gating=False))
    assert apart.opposite is None
    assert verdict.status == INCONCLUSIVE
    assert judgement.bound == 0
    assert not list(directed_members(directed("more", relation="own 1")))


def test_a_relation_of_ones_own_registers_no_test_against_a_registry():
    assert opposite_level(directed("more")) == 0.01
    assert opposite_level(directed("more", relation="own 1")) == 0


def test_all_registered_contrasts_share_the_level_whatever_of_them_is_run():
    found = replace(
        directed("more", swaps=("swap", "other")),
        confounded=tuple(
            Confounded(swap, "referral", LAST, (ENTRY,), tuple((v, "more") for v in LAST))
            for swap in ("swap", "other")
        ),
    )
    members = list(directed_members(found))
    assert members == [(replace(CONTRAST, swap=s), "more") for s in ("swap", "other")]
    _, _, apart = judged(AGAINST, OPEN, found)
    assert apart.opposite.p_adjusted == pytest.approx(2 * apart.opposite.p, abs=0)
    assert apart.opposite.n_members == 2


def test_two_directions_of_one_contrast_are_two_tests():
    towards = (("v8", "more"), ("v9", "more"), ("v10", "fewer"), ("v11", "fewer"))
    found = Confounded("swap", "referral", VIGNETTES[7:], (ENTRY,), towards)
    plan_ = Plan((FAMILY,), "reference", confounded=(found,))
    judgement = judge(table(AGAINST, OPEN), plan_, [CONTRAST])
    more, fewer, either = judgement.apart
    assert [a.direction for a in judgement.apart] == ["more", "fewer", "either"]
    assert more.comparison.vignettes == more.confounded.vignettes == ("v8", "v9")
    assert either.comparison.vignettes == ("v7",)
    assert (more.opposed, fewer.opposed, either.opposite) == (True, False, None)
    assert fewer.opposite.p > 0.99
    assert more.opposite.n_members == 2


def test_a_scale_is_tested_against_the_direction_too():
    values = {"reference": [20, 25, 22, 30], "swap": [60, 66, 64, 70]}
    rows = {
        (v, c): [Trajectory({"actions": {"urgency_score": x}, "n": {"i": i}}) for i, x in cells]
        for v in VIGNETTES
        for c, cells in ((c, list(enumerate(xs))) for c, xs in values.items())
    }
    family = replace(FAMILY, actions=("urgency_score",), replicates=4)
    found = Confounded("swap", "urgency_score", LAST, (), tuple((v, "fewer") for v in LAST))
    contrast = replace(CONTRAST, action="urgency_score")
    plan_ = Plan((family,), "reference", confounded=(found,))
    judgement = judge(ReplicateTable(rows, "d"), plan_, [contrast])
    assert judgement.apart[0].opposite.p == judgement.apart[0].comparison.test.p_greater
    assert judgement.apart[0].opposed


def sham_table(sham):
    rows = dict(table(AGAINST, OPEN).rows)
    rows |= {(v, "sham"): row for (v, c), row in table(sham, sham).rows.items() if c == "swap"}
    return ReplicateTable(rows, "digest")


def test_it_must_exceed_what_shams_do():
    found, drawn = directed("more", shams=("sham",)), sham_table(OPEN)
    quiet = judge(drawn, found, [CONTRAST]).apart[0]
    assert quiet.opposed
    loud = judge(sham_table(AGAINST), found, [CONTRAST]).apart[0]
    assert (loud.opposed, loud.opposite.p) == (False, 1.0)  # it does not differ from the sham
    # Surface noise of all twelve vignettes, over the four that are tested.
    moved = [9, 1, 8, 1, 9, 0, 9, 1, 9, 9, 9, 9]
    drawn = sham_table(moved)
    apart = judge(drawn, found, [CONTRAST]).apart[0]
    wide = compare(drawn, CONTRAST, VIGNETTES, "reference").against_shams(drawn, ("sham",))
    test = apart.comparison.test
    step = abs(test.gap) / math.sqrt(test.null_var / test.weight**2 + wide.tau2 / 4)
    assert apart.opposite.p == pytest.approx(scipy_stats.t(11).sf(step), abs=0)
    assert apart.opposite.p > test.p_less


def test_on_one_vignette_in_all_the_sign_against_shams_alone_is_asked():
    found = directed("more", LAST[:1], shams=("sham",), vignettes=LAST[:1], per_vignette=True)
    contrast = replace(CONTRAST, vignette=LAST[0])
    apart = judge(sham_table(OPEN), found, [contrast]).apart[0]
    assert apart.opposite.p == apart.comparison.test.p_less
    loud = judge(sham_table(AGAINST), found, [contrast]).apart[0]
    assert loud.opposite.p == 1.0


def test_surface_noise_that_was_not_measured_lets_nothing_pass():
    rows = {key: row[:1] if key[1] == "sham" else row for key, row in sham_table(OPEN).rows.items()}
    found = directed("more", shams=("sham",))
    apart = judge(ReplicateTable(rows, "d"), found, [CONTRAST]).apart[0]
    assert apart.opposite.p == 1.0


def test_planned_looks_spend_the_level_of_these_tests_too():
    found = directed("more", sequential="gs")
    judgement = judge(table(AGAINST, OPEN), found, [CONTRAST])
    whole = table(AGAINST, OPEN)
    p = [p_less(whole.first(n)) for n in (2, 4, 6, 8, 10)]
    spending = group_sequential([2, 4, 6, 8, 10], alpha=0.01)
    assert judgement.apart[0].opposite.p == pytest.approx(spending.adjusted(p), abs=0)
    early = judge(whole.first(5), found, [CONTRAST]).apart[0]
    assert early.opposite.p == pytest.approx(spending.adjusted(p[:2]), abs=0)
    first = judge(whole.first(2), found, [CONTRAST], ended_at=1).apart[0]
    assert first.opposite.p == pytest.approx(spending.adjusted([p_less(whole.first(2))]), abs=0)


def p_less(part):
    counts = [part.counts(LAST, arm, "referral") for arm in ("swap", "reference")]
    return stratified_test(counts[0].k, counts[0].n, counts[1].k, counts[1].n).p_less


def test_what_was_not_drawn_to_its_end_claims_nothing():
    found, whole = directed("more"), table(AGAINST, OPEN)
    cut = judge(whole.first(6), found, [CONTRAST]).apart[0]
    assert (cut.opposed, cut.opposite.reason) == (False, "a vignette has 6 of 10 trials")
    assert cut.opposite.p_adjusted == 1
    ended = judge(whole.first(6), found, [CONTRAST], ended_at=6).apart[0]
    assert (ended.opposed, ended.opposite.reason) == (True, "")
    assert judge(whole, found, [CONTRAST], ended_at=6).apart[0].opposite.p == p_less(whole.first(6))


def test_missing_answers_claim_nothing_against_a_registry():
    rows = dict(table(AGAINST, OPEN).rows)
    for vignette in LAST:
        rows[vignette, "swap"] = [*rows[vignette, "swap"][:8], *[Trajectory({})] * 2]
    apart = judge(ReplicateTable(rows, "d"), directed("more"), [CONTRAST]).apart[0]
    assert apart.opposite.reason.startswith("20 % of the answers of swap are missing")
    assert not apart.opposed


def test_an_arm_that_a_guard_refuses_claims_nothing_against_a_registry():
    found = table(AGAINST, OPEN)
    apart = judge(replace(found, reread=frozenset({"swap"})), directed("more"), [CONTRAST]).apart[0]
    assert apart.opposite.reason
    assert not apart.opposed


def test_an_outcome_against_the_registry_on_all_its_vignettes_is_a_disparity():
    found = directed("more", VIGNETTES[:1], per_vignette=True)
    contrast = replace(CONTRAST, vignette="v0")
    judgement = judge(table([0] * 12, [9] * 12), found, [contrast])
    verdict = judgement.of(contrast)
    assert verdict.status == DISPARITY
    assert "on 1 vignette where the registry holds 'more'" in verdict.headline
    assert "on the other vignettes" not in verdict.explain()


# Of the eight vignettes that are left, so many are undecided.
@pytest.mark.parametrize(("n_open", "status"), [(5, INCONCLUSIVE), (6, EQUIVALENT)])
def test_a_pass_needs_six_undecided_vignettes_beside_a_registry(n_open, status):
    counts = [4] * n_open + [0, R, R][: 8 - n_open] + [5] * 4
    found = directed("either", margin=0.35)
    verdict = judge(table(counts, counts), found, [CONTRAST]).of(CONTRAST)
    assert verdict.status == status
    if status == INCONCLUSIVE:
        assert verdict.reasons == (
            "EQUIVALENT is refused: of 8 vignettes that the confounding registry leaves, 5 are "
            "undecided (not all answers alike), and fewer than 6 could not have shown a gap",
        )
    free = judge(table(counts, counts), replace(found, confounded=()), [CONTRAST]).of(CONTRAST)
    assert free.status == EQUIVALENT


def test_identical_is_refused_where_nothing_could_have_moved():
    rows = {
        (v, c): [Trajectory({"actions": {"referral": True}})] * 20
        for v in VIGNETTES
        for c in ("swap", "reference")
    }
    found, drawn = directed("either", replicates=20, margin=0.1), ReplicateTable(rows, "d")
    verdict = judge(drawn, found, [CONTRAST]).of(CONTRAST)
    assert verdict.status == INCONCLUSIVE
    assert verdict.reasons[0].startswith("IDENTICAL is refused: of 8 vignettes")
    plain = judge(drawn, replace(found, confounded=()), [CONTRAST]).of(CONTRAST)
    assert plain.status == IDENTICAL


def test_what_never_varied_is_counted_over_the_vignettes_that_the_registry_leaves():
    counts = [0] * 8 + [5] * 4
    (flag,) = judge(table(counts, counts), directed("either"), [CONTRAST]).of(CONTRAST).flags
    assert flag.startswith("UNMEASURABLE on these vignettes: the action was always taken in 0 and")
    assert "never in 8 of 8 cells" in flag


def test_undecided_vignettes_are_counted_once_and_for_every_kind():
    whole = table([0, R, 5, 0] * 3, [0, R, 5, 3] * 3)
    family = replace(FAMILY, vignettes=VIGNETTES[:4])
    assert undecided_cases(compare(whole, CONTRAST, family.vignettes, "reference")) == 2
    clustered = replace(whole, clusters={"v2": "case", "v3": "case"})
    assert undecided_cases(compare(clustered, CONTRAST, family.vignettes, "reference")) == 1
    rows = {
        (v, c): [Trajectory({"triage": {"esi_acuity": x}}) for x in xs]
        for v, (a, b) in {"v0": ((2, 2), (2, 2)), "v1": ((2, 2), (3, 3))}.items()
        for c, xs in (("swap", a), ("reference", b))
    }
    scores = compare_scores(
        ReplicateTable(rows, "d"), replace(CONTRAST, action="esi_acuity"), ["v0", "v1"], "reference"
    )
    assert undecided_cases(scores) == 1


def test_heterogeneous_is_not_said_where_the_signed_gap_is_significant():
    # Eleven vignettes go one way by little, one goes the other way by much.
    swap, base = [3] * 8 + [10, 10, 10, 0], [1] * 8 + [4, 4, 4, 7]
    family = replace(FAMILY, actions=("referral",), margin=0.6, alpha=0.05)
    verdict = judge(table(swap, base), Plan((family,), "reference"), [CONTRAST]).of(CONTRAST)
    excess = excess_test(swap, base, R)
    assert excess <= 0.05
    assert verdict.evidence.p <= 0.05
    assert verdict.status == EQUIVALENT  # its interval lies inside a wide margin
    assert not any(flag.startswith("HETEROGENEOUS") for flag in verdict.flags)
    cancelling = [9, 1] * 6, [1, 9] * 6
    flags = judge(table(*cancelling), Plan((family,), "reference"), [CONTRAST]).of(CONTRAST).flags
    assert any(flag.startswith("HETEROGENEOUS") for flag in flags)
