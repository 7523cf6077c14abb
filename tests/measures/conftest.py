"""Tables from a law: `draw` gives a trajectory's outputs for a vignette and a condition."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from pytest_fairmedagent.domain import ReplicateTable, Trajectory

RUNS = 500


@pytest.fixture
def tabulate():
    """Builds a table of two arms from a callable (vignette index, condition) -> outputs."""

    def build(draw, vignettes, replicates, conditions=("swap", "reference")):
        rows = {
            (name, condition): [
                outcome if isinstance(outcome, Trajectory) else Trajectory(outcome)
                for outcome in (draw(v, condition) for _ in range(replicates))
            ]
            for v, name in enumerate(vignettes)
            for condition in conditions
        }
        return ReplicateTable(rows, "a known truth")

    return build


@pytest.fixture
def recovers() -> Callable[..., None]:
    """Asserts that the mean of an estimate over 500 runs is the truth within 4 standard errors.

    `measure(rng)` returns the estimates of one run, `truth` what they stand for.
    """

    def check(measure, truth, *, runs=RUNS):
        rng = np.random.default_rng(11)
        found = np.array([measure(rng) for _ in range(runs)], dtype=float)
        truth = np.atleast_1d(np.array(truth, dtype=float))
        found = found.reshape(runs, truth.size)
        error = found.std(axis=0, ddof=1) / math.sqrt(runs)
        bias = found.mean(axis=0) - truth
        assert (error > 0).all(), "an estimate that never varies shows nothing"
        assert (np.abs(bias) < 4 * error).all(), f"bias {bias}, standard errors {error}"

    return check
