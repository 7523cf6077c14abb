"""Flip rate, floors and gap of an action; cells without variation are named."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_fairmedagent.domain import Outcome, ReplicateTable, Trajectory
from pytest_fairmedagent.errors import PlanError
from pytest_fairmedagent.measures import flips, floors

NAMES = tuple(f"case_{i}" for i in range(8))
REFERENCE = np.array([0.02, 0.1, 0.3, 0.5, 0.5, 0.7, 0.9, 0.97])
SWAP = np.array([0.1, 0.3, 0.2, 0.5, 0.8, 0.9, 0.95, 0.9])
OF = {"swap": SWAP, "reference": REFERENCE}


def action(value):
    return {"actions": {"referral": bool(value)}}


def table_of(cells):
    """A table from {vignette: (answers under the swap, answers under the reference)}."""
    rows = {}
    for name, arms in cells.items():
        for condition, answers in zip(("swap", "reference"), arms, strict=True):
            rows[name, condition] = [
                Trajectory({}, {"document": "refusal"}) if a is None else Trajectory(action(a))
                for a in answers
            ]
    return ReplicateTable(rows, "by hand")


def test_flip_rate_floors_and_mean_squared_difference_recover_eq_2(tabulate, recovers):
    floor_swap, floor_ref = (2 * p * (1 - p) for p in (SWAP, REFERENCE))
    flip = SWAP * (1 - REFERENCE) + REFERENCE * (1 - SWAP)
    squared = (SWAP - REFERENCE) ** 2
    np.testing.assert_allclose(flip, (floor_swap + floor_ref) / 2 + squared)

    def measure(rng):
        table = tabulate(lambda v, c: action(rng.random() < OF[c][v]), NAMES, 4)
        found = flips(table, NAMES, "referral", swap="swap")
        parts = found.parts
        return (
            found.flip_rate,
            found.floor,
            parts.floor_swap,
            parts.floor_ref,
            parts.mean_squared_difference,
            found.gap,
        )

    mean = ((floor_swap + floor_ref) / 2).mean()
    gap = (SWAP - REFERENCE).mean()
    recovers(
        measure,
        (flip.mean(), mean, floor_swap.mean(), floor_ref.mean(), squared.mean(), gap),
    )


def test_the_prevalence_normalised_floor_recovers_one_minus_the_share_between_vignettes(
    tabulate, recovers
):
    n = 6

    def measure(rng):
        table = tabulate(lambda v, c: action(rng.random() < REFERENCE[v]), NAMES, n)
        found = floors(table, NAMES, actions=["referral"])[0].normalised
        # Numerator and denominator are unbiased each; their ratio is only in the limit.
        by_chance = found.floor / found.rate
        return found.floor, by_chance

    within = (2 * REFERENCE * (1 - REFERENCE)).mean()
    # Two answers of the pooled arm are of one vignette in (n - 1) / (N - 1) of pairs.
    total = n * len(NAMES)
    p = REFERENCE.mean()
    apart = [
        REFERENCE[i] * (1 - REFERENCE[j]) + REFERENCE[j] * (1 - REFERENCE[i])
        for i in range(len(NAMES))
        for j in range(len(NAMES))
        if i != j
    ]
    same = (n - 1) / (total - 1)
    recovers(measure, (within, same * within + (1 - same) * np.mean(apart)))
    assert 0 < p < 1


def test_cells_that_never_vary_are_named_and_not_counted_as_fair():
    table = table_of(
        {
            "ceiling": ([True] * 3, [True] * 3),
            "zero": ([False] * 3, [False] * 3),
            "apart": ([True] * 3, [False] * 3),
            "mixed": ([True, False, True], [True] * 3),
            "lost": ([None] * 3, [True] * 3),
        }
    )
    found = flips(table, ("ceiling", "zero", "apart", "mixed", "lost"), "referral", swap="swap")
    assert (found.always, found.never) == (("ceiling",), ("zero",))
    assert found.measurable == ("apart", "mixed")
    still = flips(table, ("ceiling", "zero"), "referral", swap="swap")
    assert still.measurable == ()
    assert "unmeasurable on these vignettes" in str(still)
    assert "not fairness" in str(still)


def test_without_replicate_pairs_there_is_no_floor():
    found = flips(table_of({"a": ([True], [False])}), ("a",), "referral", swap="swap")
    assert found.flip_rate == 1
    assert math.isnan(found.floor)


def test_an_action_of_ones_own_is_read():
    read = Outcome("long", lambda t: t.get("document", "followup_days") > 7)
    rows = {
        ("a", c): [Trajectory({"document": {"followup_days": d}})] * 2
        for c, d in (("swap", 10), ("reference", 3))
    }
    assert flips(ReplicateTable(rows, ""), ("a",), read, swap="swap").gap == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"action": "refferal"}, "unknown outcome 'refferal'. Did you mean 'referral'?"),
        ({"action": "urgency_score"}, "'urgency_score' is of kind 'score', expected an action"),
        ({"swap": "swpa"}, "the table has no condition 'swpa'. Did you mean 'swap'?"),
        ({"vignettes": ("b",)}, "the table has no vignette 'b'"),
    ],
)
def test_a_misspelt_name_is_refused_and_no_arm_in_which_nothing_happens(given, said):
    asked = {"vignettes": ("a",), "action": "referral", "swap": "swap", **given}
    with pytest.raises(PlanError) as error:
        flips(table_of({"a": ([True], [True])}), **asked)
    assert str(error.value).startswith(said)


answers = st.lists(st.sampled_from([True, False, None]), min_size=2, max_size=5)


@given(st.lists(st.tuples(answers, answers), min_size=1, max_size=4))
def test_swapping_the_arms_turns_the_gap_and_keeps_the_rest(cells):
    names = tuple(map(str, range(len(cells))))
    table = table_of(dict(zip(names, cells, strict=True)))
    there = flips(table, names, "referral", swap="swap", reference="reference")
    back = flips(table, names, "referral", swap="reference", reference="swap")
    assert there.gap == pytest.approx(-back.gap, nan_ok=True)
    assert there.flip_rate == pytest.approx(back.flip_rate, nan_ok=True)
    assert there.floor == pytest.approx(back.floor, nan_ok=True)
    assert (there.always, there.never) == (back.always, back.never)
