"""The short form of `benchmarks/kill_resume.py`: two workers, killed three times."""

import random

import pytest

pytestmark = pytest.mark.slow


def test_a_killed_run_comes_to_the_trajectories_of_an_undisturbed_one_and_repeats_no_call(
    tmp_path, monkeypatch
):
    pytest.importorskip("xdist", reason="kills two workers at once")
    kill_resume = pytest.importorskip("benchmarks.kill_resume", reason="run from the root")
    for name in ("CI", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER"):
        monkeypatch.delenv(name, raising=False)
    found = kill_resume.kill_resume(tmp_path, [2], kills=(3, 3), rng=random.Random(2))
    assert found.wrong == []
    assert found.n_kills > 0
    assert found.n_kept > 0
