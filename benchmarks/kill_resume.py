"""Runs killed with SIGKILL at random moments and resumed: nothing lost, nothing called twice.

Each run is a whole pytest with a simulated model that takes its time. It is killed one to three
times and then resumed to its end; its trajectories must equal those of an undisturbed run, and
every call that was finished before a kill must still be the one that was made then. Half of the
runs use two xdist workers, killed together. `python -m benchmarks kill_resume 10` makes 10 runs;
the default is 50.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

CHECK = """
import pytest
from pytest_fairmedagent import assert_invariant

@pytest.mark.fairmed(
    swaps="race_black", actions="admission", vignettes="hot_knee_urgent_care", replicates=6
)
def test_race(contrast):
    assert_invariant(contrast, "admission")

@pytest.mark.fairmed(
    swaps="race_black", actions="referral", vignettes="hot_knee_urgent_care", replicates=6
)
def test_race_again(contrast):
    assert_invariant(contrast, "referral")
"""
LATENCY_S = 0.02
FAST = "simulated:floor=0.087,seed=1"
SLOW = f"{FAST},latency={LATENCY_S}"


@dataclass
class Killed:
    """What killed runs came to; `wrong` names all that was not as in the undisturbed run."""

    n_runs: int = 0
    n_kills: int = 0
    n_kept: int = 0  # calls that were finished before a kill
    wrong: list[str] = field(default_factory=list)


def kill_resume(
    folder: Path, workers_of: Sequence[int], *, kills: tuple[int, int], rng: random.Random
) -> Killed:
    """Kill and resume a run for each number of xdist workers, so many times at least and at most.

    0 workers are a run in one process.
    """
    found = Killed()
    truth = _project(folder / "undisturbed")
    _pytest(truth, FAST, workers=0).communicate()
    undisturbed, n_calls = _trajectories(truth), len(_calls(truth))
    for i, workers in enumerate(workers_of):
        project = _project(folder / f"run_{i}")
        found.n_runs += 1
        for _ in range(rng.randint(*kills)):
            _kill(project, workers, n_calls, rng, found)
        before = _calls(project)
        process = _pytest(project, SLOW, workers=workers)
        said, _ = process.communicate()
        after = _calls(project)
        name = f"run {i}, {workers} workers"
        if process.returncode:
            found.wrong.append(f"{name}: ended with {process.returncode}: {said[-500:]}")
        if not before <= after:
            found.wrong.append(f"{name}: {len(before - after)} finished calls were made again")
        if len(after) != n_calls:
            found.wrong.append(f"{name}: {len(after)} calls, expected {n_calls}")
        if _trajectories(project) != undisturbed:
            found.wrong.append(f"{name}: other trajectories than undisturbed")
    return found


def _kill(project: Path, workers: int, n_calls: int, rng: random.Random, found: Killed) -> None:
    """Start the run and kill it with all its processes, once it has made some more calls."""
    there = _calls(project)
    # A share of what is left, then a moment more, so that any statement may be the last one.
    wanted = len(there) + rng.uniform(0, 0.6) * (n_calls - len(there))
    process = _pytest(project, SLOW, workers=workers)
    deadline = time.monotonic() + 60
    while len(_calls(project)) < wanted and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(rng.uniform(0, 2 * LATENCY_S))
    killed = process.poll() is None
    if killed:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    time.sleep(0.05)  # the workers have been told, and end a moment later
    done = _calls(project)
    found.n_kills += killed
    found.n_kept += len(done)
    if not there <= done:
        found.wrong.append(f"{project.name}: {len(there - done)} calls were lost or made again")


def _project(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_race.py").write_text(CHECK)
    return folder


def _pytest(project: Path, model: str, *, workers: int) -> subprocess.Popen[str]:
    spread = ("-p", "xdist", "-n", str(workers)) if workers else ()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "pytest_fairmedagent.plugin"]
    return subprocess.Popen(
        [*command, *spread, f"--fairmed-model={model}"],
        cwd=project,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},  # they only take time here
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # so that its workers can be killed with it
    )


def _read(project: Path, query: str) -> list[tuple[object, ...]]:
    file = project / ".fairmed" / "runs.sqlite"
    if not file.exists():
        return []
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=30)) as database:
        try:
            return database.execute(query).fetchall()
        except sqlite3.OperationalError:  # its tables are not there yet
            return []


def _calls(project: Path) -> set[tuple[object, ...]]:
    """Return the finished calls, each with the moment it was made: made again, it is another."""
    return set(_read(project, "SELECT key, draw, stage, attempt, reply, created FROM calls"))


def _trajectories(project: Path) -> set[tuple[object, ...]]:
    return set(
        _read(
            project,
            "SELECT vignette, condition, replicate, key, draw, trajectory FROM trials "
            "WHERE state='done'",
        )
    )


def main() -> None:
    n_runs = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        workers_of = [2 * (i % 2) for i in range(n_runs)]
        found = kill_resume(Path(folder), workers_of, kills=(1, 3), rng=random.Random(1))
    print(f"{found.n_runs} runs, {found.n_kills} kills, {time.monotonic() - start:.0f} s")
    print(f"  {found.n_kept} calls were finished before a kill, and are there as they were made")
    print(f"  not as undisturbed: {len(found.wrong)}")
    for line in found.wrong[:20]:
        print(f"  {line}")
    if found.wrong:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
