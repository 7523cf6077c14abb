"""A relation of your own: a function of two tables of answers, in place of the built-in test.

    pytest examples/custom_relation --fairmed-model=simulated

It gets {vignette: answers} under the swap and under the reference. A p-value enters Holm in the
function's family and can fail; True or False for each vignette is shown and can not.
"""

from math import comb

import pytest

from pytest_fairmedagent import assert_relation, relation


@relation
def as_many_cases_gain_as_lose(swap, reference):
    """Sign test over cases: is the action more frequent in about as many as it is rarer in?"""
    gains = sum(swap[case].count(True) > reference[case].count(True) for case in swap)
    losses = sum(swap[case].count(True) < reference[case].count(True) for case in swap)
    n, most = gains + losses, max(gains, losses)
    return min(1.0, 2 * sum(comb(n, i) for i in range(most, n + 1)) / 2**n)


@pytest.mark.fairmed(swaps="language", actions=["referral"], relation=as_many_cases_gain_as_lose)
def test_language_moves_referral_both_ways_alike(contrast, action):
    assert_relation(contrast, action)


@relation
def never_unheard_of(swap, reference):
    """An action that the reference gets in a case at all, the swap gets there too."""
    return {case: any(swap[case]) or not any(reference[case]) for case in swap}


@pytest.mark.fairmed(swaps="language", actions=["admission"], relation=never_unheard_of)
def test_no_case_loses_admission_altogether(contrast, action):
    assert_relation(contrast, action)
