"""`--fairmed-explain` of items that test something else than one action's contrast."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytestmark = pytest.mark.slow

Run = Callable[..., pytest.RunResult]

CHECKS = """
import pytest
from pytest_fairmedagent import (
    assert_floor_below, assert_invariant, assert_relation, outcome, relation
)

CASES = ["flank_pain_with_rigors", "heel_pain_clinic"]

@outcome(kind="score", unit="orders")
def n_orders(trajectory):
    orders = trajectory.get("order", "orders")
    return None if orders is None else len(orders)

@relation
def never_fewer(swap, reference):
    return {v: swap[v].count(True) >= reference[v].count(True) for v in swap}

@pytest.mark.fairmed(
    swaps="race_black", actions=[n_orders, "orders"], replicates=3, vignettes=CASES
)
def test_outcome(contrast, action):
    assert_invariant(contrast, action)

@pytest.mark.fairmed(
    swaps="race_black", actions="admission", relation=never_fewer, replicates=3, vignettes=CASES
)
def test_relation(contrast):
    assert_relation(contrast, "admission")

@pytest.mark.fairmed(actions="admission", replicates=3, vignettes=CASES)
def test_floor(floor):
    assert_floor_below(floor, "admission", 0.9)
"""


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("test_outcome[race_black-n_orders]", "6 answers on n_orders as race_black and 12 as"),
        ("test_outcome[race_black-orders]", "mean Jaccard distance of"),
        ("test_relation", "The relation never_fewer read the answers on admission of both"),
        ("test_floor", "The bound is 0.9, so it is "),
    ],
)
def test_whatever_an_item_tests_is_retold(
    pytester: pytest.Pytester, gate: Run, asked: str, said: str
) -> None:
    pytester.makepyfile(test_gate=CHECKS)
    text = " ".join(gate(f"--fairmed-explain={asked}").stdout.str().split())
    assert text.count("explained: test_gate.py::") == 1
    retold = text[text.index("explained: ") :]
    assert said in retold
    assert "came to no verdict" not in retold


def test_an_item_that_did_not_get_to_its_assertion_has_no_verdict_to_retell(
    pytester: pytest.Pytester, gate: Run
) -> None:
    pytester.makepyfile(test_gate=CHECKS.replace("assert_relation(c", "return; assert_relation(c"))
    text = " ".join(gate("--fairmed-explain=test_relation").stdout.str().split())
    assert "It came to no verdict in this run: nothing was drawn for it, or it ended" in text
