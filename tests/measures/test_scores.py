"""Scores and levels: signed and absolute differences, and where levels go."""

import math

import numpy as np
import pytest

from pytest_fairmedagent.domain import ReplicateTable, Trajectory
from pytest_fairmedagent.measures import score_shift

NAMES = tuple(f"case_{i}" for i in range(6))
LEVELS = np.arange(1, 6)


def level(rng, law):
    return 1 + int((rng.random() > law.cumsum()[:-1]).sum())


def laws():
    """The chance of each ESI level, per vignette and condition: `(vignettes, levels)`."""
    rng = np.random.default_rng(2)
    return {c: rng.dirichlet(np.full(5, 0.8), len(NAMES)) for c in ("swap", "reference")}


LAW = laws()


def absolute(p, q):
    """Mean |x - y| for x from p and y from q."""
    return (p[:, None] * q * np.abs(LEVELS[:, None] - LEVELS)).sum()


def test_differences_floors_and_shifts_recover_the_truth(tabulate, recovers):
    p, q = LAW["swap"], LAW["reference"]

    def measure(rng):
        def draw(v, c):
            return {"triage": {"esi_acuity": level(rng, LAW[c][v])}}

        found = score_shift(tabulate(draw, NAMES, 4), NAMES, "esi_acuity", swap="swap")
        return (
            found.signed,
            found.absolute,
            found.floor,
            found.test.superiority,
            found.up,
            found.down,
            found.transitions.get((2, 1), 0.0),
        )

    up = np.mean([(b[:, None] * a)[np.triu_indices(5, 1)].sum() for a, b in zip(p, q, strict=True)])
    down = np.mean(
        [(b[:, None] * a)[np.tril_indices(5, -1)].sum() for a, b in zip(p, q, strict=True)]
    )
    within = np.mean([(absolute(a, a) + absolute(b, b)) / 2 for a, b in zip(p, q, strict=True)])
    recovers(
        measure,
        (
            ((p - q) @ LEVELS).mean(),
            np.mean([absolute(a, b) for a, b in zip(p, q, strict=True)]),
            within,
            up - down,
            up,
            down,
            (q[:, 1] * p[:, 0]).mean(),
        ),
    )


def triage(*levels):
    return [
        Trajectory({}, {"triage": "refusal"})
        if x is None
        else Trajectory({"triage": {"esi_acuity": x}})
        for x in levels
    ]


def test_by_hand():
    rows = {("a", "swap"): triage(1, None, 3), ("a", "reference"): triage(2, 2)}
    found = score_shift(ReplicateTable(rows, ""), ("a",), "esi_acuity", swap="swap")
    assert found.transitions == {(2, 1): 0.5, (2, 3): 0.5}
    assert (found.up, found.down, found.same) == (0.5, 0.5, 0.0)
    assert (found.signed, found.absolute) == (0, 1)
    assert (found.missing_swap, found.missing_ref) == (1, 0)


def test_without_any_score_there_is_no_shift():
    rows = {("a", c): triage(None) for c in ("swap", "reference")}
    found = score_shift(ReplicateTable(rows, ""), ("a",), "esi_acuity", swap="swap")
    assert math.isnan(found.up)
    assert math.isnan(found.signed)
    assert found.test.p == 1


@pytest.mark.parametrize("value", [True, "2", None, [2]])
def test_what_is_no_number_is_missing_and_not_a_score(value):
    rows = {("a", c): triage(2) for c in ("swap", "reference")}
    rows["a", "swap"] = [Trajectory({"triage": {"esi_acuity": value}})]
    found = score_shift(ReplicateTable(rows, ""), ("a",), "esi_acuity", swap="swap")
    assert found.missing_swap == 1
