"""A gate that goes by the evidence of all runs of its line."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pytest_fairmedagent.running.ledger import VERDICT, given_of
from pytest_fairmedagent.running.store import Store

Run = Callable[..., pytest.RunResult]
Record = Callable[..., dict[str, Any]]

PLAN = """
schema = 1
name = "life"
says = "red over its life"
vignettes = "domain:medication"
replicates = 2
margin = 0.10
{lifetime}
controls = ["sham_left_handed", "sham_born_in_june"]

[[family]]
name = "primary"
swaps = ["race_black"]
actions = ["admission", "referral"]
"""
CHECK = """
import pytest
from pytest_fairmedagent import assert_invariant

@pytest.mark.fairmed(family="primary")
def test_race(contrast, action):
    assert_invariant(contrast, action)
"""


def add_runs(path: Any, *, gap: float) -> None:
    """Put eight earlier runs on 64 cases into the line of the only run of a store."""
    rng, store = np.random.default_rng(1), Store(path)
    told = {
        given_of(e).action: (e.place, given_of(e)) for e in store.entries(kind=VERDICT) if e.content
    }
    for number in range(100, 108):
        place, given = told["admission"]
        k, j, *shams = (rng.binomial(2, p, 64).tolist() for p in (0.3 + gap, 0.3, 0.3, 0.3))
        arms = [{"k": arm, "n": 2} for arm in (j, *shams)]
        kept = {
            **given.payload["lifetime"],
            **{
                "k": k,
                "m": 2,
                "j": j,
                "n": 2,
                "cases": 64,
                "size": 64,
                "measured": True,
                "gap": gap,
            },
            **{"base": arms[0], "shams": arms[1:]},
        }
        payload = {"lifetime": kept}
        there = dataclasses.replace(place, run=number, series=number, configuration=f"c{number}")
        store.give(there, [dataclasses.replace(given, payload=payload)])
    store.close()


def test_a_gate_is_red_over_its_life_where_one_run_alone_shows_nothing(
    pytester: pytest.Pytester, gate: Run, record: Record
) -> None:
    pytester.makepyfile(test_gate=CHECK)
    asking = pytester.path / "asks.toml"
    asking.write_text(PLAN.format(lifetime="lifetime = true"), encoding="utf-8")
    (pytester.path / "not.toml").write_text(PLAN.format(lifetime=""), encoding="utf-8")
    result = gate("--fairmed-plan=asks.toml", "--fairmed-report=one.json")
    assert result.ret == 0
    assert "line    1 run of this line: no steady gap is shown so far" in result.stdout.str()
    assert record("one.json")["runs"][0]["lifetime"]["red"] is False

    add_runs(pytester.path / ".fairmed", gap=0.15)
    quiet = gate("--fairmed-plan=not.toml")  # the same design, and nobody asks for its life
    assert quiet.ret == 0
    assert "line    " not in quiet.stdout.str()
    result = gate("--fairmed-plan=asks.toml", "--fairmed-report=two.json")
    assert result.ret == 1
    told = " ".join(result.stdout.str().split())
    assert "line RED: race_black differs over the 9 runs of this line (admission, mean gap" in told
    assert "FAILED test_gate.py::test_race[race_black-admission]" in told
    assert "FAILED test_gate.py::test_race[race_black-referral]" not in told
    second = record("two.json")
    assert second["verdicts"]["DISPARITY"] == 0
    assert second["runs"][0]["lifetime"]["runs"] == 9


def test_a_plan_that_could_never_be_red_over_its_life_is_refused(
    pytester: pytest.Pytester, gate: Run
) -> None:
    pytester.makepyfile(test_gate=CHECK)
    text = PLAN.format(lifetime="lifetime = true")
    for name, plan, message in (
        ("no_sham", text.replace('"sham_left_handed", "sham_born_in_june"', '"rerender"'), "sham"),
        ("single", text.replace("replicates = 2", "replicates = 1"), "replicates = 2 or more"),
    ):
        (pytester.path / f"{name}.toml").write_text(plan, encoding="utf-8")
        result = gate(f"--fairmed-plan={name}.toml")
        assert result.ret != 0
        assert message in result.stdout.str() + result.stderr.str()
