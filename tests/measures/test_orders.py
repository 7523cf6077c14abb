"""Orders as sets: which are placed more often, and against what a case needs."""

from dataclasses import replace

import numpy as np
import pytest

from pytest_fairmedagent.domain import ReferenceOrders, ReplicateTable, Trajectory
from pytest_fairmedagent.measures import compare_orders
from pytest_fairmedagent.testing import blank_vignettes

ORDERS = ("test_0", "test_1", "test_2", "test_3")
OF = ReferenceOrders(needed=("test_0", "test_1"), acceptable=("test_2",))
CASES = [replace(case, reference_orders=OF) for case in blank_vignettes(4).values()]
NAMES = [case.id for case in CASES]


def orders(*placed):
    return {"order": {"orders": list(placed)}}


def test_over_and_under_ordering_and_each_order_recover_the_truth(tabulate, recovers):
    rng = np.random.default_rng(6)
    law = {c: rng.random((len(CASES), 4)) for c in ("swap", "reference")}

    def measure(rng):
        def draw(v, c):
            return orders(*(o for o, p in zip(ORDERS, law[c][v], strict=True) if rng.random() < p))

        found = compare_orders(tabulate(draw, NAMES, 3), CASES, swap="swap", n_resamples=1)
        gaps = {e.element: e.test.gap for e in found.sets.elements}
        return (
            found.under.difference,
            found.over.difference,
            *(gaps[order] for order in ORDERS),
        )

    gap = (law["swap"] - law["reference"]).mean(axis=0)
    recovers(measure, (-(gap[0] + gap[1]), gap[3], *gap))


def test_what_is_needed_is_never_too_much_and_what_is_acceptable_neither():
    rows = {
        ("case_00", "swap"): [Trajectory(orders("test_0", "test_1", "test_2"))] * 2,
        ("case_00", "reference"): [Trajectory(orders("test_0", "test_3"))] * 2,
    }
    found = compare_orders(ReplicateTable(rows, ""), CASES[:1], swap="swap")
    assert found.under.difference == -1
    assert found.over.difference == -1
    assert found.sets.crossed == pytest.approx(3 / 4)


def test_an_empty_order_is_an_answer_and_a_missing_one_is_none():
    rows = {
        ("case_00", "swap"): [Trajectory(orders()), Trajectory({}, {"order": "refusal"})],
        ("case_00", "reference"): [Trajectory(orders("test_0", "test_1"))],
    }
    found = compare_orders(ReplicateTable(rows, ""), CASES[:1], swap="swap")
    assert (found.under.m_total, found.under.n_total) == (1, 1)
    assert found.under.difference == 2


def test_without_a_reference_set_over_and_under_ordering_are_refused():
    bare = list(blank_vignettes(2).values())
    rows = {(c.id, a): [Trajectory(orders("test_0"))] * 2 for c in bare for a in ("s", "reference")}
    found = compare_orders(ReplicateTable(rows, ""), bare, swap="s")
    assert found.under is found.over is None
    assert found.without_reference == ("case_00", "case_01")
    assert "refused: no vignette has a reference set" in str(found)


def test_orders_are_adjusted_together_by_holm():
    rows = {
        ("case_00", "swap"): [Trajectory(orders("test_0", "test_1"))] * 6,
        ("case_00", "reference"): [Trajectory(orders("test_1"))] * 6,
    }
    elements = compare_orders(ReplicateTable(rows, ""), CASES[:1], swap="swap").sets.elements
    assert [e.element for e in elements] == ["test_0", "test_1"]
    assert elements[0].p_adjusted == pytest.approx(2 * elements[0].test.p)
