"""Which tests run when a model is given: the fairness tests alone, or the built-in audit."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import pytest_fairmedagent
from pytest_fairmedagent.files.vignettes import shipped_vignettes
from pytest_fairmedagent.models.simulated import SimulatedModel

pytestmark = pytest.mark.slow

Run = Callable[..., pytest.RunResult]

AUDIT = "pytest_fairmedagent.audit::test_primary"
EIGHT = (
    "hot_knee_urgent_care,early_refill_clinic,flank_pain_with_rigors,foot_scald_urgent_care,"
    "pleuritic_pain_telephone,rib_fractures_ward,sudden_headache_emergency,"
    "lower_abdominal_pain_emergency"
)
QUICK = "--fairmed-profile=quick"  # one family of 18 items
PLAIN = "def test_plain(): pass"
MARKED = """
import pytest
from pytest_fairmedagent import assert_invariant

@pytest.mark.fairmed(
    swaps=["race_black", "race_hispanic"], actions="admission",
    vignettes="hot_knee_urgent_care", replicates=2
)
def test_race(contrast):
    assert_invariant(contrast, "admission")
"""
# A planted gap that the audit finds in most actions of this one swap, at R=10 on eight cases.
BIASED = "simulated:floor=0.05,gap=0.4,swap=race_black,seed=3"


def ids(result: pytest.RunResult) -> list[str]:
    """Return the node ids that `--collect-only -q` has printed."""
    return [line for line in result.outlines if "::" in line and " " not in line]


def failed(result: pytest.RunResult) -> list[str]:
    return [line.split(" ")[1] for line in result.outlines if line.startswith("FAILED")]


def test_without_fairness_tests_the_audit_runs_and_others_are_deselected(
    pytester: pytest.Pytester, gate: Run
) -> None:
    pytester.makepyfile(PLAIN + "\ndef test_other(): raise AssertionError('it ran')")
    result = gate(QUICK)
    assert result.parseoutcomes() == {"inconclusive": 18, "deselected": 2}
    assert result.ret == 0


def test_in_an_empty_project_the_audit_runs(gate: Run) -> None:
    assert gate(QUICK).parseoutcomes() == {"inconclusive": 18}


def test_with_fairness_tests_these_run_alone_and_no_audit(
    pytester: pytest.Pytester, gate: Run
) -> None:
    pytester.makepyfile(test_a=PLAIN, test_b=MARKED)
    assert gate().parseoutcomes() == {"inconclusive": 2, "deselected": 1}


def test_paths_are_run_as_given(pytester: pytest.Pytester, gate: Run) -> None:
    pytester.makepyfile(test_a=PLAIN, test_b=MARKED)
    assert gate("test_a.py", "test_b.py").parseoutcomes() == {"inconclusive": 2, "passed": 1}


def test_paths_in_addopts_count_as_given(pytester: pytest.Pytester, gate: Run) -> None:
    pytester.makepyfile(test_a=PLAIN, test_b=MARKED)
    pytester.makeini("[pytest]\naddopts = test_a.py\n")
    result = gate()
    assert result.parseoutcomes() == {"passed": 1}
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_testpaths_are_a_default_and_no_given_paths(pytester: pytest.Pytester, gate: Run) -> None:
    pytester.mkdir("tests")
    pytester.makeini("[pytest]\ntestpaths = tests\n")
    (pytester.path / "tests" / "test_a.py").write_text(PLAIN)
    assert gate(QUICK).parseoutcomes() == {"inconclusive": 18, "deselected": 1}


def test_where_something_failed_to_collect_nothing_takes_its_place(
    pytester: pytest.Pytester, gate: Run
) -> None:
    pytester.makepyfile(test_a=PLAIN, test_b="import nothing_of_this_name")
    result = gate(QUICK)
    assert result.parseoutcomes() == {"errors": 1}
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert not (pytester.path / ".fairmed").exists()
    result = gate(QUICK, "--continue-on-collection-errors")
    result.stdout.no_fnmatch_line(f"*{AUDIT}*")
    assert not (pytester.path / ".fairmed").exists()


def test_the_node_ids_of_the_audit_are_the_same_by_its_name(
    pytester: pytest.Pytester, gate: Run
) -> None:
    pytester.makepyfile(PLAIN)
    fallback = ids(gate(QUICK, "--collect-only", "-q"))
    named = ids(gate(QUICK, "--collect-only", "-q", "--pyargs", "pytest_fairmedagent.audit"))
    assert fallback == named
    assert len(set(named)) == 18
    assert named[0] == f"{AUDIT}[race_black-high_acuity]"


def test_the_audit_runs_by_its_name_beside_paths(pytester: pytest.Pytester, gate: Run) -> None:
    pytester.makepyfile(test_a=PLAIN)
    result = gate(QUICK, "--pyargs", "pytest_fairmedagent.audit", "test_a.py")
    assert result.parseoutcomes() == {"inconclusive": 18, "passed": 1}


def test_without_a_model_the_audit_is_skipped_by_its_name(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_inprocess("--pyargs", "pytest_fairmedagent.audit")
    assert result.parseoutcomes() == {"skipped": 18}  # of the default profile, ci


@pytest.mark.parametrize("named", [(), ("--pyargs", "pytest_fairmedagent.audit")])
def test_no_naming_rule_of_the_project_loses_the_audit(
    pytester: pytest.Pytester, gate: Run, named: tuple[str, ...]
) -> None:
    pytester.makeini(
        "[pytest]\npython_files = check_*.py\npython_functions = verify_*\n"
        "python_classes = Verify\ntestpaths = nowhere\nnorecursedirs = *\n"
    )
    assert gate(QUICK, *named).parseoutcomes()["inconclusive"] == 18


def test_selection_by_keyword_and_deselection_work_on_the_audit(
    pytester: pytest.Pytester, gate: Run
) -> None:
    pytester.makepyfile(PLAIN)
    found = ids(gate(QUICK, "--collect-only", "-q", "-k", "race_black and referral"))
    assert found == [f"{AUDIT}[race_black-referral]"]
    found = ids(gate(QUICK, "--collect-only", "-q", "-m", "fairmed", "-k", "not race_black"))
    assert len(found) == 12
    result = gate(
        QUICK, "--collect-only", "-q", f"--deselect={AUDIT}[race_black-referral]", "-k", "referral"
    )
    assert ids(result) == [
        f"{AUDIT}[race_hispanic-referral]",
        f"{AUDIT}[insurance_medicaid-referral]",
    ]


def test_a_keyword_that_no_fairness_test_has_does_not_bring_the_audit(
    pytester: pytest.Pytester, gate: Run
) -> None:
    pytester.makepyfile(MARKED)
    result = gate("-k", "referral")
    assert result.parseoutcomes() == {"deselected": 2}
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_last_failed_reruns_the_failures_of_the_audit_alone_and_draws_for_these_alone(
    pytester: pytest.Pytester, gate: Run
) -> None:
    pytester.makepyfile(PLAIN)
    small = ("--fairmed-replicates=6", f"--fairmed-vignettes={EIGHT}")
    first = gate(*small, "--fairmed-swaps=race_black,race_hispanic", model=BIASED)
    n_failed = first.parseoutcomes()["failed"]
    assert 0 < n_failed <= 6
    again = gate(
        *small,
        "--fairmed-swaps=race_black,race_hispanic",
        "--lf",
        "--fairmed-fresh",
        model=BIASED,
    )
    assert failed(again) == failed(first)
    assert again.parseoutcomes()["failed"] == n_failed
    assert set(again.parseoutcomes()) == {"failed", "deselected"}
    # One swap with reference and three controls: 8 cases x 5 arms x R=6. Hispanic is not drawn.
    again.stdout.fnmatch_lines(["fairmed: * 8 vignettes x 5 arms = 240 trajectories*"])
    again.stdout.fnmatch_lines(["trials  240 drawn now*"])


def test_last_failed_of_a_fairness_test_of_one_s_own_does_not_bring_the_audit(
    pytester: pytest.Pytester, gate: Run
) -> None:
    pytester.makepyfile(
        test_a=MARKED.replace("replicates=2", "replicates=1"),
        test_b=MARKED.replace("test_race", "test_other"),
        test_c=PLAIN,
    )
    first = gate("--fairmed-unmeasured=fail")
    assert first.parseoutcomes() == {"failed": 2, "inconclusive": 2, "deselected": 1}
    again = gate("--fairmed-unmeasured=fail", "--lf")
    assert again.parseoutcomes() == {"failed": 2}
    assert failed(again) == failed(first)


@pytest.mark.parametrize("option", ["--lf", "--sw"])
def test_an_ordinary_test_that_failed_last_does_not_bring_the_audit(
    pytester: pytest.Pytester, gate: Run, option: str
) -> None:
    pytester.makepyfile(test_a="def test_a(): assert False")
    pytester.runpytest_inprocess("-p", "no:randomly", option)
    result = gate(QUICK, option)
    result.stdout.no_fnmatch_line(f"*{AUDIT}*")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert not (pytester.path / ".fairmed").exists()


@pytest.mark.parametrize("option", ["--lf", "--sw"])
def test_where_nothing_has_failed_last_failed_runs_everything(
    pytester: pytest.Pytester, gate: Run, option: str
) -> None:
    pytester.makepyfile(PLAIN)
    assert gate(QUICK, option).parseoutcomes() == {"inconclusive": 18, "deselected": 1}
    assert gate(QUICK, option).parseoutcomes() == {"inconclusive": 18, "deselected": 1}


def test_stepwise_goes_on_at_the_audit_s_failure(pytester: pytest.Pytester, gate: Run) -> None:
    arguments = ("--fairmed-replicates=6", "--fairmed-swaps=race_black", "--sw")
    first = gate(*arguments, model=BIASED)
    assert first.parseoutcomes()["failed"] == 1
    again = gate(*arguments, model=BIASED)
    assert failed(again) == failed(first)


def test_exitfirst_stops_at_the_first_disparity(pytester: pytest.Pytester, gate: Run) -> None:
    arguments = ("--fairmed-replicates=6", "--fairmed-swaps=race_black")
    assert gate(*arguments, model=BIASED).parseoutcomes()["failed"] > 1
    result = gate(*arguments, "-x", model=BIASED)
    assert result.parseoutcomes()["failed"] == 1
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*= fairmed =*", "model   simulated*"])


@pytest.mark.parametrize("option", ["--collect-only", "--setup-plan"])
def test_looking_at_the_plan_asks_nothing_and_makes_no_store(
    pytester: pytest.Pytester, gate: Run, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    def asked(*args: object) -> None:
        raise AssertionError("the model was asked")

    monkeypatch.setattr(SimulatedModel, "open", asked)
    monkeypatch.setattr(SimulatedModel, "chat", asked)
    result = gate(QUICK, option)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "fairmed: 18 items, 18 contrasts; 4 vignettes x 7 arms = 84 trajectories, up to 420 "
            "calls without repairs",
            "fairmed: family primary (18): at a floor of 0.087 it can find gaps of 0.* in one "
            "action or 0.* in all 6 of a swap (power .8)*",
        ]
    )
    assert not (pytester.path / ".fairmed").exists()


def test_the_audit_is_found_where_the_environment_lies_inside_the_project(
    pytester: pytest.Pytester,
) -> None:
    site = pytester.path / ".venv" / "lib" / "site-packages"
    package = Path(pytest_fairmedagent.__file__).parent
    shutil.copytree(package, site / "pytest_fairmedagent", ignore=shutil.ignore_patterns("__pyc*"))
    if not (site / "pytest_fairmedagent" / "vignettes").exists():  # as the wheel has them
        shutil.copytree(shipped_vignettes(), site / "pytest_fairmedagent" / "vignettes")
    (pytester.path / ".venv" / "pyvenv.cfg").write_text(f"home = {sys.prefix}\n")
    pytester.makepyfile(PLAIN)
    os.environ["PYTHONPATH"] = str(site)  # pytester restores it
    result = pytester.runpytest_subprocess(
        "-p", "no:randomly", "--fairmed-model=simulated", QUICK, "-rA", "--collect-only", "-q"
    )
    assert len(ids(result)) == 18, result.outlines
    result.stdout.no_fnmatch_line("*test_the_audit_is_found*")
