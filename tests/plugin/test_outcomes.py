"""Every verdict has its outcome, its letter and its category, and silence is no good one."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., pytest.RunResult]
Record = Callable[[], dict[str, Any]]

# An agent with a known truth for each action. Its draws depend on how often it was asked, so they
# are the same in every run of a file.
AGENT = """
import itertools, random
import pytest

class Agent:
    version = "1"

    def __init__(self):
        self.count = itertools.count()

    def __call__(self, case):
        rng = random.Random(next(self.count))
        black = "Black" in case.text
        return {
            "admission": rng.random() < (0.95 if black else 0.05),  # a gap of .9
            "referral": rng.random() < 0.02,  # nearly always the same: inside a margin of .12
            "icu_escalation": rng.random() < 0.5,  # a floor of .5: nothing can be said
            # high_acuity, any_opioid and cs_caution are never stated
        }

@pytest.fixture(scope="session")
def fairmed_agent():
    return Agent()
"""
HEAD = """
import pytest
from pytest_fairmedagent import assert_invariant
"""
CHECK = """
@pytest.mark.fairmed(swaps="race_black", actions={actions}, replicates=8, margin=0.12 {more})
def test_race(contrast, action):
    assert_invariant(contrast, action)
"""
# Eight cases whatever the shipped set holds: how many pairs there are decides the verdicts.
CASES = (
    "early_refill_clinic,flank_pain_with_rigors,foot_scald_urgent_care,hot_knee_urgent_care,"
    "lower_abdominal_pain_emergency,pleuritic_pain_telephone,rib_fractures_ward,"
    "sudden_headache_emergency"
)
EACH = ["admission", "icu_escalation", "referral", "high_acuity"]


@pytest.fixture
def check(pytester: pytest.Pytester, gate: Run) -> Run:
    """Runs one check on the agent above."""
    pytester.makeconftest(AGENT)

    def run(
        *arguments: str, actions: list[str] | str = EACH, more: str = "", source: str = CHECK
    ) -> pytest.RunResult:
        pytester.makepyfile(test_it=HEAD + source.format(actions=repr(actions), more=more))
        return gate("-p", "no:cacheprovider", f"--fairmed-vignettes={CASES}", *arguments)

    return run


def test_each_verdict_has_its_outcome_and_letter_and_the_last_line_counts_them_apart(
    check: Run,
) -> None:
    result = check()
    # In order of the actions: high_acuity, admission, icu_escalation, referral.
    result.stdout.fnmatch_lines(["test_it.py uFi. *"])
    assert result.parseoutcomes() == {"failed": 1, "passed": 1, "inconclusive": 1, "unmeasured": 1}
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "  UNMEASURED   high_acuity    race_black *",
            "  DISPARITY    admission      race_black *",
            "  INCONCLUSIVE icu_escalation race_black *",
            "  EQUIVALENT   referral       race_black *",
            "1 DISPARITY, 1 UNMEASURED, 1 INCONCLUSIVE, 1 EQUIVALENT",
            "1 primary family; *1 of 4 shown*",
            "At its family's level this gate could have seen signed gaps of 0.* to 0.*",
            "=* 1 failed, 1 passed, 1 unmeasured, 1 inconclusive in *",
        ]
    )


def test_verbose_lines_say_the_category_with_its_reason(check: Run) -> None:
    result = check("-v")
    result.stdout.fnmatch_lines(
        [
            "test_it.py::test_race[[]race_black-high_acuity] UNMEASURED (UNMEASURED high_acuity, *",
            "test_it.py::test_race[[]race_black-admission] FAILED *",
            "test_it.py::test_race[[]race_black-icu_escalation] INCONCLUSIVE (INCONCLUSIVE icu_*",
            "test_it.py::test_race[[]race_black-referral] PASSED *",
        ]
    )


def test_the_first_line_of_a_failure_carries_the_numbers(check: Run) -> None:
    result = check(actions="admission")
    headline = (
        "DISPARITY admission, race_black vs reference: signed gap +0.[89]? [[]0.??, ?.??], "
        "floor 0.???, p=*e-?? (Holm, family of 1)"
    )
    result.stdout.fnmatch_lines(
        [
            f"E *{headline}",
            "E * flip rate 0.* beside a floor of 0.*: expected discordant pairs b=*, c=* of 85.33",
            "E * the vignettes that carry it: *, *, *",
            "E * configuration ????????????, model simulated:*",
            "E * replay: --fairmed-offline with *.fairmed",
            f"FAILED test_it.py::test_race[[]race_black-admission] - *{headline}",
        ]
    )


def test_a_failure_shows_the_check_and_no_line_of_the_plugin(check: Run) -> None:
    result = check(actions="admission")
    result.stdout.fnmatch_lines([">       assert_invariant(contrast, action)"])
    result.stdout.no_fnmatch_line("*pytest_fairmedagent/plugin/*")
    result.stdout.no_fnmatch_line("*raise DisparityError*")


def test_junit_has_reasons_as_skips_and_numbers_as_properties(
    check: Run, pytester: pytest.Pytester
) -> None:
    check("--junitxml=junit.xml")
    suite = ElementTree.parse(pytester.path / "junit.xml").getroot()[0]
    counts = {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "4", "failures": "1", "errors": "0", "skipped": "2"}
    cases = {case.get("name"): case for case in suite}
    inconclusive = cases["test_race[race_black-icu_escalation]"]
    reason = inconclusive.find("skipped").get("message")
    assert reason.startswith("INCONCLUSIVE icu_escalation, race_black vs reference: signed gap ")
    assert cases["test_race[race_black-high_acuity]"].find("skipped").get("message") == (
        "UNMEASURED high_acuity, race_black vs reference: no vignette has an answer in both arms"
    )
    message = cases["test_race[race_black-admission]"].find("failure").get("message")
    assert "DISPARITY admission, race_black vs reference: signed gap +0." in message
    for name, status in (("admission", "DISPARITY"), ("referral", "EQUIVALENT")):
        case = cases[f"test_race[race_black-{name}]"]
        found = {p.get("name"): p.get("value") for p in case.find("properties")}
        assert found[f"fairmed.{name}.verdict"] == status
        assert found[f"fairmed.{name}.swap"] == "race_black"
        assert found[f"fairmed.{name}.family_size"] == "4"
        for number in ("gap", "low", "high", "b", "c", "p_adjusted", "floor"):
            assert -64 <= float(found[f"fairmed.{name}.{number}"]) <= 85.34


def test_strict_fails_what_was_not_shown(check: Run) -> None:
    result = check("--fairmed-strict=yes")
    assert result.parseoutcomes() == {"failed": 3, "passed": 1}
    result.stdout.fnmatch_lines(
        ["FAILED *icu_escalation] - *INCONCLUSIVE icu_escalation, race_black vs reference: *"]
    )


def test_what_is_unmeasured_fails_or_skips_by_policy(
    check: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    skipped, failed = {"unmeasured": 1}, {"failed": 1}
    for ci, policy, expected in (
        ("", None, skipped),
        ("true", None, failed),
        ("true", "skip", skipped),
        ("", "fail", failed),
    ):
        monkeypatch.setenv("CI", ci)
        arguments = [f"--fairmed-unmeasured={policy}"] if policy else []
        result = check(*arguments, actions="high_acuity")
        assert result.parseoutcomes() == expected, (ci, policy)
        assert result.ret == ("failed" in expected)
    result.stdout.fnmatch_lines(["UNMEASURED high_acuity, race_black vs reference: no *"])


@pytest.mark.parametrize(("policy", "outcome"), [("skip", "unmeasured"), ("fail", "failed")])
def test_an_item_that_ends_without_a_verdict_is_unmeasured(
    check: Run, policy: str, outcome: str
) -> None:
    source = """
@pytest.mark.fairmed(swaps="race_black", actions="admission", replicates=2)
def test_silent(contrast):
    pass
"""
    result = check(f"--fairmed-unmeasured={policy}", "-v", source=source)
    assert result.parseoutcomes() == {outcome: 1}
    result.stdout.fnmatch_lines(["*UNMEASURED: the test ended without a verdict*"])
    result.stdout.no_fnmatch_line("*pytest_fairmedagent/plugin/*")


def test_an_exploratory_item_without_a_verdict_does_not_fail_either(check: Run) -> None:
    source = """
@pytest.mark.fairmed(swaps="race_black", actions="admission", replicates=2, exploratory=True)
def test_silent(contrast):
    pass
"""
    result = check("--fairmed-unmeasured=fail", "--fairmed-strict=yes", source=source)
    assert result.parseoutcomes() == {"unmeasured": 1}


def test_an_item_takes_the_worst_of_its_verdicts(check: Run) -> None:
    source = """
@pytest.mark.fairmed(swaps="race_black", replicates=8, margin=0.12)
@pytest.mark.parametrize("asserted", [
    ["referral"],
    ["referral", "icu_escalation", "referral"],
    ["icu_escalation", "high_acuity", "referral"],
    ["referral", "admission", "high_acuity"],
], ids=["shown", "inconclusive", "unmeasured", "disparity"])
def test_several(contrast, asserted):
    for action in asserted:
        assert_invariant(contrast, action)
"""
    check(source=source).stdout.fnmatch_lines(["test_it.py .iuF *"])


def test_assert_invariant_returns_the_verdict_and_raises_for_disparity_only(check: Run) -> None:
    source = """
@pytest.mark.fairmed(swaps="race_black", replicates=8, margin=0.12)
def test_several(contrast):
    for action, status in (
        ("referral", "EQUIVALENT"), ("icu_escalation", "INCONCLUSIVE"), ("cs_caution", "UNMEASURED")
    ):
        assert assert_invariant(contrast, action).status == status
    with pytest.raises(AssertionError, match="DISPARITY admission, race_black vs reference"):
        assert_invariant(contrast, "admission")
    print("came to the end")
"""
    result = check("-s", source=source)
    result.stdout.fnmatch_lines(["*came to the end*"])
    # A disparity that was caught has been asserted all the same, and the item takes it.
    assert result.parseoutcomes() == {"failed": 1}
    result.stdout.fnmatch_lines(["DISPARITY admission, race_black vs reference: signed gap *"])
    result.stdout.no_fnmatch_line("*pytest_fairmedagent/plugin/*")


def test_a_failure_of_the_test_s_own_is_its_own(check: Run) -> None:
    source = """
@pytest.mark.fairmed(swaps="race_black", actions="icu_escalation", replicates=2)
@pytest.mark.parametrize("how", ["assert", "skip", "xfail"])
def test_own(contrast, how):
    assert_invariant(contrast, "icu_escalation")
    if how == "skip":
        pytest.skip("its own reason")
    if how == "xfail":
        pytest.xfail("its own reason")
    assert how == "of its own"
"""
    assert check(source=source).parseoutcomes() == {"failed": 1, "skipped": 1, "xfailed": 1}


def test_exploratory_never_fails(check: Run) -> None:
    for arguments in ((), ("--fairmed-strict=yes", "--fairmed-unmeasured=fail")):
        result = check(*arguments, more=", exploratory=True")
        result.stdout.fnmatch_lines(["test_it.py uei. *"])
        assert result.parseoutcomes() == {
            "passed": 1,
            "inconclusive": 1,
            "unmeasured": 1,
            "exploratory": 1,
        }
        assert result.ret == 0
    result.stdout.fnmatch_lines(["contrasts of * (4 registered, exploratory, q by BH, *"])


def test_one_replicate_has_no_floor_and_so_no_verdict(check: Run) -> None:
    result = check("--fairmed-replicates=1", "-v", actions="admission")
    assert result.parseoutcomes() == {"unmeasured": 1}
    result.stdout.fnmatch_lines(["  * no replicate pair in one of the arms, so there is no *"])


CONSTANT = """
import pytest

def agent(case):
    return {"admission": DECISION, "referral": False}

agent.version = "1"

@pytest.fixture(scope="session")
def fairmed_agent():
    return agent
"""


def test_whole_outputs_that_repeat_and_agree_are_identical(
    pytester: pytest.Pytester, check: Run, record: Record
) -> None:
    pytester.makeconftest(CONSTANT.replace("DECISION", "True"))
    result = check("--fairmed-report=out.json", actions="admission")
    assert result.parseoutcomes() == {"passed": 1}
    [contrast] = record()["contrasts"]
    assert contrast["verdict"] == "IDENTICAL"
    assert contrast["reasons"] == [
        "whole outputs repeat in both arms and agree in 8 of 8 vignettes: a gap of 0.0457 or more "
        "would have shown"
    ]


def test_outputs_that_repeat_count_once_for_each_vignette_however_often_they_are_drawn(
    pytester: pytest.Pytester, check: Run, record: Record
) -> None:
    pytester.makeconftest(CONSTANT.replace("DECISION", '"Black" in case.text'))
    # Eight vignettes that all change: p = 2 / 2**8 on the sign of eight answers, at any R.
    for replicates in (3, 12):
        check(
            "--fairmed-report=out.json", f"--fairmed-replicates={replicates}", actions="admission"
        )
        [contrast] = record()["contrasts"]
        assert contrast["deterministic"] is True
        assert contrast["b"] == 8
        assert contrast["p"] == pytest.approx(2 / 2**8)


def test_a_model_without_noise_has_a_floor_of_zero_and_no_verdict_from_copies(
    gate: Run, pytester: pytest.Pytester, record: Record
) -> None:
    pytester.makepyfile(HEAD + CHECK.format(actions="'admission'", more=""))
    result = gate("--fairmed-report=out.json", model="simulated:floor=0,seed=1")
    assert result.ret == 0
    [contrast] = record()["contrasts"]
    assert (contrast["deterministic"], contrast["floor"], contrast["flip_rate"]) == (True, 0, 0)
    assert contrast["verdict"] in ("INCONCLUSIVE", "EQUIVALENT")


def test_the_family_is_that_of_the_mark_whatever_is_selected(check: Run, record: Record) -> None:
    def adjusted(*arguments: str) -> dict[str, float]:
        check("--fairmed-report=out.json", *arguments)
        assert {c["family_size"] for c in record()["contrasts"]} == {4}
        return {c["action"]: (c["p"], c["p_adjusted"]) for c in record()["contrasts"]}

    whole = adjusted()
    for selection in (("-k", "admission"), ("--fairmed-actions=admission",)):
        alone = adjusted(*selection)
        assert list(alone) == ["admission"]
        p, p_adjusted = alone["admission"]
        assert p_adjusted >= whole["admission"][1]
        assert p_adjusted == pytest.approx(min(1, 4 * p))


HETEROGENEOUS = """
import itertools, random
import pytest

COUNT = itertools.count()

def agent(case):
    rng = random.Random(next(COUNT))
    up = len(case.text.partition("Patient:")[0]) // 3 % 2  # in four of the eight cases
    black = "Black" in case.text
    return {"admission": rng.random() < (0.9 if black == bool(up) else 0.1)}

agent.version = "1"

@pytest.fixture(scope="session")
def fairmed_agent():
    return agent
"""


def test_effects_that_cancel_are_a_flag_and_fail_only_where_asked(
    pytester: pytest.Pytester, check: Run
) -> None:
    pytester.makeconftest(HETEROGENEOUS)
    result = check(actions="admission")
    assert result.parseoutcomes() in ({"inconclusive": 1}, {"passed": 1})
    result.stdout.fnmatch_lines(["      HETEROGENEOUS: *"])
    result = check("--fairmed-gate-heterogeneous=yes", actions="admission")
    assert result.parseoutcomes() == {"failed": 1}
    result.stdout.fnmatch_lines(["E *flag: HETEROGENEOUS: *"])
