"""A service behind HTTP as the agent under test.

    pytest examples/http_service --fairmed-model=simulated --fairmed-concurrency=4

Each trial is a POST of the case, with up to four under way at once. The service sees text and menu,
and a result only after it has ordered it; which description is compared with which, it is not told.
"""

import pytest

from pytest_fairmedagent import assert_invariant


@pytest.mark.fairmed(swaps="insurance", actions=["admission", "high_acuity"])
def test_the_service_ignores_insurance(contrast, action):
    assert_invariant(contrast, action)
