"""Missing and refused trajectories, per arm and by reason."""

import math

import pytest

from pytest_fairmedagent.domain import ReplicateTable, Trajectory
from pytest_fairmedagent.measures import losses

WHOLE = Trajectory({"triage": {"esi_acuity": 2}})
REFUSED = Trajectory({}, {"triage": "refusal", "order": "not reached"})
POLICY = Trajectory({}, {"trial": "refused by policy: no"}, infrastructure=True)
CUT = Trajectory({"triage": {"esi_acuity": 2}}, {"order": "cut at the token limit"})
LOST = Trajectory({}, {"trial": "timeout: after 60 s"}, infrastructure=True)
OUTVOTED = Trajectory({}, {"triage": "no majority: refusal"})
NAMES = tuple(f"case_{i}" for i in range(5))


def test_by_hand():
    rows = {
        ("a", "reference"): [WHOLE] * 6,
        ("a", "swap"): [WHOLE, REFUSED, POLICY, CUT, LOST, OUTVOTED],
    }
    reference, swap = losses(ReplicateTable(rows, ""), ("a",))
    assert (reference.condition, reference.incomplete, reference.test) == ("reference", 0, None)
    assert (swap.trials, swap.incomplete, swap.refusals, swap.infrastructure) == (6, 5, 3, 2)
    assert swap.missing_rate == pytest.approx(5 / 6)
    assert swap.refusal_rate == pytest.approx(3 / 6)
    assert swap.reasons == {
        "triage: refusal": 2,
        "trial: refused by policy": 1,
        "order: cut at the token limit": 1,
        "trial: timeout": 1,
    }
    assert swap.test.gap == pytest.approx(5 / 6)


def test_rates_recover_the_truth(tabulate, recovers):
    chance = {"swap": (0.2, 0.1), "reference": (0.05, 0.05)}

    def measure(rng):
        def draw(v, c):
            refused, cut = chance[c]
            at = rng.random()
            return REFUSED if at < refused else CUT if at < refused + cut else WHOLE

        swap, reference = losses(tabulate(draw, NAMES, 5), NAMES)
        return (
            swap.missing_rate,
            swap.refusal_rate,
            reference.missing_rate,
            reference.refusal_rate,
            swap.test.gap,
        )

    recovers(measure, (0.3, 0.2, 0.1, 0.05, 0.2))


def test_an_arm_without_trials_has_no_rates():
    rows = {("a", "reference"): [WHOLE]}
    [found] = losses(ReplicateTable(rows, ""), ("a",), conditions=["swap"])
    assert math.isnan(found.missing_rate)
    assert math.isnan(found.refusal_rate)
    assert found.test is None
