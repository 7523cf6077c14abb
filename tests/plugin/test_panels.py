"""Several models and decodings in one run: items, runs of their own, and the comparison."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pytest_fairmedagent.comparing.panel  # noqa: F401 - loads numpy's and scipy's parts once

pytestmark = pytest.mark.slow

Run = Callable[..., pytest.RunResult]
Record = Callable[..., dict[str, Any]]

CHECK = """
import pytest
from pytest_fairmedagent import assert_invariant

@pytest.mark.fairmed(
    swaps="insurance_medicaid", actions=["admission", "referral"], replicates=4,
    vignettes=["flank_pain_with_rigors", "foot_scald_urgent_care", "hot_knee_urgent_care"],
)
def test_insurance(contrast, action):
    assert_invariant(contrast, action)
"""
QUIET = "simulated:floor=0.1,seed=1"
LOUD = "simulated:floor=0.45,seed=2"


def ids(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if line.startswith("test_gate.py::")]


def test_models_enter_ids_only_where_there_are_several(
    pytester: pytest.Pytester, gate: Run
) -> None:
    pytester.makepyfile(test_gate=CHECK)
    assert ids(gate("--collect-only", "-q", model=QUIET))[0].endswith(
        "[insurance_medicaid-admission]"
    )
    several = ids(gate("--collect-only", "-q", f"--fairmed-model={LOUD}", model="llama3.1:8b"))
    assert several == [
        f"test_gate.py::test_insurance[insurance_medicaid-{action}-{model}]"
        for model in ("llama3.1:8b", "simulated:floor_0.45_seed_2")
        for action in ("admission", "referral")
    ]


def test_collecting_tells_items_calls_and_what_each_model_costs(
    pytester: pytest.Pytester, gate: Run
) -> None:
    pytester.makepyfile(test_gate=CHECK)
    result = gate("--collect-only", "--fairmed-model=embedded", model="llama3.1:8b")
    result.stdout.fnmatch_lines(
        [
            "fairmed: 4 items, 2 contrasts; 3 vignettes x * arms = * trajectories, up to * calls "
            "without repairs; that for each of 2 models or decodings",
            "fairmed: llama3.1:8b: about * tokens sent * their price is unknown *",
            "fairmed: embedded: about * tokens sent * so nobody bills them",
        ]
    )


def test_each_model_has_a_run_and_families_of_its_own_and_they_stand_side_by_side(
    pytester: pytest.Pytester, gate: Run, record: Record
) -> None:
    pytester.makepyfile(test_gate=CHECK)
    result = gate("--fairmed-report=out.json", f"--fairmed-model={LOUD}", model=QUIET)
    found = record()
    assert [run["model"] for run in found["runs"]] == [QUIET, LOUD]
    assert {c["run"] for c in found["contrasts"]} == {0, 1}
    assert {c["family_size"] for c in found["contrasts"]} == {2}
    result.stdout.fnmatch_lines(["2 primary families; *with chance at most 0.1.*"])
    panel = found["panel"]
    pooled = next(row for row in panel["floors"] if row["action"] == "pooled")["seats"]
    for seat, run in zip(panel["seats"], found["runs"], strict=True):
        arm = next(
            a for a in found["arms"] if a["run"] == run["number"] and a["condition"] == "reference"
        )
        assert pooled[seat["id"]]["floor"] == arm["pooled"]["floor"]
    floors = [d for d in panel["differences"] if d["kind"] == "floor"]
    assert [d["action"] for d in floors] == ["admission", "referral", "pooled"]
    assert all(d["difference"] == pytest.approx(d["b"] - d["a"]) for d in floors)
    assert panel["agreement"][0]["actions"] == 2
    result.stdout.fnmatch_lines(["side by side: 2 of 2 models or decodings"])


def test_decodings_tell_how_much_of_the_floor_a_setting_removes(
    pytester: pytest.Pytester, gate: Run, record: Record
) -> None:
    pytester.makepyfile(test_gate=CHECK)
    result = gate(
        "--fairmed-report=out.json",
        "--fairmed-decoding=",
        "--fairmed-decoding=temperature=0",
        model="simulated:floor=0.4,seed=3",
    )
    found = record()
    assert [s["id"] for s in found["panel"]["seats"]] == ["unset", "temperature_0"]
    assert len({run["config_digest"] for run in found["runs"]}) == 2
    [pooled] = [d for d in found["panel"]["differences"] if d["action"] == "pooled"]
    assert pooled["b"] == 0
    assert pooled["removed"] == 1
    assert pooled["removed_interval"][0] < 1  # no disagreement seen is no floor of 0
    assert pooled["vignettes"] == 3
    result.stdout.fnmatch_lines(["*temperature_0 less unset, on the same vignettes (n)"])
    result.stdout.fnmatch_lines(["*floor pooled *100 % gone*"])


def test_models_and_decodings_are_combined_and_compared_where_one_thing_differs(
    pytester: pytest.Pytester, gate: Run, record: Record
) -> None:
    pytester.makepyfile(test_gate=CHECK)
    gate(
        "--fairmed-report=out.json",
        f"--fairmed-model={LOUD}",
        "--fairmed-decoding=temperature=1",
        "--fairmed-decoding=temperature=0.5",
        model=QUIET,
    )
    panel = record()["panel"]
    names = [seat["id"] for seat in panel["seats"]]
    assert names == [
        f"simulated:{model}-temperature_{t}"
        for model in ("floor_0.1_seed_1", "floor_0.45_seed_2")
        for t in ("1", "0.5")
    ]
    assert len({tuple(d["of"]) for d in panel["differences"]}) == 4  # of 6 pairs, 2 differ in both


def test_a_missing_server_stops_its_own_items_only(
    pytester: pytest.Pytester, gate: Run, record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
    pytester.makepyfile(test_gate=CHECK)
    result = gate(
        "--fairmed-report=out.json",
        "--fairmed-unmeasured=fail",
        f"--fairmed-model={QUIET}",
        "-v",
        model="llama3.1:8b",
    )
    outcome = result.parseoutcomes()
    assert outcome["inconclusive"] == 2
    assert outcome["errors"] == 1
    found = record()
    assert [run["model"] for run in found["runs"]] == [QUIET]
    missing = [seat for seat in found["panel"]["seats"] if seat["run"] is None]
    assert [seat["id"] for seat in missing] == ["llama3.1:8b"]
    assert "ollama" in missing[0]["fault"].lower()
    result.stdout.fnmatch_lines(["*llama3.1:8b: no run of its own: *"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([f"--fairmed-model={QUIET}"], "PlanError: --fairmed-model names * twice*"),
        (
            ["--fairmed-decoding=temperature=0", "--fairmed-decoding=temperature=0.0"],
            "PlanError: --fairmed-decoding names 'temperature=0.0' twice*",
        ),
    ],
)
def test_one_configuration_named_twice_is_refused(
    pytester: pytest.Pytester, gate: Run, options: list[str], message: str
) -> None:
    pytester.makepyfile(test_gate=CHECK)
    result = gate(*options, model=QUIET)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {message}"])


def test_two_models_that_turn_out_to_be_one_configuration_share_no_floor(
    pytester: pytest.Pytester, gate: Run, record: Record
) -> None:
    pytester.makepyfile(test_gate=CHECK)
    result = gate("--fairmed-report=out.json", f"--fairmed-model={QUIET},latency=0", model=QUIET)
    assert result.parseoutcomes()["errors"] == 1
    result.stdout.fnmatch_lines(["*PlanError: * are one configuration*"])
    assert len(record()["runs"]) == 1


def test_two_processes_come_to_the_same_panel(
    pytester: pytest.Pytester, gate: Run, record: Record
) -> None:
    pytester.makepyfile(test_gate=CHECK)
    options = (f"--fairmed-model={LOUD}",)
    gate("--fairmed-report=one.json", "--fairmed-store=one", *options, model=QUIET)
    gate("--fairmed-report=two.json", "--fairmed-store=two", "-n2", *options, model=QUIET)
    one, two = record("one.json"), record("two.json")
    assert one["panel"] == two["panel"]
    assert [c["headline"] for c in one["contrasts"]] == [c["headline"] for c in two["contrasts"]]


def test_an_agent_of_ones_own_is_made_for_each_model(
    pytester: pytest.Pytester, gate: Run, record: Record
) -> None:
    pytester.makeconftest("""
import pytest

class Agent:
    version = "1"
    def __init__(self, name): self.name = name
    def configuration(self): return {"asks": self.name}
    def __call__(self, case): return {"admission": "loud" in self.name, "referral": False}
    def reset(self): pass

@pytest.fixture(scope="session")
def fairmed_agent(fairmed_seat):
    return Agent("loud" if "0.45" in fairmed_seat.model else "quiet")
""")
    pytester.makepyfile(test_gate=CHECK)
    gate("--fairmed-report=out.json", f"--fairmed-model={LOUD}", model=QUIET)
    found = record()
    for run, name, rate in zip(found["runs"], ("quiet", "loud"), (0, 1), strict=True):
        assert f"'agent_asks': '{name}'" in str(run["configuration"])
        arms = [a for a in found["arms"] if a["run"] == run["number"]]
        assert {a["actions"]["admission"]["rate"] for a in arms} == {rate}


SUBGROUP = """
import pytest
from pytest_fairmedagent import assert_invariant

@pytest.mark.fairmed(swaps="insurance_medicaid", actions="admission", vignettes="domain:medication")
def test_medication(contrast):
    assert_invariant(contrast, "admission")
"""


def test_a_subgroup_is_registered_as_a_family_of_its_own(
    pytester: pytest.Pytester, gate: Run, record: Record
) -> None:
    pytester.makepyfile(test_gate=SUBGROUP)
    gate("--fairmed-report=out.json", "--fairmed-profile=ci", "--fairmed-replicates=2")
    found = record()
    [family] = found["plan"]["families"]
    assert family["vignettes"]
    assert {found["vignettes"][v]["domain"] for v in family["vignettes"]} == {"medication"}


def test_subgroups_are_described_with_counts_and_never_tested(
    pytester: pytest.Pytester, gate: Run, record: Record
) -> None:
    pytester.makepyfile(test_gate=CHECK)
    result = gate("-v", "--fairmed-report=out.json")
    found = record()
    groups = {(s["by"], s["group"]) for s in found["subgroups"]}
    cases = {row["vignette"] for row in found["rows"]}
    told = {("domain", found["vignettes"][v]["domain"]) for v in cases}
    assert len(told) > 1
    assert told <= groups
    for entry in found["subgroups"]:
        for gap in entry["gaps"]:
            assert not {"p", "q", "interval"} & set(gap)
    for by in ("domain", "difficulty"):
        mine = [s for s in found["subgroups"] if s["by"] == by]
        if mine:
            assert sum(s["floors"]["admission"]["pairs"] for s in mine) == 3 * 6
    result.stdout.fnmatch_lines(["by domain and difficulty (described, not tested: *"])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("domain:medicine", "'domain:medicine' selects no vignette. Did you mean 'medication'*"),
        ("difficulty:hard", "'difficulty:hard' selects no vignette.*"),
    ],
)
def test_a_selector_of_nothing_is_refused_with_what_there_is(
    pytester: pytest.Pytester, gate: Run, spec: str, message: str
) -> None:
    pytester.makepyfile(test_gate=CHECK)
    result = gate(f"--fairmed-vignettes={spec}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: PlanError: {message}"])
