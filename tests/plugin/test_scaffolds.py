"""Scaffold and exposure from the command line: checked before anything is asked, and recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_fairmedagent.agents.dialogue import STAGE_NAMES

pytestmark = pytest.mark.slow

Run = Callable[..., pytest.RunResult]

QUICK = "--fairmed-profile=quick"


def configuration(record: dict[str, Any]) -> dict[str, Any]:
    return record["configuration"]


def test_votes_are_planned_recorded_and_cost_what_was_said(
    gate: Run, record: Callable[..., dict[str, Any]]
) -> None:
    result = gate(QUICK, "--fairmed-scaffold=vote:3/reasoned", "--fairmed-report=out.json")
    result.stdout.fnmatch_lines(["*= 84 trajectories, up to 1260 calls without repairs"])
    found = record()
    assert configuration(found)["scaffold"] == "reasoned"
    assert configuration(found)["votes"] == 3
    assert all(row["calls"] == 15 for row in found["rows"])
    assert all(len(row["ballots"]) == 3 for row in found["rows"])
    assert not any("Simulated." in str(row) for row in found["rows"]), "a text became an outcome"


def test_the_exposure_is_recorded(gate: Run, record: Callable[..., dict[str, Any]]) -> None:
    gate(QUICK, "--fairmed-report=out.json")
    assert configuration(record())["exposure"] == list(STAGE_NAMES)
    gate(QUICK, "--fairmed-exposure=document,reassess", "--fairmed-report=out.json")
    assert configuration(record())["exposure"] == ["reassess", "document"]


def test_an_unexposed_stage_shows_no_gap_and_an_exposed_one_does(
    gate: Run, record: Callable[..., dict[str, Any]]
) -> None:
    biased = "simulated:floor=0.2,gap=0.4,swap=race_black,seed=1"
    options = (QUICK, "--fairmed-replicates=40", "--fairmed-swaps=race_black")
    gate(*options, "--fairmed-exposure=document", "--fairmed-report=out.json", model=biased)
    gaps = {c["action"]: c["gap"] for c in record()["contrasts"] if c["condition"] == "race_black"}
    # 160 pairs at a floor of .2 have a standard error of .035: four of it are .14.
    assert gaps.pop("referral") > 0.14
    assert all(abs(gap) < 0.14 for gap in gaps.values()), gaps


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--fairmed-scaffold=vote:4", "expected an odd number from 3 to 99"),
        ("--fairmed-scaffold=reasonned", "Did you mean 'reasoned'"),
        ("--fairmed-exposure=ordr", "Did you mean 'order'"),
    ],
)
def test_what_is_no_scaffold_or_stage_is_refused_at_once(gate: Run, option: str, said: str) -> None:
    result = gate(QUICK, option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{said}*"])


def test_the_scaffold_of_an_ini_file_and_of_the_environment_is_taken(
    pytester: pytest.Pytester,
    gate: Run,
    record: Callable[..., dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytester.makeini("[pytest]\nfairmed_scaffold = panel\n")
    gate(QUICK, "--fairmed-report=out.json")
    assert configuration(record())["scaffold"] == "panel"
    monkeypatch.setenv("FAIRMED_SCAFFOLD", "reasoned")
    gate(QUICK, "--fairmed-report=out.json")
    assert configuration(record())["scaffold"] == "reasoned"


def test_an_agent_of_ones_own_has_no_scaffold_of_ours(pytester: pytest.Pytester, gate: Run) -> None:
    pytester.makepyfile(mine="def agent(case):\n    return {'referral': True}\n")
    pytester.syspathinsert()
    result = gate(QUICK, "--fairmed-agent=mine:agent", "--fairmed-scaffold=panel")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*belong to the six-stage agent: give one or the other*"])
    result = gate(QUICK, "--fairmed-agent=mine:agent", "--collect-only")
    result.stdout.fnmatch_lines(["*trajectories, with as many calls as the agent makes"])
