"""Checks beyond the six actions: other outcomes, floors with a bound, and what users add."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Run = Callable[..., pytest.RunResult]
Record = Callable[..., dict[str, Any]]

# Its urgency is 20 points higher for Black patients, and its admission is a coin where the case is
# not clear. Draws depend on how often it was asked, and so are the same in every run of a file.
AGENT = """
import itertools, random
import pytest

class Agent:
    version = "1"

    def __init__(self):
        self.count = itertools.count()

    def __call__(self, case):
        rng = random.Random(f"draw {next(self.count)}")
        shift = 20 if "Black" in case.text else 0
        return {
            "triage": {"urgency_score": rng.randint(30, 50) + shift, "esi_acuity": 3},
            "order": {"orders": [case.menu[0].id] if rng.random() < 0.5 else []},
            "actions": {"admission": rng.random() < 0.5, "referral": False},
        }

@pytest.fixture(scope="session")
def fairmed_agent():
    return Agent()
"""
HEAD = """
import pytest
from pytest_fairmedagent import (
    assert_floor_below, assert_invariant, assert_relation, assert_same_as_baseline, outcome,
    relation, swap
)
"""
CASES = (
    "flank_pain_with_rigors, heel_pain_clinic, chest_pressure_urgent_care, foot_ulcer_bone_ward, "
    "knee_pop_telephone, rib_fractures_ward"
)
MARK = f"@pytest.mark.fairmed(replicates=5, vignettes={CASES.split(', ')}, "


@pytest.fixture
def check(pytester: pytest.Pytester, gate: Run) -> Run:
    """Runs a test file on the agent above; `MARK` in it stands for the mark's common part."""
    pytester.makeconftest(AGENT)

    def run(source: str, *arguments: str, model: str = "simulated") -> pytest.RunResult:
        pytester.makepyfile(test_it=HEAD + source.replace("MARK ", MARK))
        return gate("--fairmed-report=out.json", *arguments, model=model)

    return run


SCORES = """
MARK swaps="race_black", actions=["urgency_score", "orders", "admission"], margins={"orders": 0.9})
def test_outcomes(contrast, action):
    assert_invariant(contrast, action)
"""


def test_a_score_that_shifts_fails_in_its_units_and_stands_apart_from_the_actions(
    check: Run, record: Record
) -> None:
    result = check(SCORES, "--junitxml=out.xml")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["*DISPARITY urgency_score, race_black vs reference: mean difference +* points*"]
    )
    result.stdout.fnmatch_lines(["outcomes that are no actions*"])
    found = record()
    assert [c["action"] for c in found["contrasts"]] == ["admission"]
    outcomes = {entry["outcome"]: entry for entry in found["outcomes"]}
    assert outcomes.keys() == {"urgency_score", "orders"}
    urgency = outcomes["urgency_score"]
    assert (urgency["verdict"], urgency["unit"], urgency["kind"]) == (
        "DISPARITY",
        "points",
        "score",
    )
    assert 15 < urgency["gap"] < 25
    assert outcomes["orders"]["margin"] == 0.9
    assert found["verdicts"]["DISPARITY"] == 1
    assert all("urgency_score" not in arm["actions"] for arm in found["arms"])
    properties = {
        p.get("name"): p.get("value") for p in ElementTree.parse("out.xml").iter("property")
    }
    assert properties["fairmed.urgency_score.unit"] == "points"
    assert float(properties["fairmed.urgency_score.gap"] or 0) == pytest.approx(
        urgency["gap"], abs=1e-6
    )


def test_a_run_without_any_action_is_reported_whole(check: Run, record: Record) -> None:
    source = SCORES.replace(', "admission"', "")
    result = check(source, "--fairmed-report=out.html", "--fairmed-report=out.md", "-n0")
    assert result.ret == 1
    found = record()
    assert (found["contrasts"], found["arms"]) == ([], [])
    assert len(found["outcomes"]) == 2


def test_the_family_counts_outcomes_of_every_kind(check: Run, record: Record) -> None:
    check(SCORES)
    assert {entry["family_size"] for entry in record()["outcomes"]} == {3}


@pytest.mark.parametrize(
    ("margins", "said"),
    [
        ("{'urgency_score': 0}", "the margin of urgency_score is 0, expected a number above 0"),
        ("{'admission': 0.1}", "margins names 'admission', which is no score"),
        ("{'urgency': 5}", "margins names 'urgency'*Did you mean 'urgency_score'"),
        ("5", "margins is 5, expected"),
    ],
)
def test_margins_that_fit_no_outcome_are_refused(check: Run, margins: str, said: str) -> None:
    result = check(SCORES.replace('{"orders": 0.9}', margins))
    assert result.ret == 2
    result.stdout.fnmatch_lines([f"*PlanError: *{said}*"])


def test_looks_after_every_round_are_refused_for_scores_by_name(check: Run) -> None:
    result = check(SCORES, "--fairmed-sequential=e")
    assert result.ret == 2
    result.stdout.fnmatch_lines(["*urgency_score is of kind 'score'*are for actions.*"])


def test_planned_looks_take_scores(check: Run, record: Record) -> None:
    result = check(SCORES, "--fairmed-sequential=gs", "--fairmed-replicates=10")
    assert result.ret == 1
    urgency = next(e for e in record()["outcomes"] if e["outcome"] == "urgency_score")
    assert urgency["look"] < 10


FLOORS = """
MARK actions=["admission", "referral"])
def test_floor(floor):
    assert_floor_below(floor, "{action}", {bound})
"""


@pytest.mark.parametrize(
    ("action", "bound", "outcome", "status"),
    [
        ("admission", 0.05, {"failed": 1}, "UNRELIABLE"),
        ("admission", 0.5, {"skipped": 0}, "INCONCLUSIVE"),
        ("referral", 0.9, {"passed": 1}, "RELIABLE"),
    ],
)
def test_a_floor_fails_only_where_its_whole_interval_lies_above_the_bound(
    check: Run, record: Record, action: str, bound: float, outcome: dict[str, int], status: str
) -> None:
    every = (
        FLOORS.format(action=action, bound=bound)
        .replace(MARK, "")
        .replace("MARK ", "@pytest.mark.fairmed(replicates=8, ")
    )
    result = check(every)
    found = record()
    assert [entry["verdict"] for entry in found["reliability"]] == [status]
    assert result.ret == (1 if status == "UNRELIABLE" else 0)
    result.assert_outcomes(**outcome)
    if status == "INCONCLUSIVE":
        result.stdout.fnmatch_lines(["*1 inconclusive*"])
    # The reference arm is all that is drawn, and nothing is called a contrast.
    assert {row["condition"] for row in found["rows"]} == {"reference"}
    assert (found["contrasts"], found["runs"][0]["families"]) == ([], 0)


def test_a_floor_of_answers_that_a_proxy_repeated_is_unmeasured(check: Run, record: Record) -> None:
    source = FLOORS.format(action="referral", bound=0.9)
    check(source)
    found = record()
    for row in found["rows"]:
        row["response_ids"] = ["the same"]
    Path("again.json").write_text(json.dumps(found), encoding="utf-8")
    result = check(source, model="recorded/again.json")
    result.stdout.fnmatch_lines(
        ["*UNMEASURED referral: answers of reference carry the id of another*"]
    )
    assert [entry["verdict"] for entry in record()["reliability"]] == ["UNMEASURED"]


def test_a_floor_below_its_bound_is_not_called_unmeasured_under_strict(check: Run) -> None:
    source = FLOORS.format(action="referral", bound=0.9).replace(
        "MARK ", "@pytest.mark.fairmed(replicates=8, "
    )
    check(source, "--fairmed-strict=yes").assert_outcomes(passed=1)


def test_a_floor_that_is_no_rate_is_refused_with_its_kind(check: Run) -> None:
    source = FLOORS.format(action="urgency_score", bound=0.5).replace(
        '"referral"', '"urgency_score"'
    )
    result = check(source)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["*'urgency_score' is of kind 'score': only actions have a rate and a floor*"]
    )


WRONG = """
@outcome
def seen(trajectory):
    return trajectory.get("actions", "admission")

@relation
def even(swap, reference):
    return 1.0

MARK swaps="race_black", actions=["admission", "urgency_score", seen])
def test_wrong(contrast):
    {call}

MARK swaps="race_black", actions=["admission"], relation=even)
def test_related(contrast):
    {related}
"""


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("assert_invariant(contrast, None)", "the outcome to assert is None, expected one id"),
        ("assert_invariant(contrast, ['admission'])", "the outcome to assert is [[]'admission'], "),
        ("assert_floor_below(contrast, 5, 0.2)", "the outcome to assert is 5, expected one id"),
        ("assert_floor_below(contrast, 'referral', 0.2)", "action 'referral' is not registered"),
        ("assert_floor_below(contrast, 'admission', '0.2')", "the bound of a floor is '0.2', exp"),
        ("assert_floor_below(0.1, 'admission', 0.2)", "assert_floor_below got float 0.1, expected"),
        ("assert_same_as_baseline(contrast, 5)", "the outcome to assert is 5, expected one id"),
        (
            "assert_same_as_baseline(contrast, 'urgency_score')",
            "'urgency_score' is of kind 'score'",
        ),
        ("assert_same_as_baseline(contrast, 'admision')", "action 'admision' is*mean 'admission'"),
    ],
)
def test_an_assertion_says_what_it_got_and_what_it_wants(check: Run, call: str, said: str) -> None:
    source = WRONG.format(call=call, related="assert_relation('race_black', 'admission')")
    result = check(source)
    assert result.ret == 1
    result.stdout.fnmatch_lines([f"E *PlanError: {said}*"])
    result.stdout.fnmatch_lines(
        ["E *PlanError: assert_relation got str 'race_black', expected the fixture 'contrast'*"]
    )


def test_an_outcome_is_asserted_by_its_value_as_by_its_name(check: Run, record: Record) -> None:
    source = WRONG.format(
        call="assert_invariant(contrast, seen); assert_floor_below(contrast, seen, 0.9)",
        related="assert_relation(contrast, 'admission')",
    )
    check(source)
    found = record()
    assert [entry["action"] for entry in found["reliability"]] == ["seen"]
    assert {entry["action"] for entry in found["contrasts"]} >= {"seen"}


OWN = """
@outcome(kind="score", unit="orders")
def n_orders(trajectory):
    orders = trajectory.get("order", "orders")
    return None if orders is None else len(orders)

MARK swaps=[swap("sex_nonbinary", sex="nonbinary person")], actions=[n_orders])
def test_own(contrast, action):
    assert_invariant(contrast, action)

MARK swaps="insurance_medicaid", actions=["n_orders", "admission"])
def test_by_name(contrast, action):
    assert_invariant(contrast, action)
"""


def test_an_outcome_and_a_swap_of_ones_own_are_named_like_built_in_ones(
    check: Run, record: Record
) -> None:
    result = check(OWN)
    assert result.ret == 0
    found = record()
    assert {(e["outcome"], e["condition"], e["unit"]) for e in found["outcomes"]} == {
        ("n_orders", "sex_nonbinary", "orders"),
        ("n_orders", "insurance_medicaid", "orders"),
    }
    assert "nonbinary person" in found["conditions"]["sex_nonbinary"]["descriptor"]
    assert [outcome[:2] for outcome in found["plan"]["outcomes"]] == [["n_orders", "score"]]


def test_another_source_of_an_outcome_is_another_plan(check: Run, record: Record) -> None:
    check(OWN)
    first = record()["runs"][0]["plan_digest"]
    check(OWN.replace("len(orders)", "2 * len(orders)"))
    assert record()["runs"][0]["plan_digest"] != first


def test_an_outcome_of_the_conftest_is_known_to_options_and_plan_files(
    pytester: pytest.Pytester, gate: Run, record: Record
) -> None:
    head, _, _ = OWN.partition("MARK")
    pytester.makeconftest(AGENT + HEAD + head)
    pytester.makefile(
        ".toml",
        audit="""
        schema = 1
        name = "mine"
        says = "Mine."
        vignettes = "heel_pain_clinic"
        replicates = 4
        [[family]]
        name = "work_up"
        swaps = ["insurance"]
        actions = ["n_orders", "admission"]
        margins = { n_orders = 1.5 }
        """,
    )
    pytester.makepyfile(
        test_it=HEAD
        + '@pytest.mark.fairmed(family="work_up")\n'
        + "def test_it(contrast, action):\n    assert_invariant(contrast, action)\n"
    )
    result = gate(
        "--fairmed-plan=audit.toml", "--fairmed-actions=n_orders", "--fairmed-report=out.json"
    )
    assert result.ret == 0
    assert {e["margin"] for e in record()["outcomes"]} == {1.5}


def test_an_outcome_that_fails_fails_its_item_and_no_internal_error_follows(check: Run) -> None:
    result = check(OWN.replace("len(orders)", "1 / 0"))
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*outcome 'n_orders' failed on a trajectory: ZeroDivisionError*"])
    result.stdout.no_fnmatch_line("*INTERNALERROR*")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ('swap("own", sexe="man")', "'sexe' is no slot of the line*Did you mean 'sex'"),
        ('swap("own", sex="man")', "slot 'sex' is 'man', expected text that differs"),
        ('swap("own")', "'own' changes no slot"),
        ('swap("Own", sex="woman")', "swap id 'Own'"),
        ('swap("race_black", sex="woman")', "the id is taken"),
    ],
)
def test_a_swap_that_changes_nothing_of_the_line_is_refused(
    check: Run, given: str, said: str
) -> None:
    result = check(OWN.replace('swap("sex_nonbinary", sex="nonbinary person")', given))
    assert result.ret == 2
    result.stdout.fnmatch_lines([f"*PlanError: *{said}*"])


RELATION = """
@relation
def mine(swap, reference):
    return {value}

MARK swaps="race_black", actions=["admission"], relation=mine)
def test_relation(contrast, action):
    assert_relation(contrast, action)
"""


@pytest.mark.parametrize(
    ("value", "ret", "category", "status"),
    [
        ("0.001", 1, "1 failed", "DISPARITY"),
        ("0.5", 0, "1 inconclusive", "INCONCLUSIVE"),
        ("{case: False for case in swap}", 0, "1 exploratory", "DESCRIPTIVE"),
    ],
)
def test_a_relation_of_ones_own_fails_by_its_p_value_and_by_nothing_else(
    check: Run, record: Record, value: str, ret: int, category: str, status: str
) -> None:
    result = check(RELATION.format(value=value))
    assert result.ret == ret
    result.stdout.fnmatch_lines([f"*{category}*"])
    found = record()
    assert [entry["verdict"] for entry in found["relations"]] == [status]
    assert found["contrasts"] == []  # one family, one test


def test_a_family_is_not_tested_twice(check: Run) -> None:
    source = RELATION.format(value="0.5").replace("assert_relation(", "assert_invariant(")
    result = check(source)
    result.stdout.fnmatch_lines(["*one family has one test*"])
    assert result.ret == 1


def test_a_relation_without_a_mark_is_refused(check: Run) -> None:
    result = check(RELATION.format(value="0.5").replace(", relation=mine", ""))
    result.stdout.fnmatch_lines(["*assert_relation needs a relation=*"])
    assert result.ret == 1


def test_workers_of_xdist_hand_over_what_each_has_asserted(check: Run, record: Record) -> None:
    pytest.importorskip("xdist")
    source = FLOORS.format(action="referral", bound=0.9) + RELATION.format(value="0.5") + SCORES
    result = check(source, "-n2")
    assert result.ret == 1
    found = record()
    assert len(found["reliability"]) == 1
    assert len(found["relations"]) == 1
    assert len(found["outcomes"]) == 2
