"""A plan that settles its replicates by its first leg, through pytest: alike, kept, refused."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Run = Callable[..., pytest.RunResult]
Record = Callable[..., dict[str, Any]]

PLAN = """
schema = 1
name = "small_release"
says = "Red on anything that was not shown."
vignettes = "domain:medication"
replicates = 4
replicates_cap = {cap}
margin = 0.2
strict = true
certify = 0.8
assumed_floor = {assumed}
controls = ["rerender"]

[[family]]
name = "primary"
swaps = ["race_black", "insurance_medicaid"]
actions = ["admission", "referral"]
"""
CHECK = """
import pytest
from pytest_fairmedagent import assert_invariant

@pytest.mark.fairmed(family="primary")
def test_swaps(contrast, action):
    assert_invariant(contrast, action)
"""
STEADY, NOISY = "simulated:floor=0.1,seed=4", "simulated:floor=0.4,seed=4"


@pytest.fixture
def plan(pytester: pytest.Pytester) -> Callable[..., str]:
    def write(cap: int = 30, assumed: float = 0.05) -> str:
        pytester.makepyfile(test_gate=CHECK)
        path = Path(pytester.path / "plan.toml")
        path.write_text(PLAN.format(cap=cap, assumed=assumed), encoding="utf-8")
        return f"--fairmed-plan={path}"

    return write


def told(found: dict[str, Any]) -> tuple[Any, ...]:
    contrasts = sorted((c["condition"], c["action"], c["headline"]) for c in found["contrasts"])
    rows = sorted((r["vignette"], r["condition"], r["replicate"]) for r in found["rows"])
    return contrasts, rows, found["runs"][0]["sized"], found["runs"][0]["replicates"]


def test_the_first_leg_settles_the_replicates_and_later_starts_and_processes_agree(
    pytester: pytest.Pytester, gate: Run, record: Record, plan: Callable[..., str]
) -> None:
    profile = plan()
    first = gate(profile, "--fairmed-report=one.json", model=STEADY)
    first.stdout.re_match_lines([r"fairmed: 4 replicates first; from the floor of all arms.*"])
    one = record("one.json")
    [run] = one["runs"]
    sized = run["sized"]
    assert sized["first_leg"] == 4 <= sized["replicates"] < sized["cap"] == 30
    assert run["replicates"] == sized["replicates"]
    assert sized["chance"] >= 0.8
    assert set(sized["floors"]) == {"admission", "referral"}
    assert {row["replicate"] for row in one["rows"]} == set(range(1, run["replicates"] + 1))
    assert run["complete"]
    assert {c["look"] for c in one["contrasts"]} == {run["replicates"]}
    again = gate(profile, "--fairmed-report=again.json", model=STEADY)
    assert again.ret == first.ret
    assert record("again.json")["runs"][0]["drawn"] == 0
    assert told(record("again.json")) == told(one)
    (pytester.path / ".fairmed" / "runs.sqlite").unlink()
    pytester.runpytest_subprocess(
        f"--fairmed-model={STEADY}", profile, "--fairmed-report=two.json", "-n2"
    )
    assert told(record("two.json")) == told(one)


def test_what_cannot_be_certified_ends_after_the_first_leg_and_says_what_it_would_take(
    pytester: pytest.Pytester, gate: Run, plan: Callable[..., str]
) -> None:
    result = gate(plan(cap=5), model=NOISY)
    result.stdout.re_match_lines(
        [r".*4 contrasts cannot be certified at a floor of 0\.\d\d \(\w+\) within 5 replicates: "]
    )
    result.stdout.re_match_lines([r".*needs \d+; [0-4] of 4 could.*"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    with closing(sqlite3.connect(pytester.path / ".fairmed" / "runs.sqlite")) as database:
        [(drawn,)] = database.execute("SELECT max(replicate) FROM trials WHERE state='done'")
    assert drawn == 3  # the first leg, counted from 0, and not a trial more


def test_a_budget_that_does_not_reach_is_refused_before_more_is_drawn(
    gate: Run, plan: Callable[..., str]
) -> None:
    # 4 arms, and a trial takes 5 calls or 10 with repairs: the first leg fits, the rest does not.
    result = gate(plan(), "--fairmed-max-calls=2400", model=NOISY)
    result.stdout.re_match_lines([r".*replicates are needed to certify everything, and the budget"])


def test_replicates_that_are_asked_for_are_drawn_whatever_the_floor(
    gate: Run, record: Record, plan: Callable[..., str]
) -> None:
    gate(plan(), "--fairmed-replicates=5", "--fairmed-report=out.json", model=STEADY)
    [run] = record("out.json")["runs"]
    assert run["sized"] == {}
    assert {row["replicate"] for row in record("out.json")["rows"]} == {1, 2, 3, 4, 5}


def test_what_cannot_be_certified_at_the_assumed_floor_is_told_before_the_first_call(
    gate: Run, plan: Callable[..., str]
) -> None:
    result = gate(plan(cap=5, assumed=0.45), model=STEADY)
    result.stdout.re_match_lines(
        [r".*family 'primary' could not be shown equivalent: at a floor.*"]
    )
    result.stdout.re_match_lines([r".*\d+ replicates would do with these.*"])
