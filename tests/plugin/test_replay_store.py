"""`recorded/STORE`: a run of a store judged again without its model."""

from pathlib import Path

import pytest

CHECK = """
import pytest
from pytest_fairmedagent import assert_invariant

@pytest.mark.fairmed(swaps="race_black", actions=["admission"], replicates=4)
def test_it(contrast, action):
    assert_invariant(contrast, action)
"""
MODEL = "simulated:floor=0.05,gap=0.4,swap=race_black,seed=3"


@pytest.mark.parametrize("name", [".fairmed", ".fairmed/runs.sqlite", ".fairmed#1"])
def test_a_store_is_replayed_to_the_same_verdicts(pytester: pytest.Pytester, name: str) -> None:
    pytester.makepyfile(CHECK)
    drawn = pytester.runpytest(f"--fairmed-model={MODEL}")
    again = pytester.runpytest(f"--fairmed-model=recorded/{name}", "--fairmed-store=unused")
    assert again.parseoutcomes() == drawn.parseoutcomes()
    assert f"{name.removesuffix('#1')}#1" in again.stdout.str()
    again.stdout.fnmatch_lines(["trials  no new draws, * trajectories from * UTC*"])
    assert not Path("unused").exists()


def test_a_trial_that_the_store_lacks_is_an_error_and_no_call(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(CHECK)
    pytester.runpytest(f"--fairmed-model={MODEL}")
    result = pytester.runpytest("--fairmed-model=recorded/.fairmed", "--fairmed-replicates=9")
    result.stdout.fnmatch_lines(["*StoreError: *.fairmed#1: holds no trajectory of *replicate 5*"])
