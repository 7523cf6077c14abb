"""Multiplicity: adjusted p-values of registered families."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_fairmedagent import stats

pytestmark = pytest.mark.slow

LAWS = settings(deadline=None, max_examples=80)
p_values = st.lists(st.floats(0, 1), min_size=1, max_size=12)


@given(p_values, st.integers(0, 8))
@LAWS
def test_absent_members_count_as_p_of_one(p, absent):
    whole = stats.holm([*p, *[1.0] * absent])[: len(p)]
    assert list(stats.holm(p, n_members=len(p) + absent)) == pytest.approx(list(whole))
    whole = stats.benjamini_hochberg([*p, *[1.0] * absent])[: len(p)]
    found = stats.benjamini_hochberg(p, n_members=len(p) + absent)
    assert list(found) == pytest.approx(list(whole))


@given(p_values, st.data())
@LAWS
def test_running_fewer_members_only_makes_holm_more_cautious(p, data):
    # Whatever subset ran, nobody is rejected who would not be if all had run with these p-values.
    kept = data.draw(st.lists(st.sampled_from(range(len(p))), min_size=1, unique=True))
    everyone = stats.holm(p)
    some = stats.holm([p[i] for i in kept], n_members=len(p))
    for position, i in enumerate(kept):
        assert some[position] >= everyone[i] - 1e-12


@given(p_values)
@LAWS
def test_holm_lies_between_p_and_bonferroni_and_keeps_the_order(p):
    adjusted = stats.holm(p)
    assert all(a >= b - 1e-15 for a, b in zip(adjusted, p, strict=True))
    assert all(a <= min(1, len(p) * b) + 1e-12 for a, b in zip(adjusted, p, strict=True))
    order = np.argsort(p, kind="stable")
    assert (np.diff(adjusted[order]) >= 0).all()


@given(p_values)
@settings(deadline=None, max_examples=15)
def test_statsmodels_adjusts_alike(p):
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    assert list(stats.holm(p)) == pytest.approx(list(multitest.multipletests(p, method="holm")[1]))
    fdr = multitest.multipletests(p, method="fdr_bh")[1]
    assert list(stats.benjamini_hochberg(p)) == pytest.approx(list(fdr))


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=12), st.data())
@LAWS
def test_tarone_rejects_what_holm_rejects(pairs, data):
    p = [max(pair) for pair in pairs]
    least = [min(pair) for pair in pairs]
    members = len(p) + data.draw(st.integers(0, 5))
    tarone = stats.tarone_holm(p, least, 0.05, n_members=members)
    plain = stats.holm(p, n_members=members) <= 0.05
    assert (tarone | ~plain).all()


def test_members_that_cannot_reject_do_not_cost_the_others():
    p, least = [0.02, 0.4, 0.6], [1e-6, 0.3, 0.3]
    assert list(stats.holm(p) <= 0.05) == [False] * 3
    assert list(stats.tarone_holm(p, least)) == [True, False, False]
    assert list(stats.tarone_holm(p, [0.0] * 3)) == [False] * 3


def test_the_worked_family():
    p = [0.001, 0.011, 0.02, 0.04, 0.5, 1.0]
    assert list(stats.holm(p)) == pytest.approx([0.006, 0.055, 0.08, 0.12, 1, 1])
    assert list(stats.benjamini_hochberg(p)) == pytest.approx([0.006, 0.033, 0.04, 0.06, 0.6, 1])


def test_e_bh_finds_what_is_large_enough_for_its_rank():
    # Of four at .05: the largest needs 80, the two largest 40 each.
    assert list(stats.e_bh([79, 1, 1, 1])) == [False] * 4
    assert list(stats.e_bh([80, 1, 1, 1])) == [True, False, False, False]
    assert list(stats.e_bh([41, 40, 1, 1])) == [True, True, False, False]
    assert list(stats.e_bh([41, 40], n_members=5)) == [False, False]
    assert list(stats.e_bh([math.inf, 0])) == [True, False]


def test_an_empty_family_is_empty():
    assert stats.holm([]).size == 0
    assert stats.benjamini_hochberg([], n_members=3).size == 0
