"""The short form of `benchmarks/fault_run.py`: a server that fails in eighteen ways."""

import pytest

from pytest_fairmedagent.models.simulated import Truth


def test_through_every_fault_each_trial_ends_as_foretold_and_no_answer_is_paid_for_twice(
    tmp_path, monkeypatch
):
    pytest.importorskip("openai", reason="drives the openai package through the faults")
    fault_run = pytest.importorskip("benchmarks.fault_run", reason="run from the repository's root")
    for name in ("HTTP_PROXY", "ALL_PROXY", "http_proxy", "all_proxy", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    found = fault_run.fault_run(
        tmp_path,
        n_cases=2,
        replicates=5,
        truth=Truth(seed=1),
        lasting=0.05,
        workers=16,
        budget_s=4.5,
        read_timeout_s=0.4,
    )
    assert found.wrong == []
    assert found.n_trials == 2 * 5 * 4
    assert len(found.n_faults) >= 15
    assert sum(found.n_missing.values()) == found.n_resumed > 0
