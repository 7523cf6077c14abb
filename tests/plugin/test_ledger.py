"""What was said of the same draws stands: over more replicates, other plans and fresh starts."""

from __future__ import annotations

import re
import shlex
import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

Run = Callable[..., pytest.RunResult]
Record = Callable[..., dict[str, Any]]

CHECK = """
import pytest
from pytest_fairmedagent import assert_invariant

@pytest.mark.fairmed(
    swaps="race_black", actions=ACTIONS, vignettes='''
    hot_knee_urgent_care, early_refill_clinic, flank_pain_with_rigors, foot_scald_urgent_care,
    pleuritic_pain_telephone, rib_fractures_ward, sudden_headache_emergency,
    lower_abdominal_pain_emergency'''
)
def test_race(contrast, action):
    assert_invariant(contrast, action)
"""
ONE = CHECK.replace("ACTIONS", "['admission']")
THREE = CHECK.replace("ACTIONS", "['admission', 'referral', 'icu_escalation']")
BIASED = "simulated:floor=0.05,gap=0.4,swap=race_black,seed=3"
LEVEL = ("--fairmed-alpha=0.3", "--fairmed-margin=0.01")
NULL = "simulated:floor=0.2,seed=6"


def ledger(pytester: pytest.Pytester) -> list[tuple[str, int]]:
    """Return how many entries of each kind the ledger of the store has."""
    with closing(sqlite3.connect(pytester.path / ".fairmed" / "runs.sqlite")) as database:
        return database.execute("SELECT kind, count(*) FROM ledger GROUP BY kind").fetchall()


def contrast(found: dict[str, Any], action: str = "admission") -> dict[str, Any]:
    return next(c for c in found["contrasts"] if c["action"] == action)


def test_a_disparity_stands_when_replicates_are_added_and_the_look_has_a_level_of_its_own(
    pytester: pytest.Pytester, gate: Run, record: Record
) -> None:
    pytester.makepyfile(ONE)
    first = ("--fairmed-replicates=4", *LEVEL)
    assert gate(*first, model=BIASED).parseoutcomes() == {"failed": 1}
    with closing(sqlite3.connect(pytester.path / ".fairmed" / "runs.sqlite")) as database:
        # Nothing differs any more in what is drawn from here on.
        database.execute("UPDATE trials SET trajectory=(SELECT trajectory FROM trials LIMIT 1)")
        database.commit()
    more = ("--fairmed-replicates=6", *LEVEL, "--fairmed-report=out.json")
    result = gate(*more, model=BIASED)
    assert result.parseoutcomes() == {"failed": 1}
    found = contrast(record())
    assert found["verdict"] == "DISPARITY"
    assert found["stands"].startswith("DISPARITY at R=4 (look 1, p=")
    [looked] = record()["runs"][0]["ledger"]["families"]
    assert (looked["number"], looked["level"], looked["before"]) == (2, 0.15, [4])
    assert looked["bound"] == record()["runs"][0]["bound"] == pytest.approx(0.45)
    result.stdout.fnmatch_lines(
        [
            "before  second look at*",
            "before  a DISPARITY that was given stands: admission, race_black (R = 4)",
            "*with chance at most 0.45.*",
        ]
    )
    [told] = [d["text"] for d in record()["deviations"] if "second look" in d["text"]]
    assert told.endswith(
        "(before at R = 4): judged at 0.15; its looks so far err in at most 0.45, and all that may "
        "follow in at most 0.6"
    )


@pytest.mark.parametrize(
    ("model", "first", "after", "options", "would_be"),
    [
        (BIASED, THREE, ONE, LEVEL, "DISPARITY"),  # and fewer contrasts
        (BIASED, ONE, ONE, LEVEL, "DISPARITY"),
        (NULL, ONE, ONE, ("--fairmed-margin=0.9",), "EQUIVALENT"),
    ],
)
def test_the_same_draws_under_another_plan_claim_nothing(
    pytester: pytest.Pytester,
    gate: Run,
    record: Record,
    model: str,
    first: str,
    after: str,
    options: tuple[str, ...],
    would_be: str,
) -> None:
    always = ("--fairmed-replicates=4", "--fairmed-report=out.json")
    pytester.makepyfile(first)
    before = gate(*always, "--fairmed-alpha=1e-12", "--fairmed-margin=0.01", model=model)
    # A swap of three outcomes differs as a whole by more than any of them: one item fails for it.
    assert before.parseoutcomes().keys() <= {"inconclusive", "failed"}
    assert all(c["verdict"] == "INCONCLUSIVE" for c in record()["contrasts"])
    pytester.makepyfile(after)
    again = gate(*always, *options, model=model)
    assert again.parseoutcomes() == {"inconclusive": 1}
    found = contrast(record())
    assert found["post_hoc"]
    [reason] = found["reasons"]
    assert reason.startswith(f"post hoc: it would be {would_be}, but these draws were judged befo")
    again.stdout.fnmatch_lines(["before  1 contrast was registered after these draws had been*"])
    # The advice, taken as it is printed.
    assert reason.endswith("draw anew: the same command with --fairmed-fresh")
    fresh = gate(*always, *options, "--fairmed-fresh", model=model)
    assert contrast(record())["verdict"] == would_be
    assert fresh.parseoutcomes() == {"failed" if would_be == "DISPARITY" else "passed": 1}


def test_fresh_starts_of_a_design_are_counted_and_said(
    pytester: pytest.Pytester, gate: Run, record: Record
) -> None:
    pytester.makepyfile(ONE)
    always = ("--fairmed-replicates=4", *LEVEL, "--fairmed-report=out.json")
    for _ in range(2):
        gate(*always, "--fairmed-fresh", model=BIASED)
    third = gate(*always, "--fairmed-fresh", model=BIASED)
    third.stdout.re_match_lines(
        [r"before  third fresh start of this design since \d+ \w+ 20\d\d: red, red, this one"]
    )
    starts = record()["runs"][0]["starts"]
    assert [(s["outcome"], s["same"], s["this"]) for s in starts] == [
        ("red", True, False), ("red", True, False), ("red", True, True)
    ]  # fmt: skip
    assert any("third fresh start" in d["text"] for d in record()["deviations"])
    # Another look at the third is no fourth start.
    assert len(ledger(pytester)) > 0
    gate(*always, model=BIASED).stdout.fnmatch_lines(["before  third fresh start*this one"])
    assert dict(ledger(pytester))["fresh"] == 3


def test_the_advice_to_draw_more_comes_to_a_verdict(
    pytester: pytest.Pytester, gate: Run, record: Record
) -> None:
    pytester.makepyfile(ONE)
    options = ("--fairmed-margin=0.1", "--fairmed-report=out.json")
    first = gate("--fairmed-replicates=2", *options, model=NULL)
    assert first.parseoutcomes() == {"inconclusive": 1}
    advice, *_ = re.findall(r"vignettes, (--.+?)[;.] ", " ".join(map(str.strip, first.outlines)))
    found = gate(*options, *shlex.split(advice), model=NULL)
    assert "error" not in found.parseoutcomes()
    told = contrast(record())
    assert told["verdict"] != "UNMEASURED"
    assert not told["post_hoc"]
    assert record()["runs"][0]["ledger"]["families"][0]["number"] == 2


STRICT = """
schema = 1
name = "strictly_new"
says = "Judges fresh draws only."
replicates = 2
fresh_draws = true
"""


def test_where_only_fresh_draws_count_the_advice_says_so(
    pytester: pytest.Pytester, gate: Run
) -> None:
    pytester.makefile(".toml", plan=STRICT)
    pytester.makepyfile(ONE)
    plan = ("--fairmed-plan=plan.toml", "--fairmed-margin=0.1")
    first = gate(*plan, model=NULL)
    advice, *_ = re.findall(r"vignettes, (--.+?)[;.] ", " ".join(map(str.strip, first.outlines)))
    assert "--fairmed-fresh" in advice
    found = gate(*plan, *shlex.split(advice), model=NULL)
    assert "errors" not in found.parseoutcomes()


def test_a_recording_says_that_its_looks_are_not_known_and_advises_no_draws(
    pytester: pytest.Pytester, gate: Run, record: Record
) -> None:
    pytester.makepyfile(ONE)
    gate("--fairmed-replicates=2", "--fairmed-report=out.json")
    for name in ("recorded/out.json", "recorded/.fairmed"):
        result = gate("--fairmed-replicates=2", "--fairmed-report=again.json", model=name)
        result.stdout.fnmatch_lines(["before  what was judged before on these draws is not known*"])
        assert record("again.json")["runs"][0]["ledger"]["known"] is False
        assert "--fairmed-replicates=" not in result.stdout.str()


@pytest.mark.slow
def test_processes_and_resumed_runs_leave_each_entry_once(
    pytester: pytest.Pytester, gate: Run, record: Record
) -> None:
    pytester.makepyfile(THREE)
    always = ("--fairmed-replicates=2",)
    first = pytester.runpytest_subprocess(
        *always, "--fairmed-model=simulated:floor=0.087,seed=1", "-n2", "-p", "no:randomly"
    )
    assert first.parseoutcomes() == {"inconclusive": 3}
    once = dict(ledger(pytester))
    assert once == {"plan": 1, "start": 1, "look": 1, "verdict": 3 + 1}  # and the swap as a whole
    gate(*always)
    assert dict(ledger(pytester)) == once
    gate(*always, "-k", "referral", "--fairmed-report=out.json")
    assert record()["runs"][0]["ledger"]["families"][0]["number"] == 1
