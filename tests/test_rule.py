"""The parts of the decision rule, each at the border where it changes its answer."""

import math
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
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
from pytest_fairmedagent.relations.evidence import AtAnyRound, AtLook
from pytest_fairmedagent.relations.guards import Guards, GuardTest
from pytest_fairmedagent.relations.invariance import compare
from pytest_fairmedagent.relations.joint import BeyondShams, joint_test, surface_of
from pytest_fairmedagent.relations.needs import rule_of
from pytest_fairmedagent.relations.words import p_value
from pytest_fairmedagent.stats import (
    benjamini_hochberg,
    e_process,
    excess_test,
    inherited,
    signed_p,
    stratified_test,
    swap_test,
    worst_case,
)
from pytest_fairmedagent.verdict import (
    DISPARITY,
    EQUIVALENT,
    IDENTICAL,
    INCONCLUSIVE,
    UNMEASURED,
    judge,
)
from pytest_fairmedagent.verdict.chains import Chain, adjusted, chain_of
from pytest_fairmedagent.verdict.family import judge_family
from pytest_fairmedagent.verdict.flags import flag_heterogeneous, flag_unvaried
from pytest_fairmedagent.verdict.missing import mind_missing, missing_answers, p_at_worst
from pytest_fairmedagent.verdict.obstacles import obstacles
from pytest_fairmedagent.verdict.result import Verdict
from pytest_fairmedagent.verdict.rule import decide
from pytest_fairmedagent.verdict.swaps import SwapVerdict, again, judge_swap

V, R = 8, 4
VIGNETTES = tuple(f"v{i}" for i in range(V))
TWO = ("referral", "admission")
FAMILY = Family("f", ("swap",), ("referral",), VIGNETTES, R, margin=0.3)
PLAN = Plan((FAMILY,), "reference")
CONTRAST = Contrast("f", "swap", "referral")
ADMISSION = replace(CONTRAST, action="admission")
NO_GUARDS = Guards((), frozenset())


def answers(cell):
    """The answers of a cell: it is how many of R are yes, or the answers themselves."""
    return [r < cell for r in range(R)] if isinstance(cell, int) else cell


def table(clusters=None, **arms):
    """A table from {condition: cells}, or {condition: {action: cells}}."""
    rows = {}
    for condition, given in arms.items():
        by_action = given if isinstance(given, dict) else {"referral": given}
        for i, vignette in enumerate(VIGNETTES):
            columns = {a: answers(cells[i]) for a, cells in by_action.items() if i < len(cells)}
            for r in range(max(map(len, columns.values()), default=0)):
                actions = {a: column[r] for a, column in columns.items()}
                rows.setdefault((vignette, condition), []).append(
                    Trajectory({"actions": actions, "note": {"i": r}})
                )
    return ReplicateTable(rows, "d", clusters=clusters or {})


def compared(contrast=CONTRAST, **arms):
    return compare(table(**arms), contrast, VIGNETTES, "reference")


def at(comparison, *, p_adjusted=1.0, family=FAMILY, sham=None, status=INCONCLUSIVE):
    """A verdict that is still to be decided."""
    margin = family.margin_of(comparison.contrast.action)
    shown = AtLook(comparison, comparison.p, margin, 0.05, 0.95, sham)
    rule = rule_of(replace(PLAN, families=(family,)), family)
    found = Verdict(status, comparison.contrast, family, comparison, shown, R, p_adjusted, rule)
    found.__dict__["detectable"] = None if p_adjusted == 0.5 else 0.25  # a cached property
    return found


LOW = [0, 1, 2, 1, 0, 1, 2, 1]
HIGH = [2, 3, 3, 2, 2, 3, 4, 3]


class TestDecide:
    higher = compared(reference=LOW, swap=HIGH)
    same = compared(reference=LOW, swap=[0, 1, 2, 1, 1, 1, 2, 1])

    def test_a_p_of_alpha_itself_is_significant(self):
        assert decide(at(self.higher, p_adjusted=0.05), PLAN).status == DISPARITY
        above = math.nextafter(0.05, 1)
        assert decide(at(self.higher, p_adjusted=above), PLAN).status == INCONCLUSIVE
        inside = replace(FAMILY, margin=0.9)
        found = decide(at(self.higher, p_adjusted=0.05, family=inside), PLAN)
        assert (found.status, found.flags) == (EQUIVALENT, ("not zero, but inside the margin",))
        assert decide(at(self.higher, p_adjusted=above, family=inside), PLAN).flags == ()

    def test_only_where_there_is_no_sham_arm_a_disparity_says_so(self):
        assert len(decide(at(self.higher, p_adjusted=0.01), PLAN).flags) == 1
        assert decide(at(self.higher, p_adjusted=0.01), replace(PLAN, shams=("s",))).flags == ()

    def test_identical_outputs_clear_a_margin_that_their_bound_is_below(self):
        comparison = replace(self.same, identical=True)
        bound = comparison.identical_bound(0.05)
        for margin, status in ((math.nextafter(bound, 1), IDENTICAL), (bound, INCONCLUSIVE)):
            found = decide(at(comparison, family=replace(FAMILY, margin=margin)), PLAN)
            assert found.status == status
            assert "agree in 8 of 8 vignettes" in found.reasons[0]

    def test_an_unclear_direction_comes_before_a_disparity(self):
        comparison = compared(reference=[4, 0, *LOW[2:]], swap=[[False], 1, *LOW[2:]])
        turned = -comparison.test.gap_simple
        unclear = replace(comparison, test=replace(comparison.test, gap=turned))
        assert unclear.unclear
        found = decide(at(unclear, p_adjusted=0.001), PLAN)
        assert (found.status, found.reasons) == (INCONCLUSIVE, (unclear.unclear,))

    def reasons(self, comparison, family=FAMILY, sham=None, p_adjusted=0.5):
        found = decide(at(comparison, family=family, sham=sham, p_adjusted=p_adjusted), PLAN)
        assert found.status == INCONCLUSIVE
        return found.reasons

    def test_it_says_that_shams_do_as_much_where_only_they_stand_against_it(self):
        two = replace(FAMILY, swaps=("swap", "other"), margin=None)
        comparison = self.higher
        told = "the gap does not exceed what sham edits of the same line do"
        assert comparison.p < 0.025
        more, less = SimpleNamespace(p=math.nextafter(0.025, 1)), SimpleNamespace(p=0.025)
        assert self.reasons(comparison, two, more) == (told,)
        assert self.reasons(comparison, two, less) == ()
        wide = replace(two, swaps=tuple(map(str, range(60))))
        assert comparison.p > 0.05 / wide.size
        assert self.reasons(comparison, wide, more) == ()
        at_level = replace(comparison, test=self.higher.test)
        at_level.__dict__["p"] = 0.025  # a cached property
        assert self.reasons(at_level, two, more) == (told,)

    def test_it_says_where_no_p_could_be_small_enough(self):
        few = compared(reference=[0] * V, swap=[1, 1, 1, 1, *[0] * 4])
        least = few.p_attainable
        wide = replace(FAMILY, margin=None)
        for alpha, told in ((least, False), (math.nextafter(least, 0), True)):
            shown = replace(at(few, family=wide), evidence=AtLook(few, 1.0, None, alpha, 0.95))
            shown.__dict__["detectable"] = None
            reasons = decide(shown, PLAN).reasons
            assert any("smallest attainable p" in reason for reason in reasons) == told

    def test_it_says_what_would_do_with_a_margin_only(self):
        comparison = compared(reference=LOW, swap=LOW)
        small = replace(FAMILY, margin=0.05)
        needs = at(comparison, family=small).needs
        assert self.reasons(comparison, small, p_adjusted=1.0) == (
            "gaps below 0.25 would pass unseen",
            f"at this floor a gap of 0.05 in one action is found with {needs.find:.0f} replicates; "
            f"to rule out gaps beyond ±0.05 takes {needs.rule_out:.0f} replicates (power 0.8); "
            "this contrast has 4",
        )
        assert self.reasons(comparison, replace(FAMILY, margin=None), p_adjusted=1.0) == (
            "gaps below 0.25 would pass unseen",
        )


def test_where_nothing_was_drawn_no_gap_could_be_found():
    nothing = compared(reference=[[None] * R] * V, swap=[[None] * R] * V)
    found = at(nothing, p_adjusted=1.0)
    del found.__dict__["detectable"]
    assert found.detectable is None


def lost(cells, n, value):
    """The cells with `n` answers of this value lost, one in each of the first that have one."""
    found = [list(answers(cell)) for cell in cells]
    for cell in found:
        if n and value in cell:
            cell[cell.index(value)] = None
            n -= 1
    assert not n
    return found


def at_worst(comparison, sign):
    a, b = comparison.swap, comparison.reference
    return worst_case(a.k, a.n, a.missing, b.k, b.n, b.missing, sign=sign)


class TestMissing:
    def test_more_than_a_tenth_is_too_much_in_either_arm(self):
        def arms(swap, reference):
            one, other = (SimpleNamespace(missing_share=x) for x in (swap, reference))
            return SimpleNamespace(contrast=CONTRAST, swap=one, reference=other)

        assert missing_answers(arms(0.10, 0.10), NO_GUARDS) == ()
        assert missing_answers(arms(0.11, 0.10), NO_GUARDS) == (
            "11 % of the answers of swap are missing",
        )
        assert missing_answers(arms(0.0, 0.25), NO_GUARDS) == (
            "25 % of the answers of reference are missing",
        )
        for action, what in (("referral", "answers to referral"), ("", "parts of the trajectory")):
            guards = Guards((GuardTest("missingness", "swap", action, 0.001, 0.002),), frozenset())
            assert missing_answers(arms(0, 0), guards) == (
                f"{what} are not missing equally often under swap and the reference (p=0.0010)",
            )

    @pytest.mark.parametrize("sign", [1.0, -1.0])
    def test_the_worst_p_has_all_that_is_missing_filled_in_against_the_gap(self, sign):
        high, low = lost(HIGH, 2, True), lost(LOW, 1, False)
        arms = {"swap": high, "reference": low} if sign > 0 else {"swap": low, "reference": high}
        comparison = compared(**arms)
        assert comparison.gap * sign > 0
        p = p_at_worst(comparison)
        assert p == signed_p(stratified_test(*at_worst(comparison, sign))).p
        assert comparison.p < p < 1

    def test_without_a_gap_or_where_filling_turns_it_there_is_no_worst(self):
        assert p_at_worst(compared(reference=LOW, swap=LOW)) == 1.0
        turned = compared(reference=LOW, swap=lost([0, 2, *LOW[2:]], 4, True))
        assert p_at_worst(turned) == 1.0
        assert p_at_worst(SimpleNamespace(gap=0.3)) == 1.0

    def test_copies_of_one_answer_are_filled_once(self):
        full = [[True] * R] * 6
        none = [[False] * R] * 6
        swap = [*full, [True, None, True, True], [False, False, False, None]]
        reference = [*none, [False, None, False, False], [False] * R]
        comparison = compared(swap=swap, reference=reference)
        assert comparison.deterministic
        # Filled in: the swap is not unanimous in v6 and the reference says yes once there; v7 is
        # a no of the swap.
        expected = stratified_test([1] * 6 + [0, 0], [1] * V, [0] * 6 + [1, 0], [1] * V)
        assert p_at_worst(comparison) == signed_p(expected).p
        other = compared(swap=reference, reference=swap)
        expected = stratified_test([0] * 6 + [1, 0], [1] * V, [1] * 6 + [0, 0], [1] * V)
        assert p_at_worst(other) == signed_p(expected).p

    def test_variants_that_are_copies_are_filled_by_the_first_of_their_case(self):
        swap, reference = [[True] * R] * 7 + [[True, None, True, True]], [[False] * R] * V
        found = table({"v7": "v0"}, swap=swap, reference=reference)
        comparison = compare(found, CONTRAST, VIGNETTES, "reference")
        expected = stratified_test([1] * 7, [1] * 7, [0] * 7, [1] * 7)
        assert p_at_worst(comparison) == signed_p(expected).p

    def test_reasons_take_back_all_but_what_holds_at_the_worst(self):
        for status in (INCONCLUSIVE, IDENTICAL, EQUIVALENT):
            found = mind_missing(at(TestDecide.higher, status=status), ("why",))
            assert (found.status, found.reasons) == (UNMEASURED, ("why",))
        found = mind_missing(at(TestDecide.higher, status=DISPARITY), ("why",))
        assert (found.status, found.flags) == (DISPARITY, ("survives worst-case filling", "why"))
        verdict = at(TestDecide.higher, status=EQUIVALENT)
        assert mind_missing(verdict, ()) is verdict

    @pytest.mark.parametrize("turned", [False, True])
    def test_equivalent_holds_where_both_fillings_are_inside_the_margin(self, turned):
        arms = {"swap": lost([3, 2, *LOW[2:]], 2, True), "reference": lost(LOW, 1, False)}
        if turned:
            arms = {"swap": arms["reference"], "reference": arms["swap"]}
        comparison = compared(**arms)
        ends = [stratified_test(*at_worst(comparison, s)).interval(0.9) for s in (1.0, -1.0)]
        bound = max(max(abs(low), abs(high)) for low, high in ends)
        assert bound > comparison.hull(0.9)[1]
        for margin, status in ((bound, UNMEASURED), (math.nextafter(bound, 1), EQUIVALENT)):
            verdict = at(comparison, status=EQUIVALENT, family=replace(FAMILY, margin=margin))
            assert mind_missing(verdict, ("why",)).status == status
        none = at(comparison, status=EQUIVALENT, family=replace(FAMILY, margin=None))
        assert mind_missing(none, ("why",)).status == UNMEASURED

    def test_no_worst_is_known_of_a_score(self):
        verdict = replace(at(TestDecide.higher, status=EQUIVALENT), comparison=SimpleNamespace())
        assert mind_missing(verdict, ("why",)).status == UNMEASURED


class TestObstacles:
    def against(self, plan=PLAN, look=R, guards=NO_GUARDS, **arms):
        found = table(**arms)
        comparison = compare(found, CONTRAST, VIGNETTES, "reference")
        return obstacles(comparison, found, plan, VIGNETTES, guards, look)

    def test_every_arm_that_is_read_must_be_drawn_in_full(self):
        arms = {"reference": LOW, "swap": HIGH, "again": [*LOW[:-1], [True]]}
        assert self.against(**arms) == []
        plan = replace(PLAN, identical=("again",))
        assert self.against(plan, **arms) == []
        assert self.against(replace(plan, pooled=True), **arms) == [
            "again has 29 of 32 trials: the same command draws the rest"
        ]
        assert self.against(look=5, **arms) == [
            "reference has 32 of 40 trials: the same command draws the rest"
        ]

    def test_what_guards_say_comes_first_and_answers_are_asked_for_all_the_same(self):
        guards = Guards((), frozenset({"swap"}))
        assert len(self.against(guards=guards, reference=LOW, swap=HIGH)) == 1
        none = [[None] * R] * V
        told = self.against(guards=guards, reference=LOW, swap=none)
        assert told[1:] == ["no vignette has an answer in both arms"]
        one = self.against(look=1, reference=[[True]] * V, swap=[[False]] * V)
        assert len(one) == 1
        assert "draw at least 2 replicates" in one[0]

    @pytest.mark.parametrize(("deterministic", "told"), [(False, ["no test"]), (True, [])])
    def test_cells_that_allow_no_test_are_named_unless_each_counts_once(self, deterministic, told):
        comparison = SimpleNamespace(
            contrast=CONTRAST, weight=1, measured=True, untestable="no test",
            deterministic=deterministic,
        )  # fmt: skip
        found = table(reference=LOW, swap=HIGH)
        assert obstacles(comparison, found, PLAN, VIGNETTES, NO_GUARDS, R) == told


def test_what_never_varied_is_flagged_where_it_was_measured():
    comparison = compared(reference=[0] * V, swap=[0] * V)
    for status, n in ((UNMEASURED, 0), (IDENTICAL, 0), (EQUIVALENT, 1), (INCONCLUSIVE, 1)):
        assert len(flag_unvaried(at(comparison, status=status)).flags) == n


class TestHeterogeneous:
    base, turned = [0, 4, 0, 4, 0, 4, 0, 3], [3, 1, 3, 1, 3, 1, 3, 2]

    def flagged(self, alpha, *, shams=(), status=INCONCLUSIVE, swaps=("swap",), **arms):
        found = table(**{"reference": self.base, "swap": self.turned, **arms})
        family = replace(FAMILY, alpha=alpha, swaps=swaps)
        verdict = at(compare(found, CONTRAST, VIGNETTES, "reference"), family=family, status=status)
        plan = replace(PLAN, shams=shams)
        return flag_heterogeneous({CONTRAST: verdict}, found, plan, family)

    def test_only_what_no_signed_gap_explains(self):
        signed = compared(reference=self.base, swap=self.turned).p
        assert 0.3 < signed < 1
        [(contrast, verdict)] = self.flagged(math.nextafter(signed, 0)).items()
        [flag] = verdict.flags
        test = excess_test(self.turned, self.base, R)
        assert (contrast, f"p={p_value(float(test))}, Holm" in flag) == (CONTRAST, True)
        assert self.flagged(signed) == {}
        assert self.flagged(0.05, status=DISPARITY) == {}
        assert self.flagged(0.05, status=UNMEASURED) == {}
        assert self.flagged(float(test)) != {}
        assert self.flagged(math.nextafter(float(test), 0)) == {}
        assert self.flagged(float(test), swaps=("swap", "other")) == {}

    def test_not_what_a_sham_does_as_much_and_a_sham_must_be_measured(self):
        assert self.flagged(0.05, shams=("sham",)) != {}
        assert self.flagged(0.05, shams=("sham",), sham=self.turned) == {}
        assert self.flagged(0.05, shams=("sham",), sham=self.base) != {}
        assert self.flagged(0.05, shams=("sham", "more"), sham=self.base, more=self.turned) == {}
        assert self.flagged(0.05, shams=("sham",), sham=[[True]] * V) != {}

    def test_only_where_arms_are_of_one_size_and_not_copies(self):
        assert self.flagged(0.05, swap=[[True, False, None, True], *self.turned[1:]]) == {}
        assert self.flagged(0.05, reference=[[True, False, None], *self.base[1:]]) == {}
        fixed = {"reference": [0, 4] * 4, "swap": [4, 0] * 4}
        assert self.flagged(0.05, **fixed) == {}
        assert flag_heterogeneous({}, table(), PLAN, FAMILY) == {}
        of_a_score = replace(at(TestDecide.higher), comparison=SimpleNamespace())
        assert flag_heterogeneous({CONTRAST: of_a_score}, table(), PLAN, FAMILY) == {}


@dataclass(frozen=True)
class Stub:
    """An evidence, or a sham guard, of which p alone is asked."""

    p: float
    sham: object = None


class TestChains:
    joint = replace(FAMILY, actions=TWO)

    def shown(self, *ps):
        names = [replace(CONTRAST, action=f"a{i}") for i in range(len(ps))]
        return {name: (None, Stub(p)) for name, p in zip(names, ps, strict=True)}

    def chain(self, shown, *, at_worst=(), silent=(), tests=(), family=None, plan=PLAN):
        return chain_of(shown, dict(at_worst), silent, tests, family or self.joint, plan)

    def test_steps_rise_and_silent_members_count_as_one(self):
        a, b = CONTRAST, ADMISSION
        assert Chain(0.02, {a: 0.04, b: 0.01}).steps == [0.02, 0.02, 0.04]
        assert Chain(0.02, {a: 0.03}, (b,)).steps == [0.02, 0.03, 1.0]

    def test_an_outcome_passes_by_itself_and_with_the_others(self):
        joint = SimpleNamespace(p=0.01, p_outcomes=np.array([0.02, 0.03]))
        found = self.chain(self.shown(0.001, 0.2), tests=[joint])
        assert found.whole == 0.01
        assert list(found.members.values()) == [0.02, 0.2]
        assert self.chain(self.shown(0.001, 0.2), tests=[None, joint]) == found
        assert self.chain(self.shown(0.001, 0.2), tests=[joint, None]).whole == 1.0

    def test_one_outcome_and_none(self):
        found = self.chain(self.shown(0.03), tests=[None])
        assert (found.whole, list(found.members.values())) == (0.03, [0.03])
        assert self.chain({}, silent=(CONTRAST,)).whole == 1.0
        alone = replace(FAMILY)
        assert self.chain({}, silent=(CONTRAST,), family=alone) == Chain(1.0, {}, (CONTRAST,))

    def test_members_at_their_worst_share_half_of_the_level(self):
        joint = SimpleNamespace(p=0.01, p_outcomes=np.array([0.02, 0.03]))
        a, b = CONTRAST, ADMISSION
        worst = {a: 0.002, b: 0.3}
        found = self.chain(self.shown(0.001, 0.001), tests=[joint], at_worst=worst)
        assert found.whole == pytest.approx(2 * 0.004)
        assert (found.members[a], found.members[b]) == (pytest.approx(2 * 2 * 0.002), 1.0)
        found = self.chain(self.shown(0.001, 0.001), tests=[joint], at_worst={b: 0.3})
        assert found.whole == pytest.approx(2 * 0.01)
        assert found.members[b] == pytest.approx(0.6)
        assert self.chain({}, at_worst={a: 0.9}).whole == 1.0
        one = self.chain(self.shown(0.2), at_worst={a: 0.01}, family=FAMILY)
        assert one.whole == 0.01
        assert one.members[a] == 0.01

    def rounds(self, *pairs, sham=None):
        return AtAnyRound(*zip(*((b, c, 0) for b, c in pairs), strict=True), None, 0.05, sham)

    def test_by_rounds_the_whole_is_the_average_of_e_values_and_parts_are_closed(self):
        plan = replace(PLAN, sequential="e")
        arms = [[(3, 0)] * 4, [(1, 1), (2, 0)], [(0, 0), (0, 1), (1, 0), (2, 0)]]
        shown = {
            replace(CONTRAST, action=f"a{i}"): (None, self.rounds(*arm))
            for i, arm in enumerate(arms)
        }
        found = self.chain(shown, plan=plan)
        paths = [e_process(*zip(*arm, strict=True)).e for arm in arms]
        n = 4
        full = np.array([[*path, *[path[-1]] * (n - len(path))] for path in paths])
        assert found.whole == min(1.0, 1 / full.mean(axis=0).max())
        sets = {0: ((0,), (0, 1), (0, 2), (0, 1, 2)), 1: ((1,), (0, 1), (1, 2), (0, 1, 2)),
                2: ((2,), (0, 2), (1, 2), (0, 1, 2))}  # fmt: skip
        for i, contrast in enumerate(shown):
            least = np.min([full[list(s)].mean(axis=0) for s in sets[i]], axis=0)
            expected = max(min(1.0, 1 / least.max()), shown[contrast][1].p)
            assert found.members[contrast] == pytest.approx(expected, rel=1e-12)

    def test_by_rounds_some_outcome_must_exceed_shams(self):
        plan = replace(PLAN, sequential="e")

        def whole(*shams):
            shown = {
                replace(CONTRAST, action=f"a{i}"): (None, self.rounds((6, 0), (6, 0), sham=sham))
                for i, sham in enumerate(shams)
            }
            return self.chain(shown, plan=plan)

        plain = whole(None, None).whole
        assert plain < 0.01
        found = whole(Stub(0.02), Stub(0.3))
        assert found.whole == 0.04
        assert list(found.members.values()) == [0.02, 0.3]
        assert whole(Stub(0.0), Stub(0.3)).whole == plain
        empty = AtAnyRound((), (), (), None, 0.05)
        shown = {CONTRAST: (None, empty), ADMISSION: (None, empty)}
        assert self.chain(shown, plan=plan) == Chain(1.0, {CONTRAST: 1.0, ADMISSION: 1.0})
        half = {CONTRAST: (None, empty), ADMISSION: (None, self.rounds((6, 0), (6, 0)))}
        e = e_process((6, 6), (0, 0)).e
        assert self.chain(half, plan=plan).whole == pytest.approx(1 / ((1 + e.max()) / 2))

    def test_adjusting_over_a_family(self):
        a, b = CONTRAST, ADMISSION
        two = replace(FAMILY, actions=TWO, swaps=("swap", "other"))
        c, d = replace(a, swap="other"), replace(b, swap="other")
        chains = {a: Chain(0.01, {a: 0.03, b: 0.02}), c: Chain(0.001, {c: 0.002, d: 0.001})}
        found = adjusted(chains, two)
        rows = inherited([[0.01, 0.02, 0.03], [0.001, 0.001, 0.002]], n_groups=2)
        assert found.whole == {a: rows[0][0], c: rows[1][0]}
        assert found.members == {b: rows[0][1], a: rows[0][2], d: rows[1][1], c: rows[1][2]}
        assert adjusted({}, two).members == {}
        exploring = adjusted(chains, replace(two, gating=False))
        q = benjamini_hochberg([0.03, 0.02, 0.002, 0.001], n_members=4)
        assert list(exploring.members.values()) == list(q)
        assert exploring.whole == {}
        assert adjusted({}, replace(two, gating=False)).members == {}


class TestSwaps:
    base = at(TestDecide.higher)
    first = replace(base, status=INCONCLUSIVE)
    second = replace(base, status=INCONCLUSIVE, contrast=ADMISSION)

    def of(self, *statuses, p=0.5, **changes):
        names = (CONTRAST, ADMISSION, replace(CONTRAST, action="icu"))
        verdicts = tuple(
            replace(self.base, status=s, contrast=c, **changes)
            for s, c in zip(statuses, names, strict=False)
        )
        return judge_swap(verdicts, p / 2, p)

    def test_statuses(self):
        for given, p, status in (
            ((UNMEASURED, UNMEASURED), 0.01, UNMEASURED),
            ((EQUIVALENT, IDENTICAL), 0.01, EQUIVALENT),
            ((EQUIVALENT, UNMEASURED), 0.01, INCONCLUSIVE),
            ((EQUIVALENT, INCONCLUSIVE), 0.05, DISPARITY),
            ((EQUIVALENT, INCONCLUSIVE), math.nextafter(0.05, 1), INCONCLUSIVE),
            ((DISPARITY, UNMEASURED), 0.05, DISPARITY),
        ):
            found = self.of(*given, p=p)
            assert (found.status, found.p, found.p_adjusted) == (status, p / 2, p)
        open_ones = self.of(INCONCLUSIVE, INCONCLUSIVE).verdicts
        one = (open_ones[0], replace(open_ones[1], opposed="it is"))
        assert judge_swap(one, 0.5, 0.5).status == DISPARITY

    def test_what_may_differ_everywhere_is_none_that_was_measured(self):
        told = Confounder(*["x"] * len(Confounder.__dataclass_fields__))
        everywhere = Confounded("swap", "referral", VIGNETTES, (told,))
        one, other = (replace(self.base, confounded=x) for x in (everywhere, None))
        equal = replace(other, status=EQUIVALENT, contrast=ADMISSION)
        assert judge_swap((one, equal), 0.1, 0.2).status == INCONCLUSIVE
        assert judge_swap((one, one), 0.1, 0.2).status == UNMEASURED
        assert judge_swap((one, one), 0.1, 0.2).wholly_confounded
        assert not judge_swap((one, equal), 0.1, 0.2).wholly_confounded

    def test_words(self):
        red = self.of(DISPARITY, INCONCLUSIVE, DISPARITY, p=0.01)
        end = "3 outcomes together, p=0.0100 (family of swaps)"
        assert red.headline == f"DISPARITY swap vs reference: differs in referral, icu; {end}"
        assert str(red) == red.headline
        unnamed = self.of(INCONCLUSIVE, UNMEASURED, INCONCLUSIVE, p=0.01)
        assert unnamed.headline.endswith(f"differs somewhere, no outcome singled out; {end}")
        nothing = self.of(*[INCONCLUSIVE] * 3, p=0.5)
        assert "no difference was shown over 3 outcomes together, p=0.5" in nothing.headline
        equal = self.of(EQUIVALENT, IDENTICAL)
        assert equal.headline.endswith(": all 2 outcomes are inside the margin")
        assert self.of(UNMEASURED, UNMEASURED).headline.endswith("no outcome could be measured")
        here = replace(self.base, contrast=replace(CONTRAST, vignette="v3"))
        assert "swap vs reference, on v3: no difference" in judge_swap((here,), 0.5, 0.5).headline
        lines = replace(red, notes=("to know",)).explain().splitlines()
        assert lines[0] == red.headline
        assert lines[1:-1] == [f"  {verdict.headline}" for verdict in red.verdicts]
        assert lines[-1] == "  flag: to know"

    def test_equivalent_and_not_zero_is_flagged_at_alpha_itself(self):
        flag = "not zero, but inside the margin"
        assert self.of(EQUIVALENT, EQUIVALENT, p=0.05).flags == (flag,)
        assert self.of(EQUIVALENT, EQUIVALENT, p=math.nextafter(0.05, 1)).flags == ()
        assert self.of(DISPARITY, EQUIVALENT, p=0.05).flags == ()
        noted = replace(self.of(EQUIVALENT, EQUIVALENT, p=0.05), notes=("to know",))
        assert noted.flags == (flag, "to know")

    def test_the_open_outcome_with_the_smallest_p_carries_a_red_without_a_name(self):
        ps = (0.3, 0.1, 0.2)
        red = self.of(*[INCONCLUSIVE] * 3, p=0.01)
        verdicts = tuple(
            replace(v, evidence=Stub(p), look=look)
            for v, p, look in zip(red.verdicts, ps, (2, 4, 3), strict=True)
        )
        red = replace(red, verdicts=verdicts)
        names = tuple(v.contrast for v in verdicts)
        assert red.look == 4
        assert red.carrier(names) == names[1]
        assert red.carrier(names[::2]) == names[2]
        assert red.carrier(()) is None
        assert replace(red, status=INCONCLUSIVE).carrier(names) is None
        named = replace(red, verdicts=(replace(verdicts[0], status=DISPARITY), *verdicts[1:]))
        assert named.carrier(names) is None
        closed = replace(red, verdicts=(verdicts[0], replace(verdicts[1], status=EQUIVALENT)))
        assert closed.carrier(names) == names[0]

    def test_again_judges_only_what_has_changed(self):
        red = replace(self.of(INCONCLUSIVE, INCONCLUSIVE, p=0.01), notes=("to know",))
        assert again(red, red.verdicts) is red
        assert again(red, ()) is red
        equal = tuple(replace(v, status=EQUIVALENT) for v in red.verdicts)
        assert again(red, equal[:1]) == SwapVerdict(
            DISPARITY, 0.005, 0.01, (equal[0], red.verdicts[1])
        )
        assert again(red, equal).status == EQUIVALENT

    def test_what_it_shares_with_its_outcomes(self):
        found = self.of(INCONCLUSIVE, INCONCLUSIVE)
        assert found.contrast == replace(CONTRAST, action="")
        assert (found.family, found.swap, found.vignette) == (FAMILY, "swap", None)
        assert (found.looked, found.red, found.named) == (None, False, ())


BOTH = {
    "reference": {"referral": LOW, "admission": HIGH},
    "swap": {"referral": HIGH, "admission": [3, 3, 3, 1, 2, 4, 3, 3]},
}


class TestJoint:
    def rows(self, arms, condition, vignettes=range(V), most=R):
        """The answers of an arm as numbers, a row for each trajectory and a column an outcome."""
        columns = [arms[condition][action] for action in TWO]
        return [
            np.array([answers(cells[v])[:most] for cells in columns], dtype=float).T
            for v in vignettes
        ]

    def compared(self, found, vignettes=VIGNETTES):
        return [compare(found, replace(CONTRAST, action=a), vignettes, "reference") for a in TWO]

    def test_two_outcomes_are_tested_as_one_whole(self):
        found = table(**BOTH)
        expected = swap_test(self.rows(BOTH, "swap"), self.rows(BOTH, "reference"), groups=[0, 1])
        test = joint_test(found, self.compared(found), "reference", None)
        assert (test.p, *test.p_outcomes) == (expected.p, *expected.p_outcomes)
        family = replace(FAMILY, actions=TWO, margin=None)
        unanswered = replace(family, actions=(*TWO, "cs_caution"))
        for some in (family, unanswered):
            plan = Plan((some,), "reference")
            _, [whole] = judge_family(found, plan, some, [CONTRAST], NO_GUARDS)
            assert whole.p == expected.p

    def test_cells_that_never_vary_count_once_and_of_variants_the_first(self):
        fixed = {
            "reference": {"referral": [0] * V, "admission": [0, 4] * 4},
            "swap": {"referral": [4] * 6 + [0] * 2, "admission": [0, 4] * 4},
        }
        found = table({"v5": "v0", "v1": "v0"}, **fixed)
        kept = [0, 2, 3, 4, 6, 7]
        expected = swap_test(
            self.rows(fixed, "swap", kept, 1), self.rows(fixed, "reference", kept, 1), groups=[0, 1]
        )
        test = joint_test(found, self.compared(found), "reference", None)
        assert test.p == expected.p
        free = {**fixed, "swap": {**fixed["swap"], "admission": [0, 4, 0, 4, 0, 4, 0, 3]}}
        found = table({"v5": "v0"}, **free)
        test = joint_test(found, self.compared(found), "reference", None)
        expected = swap_test(self.rows(free, "swap"), self.rows(free, "reference"), groups=[0, 1])
        assert test.p == expected.p

    def test_there_is_no_surface_without_shams_or_vignettes(self):
        found = table(**BOTH, sham=BOTH["reference"])
        pair = self.compared(found)
        assert surface_of(found, pair, "reference", ()) is None
        assert surface_of(found, pair, "reference", ("other",)) is None
        nowhere = SimpleNamespace(vignettes=())
        assert surface_of(found, [nowhere], "reference", ("sham",)) is None
        surface = surface_of(found, pair, "reference", ("other", "sham"), minimum_gap=0.1)
        assert surface.shams == ("sham",)
        assert [guard.column for guard in surface.guards] == [0, 1]
        assert {guard.minimum_gap for guard in surface.guards} == {0.1}
        beyond = [guard.p for guard in surface.guards]
        assert beyond == [
            float(p) if same else 1.0
            for p, same in zip(surface.noise.p_beyond(0.1), surface.noise.same_sign, strict=True)
        ]

    def noise(self, *, n_cases=2, n_shams=1, same=(True, False), ratio=(0.5, 0.5)):
        return SimpleNamespace(
            n_cases=n_cases, n_shams=n_shams, same_sign=same, ratio=ratio,
            p_beyond=lambda gap: (0.25 + gap, 0.75),
        )  # fmt: skip

    def test_a_gap_beyond_shams_has_their_sign_and_exceeds_their_noise(self):
        assert BeyondShams(self.noise(), 0, 0.5).p == 0.75
        assert BeyondShams(self.noise(), 1, 0.0).p == 1.0
        one = self.noise(n_cases=1)
        assert (BeyondShams(one, 0, 0.0).p, BeyondShams(one, 1, 0.0).p) == (0.0, 1.0)
        assert str(BeyondShams(self.noise(), 0, 0.0)) == (
            "sham edits of the same line add 0.50 of the sampling variance (1 sham on 2 "
            "vignettes): p=0.25 against both"
        )
        assert "(2 shams on 3 vignettes)" in str(
            BeyondShams(self.noise(n_shams=2, n_cases=3), 0, 0.0)
        )
        infinite = self.noise(ratio=(math.inf, 0.0))
        assert "was not measured" in str(BeyondShams(infinite, 0, 0.0))
        assert "was not measured" not in str(BeyondShams(infinite, 1, 0.0))
        assert str(BeyondShams(one, 0, 0.0)).startswith("the same sign against every sham")
        assert str(BeyondShams(one, 1, 0.0)).startswith("not the same sign")


@pytest.mark.parametrize(
    ("rule", "ended_at", "look"),
    [("off", None, 10), ("off", 3, 3), ("off", 12, 10), ("gs", None, 10), ("gs", 6, 6),
     ("gs", 7, 6), ("gs", 1, 2), ("e", 3, 3)],
)  # fmt: skip
def test_a_run_that_ended_early_is_judged_at_the_looks_it_reached(rule, ended_at, look):
    family = replace(FAMILY, replicates=10, margin=None)
    plan = Plan((family,), "reference", sequential=rule)
    found = table(**{c: [[r % 2 == 0 for r in range(10)]] * V for c in ("reference", "swap")})
    [verdict], swaps = judge_family(found, plan, family, [CONTRAST], NO_GUARDS, ended_at=ended_at)
    assert (verdict.look, verdict.status, swaps) == (look, INCONCLUSIVE, [])


def test_a_swap_that_ends_early_on_one_vignette_is_judged_together_at_the_last_look():
    # The admission is left out on v0, where only two replicates were drawn; the referral is not.
    told = Confounder(*["x"] * len(Confounder.__dataclass_fields__))
    family = replace(FAMILY, actions=TWO, replicates=10, margin=None)
    plan = Plan(
        (family,), "reference", sequential="gs",
        confounded=(Confounded("swap", "admission", ("v0",), (told,)),),
    )  # fmt: skip
    rng = np.random.default_rng(1)
    rows = {}
    for vignette in VIGNETTES:
        for condition, rate in (("reference", 0.05), ("swap", 0.95)):
            n = 2 if vignette == "v0" else 10
            rows[vignette, condition] = [
                Trajectory({"actions": {a: bool(rng.random() < rate) for a in TWO}})
                for _ in range(n)
            ]
    found = judge(ReplicateTable(rows, "d"), plan, [CONTRAST, ADMISSION])
    assert [v.look for v in found.verdicts] == [10, 10]
    full = {key: row * 5 if key[0] == "v0" else row for key, row in rows.items()}
    early = judge(ReplicateTable(full, "d"), plan, [CONTRAST, ADMISSION])
    assert early.of(ADMISSION).look < 10
