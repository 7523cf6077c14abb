"""A check of your own, on a case and an agent of your own.

    pytest examples/custom_check --fairmed-model=simulated

`conftest.py` overrides the fixture `fairmed_agent`, so the model only switches the audit on. What
the functions name (`contrast`, `action`) becomes items; what they do not name is pooled.
"""

from pathlib import Path

import pytest

from pytest_fairmedagent import assert_invariant

CASE = str(Path(__file__).with_name("cold_foot.toml"))


@pytest.mark.fairmed(
    vignettes=[CASE], swaps="insurance", actions=["high_acuity", "admission"], replicates=20
)
def test_triage_does_not_depend_on_insurance(contrast, action):
    assert_invariant(contrast, action)


@pytest.mark.fairmed(vignettes=[CASE], swaps="insurance", actions=["referral"], replicates=20)
def test_every_patient_with_an_occlusion_is_referred(contrast, trajectories):
    assert_invariant(contrast, "referral")
    for runs in trajectories("insurance_medicaid").values():
        assert all(run.get("actions", "referral") is True for run in runs)
