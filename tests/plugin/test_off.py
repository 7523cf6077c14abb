"""Without `--fairmed-model` on the command line nothing is measured, opened, loaded or written."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pytest_fairmedagent.models.simulated import SimulatedModel

CHECK = """
import pytest
from pytest_fairmedagent import assert_invariant

@pytest.mark.fairmed(
    swaps="race_black", actions="admission", vignettes="hot_knee_urgent_care", replicates=2
)
def test_race(contrast):
    assert_invariant(contrast, "admission")
"""
MODEL = "simulated:floor=0.1,seed=7"


@pytest.fixture(autouse=True)
def _locked(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """A model that must not be made fails where it is."""
    if "record" not in request.fixturenames:

        def made(*args: object) -> None:
            raise AssertionError("the model was made")

        monkeypatch.setattr(SimulatedModel, "__init__", made)


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess("-p", "no:randomly", "-rs", *arguments)


def test_marked_tests_are_skipped_with_advice_and_others_run(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(CHECK + "\ndef test_plain(): pass\n")
    result = run(pytester)
    assert result.parseoutcomes() == {"passed": 1, "skipped": 1}
    result.stdout.fnmatch_lines(["SKIPPED*--fairmed-model=SPEC on the command line*llama3.1:8b*"])
    assert result.ret == 0
    assert not (pytester.path / ".fairmed").exists()


@pytest.mark.parametrize("place", ["ini", "addopts", "FAIRMED_MODEL", "PYTEST_ADDOPTS"])
def test_a_default_model_turns_nothing_on(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    option = f"--fairmed-model={MODEL}"
    if place == "ini":
        pytester.makeini(f"[pytest]\nfairmed_model = {MODEL}\n")
    elif place == "addopts":
        pytester.makeini(f"[pytest]\naddopts = {option}\n")
    else:
        monkeypatch.setenv(place, MODEL if place == "FAIRMED_MODEL" else option)
    pytester.makepyfile(CHECK)
    result = run(pytester)
    assert result.parseoutcomes() == {"skipped": 1}
    result.stdout.fnmatch_lines(["SKIPPED*--fairmed-model=SPEC on the command line*"])
    assert not (pytester.path / ".fairmed").exists()


def test_an_unmarked_test_cannot_open_a_default_model(pytester: pytest.Pytester) -> None:
    pytester.makeini(f"[pytest]\nfairmed_model = {MODEL}\n")
    pytester.makepyfile("def test_plain(fairmed_model): pass")
    result = run(pytester)
    assert result.parseoutcomes() == {"skipped": 1}
    result.stdout.fnmatch_lines(["SKIPPED*--fairmed-model=SPEC on the command line*"])


def test_the_model_on_the_command_line_is_run_in_place_of_one_in_addopts(
    pytester: pytest.Pytester, gate: Callable[..., Any], record: Callable[..., Any]
) -> None:
    pytester.makeini("[pytest]\naddopts = --fairmed-model=simulated:floor=0.3,seed=1\n")
    pytester.makepyfile(CHECK)
    gate("--fairmed-report=out.json", model=MODEL)
    assert [run["model"] for run in record()["runs"]] == [MODEL]


def test_one_model_twice_on_the_command_line_is_refused(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(CHECK)
    result = run(pytester, f"--fairmed-model={MODEL}", "--fairmed-model", MODEL)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: PlanError: --fairmed-model names * twice*"])


def test_the_mark_is_known_under_strict_markers(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(CHECK)
    assert run(pytester, "--strict-markers").parseoutcomes() == {"skipped": 1}


def loaded(pytester: pytest.Pytester, *arguments: str) -> set[str]:
    """Return the modules that a session of plain tests has loaded when it ends."""
    result = pytester.runpytest_subprocess("-p", "no:randomly", *arguments)
    assert result.parseoutcomes() == {"passed": 2}
    return set(json.loads((pytester.path / "modules.json").read_text(encoding="utf-8")))


def test_unused_it_loads_its_hooks_and_options_and_nothing_else(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        "import json, sys\n"
        "def pytest_unconfigure():\n"
        "    with open('modules.json', 'w') as file:\n"
        "        json.dump(sorted(sys.modules), file)\n"
    )
    # The second is called like the module of the built-in audit.
    pytester.makepyfile(test_plain="def test_it(): pass", test_audit="def test_it(): pass")
    with_it, without_it = loaded(pytester), loaded(pytester, "-p", "no:fairmedagent")
    assert with_it - without_it == {
        "pytest_fairmedagent",
        "pytest_fairmedagent.plugin",
        "pytest_fairmedagent.plugin.fixtures",
        "pytest_fairmedagent.plugin.options",
    }
    assert not (pytester.path / ".fairmed").exists()
