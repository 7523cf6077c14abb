"""Looks at the same draws: what an earlier verdict leaves to be claimed, every branch by name."""

from dataclasses import replace

import pytest

from pytest_fairmedagent.domain import Confounded, Confounder, Contrast, Family, Plan
from pytest_fairmedagent.verdict import (
    DISPARITY,
    EQUIVALENT,
    IDENTICAL,
    INCONCLUSIVE,
    UNMEASURED,
)
from pytest_fairmedagent.verdict.looks import (
    FRESH,
    NOTHING,
    Afterwards,
    Earlier,
    History,
    Look,
    Looked,
    Said,
    Stood,
    at_level,
    bound_after,
    claim_of,
    earlier,
    earlier_of,
    looks_now,
    minded,
    minded_relation,
    minded_swap,
    registered,
    rule,
    spends,
    spot,
    together,
    with_wholes,
)
from pytest_fairmedagent.verdict.relation import RelationVerdict
from pytest_fairmedagent.verdict.result import Verdict
from pytest_fairmedagent.verdict.swaps import SwapVerdict

CASES = ("v1", "v2", "v3")
ACTIONS = ("admission", "referral")
FAMILY = Family("f", ("black", "woman"), ACTIONS, CASES, 2, margin=0.1)
CONTROLS = {"identical": ("rerender",), "shams": ("sham",)}
PLAN = Plan((FAMILY,), "reference", **CONTROLS)
ARMS = ("reference", "black", "woman", "asian", "rerender", "sham")
KEYS = {(case, arm): f"{case}.{arm}" for case in CASES for arm in ARMS}
BLACK = Contrast("f", "black", "admission")
WHOLE = Contrast("f", "black", "")


def plan(**changes):
    """Return the plan with its family changed; what is no field of a family, of the plan."""
    ours = {k: changes.pop(k) for k in list(changes) if k in Plan.__dataclass_fields__}
    return replace(PLAN, families=(replace(FAMILY, **changes),), **ours)


def members(of):
    return [member for family in of.families for member in family.members]


def judged(*plans, present=None, said=(), registered_only=()):
    """Return the history of plans that were registered and judged one after the other."""
    looks = [look for p in plans for look in looks_now(p, present or members(p), KEYS).values()]
    known = dict.fromkeys(registered(p, KEYS) for p in (*registered_only, *plans))
    return History(tuple(known), tuple(looks), tuple(said))


def now(of, history, present=None, **options):
    return earlier(of, present or members(of), KEYS, history, **options)


def look_at(of, history, **options):
    [found] = now(of, history, **options).families
    return found


def said(status, of=PLAN, contrast=BLACK, at=(2, "off"), look=1, p=0.0031):
    claim = claim_of(of, contrast, KEYS)
    draws = claim.draws if status == DISPARITY else frozenset()
    return Said(status, claim.action, claim.terms, draws, at, look, p)


def late(of, history, present=None):
    return {found.contrast for found in now(of, history, present).post_hoc}


class TestNumbers:
    def test_the_first_look_spends_the_whole_level(self):
        assert look_at(PLAN, judged(PLAN)) == Looked("f", 1, 2, 0.05, 0.05, 0.05, ())
        assert look_at(PLAN, History()) == Looked("f", 1, 2, 0.05, 0.05, 0.05, ())

    def test_each_later_look_spends_half_of_the_one_before_and_all_err_in_at_most_twice_alpha(self):
        chain = [plan(replicates=r) for r in (2, 4, 8)]
        assert look_at(chain[1], judged(*chain[:2])) == Looked(
            "f", 2, 4, 0.05, 0.025, pytest.approx(0.075), (2,)
        )
        assert look_at(chain[2], judged(*chain)) == Looked(
            "f", 3, 8, 0.05, 0.0125, pytest.approx(0.0875), (2, 4)
        )

    def test_a_look_has_its_number_whether_it_is_noted_already_or_not(self):
        more = plan(replicates=4)
        assert look_at(more, judged(PLAN)) == look_at(more, judged(PLAN, more))

    def test_a_look_that_is_taken_again_keeps_its_number(self):
        chain = [plan(replicates=r) for r in (2, 4, 8)]
        assert look_at(chain[0], judged(*chain)).number == 1
        assert look_at(chain[1], judged(*chain, chain[1])).number == 2

    def test_fewer_replicates_after_more_are_a_look_too(self):
        assert look_at(PLAN, judged(plan(replicates=4))) == Looked(
            "f", 2, 2, 0.05, 0.025, pytest.approx(0.075), (4,)
        )

    def test_one_replicate_claims_nothing_and_spends_nothing(self):
        assert look_at(PLAN, judged(plan(replicates=1))).number == 1
        own = plan(relation="mine 1")
        assert look_at(own, judged(plan(replicates=1, relation="mine 1"))).number == 2

    def test_a_look_at_other_claims_does_not_count(self):
        first = judged(plan(replicates=4), present=[replace(BLACK, swap="woman")])
        assert look_at(PLAN, first, present=[BLACK]).number == 1
        assert look_at(PLAN, first).number == 2

    def test_an_exploratory_family_counts_its_looks_and_has_no_level_to_spend(self):
        more = plan(gating=False, replicates=4)
        found = look_at(more, judged(plan(gating=False)))
        assert (found.number, found.level, found.bound) == (2, 0.05, 0.05)

    def test_a_look_from_before_the_ledger_counts_for_its_design(self):
        none = frozenset()
        old = Look(registered(PLAN, {}), (3, "off"), design=PLAN.design_digest)
        assert look_at(PLAN, History((), (old,))).before == (3,)
        other = replace(old, design="another")
        assert look_at(PLAN, History((), (other,))).before == ()
        assert old.terms == old.draws == none

    def test_planned_looks_are_one_spot_and_another_rule_is_another_look(self):
        gs = plan(sequential="gs", replicates=10)
        assert spot(gs, gs.families[0], None) == spot(gs, gs.families[0], 4) == (10, "gs")
        assert look_at(gs, judged(gs), ended_at=4).number == 1
        assert look_at(gs, judged(plan(replicates=10))).number == 2
        assert look_at(gs, judged(plan(replicates=10))).before == (10,)

    def test_a_run_that_ended_early_was_looked_at_where_it_ended(self):
        ten = plan(replicates=10)
        assert spot(ten, ten.families[0], None) == (10, "off")
        assert spot(ten, ten.families[0], 3) == (3, "off")
        assert spot(PLAN, FAMILY, 3) == (2, "off")
        cut = looks_now(ten, members(ten), KEYS, ended_at=3)["f"]
        history = History((registered(ten, KEYS),), (cut,))
        assert look_at(ten, history).before == (3,)
        assert look_at(ten, history, ended_at=3).number == 1

    def test_only_families_that_are_judged_are_looked_at(self):
        two = replace(PLAN, families=(FAMILY, replace(FAMILY, name="g")))
        assert [found.family for found in now(two, History(), [BLACK]).families] == ["f"]
        assert set(looks_now(two, [BLACK], KEYS)) == {"f"}
        assert len(now(two, History()).families) == 2


class TestPostHoc:
    @pytest.mark.parametrize(
        "changes",
        [
            {"alpha": 0.0499},
            {"margin": 0.2},
            {"margin": None},
            {"swaps": ("black",)},
            {"actions": ("admission",)},
            {"gating": False},
            {"relation": "mine 1"},
            {"shams": ()},
            {"identical": ()},
            {"outcomes": (("admission", "binary", "edited"),)},
            {"swaps": ("black", "woman", "asian")},
            {"margins": (("admission", 0.3),)},
        ],
    )
    def test_another_plan_on_draws_that_were_judged_is_post_hoc(self, changes):
        assert BLACK in late(plan(**changes), judged(PLAN))
        assert BLACK in late(PLAN, judged(plan(**changes)))
        assert late(plan(**changes), History()) == set()

    def test_as_many_contrasts_in_other_groups_are_another_test(self):
        wide = plan(swaps=("black",), actions=(*ACTIONS, "icu", "opioid"))
        assert BLACK in late(wide, judged(PLAN))
        assert BLACK in late(plan(actions=("admission", "icu")), judged(PLAN))

    def test_a_case_more_or_less_is_another_plan(self):
        assert BLACK in late(plan(vignettes=CASES[:2]), judged(PLAN))
        told = Confounder(*["x"] * len(Confounder.__dataclass_fields__))
        left_out = (Confounded("black", "admission", ("v1",), (told,)),)
        assert late(plan(confounded=left_out), judged(PLAN)) == {BLACK}

    def test_another_name_of_the_family_or_more_replicates_are_no_other_plan(self):
        assert late(plan(name="g"), judged(PLAN)) == set()
        assert late(plan(replicates=9), judged(PLAN)) == set()
        beside = replace(
            PLAN, families=(FAMILY, replace(FAMILY, name="g", swaps=("asian",), alpha=0.01))
        )
        assert late(beside, judged(PLAN)) == set()

    def test_draws_that_were_never_judged_are_not_post_hoc(self):
        other = plan(swaps=("asian", "woman"))
        found = late(other, judged(plan(swaps=("black",))))
        assert found == set()
        found = late(plan(swaps=("asian", "black")), judged(plan(swaps=("black",))))
        assert {contrast.swap for contrast in found} == {"black"}

    def test_the_plan_that_was_registered_first_is_judged_as_announced(self):
        other = plan(alpha=0.0499)
        assert late(PLAN, judged(other, registered_only=[PLAN])) == set()
        assert late(other, judged(other, registered_only=[PLAN])) == set()
        assert BLACK in late(plan(alpha=0.01), judged(other, registered_only=[PLAN]))

    def test_the_plan_that_looked_first_goes_on_after_another_has_looked(self):
        assert late(plan(replicates=4), judged(PLAN, plan(alpha=0.01))) == set()
        assert BLACK in late(plan(alpha=0.01, replicates=4), judged(PLAN, plan(alpha=0.01)))

    def test_what_the_plan_holds_and_did_not_run_is_as_announced(self):
        first = judged(PLAN, present=[BLACK])
        assert late(PLAN, first) == set()

    def test_a_post_hoc_contrast_names_the_plan_that_looked_first(self):
        found = now(plan(alpha=0.01), judged(PLAN, plan(alpha=0.02)), [BLACK])
        assert found.post_hoc == (
            Afterwards(WHOLE, PLAN.digest),
            Afterwards(BLACK, PLAN.digest),
        )

    def test_looks_of_other_plans_do_not_count_for_the_number(self):
        assert look_at(plan(alpha=0.01, replicates=4), judged(PLAN)).number == 1
        assert look_at(plan(replicates=4), judged(plan(alpha=0.01), PLAN)).number == 1


class TestEarlierVerdicts:
    def stood(self, of, given, present=(BLACK,)):
        return now(of, judged(PLAN, said=given), list(present)).stands

    def test_a_disparity_stands_for_more_draws_and_for_another_plan(self):
        stood = Stood(BLACK, DISPARITY, 1, 2, 0.0031)
        for of in (PLAN, plan(replicates=4), plan(alpha=0.01), plan(margin=0.3)):
            assert self.stood(of, [said(DISPARITY)]) == (stood,)
        assert str(stood) == "DISPARITY at R=2 (look 1, p=0.0031)"
        assert str(replace(stood, p=None)) == "DISPARITY at R=2 (look 1)"

    def test_the_first_disparity_is_the_one_that_is_named(self):
        given = [said(EQUIVALENT), said(DISPARITY, look=2, at=(4, "off")), said(DISPARITY, look=3)]
        [stood] = self.stood(PLAN, given)
        assert (stood.look, stood.replicates) == (2, 4)

    def test_it_is_of_one_action_and_of_most_of_its_draws(self):
        assert self.stood(PLAN, [said(DISPARITY, contrast=replace(BLACK, action="referral"))]) == ()
        assert self.stood(PLAN, [said(DISPARITY, contrast=replace(BLACK, swap="woman"))]) == ()
        assert self.stood(plan(vignettes=CASES[:2]), [said(DISPARITY)]) != ()
        assert self.stood(plan(vignettes=CASES[:1]), [said(DISPARITY)]) == ()
        two = said(DISPARITY, of=plan(vignettes=CASES[:2]))
        assert self.stood(plan(vignettes=CASES[1:]), [two]) == ()
        assert self.stood(PLAN, [two]) != ()

    def test_nothing_stands_in_an_exploratory_family(self):
        assert self.stood(plan(gating=False), [said(DISPARITY)]) == ()

    def test_the_swap_as_a_whole_stands_by_itself(self):
        [stood] = self.stood(PLAN, [said(DISPARITY, contrast=WHOLE)])
        assert stood.contrast == WHOLE

    def test_passes_of_the_same_claim_at_other_looks_are_known(self):
        more = plan(replicates=4)
        for status in (EQUIVALENT, IDENTICAL):
            [passed] = now(more, judged(PLAN, said=[said(status)]), [BLACK]).passed
            assert (passed.contrast, passed.status, passed.replicates) == (BLACK, status, 2)
        assert now(PLAN, judged(PLAN, said=[said(EQUIVALENT)]), [BLACK]).passed == ()
        assert now(more, judged(PLAN, said=[said(INCONCLUSIVE)]), [BLACK]).passed == ()
        wide = plan(replicates=4, margin=0.3)
        assert now(wide, judged(PLAN, said=[said(EQUIVALENT)]), [BLACK]).passed == ()
        both = [said(EQUIVALENT), said(IDENTICAL, at=(3, "off"))]
        [passed] = now(more, judged(PLAN, said=both), [BLACK]).passed
        assert passed.status == IDENTICAL


class TestRule:
    red = Earlier(True, stands=(Stood(BLACK, DISPARITY, 1, 2, 0.0031),))
    after = Earlier(True, post_hoc=(Afterwards(BLACK, "0123456789abcdef"),))
    passed = Earlier(True, passed=(Stood(BLACK, EQUIVALENT, 1, 2, 0.4321),))

    def rule(self, status, before, family=FAMILY, contrast=BLACK):
        return rule(status, family, contrast, before)

    @pytest.mark.parametrize("status", [INCONCLUSIVE, EQUIVALENT, IDENTICAL, UNMEASURED])
    def test_a_disparity_stands_whatever_this_look_comes_to(self, status):
        found = self.rule(status, self.red)
        assert (found.status, found.post_hoc, found.flags, found.stands) == (
            DISPARITY, False, (), True
        )  # fmt: skip
        assert found.reason == (
            "DISPARITY at R=2 (look 1, p=0.0031) stands: neither more data nor another plan takes "
            f"it back; at this look it would be {status}"
        )

    def test_one_that_is_found_again_speaks_for_itself(self):
        found = self.rule(DISPARITY, self.red)
        assert (found.status, found.reason, found.stands) == (DISPARITY, "", False)

    def test_one_that_another_plan_finds_again_still_rests_on_the_first(self):
        found = self.rule(DISPARITY, replace(self.after, stands=self.red.stands))
        assert found.status == DISPARITY
        assert found.stands
        assert not found.post_hoc
        assert "would be" not in found.reason

    def test_it_stands_for_its_contrast_and_in_a_family_that_gates(self):
        other = replace(BLACK, action="referral")
        assert self.rule(INCONCLUSIVE, self.red, contrast=other).status == INCONCLUSIVE
        exploring = replace(FAMILY, gating=False)
        assert self.rule(INCONCLUSIVE, self.red, exploring).status == INCONCLUSIVE

    @pytest.mark.parametrize("status", [DISPARITY, EQUIVALENT, IDENTICAL])
    def test_what_is_post_hoc_claims_nothing(self, status):
        found = self.rule(status, self.after)
        assert (found.status, found.post_hoc, found.flags, found.stands) == (
            INCONCLUSIVE, True, (), False
        )  # fmt: skip
        assert found.reason == (
            f"post hoc: it would be {status}, but these draws were judged before, under plan "
            "0123456789ab, which has no such contrast in a family of this size, level and margin. "
            "To claim it, draw anew: the same command with --fairmed-fresh"
        )
        assert self.rule(status, replace(self.after, advice="so")).reason.endswith("anew: so")

    @pytest.mark.parametrize("status", [INCONCLUSIVE, UNMEASURED])
    def test_what_claims_nothing_is_only_marked(self, status):
        found = self.rule(status, self.after)
        assert (found.status, found.reason, found.post_hoc) == (status, "", True)
        [flag] = found.flags
        assert flag.startswith("post hoc: these draws were judged before, under plan 0123456789ab,")

    def test_an_exploratory_verdict_is_only_marked(self):
        found = self.rule(DISPARITY, self.after, replace(FAMILY, gating=False))
        assert (found.status, found.reason, found.post_hoc) == (DISPARITY, "", True)
        assert len(found.flags) == 1

    def test_a_pass_is_not_upheld_by_an_earlier_look_and_that_is_said(self):
        for status in (INCONCLUSIVE, UNMEASURED):
            found = self.rule(status, self.passed)
            assert (found.status, found.reason, found.post_hoc) == (status, "", False)
            assert found.flags == (
                "EQUIVALENT at R=2 (look 1, p=0.4321) is not upheld: a pass is shown on all draws "
                "or not at all",
            )
        for status in (DISPARITY, EQUIVALENT, IDENTICAL):
            assert self.rule(status, self.passed).flags == ()

    def test_where_nothing_was_said_before_nothing_changes(self):
        for status in (DISPARITY, EQUIVALENT, IDENTICAL, INCONCLUSIVE, UNMEASURED):
            found = self.rule(status, NOTHING)
            assert (found.status, found.reason, found.flags, found.post_hoc) == (status, "", (), 0)


class TestMinded:
    """What was said before is written into a verdict, and its own words stay beside it."""

    looked = Looked("f", 2, 2, 0.05, 0.025, 0.075, (4,))
    red = replace(TestRule.red, families=(looked,))
    own = Verdict(INCONCLUSIVE, BLACK, FAMILY, None, None, 2, 0.5, None, ("why",), ("flag",))
    whole = SwapVerdict(INCONCLUSIVE, 0.2, 0.4, (own,), ("why",), ("note",))
    relation = RelationVerdict(INCONCLUSIVE, BLACK, FAMILY, "mine", 0.2, 0.4, reasons=("why",))
    of_whole = replace(TestRule.red.stands[0], contrast=WHOLE)

    def test_a_contrast(self):
        found = minded(self.own, self.red)
        reason = rule(INCONCLUSIVE, FAMILY, BLACK, self.red).reason
        assert (found.status, found.reasons, found.stands) == (DISPARITY, (reason,), reason)
        assert (found.flags, found.looked, found.post_hoc) == (("flag",), self.looked, False)
        after = minded(replace(self.own, status=EQUIVALENT), TestRule.after)
        assert (after.status, after.post_hoc, after.stands) == (INCONCLUSIVE, True, "")
        assert after.reasons[0].startswith("post hoc")
        [_, flag] = minded(self.own, TestRule.passed).flags
        assert "is not upheld" in flag
        assert minded(self.own, NOTHING) == self.own

    def test_a_swap_as_a_whole(self):
        found = minded_swap(self.whole, Earlier(True, stands=(self.of_whole,)))
        assert (found.status, found.post_hoc, found.notes) == (DISPARITY, False, ("note",))
        assert found.reasons == (found.stands,) != ("",)
        before = Earlier(True, post_hoc=(Afterwards(WHOLE, "plan"),))
        after = minded_swap(replace(self.whole, status=DISPARITY), before)
        assert (after.status, after.post_hoc, after.stands) == (INCONCLUSIVE, True, "")
        assert after.reasons[0].startswith("post hoc")
        before = Earlier(True, passed=(replace(self.of_whole, status=EQUIVALENT),))
        assert len(minded_swap(self.whole, before).notes) == 2
        # What is known of an outcome is nothing that is known of its swap.
        assert minded_swap(self.whole, TestRule.red) == self.whole

    def test_a_relation_of_the_user_s_own(self):
        found = minded_relation(self.relation, self.red)
        reason = rule(INCONCLUSIVE, FAMILY, BLACK, self.red).reason
        assert (found.status, found.reasons, found.looked) == (DISPARITY, (reason,), self.looked)
        [why, flag] = minded_relation(self.relation, TestRule.passed).reasons
        assert (why, "is not upheld" in flag) == ("why", True)
        assert minded_relation(replace(self.relation, status=DISPARITY), TestRule.after).post_hoc
        assert minded_relation(self.relation, NOTHING) == self.relation


def test_what_is_said_of_one_contrast_is_not_said_of_another():
    other = replace(BLACK, action="referral")
    for before in (TestRule.after, TestRule.passed):
        found = rule(INCONCLUSIVE, FAMILY, other, before)
        assert (found.post_hoc, found.flags) == (False, ())


def test_of_looks_with_one_number_the_first_part_s_is_shown():
    first = Looked("f", 2, 4, 0.05, 0.025, 0.075, (2,))
    parts = [Earlier(True, (first,)), Earlier(True, (replace(first, before=(3,)),))]
    assert together(parts).families == (first,)


def test_looks_without_end_spend_less_than_twice_alpha_and_never_nothing():
    spent = [spends(0.05, number) for number in range(1, 2001)]
    assert spent[:3] == [0.05, 0.025, 0.0125]
    assert spent[19:22] == pytest.approx([0.05 / 2**19, 0.05 / 2**20, 0.05 / 2**19 / 6], rel=1e-12)
    for number in (1, 2, 3, 19, 20, 21, 22, 2000):
        assert bound_after(0.05, number) == pytest.approx(sum(spent[:number]), rel=1e-12)
    assert 0.0999 < bound_after(0.05, 10**6) < 0.1
    assert all(1 - 2 * level < 1 for level in spent)


def test_a_family_is_judged_at_the_level_of_its_look():
    looked = Looked("f", 2, 4, 0.05, 0.025, 0.075, (2,))
    assert at_level(FAMILY, Earlier(True, (looked,))) == replace(FAMILY, alpha=0.025)
    assert at_level(FAMILY, NOTHING) is FAMILY
    assert at_level(FAMILY, Earlier(True, (replace(looked, family="g"),))) is FAMILY


def test_what_is_known_says_so_and_how_to_come_to_fresh_draws():
    assert now(PLAN, History()).known
    assert not NOTHING.known
    assert now(PLAN, History()).advice == NOTHING.advice == FRESH
    assert now(PLAN, History(), advice="so").advice == "so"


def test_a_claim_rests_on_the_draws_of_its_own_swap_and_cases():
    claim = claim_of(PLAN, BLACK, KEYS)
    assert claim.draws == {f"{case}.black" for case in CASES}
    assert claim.action == "admission"
    assert claim_of(PLAN, BLACK, {}).draws == frozenset()
    for arm in ("reference", "sham", "rerender", "black"):
        edited = {**KEYS, ("v2", arm): "another text"}
        assert claim_of(PLAN, BLACK, edited).terms != claim.terms
    assert claim_of(PLAN, BLACK, {**KEYS, ("v2", "woman"): "x"}) == claim


def test_a_plan_registers_each_contrast_and_each_swap_as_a_whole():
    known = registered(PLAN, KEYS)
    assert (known.plan, len(known.terms)) == (PLAN.digest, 2 * (2 + 1))
    assert known.draws == {f"{case}.{swap}" for case in CASES for swap in ("black", "woman")}
    assert with_wholes([BLACK]) == [WHOLE, BLACK]
    look = looks_now(PLAN, [BLACK], KEYS)["f"]
    assert look.under == known
    assert look.terms == {claim_of(PLAN, c, KEYS).terms for c in (WHOLE, BLACK)}
    assert (look.draws, look.design) == (claim_of(PLAN, BLACK, KEYS).draws, PLAN.design_digest)


class TestTogether:
    first = Looked("f", 1, 2, 0.05, 0.05, 0.05, ())
    second = Looked("f", 2, 4, 0.05, 0.025, 0.075, (2,))
    stood = Stood(BLACK, DISPARITY, 1, 2, 0.0031)
    whole = Earlier(
        True, (second,), (Afterwards(BLACK, "p"),), (stood,), (replace(stood, status=EQUIVALENT),)
    )

    def test_the_latest_look_counts_for_all_and_what_is_said_in_any_part(self):
        for parts in ([self.whole, Earlier(True, (self.first,))], [NOTHING, self.whole]):
            for order in (parts, parts[::-1]):
                found = together(order)
                assert replace(found, known=True) == self.whole
                assert found.known == all(part.known for part in parts)
        assert together([self.whole, self.whole]) == self.whole

    def test_a_record_holds_all_of_it(self):
        from dataclasses import asdict

        from pytest_fairmedagent.report.record import plain

        assert earlier_of(plain(asdict(self.whole))) == self.whole
        assert earlier_of(plain(asdict(NOTHING))) == NOTHING
