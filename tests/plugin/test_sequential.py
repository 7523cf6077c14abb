"""Sequential runs and budgets through pytest: alike in one process and in several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Run = Callable[..., pytest.RunResult]
Record = Callable[..., dict[str, Any]]

CHECK = """
import pytest
from pytest_fairmedagent import assert_invariant

@pytest.mark.fairmed(swaps="race_ethnicity", actions="admission", replicates=6, margin=0.1,
                     vignettes="domain:medication")
def test_race(contrast):
    assert_invariant(contrast, "admission")
"""
BIASED = "simulated:floor=0.2,gap=0.4,swap=race_black,seed=2"


def told(found: dict[str, Any]) -> tuple[Any, ...]:
    contrasts = sorted((c["condition"], c["headline"]) for c in found["contrasts"])
    rows = sorted((r["vignette"], r["condition"], r["replicate"]) for r in found["rows"])
    return contrasts, rows, found["runs"][0]["looks"], found["runs"][0]["saved"]


def test_a_sequential_run_says_what_it_saved_and_two_processes_find_the_same(
    pytester: pytest.Pytester, gate: Run, record: Record
) -> None:
    pytester.makepyfile(test_gate=CHECK)
    result = gate("--fairmed-sequential=gs", "--fairmed-report=one.json", model=BIASED)
    result.stdout.re_match_lines([r".*sequential \(gs\): planned looks, at R = 2, 3, 4, 5 and 6.*"])
    result.stdout.re_match_lines([r"looks   at R = 2.* trajectories saved \(\d+ %\).*"])
    one = record("one.json")
    [found] = [c for c in one["contrasts"] if c["condition"] == "race_black"]
    assert found["verdict"] == "DISPARITY"
    assert found["look"] < 6
    assert one["runs"][0]["saved"] > 0
    (pytester.path / ".fairmed" / "runs.sqlite").unlink()
    pytester.runpytest_subprocess(
        f"--fairmed-model={BIASED}",
        "--fairmed-sequential=gs",
        "--fairmed-report=two.json",
        "-n2",
    )
    assert told(record("two.json")) == told(one)


def test_a_recorded_sequential_run_is_judged_as_it_was(
    pytester: pytest.Pytester, gate: Run, record: Record
) -> None:
    pytester.makepyfile(test_gate=CHECK)
    gate("--fairmed-sequential=gs", "--fairmed-report=one.json", model=BIASED)
    gate("--fairmed-sequential=gs", "--fairmed-report=two.json", model="recorded/one.json")
    assert told(record("two.json")) == told(record("one.json"))


def test_a_run_that_ends_for_want_of_calls_says_so_and_where(
    pytester: pytest.Pytester, gate: Run, record: Record
) -> None:
    pytester.makepyfile(test_gate=CHECK)
    whole = gate("--fairmed-report=whole.json", model=BIASED)
    whole.stdout.no_fnmatch_line("ended*")
    calls = record("whole.json")["runs"][0]["calls"]
    (pytester.path / ".fairmed" / "runs.sqlite").unlink()
    cut = gate(f"--fairmed-max-calls={calls}", "--fairmed-report=out.json", model=BIASED)
    cut.stdout.re_match_lines([rf"ended   after \d whole rounds.*--fairmed-max-calls={calls}.*"])
    run = record()["runs"][0]
    assert run["calls"] <= calls
    assert 2 <= run["replicates"] < 6
    assert {c["look"] for c in record()["contrasts"]} == {run["replicates"]}


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--fairmed-sequential=often", "expected off, gs or e"),
        ("--fairmed-max-usd=free", "expected an amount above 0, in US dollars"),
        ("--fairmed-max-calls=0", "expected a whole number"),
        ("--fairmed-prices=none.toml", "none.toml: cannot be read"),
    ],
)
def test_a_mistyped_limit_is_an_error_before_anything_starts(
    pytester: pytest.Pytester, gate: Run, option: str, said: str
) -> None:
    pytester.makepyfile(test_gate=CHECK)
    result = gate(option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert said in result.stderr.str()


def test_dollars_of_a_model_without_a_price_are_refused_by_name(
    pytester: pytest.Pytester, gate: Run
) -> None:
    pytester.makepyfile(test_gate=CHECK)
    result = gate("--fairmed-max-usd=5", model="llama3.1:8b")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "the price of ollama/llama3.1:8b is unknown" in result.stderr.str()


def test_the_plan_says_tokens_and_price_with_their_source(
    pytester: pytest.Pytester, gate: Run
) -> None:
    pytester.makepyfile(test_gate=CHECK)
    result = gate("--collect-only", model="anthropic/claude-haiku-4-5")
    result.stdout.re_match_lines(
        [r"fairmed: about .* tokens sent .*, \$\d+\.\d\d without caching.*read \d{4}-\d\d-\d\d.*"]
    )
    unknown = gate("--collect-only", model="llama3.1:8b")
    unknown.stdout.fnmatch_lines(["fairmed: about * their price is unknown*"])
