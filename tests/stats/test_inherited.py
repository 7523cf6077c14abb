"""Groups that are tested step by step and pass their level on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_fairmedagent import stats

LAWS = settings(deadline=None, max_examples=60)
chains_of = st.lists(
    st.lists(st.floats(0, 1).map(lambda p: p**4), min_size=1, max_size=4), min_size=1, max_size=5
)


def rejected_at(chains, n_groups, alpha):
    """The procedure as it is told: how many steps of each chain are rejected at alpha."""
    done = [0] * len(chains)
    while True:
        finished = sum(d == len(c) for d, c in zip(done, chains, strict=True))
        before = list(done)
        for i, chain in enumerate(chains):
            while done[i] < len(chain) and chain[done[i]] <= alpha / (n_groups - finished):
                done[i] += 1
        if done == before:
            return done


def flat(values):
    return [p for chain in values for p in chain]


@given(chains_of, st.integers(0, 3))
@LAWS
def test_a_step_is_rejected_exactly_from_its_adjusted_p_on(chains, absent):
    n_groups = len(chains) + absent
    adjusted = stats.inherited(chains, n_groups)
    for alpha in {*np.linspace(0.001, 0.999, 37), *flat(adjusted)}:
        for p, done in zip(
            adjusted, rejected_at(chains, n_groups, alpha * (1 + 1e-12)), strict=True
        ):
            if alpha < 1:
                assert sum(q <= alpha for q in p) == done


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.integers(0, 4))
@LAWS
def test_chains_of_one_step_are_holm(p, absent):
    found = stats.inherited([[q] for q in p], len(p) + absent)
    assert flat(found) == list(stats.holm(p, n_members=len(p) + absent))


@given(chains_of, st.integers(1, 4), st.data())
@LAWS
def test_more_registered_or_larger_p_never_lower_an_adjusted_p(chains, absent, data):
    found = flat(stats.inherited(chains))
    assert all(a <= b for a, b in zip(found, flat(stats.inherited(chains, 9)), strict=True))
    longer = [[*chain, 1.0] for chain in chains]
    padded = [chain[:-1] for chain in stats.inherited(longer, len(chains) + absent)]
    assert all(a <= b for a, b in zip(found, flat(padded), strict=True))
    raised = [[max(q, data.draw(st.floats(0, 1))) for q in chain] for chain in chains]
    assert all(a <= b for a, b in zip(found, flat(stats.inherited(raised)), strict=True))


@given(chains_of, st.randoms(use_true_random=False))
@LAWS
def test_the_order_of_groups_does_not_matter(chains, random):
    order = list(range(len(chains)))
    random.shuffle(order)
    found = stats.inherited(chains, 6)
    assert stats.inherited([chains[i] for i in order], 6) == [found[i] for i in order]


def test_the_worked_groups():
    # Two of three swaps; the first is named in full and leaves its third to the others.
    found = stats.inherited([[0.001, 0.004], [0.02, 0.03]], 3)
    assert found[0] == pytest.approx([0.003, 0.012])
    assert found[1] == pytest.approx([0.04, 0.06])
    # With one of its actions open it leaves nothing.
    assert stats.inherited([[0.001, 1.0], [0.02, 0.03]], 3)[1] == pytest.approx([0.06, 0.09])


def test_steps_that_fall_count_as_those_before_them():
    assert stats.inherited([[0.04, 0.001]], 1) == [[0.04, 0.04]]


def test_what_is_no_chain_is_refused():
    assert stats.inherited([]) == []
    with pytest.raises(ValueError, match="chains\\[1\\]"):
        stats.inherited([[0.5], []])
    with pytest.raises(ValueError, match="chains\\[0\\]"):
        stats.inherited([[1.5]])
    with pytest.raises(ValueError, match="n_members"):
        stats.inherited([[0.5], [0.5]], 1)
