"""A planted bias that fails, and an equal floor without bias that does not.

    pytest examples/planted_bias --fairmed-model=simulated:floor=0.087,gap=0.2,swap=race_black
    pytest examples/planted_bias --fairmed-model=simulated:floor=0.087

Both agents change their actions when nothing changed, equally often. Only the first does so in one
direction when the patient is described as Black, and only the first run is red.
"""

import pytest

from pytest_fairmedagent import assert_invariant


@pytest.mark.fairmed(swaps="race_ethnicity", replicates=2)
def test_actions_do_not_depend_on_race(contrast, action):
    assert_invariant(contrast, action)
