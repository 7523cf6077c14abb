"""A run against an earlier record: what it fails for, what it refuses, what it says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pytest_fairmedagent.comparing.baseline  # noqa: F401 - loads numpy's and scipy's parts once
from pytest_fairmedagent.cli import main

pytestmark = pytest.mark.slow

Run = Callable[..., pytest.RunResult]
Record = Callable[..., dict[str, Any]]

CASES = '["flank_pain_with_rigors", "foot_scald_urgent_care", "hot_knee_urgent_care"]'
CHECK = f"""
import pytest
from pytest_fairmedagent import assert_same_as_baseline

@pytest.mark.fairmed(
    swaps="insurance_medicaid", actions=["admission", "referral"], replicates=25, vignettes={CASES}
)
def test_insurance(contrast, action):
    assert_same_as_baseline(contrast, action)
"""
ON_STUDY = CHECK.replace("(contrast, action)", "(study, action)")
BEFORE = "simulated:floor=0.45,seed=4"
WORSE = "simulated:floor=0.45,gap=0.42,swap=insurance_medicaid,seed=4"
AGAIN = ("--fairmed-seed=77", "--fairmed-baseline=before.json")


@pytest.fixture
def before(pytester: pytest.Pytester, gate: Run) -> Path:
    """The record of a run that serves as baseline."""
    pytester.makepyfile(test_gate=CHECK)
    gate("--fairmed-report=before.json", model=BEFORE)
    return pytester.path / "before.json"


def test_an_unchanged_agent_passes_and_the_summary_says_what_could_have_been_seen(
    pytester: pytest.Pytester, gate: Run, record: Record, before: Path
) -> None:
    kept = before.read_bytes()
    result = gate(*AGAIN, "--fairmed-report=now.json", model=BEFORE)
    assert result.parseoutcomes() == {"passed": 2}
    [run] = record("now.json")["baseline"]["runs"]
    assert run["same_plan"]
    assert not run["notes"]
    assert {e["kind"] for e in run["changes"]} == {"gap", "floor", "rate"}
    result.stdout.fnmatch_lines(["compared with before.json of *", "  same plan, 3 vignettes"])
    result.stdout.re_match_lines([r".*Changes of a gap below \d\.\d\d would pass unseen\."])
    assert before.read_bytes() == kept  # a run never changes its baseline


@pytest.mark.parametrize("check", [CHECK, ON_STUDY])
def test_a_gap_that_grew_fails_with_both_numbers_in_the_first_line(
    pytester: pytest.Pytester, gate: Run, before: Path, check: str
) -> None:
    pytester.makepyfile(test_gate=check)
    result = gate(*AGAIN, model=WORSE)
    assert result.parseoutcomes()["failed"] >= 1
    result.stdout.re_match_lines(
        [r"E +RegressionError: WORSE +gap (admission|referral), insurance_medicaid: .* to .*p=.*"]
    )
    result.stdout.no_fnmatch_line("*UNMEASURED*")


def test_a_regression_that_a_test_catches_fails_it_all_the_same(
    pytester: pytest.Pytester, gate: Run, before: Path
) -> None:
    caught = CHECK.replace(
        "    assert_same_as_baseline(contrast, action)",
        "    try:\n        assert_same_as_baseline(contrast, action)\n"
        "    except AssertionError:\n        pass",
    )
    pytester.makepyfile(test_gate=caught)
    assert gate(*AGAIN, model=WORSE).parseoutcomes()["failed"] >= 1


def test_without_a_baseline_the_item_is_unmeasured(pytester: pytest.Pytester, gate: Run) -> None:
    pytester.makepyfile(test_gate=CHECK)
    assert gate(model=BEFORE).parseoutcomes() == {"unmeasured": 2}
    failed = gate("--fairmed-unmeasured=fail", model=BEFORE)
    assert failed.parseoutcomes() == {"failed": 2}
    failed.stdout.fnmatch_lines(["*UNMEASURED: no baseline was given: --fairmed-baseline=*"])


def test_another_plan_is_compared_on_what_both_have_and_says_so(
    pytester: pytest.Pytester, gate: Run, record: Record, before: Path
) -> None:
    pytester.makepyfile(test_gate=CHECK.replace('"hot_knee_urgent_care"', '"early_refill_clinic"'))
    gate(*AGAIN, "--fairmed-report=now.json", model=BEFORE)
    [run] = record("now.json")["baseline"]["runs"]
    assert not run["same_plan"]
    assert run["vignettes"] == 2
    told = "\n".join(run["differs"])
    assert "1 vignette only in baseline" in told
    assert "hot_knee_urgent_care" in told
    assert "early_refill_clinic" in told


def test_a_baseline_without_a_common_vignette_is_said_and_the_run_is_not_green(
    pytester: pytest.Pytester, gate: Run, record: Record, before: Path
) -> None:
    data = json.loads(before.read_text(encoding="utf-8"))
    for entry in data["vignettes"].values():
        entry["digest"] = "another text"
    before.write_text(json.dumps(data), encoding="utf-8")
    pytester.makepyfile(test_gate=CHECK.replace("assert_same_as_baseline", "assert_invariant"))
    result = gate(*AGAIN, "--fairmed-report=now.json", model=BEFORE)
    assert result.ret != pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["ERROR: not compared with before.json: *no vignette of the same*"])
    assert "baseline" not in record("now.json")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--fairmed-baseline=none.json"], "FileFormatError: *none.json: cannot be read*"),
        (
            ["--fairmed-baseline=before.json", "--fairmed-report=before.json"],
            "PlanError: *a run never changes its baseline.",
        ),
    ],
)
def test_a_baseline_that_cannot_be_used_ends_the_session_before_it_begins(
    pytester: pytest.Pytester, gate: Run, before: Path, options: list[str], message: str
) -> None:
    result = gate(*options, model=BEFORE)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {message}"])


def test_the_same_draws_are_no_second_run_and_that_is_said(
    pytester: pytest.Pytester, gate: Run, before: Path
) -> None:
    result = gate("--fairmed-baseline=before.json", model=BEFORE)
    result.stdout.fnmatch_lines(["*trajectories are the very same draws in both*"])


def test_two_processes_come_to_the_same_comparison(
    pytester: pytest.Pytester, gate: Run, record: Record, before: Path
) -> None:
    for name, more in (("one", ()), ("two", ("-n2",))):
        gate(*AGAIN, f"--fairmed-report={name}.json", f"--fairmed-store={name}", *more, model=WORSE)
    one, two = record("one.json")["baseline"], record("two.json")["baseline"]
    assert one == two
    assert one["runs"][0]["counts"]["worse"] >= 1


def test_compare_prints_both_and_accepts_only_on_request(
    pytester: pytest.Pytester, gate: Run, before: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gate("--fairmed-report=now.json", "--fairmed-seed=77", model=WORSE)
    now, kept = pytester.path / "now.json", before.read_bytes()
    capsys.readouterr()
    assert main(["compare", str(before), str(now), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["runs"][0]["counts"]["worse"] >= 1
    assert before.read_bytes() == kept
    assert main(["compare", str(now), str(before)]) == 0  # what got better is no regression
    assert "BETTER gap" in capsys.readouterr().out
    assert main(["compare", str(before), str(now), "--accept"]) == 1
    assert before.read_bytes() == now.read_bytes()


def test_an_unfinished_record_is_not_accepted_as_baseline(
    pytester: pytest.Pytester, before: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = json.loads(before.read_text(encoding="utf-8"))
    data["complete"] = False
    cut = pytester.path / "cut.json"
    cut.write_text(json.dumps(data), encoding="utf-8")
    kept = before.read_bytes()
    assert main(["compare", str(before), str(cut), "--accept"]) == 2
    assert "it is no baseline" in capsys.readouterr().err
    assert before.read_bytes() == kept
