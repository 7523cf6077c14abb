"""A run that is interrupted leaves a record of what it had, which says so."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import pytest

from pytest_fairmedagent.files.run_record import read_run_record

pytestmark = pytest.mark.slow

CHECK = """
import pytest
from pytest_fairmedagent import assert_invariant

@pytest.mark.fairmed(
    swaps="race_black", actions=["admission"], vignettes="hot_knee_urgent_care", replicates=40
)
def test_race(contrast, action):
    assert_invariant(contrast, action)
"""
TRIALS = 5 * 40


def n_calls(pytester: pytest.Pytester) -> int:
    file = pytester.path / ".fairmed" / "runs.sqlite"
    try:
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
            return int(database.execute("SELECT count(*) FROM calls").fetchone()[0])
    except sqlite3.OperationalError:  # it is not there yet
        return 0


def interrupted(pytester: pytest.Pytester, options: Sequence[str]) -> dict[str, Any]:
    pytester.makepyfile(CHECK)
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "pytest",
            "--fairmed-model=simulated:floor=0.2,seed=1,latency=0.02",
            "--fairmed-report=out.json",
            "--fairmed-report=out.md",
            *options,
        ],
        cwd=pytester.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # so that Ctrl-C is that of a terminal: it reaches every process
        env={**os.environ, "PYTEST_ADDOPTS": ""},
    )
    deadline = time.monotonic() + 120
    while n_calls(pytester) < 60 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=120)
    # Whoever writes last may be a worker, whose controller does not wait for it.
    deadline = time.monotonic() + 20
    while not (pytester.path / "out.json").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert (pytester.path / "out.json").exists(), output
    return read_run_record(pytester.path / "out.json")


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for a group of processes")
@pytest.mark.parametrize("options", [(), ("-n2",)], ids=["alone", "two workers"])
def test_an_interrupted_run_writes_a_record_that_says_so(pytester, options):
    record = interrupted(pytester, options)
    assert record["interrupted"]
    assert not record["complete"]
    assert {"interrupted", "incomplete"} <= {entry["kind"] for entry in record["deviations"]}
    assert 0 < len(record["rows"]) < TRIALS
    assert json.dumps(record["verdicts"]).count("1") == 1
    assert record["verdicts"]["UNMEASURED"] == 1
    summary = (pytester.path / "out.md").read_text(encoding="utf-8")
    assert "the run was interrupted before its plan was drawn" in summary
