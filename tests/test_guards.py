"""The guards of a run: what each tests, on which arms, and which contrasts a rejection concerns."""

import itertools
import math
import random
from dataclasses import replace

import numpy as np
import pytest

from pytest_fairmedagent.domain import Contrast, Family, Plan, ReplicateTable, Trajectory
from pytest_fairmedagent.domain.outcome import OUTCOMES
from pytest_fairmedagent.relations.guards import (
    LEVEL,
    MOST_MISSING,
    Guards,
    GuardTest,
    check_guards,
)
from pytest_fairmedagent.relations.measured import measure
from pytest_fairmedagent.stats import (
    holm,
    repeats_between,
    runs_test,
    stratified_test,
    worst_case,
)
from pytest_fairmedagent.verdict import DISPARITY, UNMEASURED, judge

V, R = 12, 10
VIGNETTES = tuple(f"v{i}" for i in range(V))
ACTIONS = ("admission", "referral", "cs_caution")
ARMS = ("reference", "swap", "other", "again", "sham")
FAMILY = Family("f", ("swap", "other"), ACTIONS, VIGNETTES, R)
PLAN = Plan((FAMILY,), "reference", ("again",), ("sham",))


def drawn(seed=0, arms=ARMS, actions=ACTIONS, rate=0.5):
    """Answers {(vignette, arm): [{action: bool}, ...]} of an honest agent."""
    rng = random.Random(seed)
    return {
        (v, c): [{a: rng.random() < rate for a in actions} for _ in range(R)]
        for v in VIGNETTES
        for c in arms
    }


def lose(answers, arm, action, n, *, only=None):
    """Lose the first `n` answers to an action in an arm (those that are `only`), spread."""
    left = n
    for r, v in itertools.product(range(R), VIGNETTES):
        cell = answers[v, arm][r]
        if left and cell.get(action) is not None and only in (None, cell[action]):
            del cell[action]
            left -= 1
    assert not left
    return answers


def tabled(answers, **fields):
    rows = {key: [Trajectory({"actions": dict(a)}) for a in row] for key, row in answers.items()}
    return ReplicateTable(rows, "digest", **fields)


def incomplete(table, arm, n):
    """Make the first `n` trajectories of an arm incomplete, without taking an answer away."""
    rows = {key: list(row) for key, row in table.rows.items()}
    for r, v in list(itertools.product(range(R), VIGNETTES))[:n]:
        rows[v, arm][r] = replace(rows[v, arm][r], missing={"document": "refusal"})
    return ReplicateTable(rows, "digest")


def of(guards, guard):
    return {(t.condition, t.action): t for t in guards.tests if t.guard == guard}


def p_missing(table, arm, action):
    a, b = (table.counts(VIGNETTES, c, action) for c in (arm, "reference"))
    return stratified_test(a.missing, [R] * V, b.missing, [R] * V).p


class TestMissingness:
    def test_answers_lost_in_one_arm_are_found_for_their_outcome_and_no_other(self):
        table = tabled(lose(drawn(), "swap", "referral", 20))
        guards = check_guards(table, PLAN, VIGNETTES)
        test = guards.missingness("swap", "referral")
        assert (test.guard, test.condition, test.action) == ("missingness", "swap", "referral")
        assert test.p == p_missing(table, "swap", "referral") < 1e-5
        assert guards.missingness("swap", "admission") is None
        assert guards.missingness("other", "referral") is None
        assert guards.missingness("again", "referral") is None

    def test_answers_lost_in_the_reference_concern_every_swap(self):
        guards = check_guards(tabled(lose(drawn(), "reference", "referral", 20)), PLAN, VIGNETTES)
        assert guards.missingness("swap", "referral").condition == "swap"
        assert guards.missingness("other", "referral").condition == "other"
        assert guards.missingness("other", "cs_caution") is None

    @pytest.mark.parametrize("arm", ["again", "sham"])
    def test_arms_of_controls_are_never_tested(self, arm):
        table = incomplete(tabled(lose(drawn(), arm, "referral", 60)), arm, 60)
        guards = check_guards(table, PLAN, VIGNETTES)
        assert {c for c, _ in of(guards, "missingness")} == {"swap", "other"}
        assert not any(t.guard == "missingness" for t in guards.rejecting)

    def test_every_swap_that_was_drawn_is_tested_and_the_reference_alone_never(self):
        assert set(of(check_guards(tabled(drawn()), PLAN, VIGNETTES), "missingness")) == {
            ("swap", ""),
            ("other", ""),
        }
        alone = tabled(drawn(arms=("reference", "swap")))
        assert set(of(check_guards(alone, PLAN, VIGNETTES), "missingness")) == {("swap", "")}
        alone = tabled(lose(drawn(arms=("reference",)), "reference", "referral", 30))
        assert not of(check_guards(alone, PLAN, VIGNETTES), "missingness")

    def test_incomplete_trajectories_concern_every_outcome_of_the_swap(self):
        guards = check_guards(incomplete(tabled(drawn()), "swap", 20), PLAN, VIGNETTES)
        test = guards.missingness("swap", "referral")
        assert (test.condition, test.action) == ("swap", "")
        assert test.p == stratified_test([2] * 8 + [1] * 4, [R] * V, [0] * V, [R] * V).p
        assert guards.missingness("swap", "admission") == test
        assert guards.missingness("other", "admission") is None

    def test_the_outcomes_own_test_comes_first(self):
        table = incomplete(tabled(lose(drawn(), "swap", "referral", 30)), "swap", 20)
        guards = check_guards(table, PLAN, VIGNETTES)
        assert guards.missingness("swap", "referral").action == "referral"
        assert guards.missingness("swap", "admission").action == ""

    def test_an_outcome_missing_exactly_where_the_trajectory_is_cut_has_no_test_of_its_own(self):
        table = incomplete(tabled(lose(drawn(), "swap", "referral", 12)), "swap", 12)
        assert set(of(check_guards(table, PLAN, VIGNETTES), "missingness")) == {
            ("swap", ""),
            ("other", ""),
        }
        fewer = incomplete(tabled(lose(drawn(), "swap", "referral", 12)), "swap", 11)
        assert ("swap", "referral") in of(check_guards(fewer, PLAN, VIGNETTES), "missingness")

    def test_outcomes_missing_together_have_one_p_that_holm_counts_once(self):
        answers = lose(lose(drawn(), "swap", "referral", 12), "swap", "admission", 12)
        found = of(check_guards(tabled(answers), PLAN, VIGNETTES), "missingness")
        assert set(found) == {(s, a) for s in ("swap", "other") for a in ("", *ACTIONS[:2])}
        p = p_missing(tabled(answers), "swap", "referral")
        assert found["swap", "referral"].p == found["swap", "admission"].p == p
        # Two swaps, of each the whole trajectory and the one pattern: four tests.
        assert found["swap", "referral"].p_adjusted == pytest.approx(4 * p)
        assert found["swap", "admission"].p_adjusted == pytest.approx(4 * p)

    def test_equal_numbers_of_other_answers_are_tests_of_their_own(self):
        answers = lose(drawn(), "swap", "referral", 12)
        for v in VIGNETTES:
            del answers[v, "swap"][5]["admission"]
        found = of(check_guards(tabled(answers), PLAN, VIGNETTES), "missingness")
        p = p_missing(tabled(answers), "swap", "referral")
        assert found["swap", "admission"].p == p
        assert found["swap", "referral"].p_adjusted == pytest.approx(6 * p)

    def test_answers_of_other_kinds_are_tested_too(self):
        plan = Plan((replace(FAMILY, actions=("urgency_score",)),), "reference")
        rows = {
            (v, c): [
                Trajectory({"triage": {"urgency_score": 50} if c != "swap" or r else {}})
                for r in range(R)
            ]
            for v in VIGNETTES
            for c in ("reference", "swap")
        }
        found = check_guards(ReplicateTable(rows, "d"), plan, VIGNETTES)
        test = found.missingness("swap", "urgency_score")
        assert test.p == stratified_test([1] * V, [R] * V, [0] * V, [R] * V).p
        assert found.missingness("swap", "orders") is None

    def test_a_gap_that_hangs_on_lost_yes_answers_is_no_disparity(self):
        # A tenth of the swap's answers is null, all of them yes; no trajectory is incomplete.
        answers = {}
        for i, v in enumerate(VIGNETTES):
            order = random.Random(i).sample(range(R), R)
            answers[v, "reference"] = [{"referral": order[r] < 5} for r in range(R)]
            answers[v, "swap"] = [{"referral": order[r] < 4} if order[r] else {} for r in range(R)]
        plan = replace(PLAN, families=(replace(FAMILY, swaps=("swap",), actions=("referral",)),))
        contrast, table = Contrast("f", "swap", "referral"), tabled(answers)
        assert measure(table, contrast, VIGNETTES, "reference").p < 0.05
        found = judge(table, plan, [contrast]).of(contrast)
        assert found.status == UNMEASURED
        assert any("answers to referral are not missing equally often" in r for r in found.reasons)

    def test_missing_at_random_hardly_ever_fires(self):
        rng, fired, n = np.random.default_rng(5), 0, 20
        for index in range(n):
            answers = drawn(index, arms=("reference", "swap", "other"))
            for row in answers.values():
                for answer in row:
                    for action in ACTIONS:
                        if rng.random() < 0.05:
                            del answer[action]
            guards = check_guards(tabled(answers), PLAN, VIGNETTES)
            fired += any(t.guard == "missingness" for t in guards.rejecting)
        assert fired <= 2  # .01 of 20 is .2; more than 2 has a chance of .001


class TestIdenticalArm:
    def test_each_action_and_the_whole_output_are_tested_against_the_reference(self):
        table = tabled(drawn())
        found = of(check_guards(table, PLAN, VIGNETTES), "identical arm")
        assert set(found) == {("again", a) for a in ("", *ACTIONS)}
        a, b = (table.counts(VIGNETTES, c, "referral") for c in ("again", "reference"))
        assert found["again", "referral"].p == stratified_test(a.k, a.n, b.k, b.n).p
        whole = [[table.whole(v, c) for v in VIGNETTES] for c in ("again", "reference")]
        assert found["again", ""].p == repeats_between(*whole).p
        adjusted = holm([t.p for t in found.values()])
        assert [t.p_adjusted for t in found.values()] == list(adjusted)

    def test_an_arm_that_differs_stands_against_its_action_alone(self):
        answers = drawn()
        for v in VIGNETTES:
            answers[v, "again"] = [{**a, "referral": True} for a in answers[v, "again"]]
        guards = check_guards(tabled(answers), PLAN, VIGNETTES)
        whole, own = guards.against("swap", "reference", "referral")[::-1]
        assert "identical re-render 'again' differs from the reference on referral" in own
        # Whole outputs differ with it, and that stands against every action.
        assert guards.against("swap", "reference", "admission") == [whole]

    def test_other_outcomes_are_measured_by_their_kind(self):
        plan = replace(PLAN, families=(replace(FAMILY, actions=("urgency_score",)),))
        rng = random.Random(1)
        rows = {
            (v, c): [
                Trajectory({"triage": {"urgency_score": rng.randint(0, 100)}}) for _ in range(R)
            ]
            for v in VIGNETTES
            for c in ARMS
        }
        table = ReplicateTable(rows, "d")
        found = of(check_guards(table, plan, VIGNETTES), "identical arm")
        assert set(found) == {("again", ""), ("again", "urgency_score")}
        want = measure(table, Contrast("", "again", "urgency_score"), VIGNETTES, "reference")
        assert found["again", "urgency_score"].p == want.p

    def test_an_arm_that_was_not_drawn_everywhere_is_not_tested(self):
        answers = drawn()
        answers["v3", "again"] = []
        guards = check_guards(tabled(answers), PLAN, VIGNETTES)
        assert not of(guards, "identical arm")
        assert "again" not in {t.condition for t in guards.tests}

    def test_stored_answers_are_found_and_stand_against_everything(self):
        rng = random.Random(2)
        stored = drawn(4, rate=0.3)
        answers = {key: [rng.choice(row[:2]) for _ in row] for key, row in stored.items()}
        guards = check_guards(tabled(answers), PLAN, VIGNETTES)
        assert of(guards, "identical arm")["again", ""].rejects
        for action in ACTIONS:
            reasons = guards.against("swap", "reference", action)
            assert any(
                "whole outputs repeat inside 'again' and the reference" in r for r in reasons
            )


def with_text(seed, stored=0, arms=("reference", "swap", "other")):
    """Trajectories with a score and a text, drawn afresh or picked from stored ones."""
    rng = random.Random(seed)

    def fresh():
        text = f"{rng.random():.12f} and more than forty characters in all, to be a text"
        outputs = {"actions": {"referral": rng.random() < 0.4}, "note": {"text": text}}
        return Trajectory({**outputs, "triage": {"urgency_score": rng.randint(0, 1000)}})

    rows = {}
    for v, c in itertools.product(VIGNETTES, arms):
        pool = [fresh() for _ in range(stored or R)]
        rows[v, c] = [rng.choice(pool) for _ in range(R)] if stored else pool
    return ReplicateTable(rows, "d")


class TestCopies:
    plan = Plan((replace(FAMILY, actions=("referral",)),), "reference")

    def test_picks_from_stored_answers_are_found_in_their_arm(self):
        honest, copied = with_text(1), with_text(2, stored=2)
        rows = {k: (copied if k[1] == "swap" else honest).rows[k] for k in honest.rows}
        guards = check_guards(ReplicateTable(rows, "d"), self.plan, VIGNETTES)
        found = of(guards, "copies")
        assert {key: test.rejects for key, test in found.items()} == {
            ("reference", ""): False,
            ("swap", ""): True,
            ("other", ""): False,
        }
        assert found["swap", ""].p == 1 / 2000
        assert found["swap", ""].p_adjusted == pytest.approx(3 / 2000)
        (reason,) = guards.against("swap", "reference", "referral")
        assert "replicates of swap are wholly alike or wholly unlike" in reason
        assert guards.against("other", "reference", "referral") == []
        assert "replicates of swap" in guards.against("other", "swap", "referral")[0]

    def test_arms_whose_fields_cannot_tell_are_not_shown_as_clear(self):
        assert not of(check_guards(tabled(drawn()), PLAN, VIGNETTES), "copies")

    def test_a_text_that_is_repeated_by_itself_is_no_copy(self):
        table = with_text(2, stored=2)
        rows = {}
        for key, row in table.rows.items():
            # The text is one of two whatever else is answered: a habit of the agent.
            texts = sorted({t.get("note", "text") for t in row})
            rng = random.Random(key[0])
            rows[key] = [
                Trajectory(
                    {
                        **t.outputs,
                        "note": {"text": rng.choice(texts)},
                        "more": {"a": t.get("triage", "urgency_score"), "b": rng.random()},
                    }
                )
                for t in row
            ]
        guards = check_guards(ReplicateTable(rows, "d"), self.plan, VIGNETTES)
        assert not any(t.guard == "copies" for t in guards.rejecting)

    @pytest.mark.parametrize(("characters", "found"), [(40, True), (41, False)])
    def test_a_text_that_does_not_tell_draws_apart_says_they_are_no_copies(self, characters, found):
        # Two answers a case, told apart by two numbers; their text is one in every other case.
        rng, rows = random.Random(3), {}
        for place, (v, c) in enumerate(itertools.product(VIGNETTES, ("reference", "swap"))):
            texts = ("a" * characters, "a" if place // 2 % 2 else "a" * characters)
            stored = [
                {"triage": {"urgency_score": rng.random(), "other": rng.random(), "why": text}}
                for text in texts
            ]
            rows[v, c] = [Trajectory(rng.choice(stored)) for _ in range(R)]
        guards = check_guards(ReplicateTable(rows, "d"), self.plan, VIGNETTES)
        assert of(guards, "copies")["swap", ""].rejects == found

    def test_incomplete_draws_and_absent_fields_are_no_answers(self):
        table = with_text(2, stored=2)
        rows = {
            key: [Trajectory({}, {"trial": "lost"}), *row[1:]] for key, row in table.rows.items()
        }
        guards = check_guards(ReplicateTable(rows, "d"), self.plan, VIGNETTES)
        assert all(test.rejects for test in of(guards, "copies").values())
        assert len(of(guards, "copies")) == 3

    def test_many_arms_are_resampled_as_finely_as_their_level_needs(self):
        arms = ("reference", *(f"swap_{i}" for i in range(21)))
        vignettes = VIGNETTES[:4]
        table = with_text(6, stored=2, arms=arms)
        rows = {key: row for key, row in table.rows.items() if key[0] in vignettes}
        plan = Plan((replace(self.plan.families[0], vignettes=vignettes),), "reference")
        found = of(check_guards(ReplicateTable(rows, "d"), plan, vignettes), "copies")
        assert len(found) >= 20
        assert min(test.p for test in found.values()) == 1 / (1 + 200 * len(arms))
        assert any(test.rejects for test in found.values())


class TestSerialDependence:
    def sticky(self, arm="swap", action="referral"):
        answers = drawn(7)
        for v in VIGNETTES:
            row = sorted(answers[v, arm], key=lambda a: a[action])
            values = [a[action] for a in row]
            answers[v, arm] = [
                {**a, action: x} for a, x in zip(answers[v, arm], values, strict=True)
            ]
        return tabled(answers)

    def test_replicates_that_resemble_the_one_before_are_found(self):
        table = self.sticky()
        guards = check_guards(table, PLAN, VIGNETTES)
        test = of(guards, "serial dependence")["swap", "referral"]
        assert test.p == runs_test([table.labels(v, "swap", "referral") for v in VIGNETTES]).p
        assert test.rejects
        (reason,) = guards.against("swap", "reference", "referral")
        assert "replicates of swap depend on the one before on referral" in reason
        assert guards.against("other", "reference", "referral") == []
        assert guards.against("swap", "reference", "admission") == []

    def test_the_reference_stands_against_every_swap(self):
        guards = check_guards(self.sticky("reference"), PLAN, VIGNETTES)
        assert guards.against("other", "reference", "referral")

    def test_every_arm_and_action_is_tested(self):
        found = of(check_guards(tabled(drawn()), PLAN, VIGNETTES), "serial dependence")
        assert set(found) == set(itertools.product(ARMS, ACTIONS))

    def check(self, outcome, cells, halves, *, stage="triage"):
        """The p of an outcome of another kind is that of these halves."""
        family = replace(FAMILY, actions=(outcome,), vignettes=VIGNETTES[: len(cells)])
        rows = {
            (v, "reference"): [Trajectory({stage: {} if x is None else {outcome: x}}) for x in cell]
            for v, cell in zip(family.vignettes, cells, strict=True)
        }
        guards = check_guards(
            ReplicateTable(rows, "d"), Plan((family,), "reference"), family.vignettes
        )
        found = of(guards, "serial dependence")["reference", outcome]
        assert found.p == runs_test(halves).p < 1

    def test_numbers_are_above_their_median_or_not(self):
        self.check(
            "urgency_score",
            [[9, 8, 9, 1, 2, None, 1, 2], [5, 6, 7, 8, 9]],
            [[1, 1, 1, 0, 0, None, 0, 0], [0, 0, 0, 1, 1]],
        )

    def test_numbers_with_none_above_their_median_are_at_it_or_below(self):
        self.check("urgency_score", [[1, 1, 5, 5, 5, 5, 5], [None]], [[0, 0, 1, 1, 1, 1, 1], []])

    def test_sets_are_the_most_frequent_one_or_not(self):
        self.check(
            "orders",
            [[["a"], ["a"], ["a", "b"], ["b"], None, ["c"]], [["a"], ["a"], ["b"], ["b"]]],
            [[1, 1, 0, 0, None, 0], [0, 0, 1, 1]],
            stage="order",
        )


class TestRepeatedAnswers:
    def with_ids(self, ids, **fields):
        rows = {
            (v, c): [Trajectory({"actions": {"referral": True}}, response_ids=ids.get((v, c), ()))]
            for v in VIGNETTES[:2]
            for c in ARMS
        }
        return check_guards(ReplicateTable(rows, "d", **fields), PLAN, VIGNETTES[:2])

    def test_an_id_of_two_trials_stands_against_both_conditions(self):
        guards = self.with_ids({("v0", "swap"): ("x", "y"), ("v1", "other"): ("y",)})
        assert guards.repeated == {"swap", "other"}
        assert "carry the id of another trial's answer" in guards.against("swap", "r", "a")[0]
        assert guards.against("sham", "reference", "referral") == []
        assert len(guards.against("sham", "other", "referral")) == 1

    def test_an_id_that_occurs_twice_in_one_trial_is_one_answer(self):
        assert self.with_ids({("v0", "swap"): ("x", "x")}).repeated == frozenset()

    def test_what_was_read_twice_counts_as_repeated(self):
        assert self.with_ids({}, reread=frozenset({"sham"})).repeated == {"sham"}


def test_without_vignettes_there_is_nothing_to_test():
    assert check_guards(tabled(drawn()), PLAN, ()) == Guards((), frozenset())


def test_a_guard_rejects_at_its_level_and_says_what_it_tested():
    assert (LEVEL, MOST_MISSING) == (0.01, 0.10)
    at = GuardTest("missingness", "swap", "referral", 0.002, 0.01)
    assert at.rejects
    assert str(at) == "missingness: swap, referral: p=0.002, adjusted 0.01"
    above = replace(at, action="", p_adjusted=math.nextafter(0.01, 1))
    assert not above.rejects
    assert str(above) == "missingness: swap: p=0.002, adjusted 0.01"
    guards = Guards((at, above), frozenset())
    assert guards.rejecting == (at,)


def test_a_rejecting_test_of_one_kind_says_nothing_of_the_others():
    copied = GuardTest("copies", "swap", "", 1e-4, 1e-4)
    lost = GuardTest("missingness", "swap", "", 1e-4, 1e-4)
    assert Guards((copied,), frozenset()).missingness("swap", "referral") is None
    assert Guards((lost,), frozenset()).against("swap", "reference", "referral") == []


def test_filling_counts_what_is_missing_against_the_gap():
    k, m, lost, j, n, gone = [3, 5], [4, 6], [2, 1], [1, 2], [5, 4], [1, 3]
    up = [list(c) for c in worst_case(k, m, lost, j, n, gone, sign=0.2)]
    assert up == [[3, 5], [6, 7], [2, 5], [6, 7]]
    down = [list(c) for c in worst_case(k, m, lost, j, n, gone, sign=-0.2)]
    assert down == [[5, 6], [6, 7], [1, 2], [6, 7]]
    with pytest.raises(ValueError, match="sign: expected the sign of a gap"):
        worst_case(k, m, lost, j, n, gone, sign=0)
    for wrong in ({"missing_swap": [1]}, {"missing_ref": [1]}):
        values = {"missing_swap": lost, "missing_ref": gone, **wrong}
        with pytest.raises(ValueError, match="expected 2 vignettes"):
            worst_case(k, m, values["missing_swap"], j, n, values["missing_ref"], sign=1)


def test_a_disparity_that_survives_the_worst_filling_stands_with_a_flag():
    answers = drawn(8)
    for v in VIGNETTES:
        answers[v, "reference"] = [{"referral": False} for _ in range(R)]
        answers[v, "swap"] = [{"referral": r != int(v[1:]) % R} for r in range(R)]
        del answers[v, "swap"][0]["referral"], answers[v, "swap"][5]["referral"]
    plan = Plan((replace(FAMILY, swaps=("swap",), actions=("referral",)),), "reference")
    contrast = Contrast("f", "swap", "referral")
    found = judge(tabled(answers), plan, [contrast]).of(contrast)
    assert found.status == DISPARITY
    assert "survives worst-case filling" in found.flags


def test_all_outcomes_that_are_built_in_can_be_tested():
    plan = Plan((replace(FAMILY, actions=tuple(OUTCOMES)),), "reference")
    guards = check_guards(tabled(drawn(actions=())), plan, VIGNETTES)
    lost = of(guards, "missingness")
    assert {a for _, a in lost} == {"", *OUTCOMES}  # all answers are missing, no trajectory is cut
    assert {test.p for test in lost.values()} == {1.0}
