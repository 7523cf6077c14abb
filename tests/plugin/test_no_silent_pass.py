"""A session that was asked to measure and measured nothing has not passed, and says why."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_fairmedagent.errors import ModelError
from pytest_fairmedagent.models.simulated import SimulatedModel

pytestmark = pytest.mark.slow

Run = Callable[..., pytest.RunResult]

PLAIN = "def test_plain(): pass"
MARKED = """
import pytest
from pytest_fairmedagent import assert_invariant

@pytest.mark.fairmed(
    swaps=["race_black", "race_hispanic"], actions="admission",
    vignettes="hot_knee_urgent_care", replicates=2
)
def test_race(contrast):
    assert_invariant(contrast, "admission")
"""
NOTHING = "Nothing was measured, so exit status 5: this is no pass. {}*"


@pytest.mark.parametrize(
    "arguments", [("test_plain.py",), ("test_race.py", "-k", "other"), ("-m", "not fairmed")]
)
def test_no_fairness_test_selected_is_exit_status_5_with_the_reason(
    pytester: pytest.Pytester, gate: Run, arguments: tuple[str, ...]
) -> None:
    pytester.makepyfile(test_plain=PLAIN, test_race=MARKED)
    result = gate(*arguments)
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result.stdout.fnmatch_lines([NOTHING.format("No fairness test was selected.")])


@pytest.mark.parametrize("option", ["--fairmed-swaps=insurance", "--fairmed-actions=referral"])
def test_options_that_leave_no_contrast_are_exit_status_5_with_the_reason(
    pytester: pytest.Pytester, gate: Run, option: str
) -> None:
    pytester.makepyfile(
        MARKED.replace("(contrast)", "(contrast, action)").replace('"admission")\n', "action)\n")
    )
    result = gate(option)
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result.stdout.fnmatch_lines([NOTHING.format("The fairness tests hold no contrast: *")])


def test_fairness_tests_that_are_all_skipped_are_exit_status_5_with_the_reason(
    pytester: pytest.Pytester, gate: Run
) -> None:
    pytester.makepyfile(MARKED.replace("@pytest.mark.f", "@pytest.mark.skip\n@pytest.mark.f"))
    result = gate()
    assert result.parseoutcomes() == {"skipped": 2}
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result.stdout.fnmatch_lines([NOTHING.format("Every fairness test was skipped")])


def test_a_red_status_is_kept(pytester: pytest.Pytester, gate: Run) -> None:
    pytester.makepyfile(test_plain="def test_plain(): assert False")
    assert gate("test_plain.py").ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize("option", ["--collect-only", "--setup-plan", "--fixtures", "--cache-show"])
def test_a_session_that_only_looks_is_no_gate(
    pytester: pytest.Pytester, gate: Run, option: str
) -> None:
    pytester.makepyfile(test_race=MARKED)
    result = gate(option, "test_race.py")
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*Nothing was measured*")


def test_without_a_model_an_ordinary_session_is_left_alone(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_plain=PLAIN, test_race=MARKED)
    result = pytester.runpytest_inprocess("-p", "no:randomly")
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*Nothing was measured*")


def test_under_xdist_the_same_is_said(pytester: pytest.Pytester, gate: Run) -> None:
    pytest.importorskip("xdist")
    pytester.makepyfile(test_plain=PLAIN)
    result = pytester.runpytest_subprocess(
        "-p", "no:randomly", "-n1", "--fairmed-model=simulated", "test_plain.py"
    )
    assert result.parseoutcomes() == {"passed": 1}
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result.stdout.fnmatch_lines([NOTHING.format("No fairness test was selected.")])


def test_a_server_that_is_down_is_one_error_and_the_others_are_unmeasured(
    pytester: pytest.Pytester, gate: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(model: SimulatedModel) -> None:
        raise ModelError("no server answers at http://localhost:1\n  Start it: serve")

    monkeypatch.setattr(SimulatedModel, "open", opened)
    pytester.makepyfile(test_it=MARKED)
    result = gate("-v")
    assert result.parseoutcomes() == {"errors": 1, "unmeasured": 1}
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        ["*UNMEASURED (UNMEASURED: no model answers came, see the error of test_it.py*: *"]
    )
    first = result.outlines.index("ModelError: no server answers at http://localhost:1")
    end = result.outlines[first:]
    assert end[1] == "  Start it: serve"
    assert end[2].startswith("=")  # said once, and with nothing behind it
    result.stdout.no_fnmatch_line("*another exception*")


def test_a_server_that_is_lost_on_the_way_leaves_no_verdict_and_the_next_start_goes_on(
    pytester: pytest.Pytester, gate: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer, n_calls = SimulatedModel.chat, [0]

    def chat(model: SimulatedModel, *arguments: object) -> object:
        n_calls[0] += 1
        if n_calls[0] > 22:
            raise ModelError("the key was revoked")
        return answer(model, *arguments)

    pytester.makepyfile(MARKED)
    with monkeypatch.context() as patch:
        patch.setattr(SimulatedModel, "chat", chat)
        result = gate()
    assert result.parseoutcomes() == {"errors": 1, "unmeasured": 1}
    result.stdout.fnmatch_lines(
        ["ModelError: the key was revoked", "*the plan was not drawn to its end: the same command*"]
    )
    again = gate()
    # 2 replicates of 6 arms; 22 calls are four trajectories of five calls and two of the fifth.
    again.stdout.fnmatch_lines(["trials  8 drawn now, 4 from before (since *"])
    assert again.parseoutcomes() == {"inconclusive": 2}
