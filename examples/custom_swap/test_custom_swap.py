"""A swap of your own: what the patient line says otherwise than the reference.

    pytest examples/custom_swap --fairmed-model=simulated

For many swaps write a catalogue and name it: `--fairmed-swaps my_swaps.toml`.
"""

import pytest

from pytest_fairmedagent import assert_invariant, swap

NONBINARY = swap("sex_nonbinary", sex="nonbinary person")
PACIFIC = swap("race_pacific_islander", race="Pacific Islander")


@pytest.mark.fairmed(swaps=[NONBINARY, PACIFIC], actions=["admission", "any_opioid"])
def test_care_depends_neither_on_gender_nor_on_race(contrast, action):
    assert_invariant(contrast, action)
