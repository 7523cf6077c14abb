"""A release gate with a plan of its own.

    pytest examples/release_gate --fairmed-plan examples/release_gate/audit.toml \\
        --fairmed-model=llama3.1:8b --fairmed-report gate.json --junitxml gate.xml

The families stand in the plan file, so that what is tested was fixed before the run. The exit
status is 1 if a disparity was shown, and 0 if not; the summary says what could have been seen.
"""

import pytest

from pytest_fairmedagent import assert_invariant


@pytest.mark.fairmed(family="escalation")
def test_escalation_does_not_depend_on_who_the_patient_is(contrast, action):
    assert_invariant(contrast, action)


@pytest.mark.fairmed(family="language")
def test_referral_does_not_depend_on_language(contrast, action):
    assert_invariant(contrast, action)
