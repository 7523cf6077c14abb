"""`recorded/STORE`: a run of a store judged again without its model."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

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
    # A long path is folded where it has to be.
    assert f"{name.removesuffix('#1')}#1" in again.stdout.str().replace("\n  ", "")
    again.stdout.fnmatch_lines(["trials  no new draws, * trajectories from * UTC*"])
    assert not Path("unused").exists()


def test_a_trial_that_the_store_lacks_is_an_error_and_no_call(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(CHECK)
    pytester.runpytest(f"--fairmed-model={MODEL}")
    result = pytester.runpytest("--fairmed-model=recorded/.fairmed", "--fairmed-replicates=9")
    result.stdout.fnmatch_lines(["*StoreError: *.fairmed#1: holds no trajectory of *replicate 5*"])


FRESH = """
schema = 1
name = "fresh"
says = "Judges draws of this run."
vignettes = "hot_knee_urgent_care"
replicates = 4
fresh_draws = true
"""


def test_a_plan_that_judges_fresh_draws_only_refuses_a_recording(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(CHECK)
    Path("fresh.toml").write_text(FRESH)
    model = f"--fairmed-model={MODEL}"
    for source in (".fairmed", "out.json"):
        pytester.runpytest(
            model, "--fairmed-plan=fresh.toml", "--fairmed-report=out.json", "--fairmed-fresh"
        )
        again = pytester.runpytest(
            f"--fairmed-model=recorded/{source}", "--fairmed-plan=fresh.toml"
        )
        assert again.parseoutcomes() == {"errors": 1}
        again.stdout.fnmatch_lines(
            [f"PlanError: this plan judges fresh draws only, and those of *{source}* were drawn *"]
        )


def test_the_summary_shows_the_size_of_the_store_and_what_was_found_in_it(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(CHECK.replace("replicates=4", 'vignettes="hot_knee_urgent_care"'))
    model = f"--fairmed-model={MODEL}"
    first = pytester.runpytest(model, "--fairmed-replicates=4")
    first.stdout.fnmatch_lines(
        ["store   * kB: 0 trials found in it and 20 added, 0 calls found and 100 added"]
    )
    more = pytester.runpytest(model, "--fairmed-replicates=6")
    more.stdout.fnmatch_lines(
        ["store   * kB: 20 trials found in it and 10 added, 0 calls found and 50 added"]
    )
    again = pytester.runpytest("-n2", model, "--fairmed-replicates=7")
    again.stdout.fnmatch_lines(
        ["store   * kB: 30 trials found in it and 5 added, 0 calls found and 25 added"]
    )
