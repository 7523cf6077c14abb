"""What was drawn is drawn once: over later starts, killed and interrupted ones, two at once."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Run = Callable[..., pytest.RunResult]
Record = Callable[..., dict[str, Any]]

CHECK = """
import pytest
from pytest_fairmedagent import assert_invariant

@pytest.mark.fairmed(
    swaps="race_black", actions="admission", vignettes="hot_knee_urgent_care", replicates=4
)
def test_race(contrast):
    assert_invariant(contrast, "admission")
"""
TRIALS = 5 * 4  # reference, swap and three controls on one vignette at R=4
SLOW = "simulated:floor=0.087,seed=1,latency=0.02"
EIGHT = """
    hot_knee_urgent_care, early_refill_clinic, flank_pain_with_rigors, foot_scald_urgent_care,
    pleuritic_pain_telephone, rib_fractures_ward, sudden_headache_emergency,
    lower_abdominal_pain_emergency"""
WIDE = CHECK.replace('"hot_knee_urgent_care"', f'"""{EIGHT}""", margin=0.01')
BIASED = "simulated:floor=0.05,gap=0.4,swap=race_black,seed=3"

Call = tuple[str, int, str, int, float]


def calls(pytester: pytest.Pytester) -> set[Call]:
    """Return the finished model calls of the store, each with the time it was made."""
    file = pytester.path / ".fairmed" / "runs.sqlite"
    if not file.exists():
        return set()
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
        try:
            return set(database.execute("SELECT key, draw, stage, attempt, created FROM calls"))
        except sqlite3.OperationalError:  # its tables are not there yet
            return set()


def start(pytester: pytest.Pytester, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:randomly", *arguments]
    return subprocess.Popen(
        command,
        cwd=pytester.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )


def stop_midway(pytester: pytest.Pytester, sign: signal.Signals) -> tuple[int, str, set[Call]]:
    """Stop a run when some of its calls have ended; return status, output and calls."""
    process = start(pytester, f"--fairmed-model={SLOW}")
    deadline = time.monotonic() + 60
    while len(calls(pytester)) < 12 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(sign)
    output, _ = process.communicate(timeout=60)
    done = calls(pytester)
    assert 12 <= len(done) < 5 * TRIALS, output
    return process.returncode, output, done


def test_a_later_start_draws_nothing_and_says_from_when_the_draws_are(
    pytester: pytest.Pytester, gate: Run, record: Record
) -> None:
    pytester.makepyfile(CHECK)
    gate("--fairmed-report=first.json").stdout.fnmatch_lines(
        [f"trials  {TRIALS} drawn now, run 1 in *"]
    )
    before = calls(pytester)
    assert len(before) == 5 * TRIALS
    gate("--fairmed-report=second.json").stdout.fnmatch_lines(
        [f"trials  no new draws, {TRIALS} trajectories from 20[0-9][0-9]-* UTC, run 1 in *"]
    )
    assert calls(pytester) == before
    first, second = record("first.json"), record("second.json")
    assert first["contrasts"] == second["contrasts"]
    assert (second["runs"][0]["drawn"], second["runs"][0]["earlier"]) == (0, TRIALS)


def test_a_killed_run_repeats_no_finished_call(pytester: pytest.Pytester, gate: Run) -> None:
    pytester.makepyfile(CHECK)
    status, _, before = stop_midway(pytester, signal.SIGKILL)
    assert status == -signal.SIGKILL
    result = gate(model=SLOW)
    assert result.parseoutcomes() == {"inconclusive": 1}
    after = calls(pytester)
    assert before <= after  # the time of each stands, so none was made again
    assert len(after) == 5 * TRIALS
    assert len({call[:4] for call in after}) == 5 * TRIALS


def test_an_interrupted_run_says_how_to_go_on_and_the_next_start_completes_it(
    pytester: pytest.Pytester, gate: Run
) -> None:
    pytester.makepyfile(CHECK)
    status, output, before = stop_midway(pytester, signal.SIGINT)
    assert status == pytest.ExitCode.INTERRUPTED
    assert "the same command goes on where this one stopped" in output
    assert "Traceback" not in output
    result = gate(model=SLOW)
    assert result.parseoutcomes() == {"inconclusive": 1}
    result.stdout.fnmatch_lines(["trials  * drawn now, * from before (since * UTC), run 1 in *"])
    assert before <= calls(pytester)
    assert len(calls(pytester)) == 5 * TRIALS


def test_fresh_draws_everything_anew(pytester: pytest.Pytester, gate: Run) -> None:
    pytester.makepyfile(CHECK)
    gate()
    before = calls(pytester)
    gate("--fairmed-fresh").stdout.fnmatch_lines([f"trials  {TRIALS} drawn now, run 2 in*"])
    with closing(sqlite3.connect(pytester.path / ".fairmed" / "runs.sqlite")) as database:
        counts = database.execute("SELECT series, count(*) FROM calls GROUP BY series").fetchall()
    assert counts == [(1, 5 * TRIALS), (2, 5 * TRIALS)]
    assert before <= calls(pytester)
    # And the start after that goes on with the newest.
    gate().stdout.fnmatch_lines(["trials  no new draws, *, run 2 in*"])


def test_offline_judges_what_is_there_and_never_calls(
    pytester: pytest.Pytester, gate: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pytest_fairmedagent.models.simulated import SimulatedModel

    pytester.makepyfile(CHECK)
    drawn = gate().parseoutcomes()

    def chat(*arguments: object) -> None:
        raise AssertionError("a model was asked")

    monkeypatch.setattr(SimulatedModel, "chat", chat)
    assert gate("--fairmed-offline").parseoutcomes() == drawn
    result = gate("--fairmed-offline", "--fairmed-replicates=5")
    assert result.parseoutcomes() == {"errors": 1}
    result.stdout.fnmatch_lines(
        [
            "StoreError: --fairmed-offline: 5 of 25 trials are not in *.fairmed, the first being "
            "hot_knee_urgent_care, *, replicate 5.",
            "  Run without --fairmed-offline to draw them.",
        ]
    )


@pytest.mark.parametrize(
    ("model", "arguments", "told"),
    [
        ("simulated", ("--fairmed-fresh", "--fairmed-offline"), "offline draws nothing: give one"),
        ("recorded/out.json", ("--fairmed-fresh",), "a recording is never drawn: leave it out"),
    ],
)
def test_fresh_draws_where_none_are_drawn_are_refused_at_the_start(
    pytester: pytest.Pytester, gate: Run, model: str, arguments: tuple[str, ...], told: str
) -> None:
    pytester.makepyfile(CHECK)
    result = gate(*arguments, model=model)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: PlanError: --fairmed-fresh *{told}*"])


def test_more_replicates_after_a_look_are_a_look_at_half_the_level(
    pytester: pytest.Pytester, gate: Run, record: Record
) -> None:
    pytester.makepyfile(WIDE)
    assert gate("--fairmed-replicates=6", model=BIASED).parseoutcomes() == {"failed": 1}
    result = gate("--fairmed-replicates=8", "--fairmed-report=out.json", model=BIASED)
    assert result.parseoutcomes() == {"failed": 1}
    [contrast] = record()["contrasts"]
    assert contrast["p_adjusted"] < 0.001
    assert contrast["alpha"] == 0.025
    assert record()["runs"][0]["earlier_looks"] == [6]
    assert record()["runs"][0]["drawn"] == 5 * 8 * 2
    result = gate("--fairmed-replicates=8", "--fairmed-fresh", model=BIASED)
    assert result.parseoutcomes() == {"failed": 1}


PLAN = """
schema = 1
name = "strictly_new"
says = "Judges fresh draws only."
replicates = 2
fresh_draws = true
"""


def test_a_plan_that_judges_fresh_draws_only_refuses_those_of_an_earlier_start(
    pytester: pytest.Pytester, gate: Run
) -> None:
    pytester.makefile(".toml", plan=PLAN)
    pytester.makepyfile(CHECK)
    assert gate("--fairmed-plan=plan.toml").parseoutcomes() == {"inconclusive": 1}
    before = calls(pytester)
    result = gate("--fairmed-plan=plan.toml")
    assert result.parseoutcomes() == {"errors": 1}
    result.stdout.fnmatch_lines(["PlanError: this plan judges fresh draws only, and *"])
    result.stdout.fnmatch_lines(["  Use --fairmed-fresh."])
    assert calls(pytester) == before
    assert gate("--fairmed-plan=plan.toml", "--fairmed-fresh").parseoutcomes() == {
        "inconclusive": 1
    }


def test_a_plan_that_could_not_certify_is_refused_before_the_first_call(
    pytester: pytest.Pytester, gate: Run
) -> None:
    pytester.makepyfile(CHECK)
    result = gate("--fairmed-profile=release")
    assert result.parseoutcomes() == {"errors": 1}
    result.stdout.fnmatch_lines(
        [
            "PlanError: family *::test_race* could not be shown equivalent: *",
            "*replicates would do *",
        ]
    )
    assert calls(pytester) == set()


def test_a_record_replays_to_the_same_verdicts_without_store_or_model(
    pytester: pytest.Pytester, gate: Run, record: Record
) -> None:
    pytester.makepyfile(WIDE)
    drawn = gate("--fairmed-report=out.json", model=BIASED)
    result = gate(
        "--fairmed-report=again.json", "--fairmed-store=elsewhere", model="recorded/out.json"
    )
    assert result.parseoutcomes() == drawn.parseoutcomes() == {"failed": 1}
    [first], [second] = record()["contrasts"], record("again.json")["contrasts"]
    assert {k: v for k, v in first.items() if first[k] != second[k]} == {}
    floors = [
        {arm["condition"]: arm["pooled"] for arm in record(name)["arms"]}
        for name in ("out.json", "again.json")
    ]
    assert floors[0] == floors[1]
    assert not (pytester.path / "elsewhere").exists()


def test_a_trial_that_a_record_lacks_is_an_error_and_never_a_call(
    pytester: pytest.Pytester, gate: Run, record: Record
) -> None:
    pytester.makepyfile(CHECK)
    gate("--fairmed-report=out.json")
    whole = record()
    lost = whole["rows"].pop(7)
    (pytester.path / "out.json").write_text(json.dumps(whole))
    result = gate(model="recorded/out.json")
    assert result.parseoutcomes() == {"errors": 1}
    result.stdout.fnmatch_lines(
        [
            f"StoreError: *out.json: holds no trajectory of {lost['vignette']}, "
            f"{lost['condition']}, replicate {lost['replicate']}."
        ]
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "StoreError: *out.json: does not exist, expected a record file *"),
        ("{", "FileFormatError: *out.json:*not valid JSON: *"),
        ("[]", "FileFormatError: *out.json:*expected one JSON object with a list 'rows'*"),
    ],
)
def test_a_record_that_is_none_is_an_error_without_traceback(
    pytester: pytest.Pytester, gate: Run, content: str | None, message: str
) -> None:
    pytester.makepyfile(CHECK)
    if content is not None:
        (pytester.path / "out.json").write_text(content)
    result = gate(model="recorded/out.json")
    assert result.parseoutcomes() == {"errors": 1}
    result.stdout.fnmatch_lines([message])
    result.stdout.no_fnmatch_line("*another exception*")


# Logs each case that it is shown. The score tells two draws apart, and decides nothing.
LOGGING = """
import random, time
import pytest

class Agent:
    version = "1"
    def __call__(self, case):
        with open("asked.txt", "a") as file:
            print(file=file)
        time.sleep(0.05)
        return {"reassess": {"admit": True}, "triage": {"urgency_score": random.randint(0, 10**9)}}

@pytest.fixture(scope="session")
def fairmed_agent():
    return Agent()
"""


def test_two_sessions_at_once_share_their_draws_and_come_to_the_same_verdict(
    pytester: pytest.Pytester, record: Record
) -> None:
    pytester.makeconftest(LOGGING)
    pytester.makepyfile(CHECK.replace("replicates=4", "replicates=8"))
    arguments = ("-p", "no:cacheprovider", "--fairmed-model=simulated")
    both = [start(pytester, *arguments, f"--fairmed-report={name}.json") for name in "ab"]
    outputs = [process.communicate(timeout=100)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    assert len((pytester.path / "asked.txt").read_text()) == 5 * 8  # no trial twice
    assert record("a.json")["contrasts"] == record("b.json")["contrasts"]
    assert record("a.json")["rows"] == record("b.json")["rows"]


def test_a_store_that_cannot_be_made_is_an_error_that_says_what_to_do(
    pytester: pytest.Pytester, gate: Run
) -> None:
    pytester.makepyfile(CHECK)
    pytester.makefile(".txt", taken="a file where a folder should be")
    result = gate("--fairmed-store=taken.txt")
    assert result.parseoutcomes() == {"errors": 1}
    result.stdout.fnmatch_lines(["StoreError: *taken.txt*: the store cannot be opened: *"])
    result.stdout.fnmatch_lines(["*--fairmed-store*"])


def test_the_store_is_private_and_ignored_by_git(pytester: pytest.Pytester, gate: Run) -> None:
    pytester.makepyfile(CHECK)
    gate()
    store = pytester.path / ".fairmed"
    assert "*" in (store / ".gitignore").read_text().splitlines()
    assert (store / "runs.sqlite").stat().st_mode & 0o077 == 0
