"""What follows a changed order, and how much of a change goes through it."""

import math

import pytest

from pytest_fairmedagent.domain import ReplicateTable, Trajectory
from pytest_fairmedagent.measures import DESCRIPTIVE, INTERVENTIONAL, following, mediation

NAMES = tuple(f"case_{i}" for i in range(6))
ORDERED = {"swap": 0.7, "reference": 0.3}  # chance of the order
ESCALATED = {True: 0.8, False: 0.2}  # chance of escalation, with the order and without
DIRECT = 0.1  # added to it under the swap


def step(ordered, escalated):
    orders = ["ct"] if ordered else []
    return {"order": {"orders": orders}, "reassess": {"escalate_icu": bool(escalated)}}


def acted(rng, condition, ordered):
    return step(ordered, rng.random() < ESCALATED[ordered] + DIRECT * (condition == "swap"))


def test_total_direct_and_mediated_change_recover_the_truth(tabulate, recovers):
    held_at = (True, False, False, True)

    def measure(rng):
        total = tabulate(lambda v, c: acted(rng, c, rng.random() < ORDERED[c]), NAMES, 4)
        turn = iter([held for _ in NAMES for _ in ("swap", "reference") for held in held_at])
        held = tabulate(lambda v, c: acted(rng, c, next(turn)), NAMES, 4)
        found = mediation(total, held, NAMES, "icu_escalation", swap="swap")
        assert found.kind == INTERVENTIONAL
        return found.total.gap, found.direct.gap, found.mediated

    through = (ORDERED["swap"] - ORDERED["reference"]) * (ESCALATED[True] - ESCALATED[False])
    recovers(measure, (through + DIRECT, DIRECT, through))


def test_flips_after_a_changed_and_an_equal_order_recover_the_truth(tabulate, recovers):
    def chance(condition, ordered):
        return ESCALATED[ordered] + DIRECT * (condition == "swap")

    def pair(one, other, ordered, other_ordered):
        p, q = chance(one, ordered), chance(other, other_ordered)
        a = ORDERED[one] if ordered else 1 - ORDERED[one]
        b = ORDERED[other] if other_ordered else 1 - ORDERED[other]
        return a * b, a * b * (p * (1 - q) + q * (1 - p))

    def truths(one, other):
        apart = [pair(one, other, x, not x) for x in (True, False)]
        alike = [pair(one, other, x, x) for x in (True, False)]
        return sum(a for a, _ in apart), sum(f for _, f in apart), sum(f for _, f in alike)

    def measure(rng):
        table = tabulate(lambda v, c: acted(rng, c, rng.random() < ORDERED[c]), NAMES, 4)
        found = following(table, NAMES, "icu_escalation", swap="swap")
        return (
            found.changed,
            found.flips_changed,
            found.flips_same,
            found.floor_changed,
            found.floor_flips_changed,
            found.floor_flips_same,
        )

    recovers(measure, (*truths("swap", "reference"), *truths("reference", "reference")))


def row(*steps):
    return [Trajectory(step(*pair)) for pair in steps]


def test_by_hand():
    rows = {
        ("a", "swap"): row((True, True), (False, False)),
        ("a", "reference"): row((False, False), (False, True)),
    }
    found = following(ReplicateTable(rows, ""), ("a",), "icu_escalation", swap="swap")
    assert (found.n_pairs, found.changed) == (4, 0.5)
    assert (found.after_change, found.after_same) == (0.5, 0.5)
    assert math.isnan(found.floor_after_change)
    assert found.floor_after_same == 1


def test_a_pair_with_a_missing_answer_is_no_pair():
    rows = {
        ("a", "swap"): [*row((True, True)), Trajectory({}, {"triage": "refusal"})],
        ("a", "reference"): row((True, True)),
    }
    found = following(ReplicateTable(rows, ""), ("a",), "icu_escalation", swap="swap")
    assert found.n_pairs == 1
    assert math.isnan(found.after_change)


BALANCED = {("a", c): row((True, True), (False, False)) for c in ("swap", "reference")}


@pytest.mark.parametrize(
    ("held", "reason"),
    [
        ({"swap": row((False, True), (True, False))}, "the orders of the held run differ"),
        ({"swap": row((True, True))}, "the held run has unequal numbers of answers in its arms"),
        ({"swap": []}, "the held run has no answers in an arm"),
    ],
)
def test_it_is_descriptive_where_the_arms_are_not_balanced_and_says_why(held, reason):
    rows = {**BALANCED, **{("a", condition): those for condition, those in held.items()}}
    balanced, other = ReplicateTable(BALANCED, "one"), ReplicateTable(rows, "other")
    found = mediation(balanced, other, ("a",), "icu_escalation", swap="swap")
    assert found.kind == DESCRIPTIVE
    assert any(reason in told for told in found.reasons)
    assert reason in str(found)
    assert mediation(balanced, balanced, ("a",), "icu_escalation", swap="swap").reasons == ()
