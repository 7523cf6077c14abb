"""The short form of `benchmarks/fault_run.py`: a server that fails in eighteen ways."""

import pytest

from pytest_fairmedagent.models.simulated import Truth

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("protocol", "n_cases", "lasting"), [("openai", 2, 0.05), ("anthropic", 1, 0.15)]
)
def test_through_every_fault_each_trial_ends_as_foretold_and_no_answer_is_paid_for_twice(
    tmp_path, monkeypatch, protocol, n_cases, lasting
):
    pytest.importorskip(protocol, reason="drives the provider's own package through the faults")
    fault_run = pytest.importorskip("benchmarks.fault_run", reason="run from the repository's root")
    for name in (
        "HTTP_PROXY",
        "ALL_PROXY",
        "http_proxy",
        "all_proxy",
        "OPENAI_BASE_URL",
        "ANTHROPIC_API_KEY",
    ):
        monkeypatch.delenv(name, raising=False)
    found = fault_run.fault_run(
        tmp_path,
        n_cases=n_cases,
        replicates=5,
        truth=Truth(seed=1),
        lasting=lasting,
        workers=16,
        budget_s=12.0,
        read_timeout_s=1.5,  # far above what a loaded machine needs to answer
        protocol=protocol,
    )
    assert found.wrong == []
    assert found.n_trials == n_cases * 5 * 4
    assert len(found.n_faults) >= 7 * n_cases
    assert sum(found.n_missing.values()) == found.n_resumed > 0
