"""The examples are run as their own words say."""

import ast
import json
import re
import shlex
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"


def command(example, number=0):
    """The arguments of a command that the example's docstring shows."""
    text = next((EXAMPLES / example).glob("test_*.py")).read_text(encoding="utf-8")
    joined = text.replace("\\\\\n", " ")
    found = re.findall(r"^    pytest (.*)$", joined, re.MULTILINE)
    return shlex.split(found[number])


@pytest.fixture
def run(pytester, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    (pytester.path / "examples").symlink_to(EXAMPLES)

    def run(arguments):
        return pytester.runpytest("-p", "no:randomly", "-p", "no:cacheprovider", *arguments)

    return run


def test_a_planted_bias_fails_in_its_swap_and_nowhere_else(run):
    result = run(command("planted_bias", 0))
    assert result.ret == 1
    failed = [line for line in result.outlines if line.startswith("FAILED")]
    assert failed
    assert all("race_black" in line for line in failed)


def test_an_equal_floor_without_bias_does_not_fail(run):
    result = run(command("planted_bias", 1))
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*DISPARITY *[[]*")


def test_the_release_gate_runs_on_its_own_plan(run, pytester):
    arguments = command("release_gate")
    arguments[arguments.index("--fairmed-model=llama3.1:8b")] = "--fairmed-model=simulated:seed=2"
    result = run(arguments)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["*contrasts of escalation (* registered*", "*contrasts of language*"]
    )
    assert (pytester.path / "gate.json").exists()
    assert "fairmed.admission.gap" in (pytester.path / "gate.xml").read_text()


def test_the_custom_check_runs_on_its_own_agent_and_case(run):
    result = run(command("custom_check"))
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*6 inconclusive*"])


@pytest.mark.parametrize(
    ("example", "counted"),
    [
        ("custom_outcome", {"outcomes": 2, "contrasts": 2, "relations": 0}),
        ("custom_swap", {"outcomes": 0, "contrasts": 4, "relations": 0}),
        ("custom_relation", {"outcomes": 0, "contrasts": 0, "relations": 4}),
    ],
)
def test_checks_of_ones_own_are_judged(run, pytester, example, counted):
    result = run([*command(example), "--fairmed-report=out.json"])
    assert result.ret == 0
    record = json.loads((pytester.path / "out.json").read_text("utf-8"))
    assert {part: len(record[part]) for part in counted} == counted
    assert record["verdicts"]["UNMEASURED"] == 0


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*/test_*.py")), ids=lambda p: p.parent.name)
def test_no_check_of_an_example_is_longer_than_25_lines(path):
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        assert node.end_lineno - first < 25, f"{path.name}:{first}"


@pytest.mark.parametrize("example", ["graph_agent", "http_service"])
def test_an_agent_behind_a_graph_or_a_service_runs_as_it_is(run, pytester, example):
    # At this level chance cannot make a coin's answers red.
    result = run([*command(example), "--fairmed-alpha=0.000001", "--fairmed-report=out.json"])
    assert result.ret == 0
    result.stdout.fnmatch_lines(["incomplete trajectories: 0 of *"])
    record = json.loads((pytester.path / "out.json").read_text("utf-8"))
    assert {run["configuration"]["agent_version"] for run in record["runs"]} <= {"1", "3"}
    ordered = [
        row["outputs"]["order"]["orders"] for row in record["rows"] if "order" in row["outputs"]
    ]
    assert any(ordered)
    assert all("admission" in row["outputs"]["actions"] for row in record["rows"])


def test_properties_of_an_agent_run_without_a_model(run):
    result = run(command("any_case"))
    result.assert_outcomes(passed=2)
