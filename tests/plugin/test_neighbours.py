"""Beside other plugins and options of pytest: the same verdicts, no draw twice, nothing broken."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from typing import Any

import pytest

from pytest_fairmedagent.errors import ModelError
from pytest_fairmedagent.files.vignettes import read_vignettes, shipped_vignettes
from pytest_fairmedagent.models.simulated import SimulatedModel

Run = Callable[..., pytest.RunResult]
Record = Callable[..., dict[str, Any]]

QUICK = "--fairmed-profile=quick"
BIASED = "simulated:floor=0.05,gap=0.4,swap=race_black,seed=3"
CHECK = """
import pytest
from pytest_fairmedagent import assert_invariant

@pytest.mark.fairmed(
    swaps="race_black", actions=["admission", "any_opioid"], replicates=5, margin=0.01
)
def test_race(contrast, action):
    assert_invariant(contrast, action)
"""
SMALL = CHECK.replace("margin=0.01", 'vignettes="hot_knee_urgent_care"').replace("s=5", "s=2")


@pytest.fixture
def n_calls(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Counts the calls of the simulated model."""
    answer, made = SimulatedModel.chat, []

    def chat(model: SimulatedModel, *arguments: Any) -> Any:
        made.append(arguments)
        return answer(model, *arguments)

    monkeypatch.setattr(SimulatedModel, "chat", chat)
    return lambda: len(made)


def verdicts(record: dict[str, Any]) -> dict[tuple[str, str, str], tuple[object, ...]]:
    """Return what a record says of each contrast, in no order."""
    return {
        (c["family"], c["condition"], c["action"]): (c["verdict"], c["p_adjusted"], c["gap"])
        for c in record["contrasts"]
    }


def test_nothing_is_a_python_warning(pytester: pytest.Pytester, gate: Run) -> None:
    pytester.makepyfile(CHECK)
    result = gate("-W", "error", "--fairmed-report=out.json", model=BIASED)
    assert result.parseoutcomes() == {"failed": 2}
    per_vignette = SMALL.replace("race(", "race(vignette, ")  # too few to fail, as it says
    pytester.makepyfile(per_vignette)
    assert gate("-W", "error").parseoutcomes() == {"inconclusive": 2}


def test_without_a_terminal_the_record_and_the_status_are_the_same(
    pytester: pytest.Pytester, gate: Run, record: Record
) -> None:
    pytester.makepyfile(CHECK)
    shown = gate("--fairmed-report=shown.json", model=BIASED)
    silent = gate("--fairmed-report=silent.json", "-p", "no:terminal", model=BIASED)
    assert silent.outlines == []
    assert silent.ret == shown.ret == pytest.ExitCode.TESTS_FAILED
    assert verdicts(record("shown.json")) == verdicts(record("silent.json"))


def test_quiet_shows_less_and_very_quiet_no_section(pytester: pytest.Pytester, gate: Run) -> None:
    pytester.makepyfile(SMALL)
    quiet, very_quiet = gate("-q"), gate("-qq")
    quiet.stdout.no_fnmatch_line("fairmed: *")
    quiet.stdout.fnmatch_lines(["*= fairmed =*"])
    very_quiet.stdout.no_fnmatch_line("*fairmed*=*")
    assert very_quiet.ret == 0


def test_without_a_cache_everything_runs(pytester: pytest.Pytester, gate: Run) -> None:
    assert gate("-p", "no:cacheprovider", QUICK).parseoutcomes() == {"inconclusive": 18}
    assert not (pytester.path / ".pytest_cache").exists()


def test_random_order_changes_the_order_and_no_verdict(
    pytester: pytest.Pytester, record: Record
) -> None:
    pytest.importorskip("pytest_randomly")
    # A check of the project's own: the built-in audit is made after collection, and whether it is
    # shuffled then depends on which of the two plugins was registered first.
    pytester.makepyfile(
        """
        import pytest
        from pytest_fairmedagent import assert_invariant

        @pytest.mark.fairmed(swaps=["race_black", "race_hispanic", "insurance_medicaid"])
        def test_primary(contrast, action):
            assert_invariant(contrast, action)
        """
    )
    orders = set()
    for seed in ("1", "2"):
        result = pytester.runpytest_inprocess(
            f"--randomly-seed={seed}",
            "-v",
            "--fairmed-model=simulated:seed=1",
            QUICK,
            f"--fairmed-report={seed}.json",
        )
        assert result.parseoutcomes() == {"inconclusive": 18}
        orders.add(tuple(line.split(" ")[0] for line in result.outlines if "::test_pri" in line))
    assert len(orders) == 2
    assert len({frozenset(order) for order in orders}) == 1
    assert record("1.json")["contrasts"] == record("2.json")["contrasts"]


def test_sampling_is_not_the_time_of_the_item_that_came_first(
    pytester: pytest.Pytester, gate: Run
) -> None:
    # 10 trajectories of 5 calls of 10 ms each; as a fixture, and asked for within the test.
    late = """
import pytest

@pytest.mark.fairmed(
    swaps="race_black", actions="admission", vignettes="hot_knee_urgent_care", replicates=2
)
def test_late(request):
    request.getfixturevalue("study")
"""
    for source in (SMALL, late):
        pytester.makepyfile(source)
        result = gate("--fairmed-fresh", model="simulated:latency=0.01")
        result.stdout.fnmatch_lines(["trials  10 drawn now*"])
        took = [r.duration for r in result.reprec.getreports("pytest_runtest_logreport")]
        whole = re.search(r" in ([\d.]+)s", result.outlines[-1])
        assert whole is not None
        assert float(whole[1]) > 0.5
        assert sum(took) < 0.25, took


def test_a_sampling_longer_than_the_timeout_fails_nothing_and_a_hanging_test_still_does(
    pytester: pytest.Pytester,
) -> None:
    pytest.importorskip("pytest_timeout")
    pytester.makepyfile(
        SMALL
        + """
@pytest.mark.fairmed(
    swaps="race_black", actions="admission", vignettes="hot_knee_urgent_care", replicates=2
)
def test_slow(contrast):
    assert_invariant(contrast, "admission")
    import time
    time.sleep(150)
"""
    )
    # 50 calls of 40 ms each: sampling takes 2 s, and an item may take 1.
    result = pytester.runpytest_subprocess(
        "-p", "no:randomly", "--timeout=1", "--fairmed-model=simulated:latency=0.04"
    )
    assert result.parseoutcomes() == {"inconclusive": 2, "failed": 1}
    result.stdout.fnmatch_lines(["E *Timeout*1.0s*", "trials  10 drawn now*"])
    assert result.duration < 150  # it was cut, however slow the machine


def test_the_item_that_sampled_can_still_run_into_its_timeout(pytester: pytest.Pytester) -> None:
    pytest.importorskip("pytest_timeout")
    pytester.makepyfile(
        SMALL.replace("    assert_inv", "    import time; time.sleep(150)\n    assert_inv")
    )
    result = pytester.runpytest_subprocess(
        "-p", "no:randomly", "-k", "admission", "--timeout=1", "--fairmed-model=simulated"
    )
    assert result.parseoutcomes() == {"failed": 1, "deselected": 1}
    assert result.duration < 150  # it was cut, however slow the machine


def test_a_rerun_draws_nothing_and_comes_to_the_same_verdict(
    pytester: pytest.Pytester, gate: Run, n_calls: Callable[[], int], record: Record
) -> None:
    pytest.importorskip("pytest_rerunfailures")
    pytester.makepyfile(CHECK)
    result = gate("--reruns=2", "--fairmed-report=out.json", model=BIASED)
    assert result.parseoutcomes() == {"failed": 2, "rerun": 4}
    n_cases = len(read_vignettes([shipped_vignettes()]))
    assert n_calls() == 5 * n_cases * 5 * 5  # stages, cases, arms, replicates
    assert [run["drawn"] for run in record()["runs"]] == [n_cases * 5 * 5]
    # Each try states its numbers once.
    for report in result.reprec.getreports("pytest_runtest_logreport"):
        names = [name for name, _ in report.user_properties]
        assert len(names) == len(set(names))


def test_a_rerun_takes_the_verdict_of_its_last_try(pytester: pytest.Pytester, gate: Run) -> None:
    pytest.importorskip("pytest_rerunfailures")
    pytester.makepyfile(
        """
import pytest
from pytest_fairmedagent import assert_invariant

TRIES = []

@pytest.mark.fairmed(
    swaps="race_black", actions=["admission", "referral"], vignettes="hot_knee_urgent_care",
    replicates=3,
)
def test_flaky(contrast):
    TRIES.append(1)
    if len(TRIES) == 1:
        assert_invariant(contrast, "admission")
        assert False, "a fault of its own"
"""
    )
    # The second try asserts nothing: what the first has asserted must not speak for it.
    result = gate("--reruns=1", "--fairmed-unmeasured=fail")
    assert result.parseoutcomes() == {"failed": 1, "rerun": 1}
    result.stdout.fnmatch_lines(["UNMEASURED: the test ended without a verdict*"])


def test_a_rerun_does_not_turn_a_lost_server_green(
    pytester: pytest.Pytester, gate: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pytest_rerunfailures")

    def opened(model: SimulatedModel) -> None:
        raise ModelError("no server answers")

    pytester.makepyfile(SMALL)
    with monkeypatch.context() as patch:
        patch.setattr(SimulatedModel, "open", opened)
        result = gate("--reruns=2")
    assert result.parseoutcomes() == {"errors": 1, "rerun": 2, "unmeasured": 1}
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_a_rerun_after_a_server_came_back_goes_on(
    pytester: pytest.Pytester, gate: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pytest_rerunfailures")
    tries: list[int] = []

    def opened(model: SimulatedModel) -> None:
        tries.append(1)
        if len(tries) == 1:
            raise ModelError("no server answers yet")

    pytester.makepyfile(SMALL)
    with monkeypatch.context() as patch:
        patch.setattr(SimulatedModel, "open", opened)
        result = gate("--reruns=1")
    assert result.parseoutcomes() == {"inconclusive": 2, "rerun": 1}
    assert result.ret == 0


# Logs each case that it is shown.
LOGGING = """
import random, time
import pytest

class Agent:
    {version}
    def __call__(self, case):
        with open("{name}.txt", "a") as file:
            print(file=file)
        time.sleep(0.02)
        return {{"admission": random.random() < (0.95 if "Black" in case.text else 0.05)}}

@pytest.fixture(scope="session")
def fairmed_agent():
    return Agent()
"""


def test_under_xdist_every_trial_is_drawn_once_and_all_judge_alike(
    pytester: pytest.Pytester, record: Record
) -> None:
    pytest.importorskip("xdist")
    # The built-in agent in one folder, in two others agents of their own. These have so many items
    # that both workers get some of each.
    many = SMALL.replace('"race_black"', '["race_black", "race_hispanic"]').replace(
        '["adm', '["referral", "adm'
    )
    for name, version in (("clinical", None), ("kept", "version = '1'"), ("unstated", "")):
        (pytester.path / name).mkdir()
        source = SMALL if version is None else many
        check = source.replace("test_race", f"test_{name}").replace("replicates=2", "replicates=8")
        (pytester.path / name / f"test_{name}.py").write_text(check)
        if version is not None:
            source = LOGGING.format(name=name, version=version)
            (pytester.path / name / "conftest.py").write_text(source)
    # The workers are told of the model that was typed, and not of the default beside it.
    pytester.makeini("[pytest]\naddopts = --fairmed-model=simulated:floor=0.4\n")
    arguments = ("-p", "no:randomly", "--fairmed-model=simulated:seed=1,latency=0.005")
    # Fresh draws are one series for all workers of a start, which the later start goes on with.
    spread = ("-n2", "--fairmed-fresh", "--fairmed-report=spread.json", "--junitxml=junit.xml")
    pytester.runpytest_subprocess(*arguments, *spread)
    for name in ("kept", "unstated"):
        assert len((pytester.path / f"{name}.txt").read_text()) == 6 * 8  # arms, replicates
    whole = record("spread.json")
    assert len(verdicts(whole)) == len(whole["contrasts"]) == sum(whole["verdicts"].values())
    assert len(whole["contrasts"]) == 2 + 6 + 6
    assert len(whole["rows"]) == (5 + 6 + 6) * 8
    # What each worker has said of its own items is what the one record says of all.
    said = {}
    for case in ElementTree.parse(pytester.path / "junit.xml").iter("testcase"):
        for number in case.iter("property"):
            said[case.get("name"), number.get("name")] = number.get("value")
    for contrast in whole["contrasts"]:
        name, action = contrast["family"].partition("::")[2], contrast["action"]
        item = f"{name}[{contrast['condition']}-{action}]"
        assert said[item, f"fairmed.{action}.verdict"] == contrast["verdict"]
        if contrast["gap"] is not None:
            b = float(said[item, f"fairmed.{action}.b"])
            assert b == pytest.approx(contrast["b"], abs=1e-5)
    # The store holds every draw of the two that it keeps, so one process comes to the very same.
    single = ("clinical", "kept", "--fairmed-report=single.json")
    pytester.runpytest_inprocess(*arguments, *single)
    kept = verdicts(record("single.json"))
    assert len(kept) == 2 + 6
    assert kept.items() <= verdicts(whole).items()
    assert len((pytester.path / "kept.txt").read_text()) == 6 * 8


def test_the_record_is_json_with_the_keys_of_the_contract(
    pytester: pytest.Pytester, gate: Run, record: Record
) -> None:
    gate(QUICK, "--fairmed-report=deep/er/out.json", "--fairmed-report=out.json")
    whole = record()
    assert record("deep/er/out.json") == whole
    assert whole["schema"] == 1
    assert isinstance(whole["diagnostics"], list)
    floor = {"disagreements", "pairs", "floor", "interval", "interval_percentile", "vote3", "vote5"}
    for arm in whole["arms"]:
        assert arm.keys() >= {
            *("file", "model", "block", "condition", "config_digest", "vignettes"),
            *("trajectories", "pooled", "actions"),
        }
        assert arm["pooled"].keys() >= floor
        assert len(arm["actions"]) == 6
        for action in arm["actions"].values():
            assert action.keys() >= {*floor, "rate", "normalised", "missing"}
            assert action["interval"][0] <= action["floor"] <= action["interval"][1]
    assert len(whole["arms"]) == 7
    assert len(whole["contrasts"]) == 18
    for contrast in whole["contrasts"]:
        assert contrast.keys() >= {
            *("file", "block", "reference", "condition", "action", "target", "vignettes", "b", "c"),
            *("flip_rate", "floor", "gap", "interval", "margin", "p", "p_adjusted", "q"),
            *("p_attainable", "smallest_detectable_gap", "family", "excess", "flags", "missing"),
            *("config_digest", "verdict", "reasons"),
        }
        assert contrast["interval"][0] <= contrast["gap"] <= contrast["interval"][1]
    assert "NaN" not in (pytester.path / "out.json").read_text()
