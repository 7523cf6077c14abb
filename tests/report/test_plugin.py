"""Reports that a run writes: by suffix, once, refused before the run if they cannot be made."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree

import pytest

from pytest_fairmedagent.files.run_record import read_run_record
from pytest_fairmedagent.report import written
from pytest_fairmedagent.report.markdown import markdown_summary

pytestmark = pytest.mark.slow

CHECK = """
import pytest
from pytest_fairmedagent import assert_invariant

@pytest.mark.fairmed(
    swaps="race_black", actions=["admission", "referral"], vignettes="hot_knee_urgent_care",
    replicates=4,
)
def test_race(contrast, action):
    assert_invariant(contrast, action)
"""
HOSTILE = """
import pytest

WORDS = "</x><script>alert(1)</script>\\x1b[2J\\x00\\n::error::owned " + "x" * 100_000

@pytest.fixture(scope="session")
def fairmed_agent():
    class Agent:
        version = "1"
        calls = 0
        def __call__(self, case):
            self.calls += 1
            if self.calls > GOOD:
                raise ValueError(WORDS)
            return {"admission": True, "referral": False}
    return Agent()
"""
MODEL = "--fairmed-model=simulated:floor=0.2,seed=1"


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    for name in ("CI", "GITHUB_STEP_SUMMARY", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER"):
        monkeypatch.delenv(name, raising=False)


def test_the_suffix_chooses_the_format_and_all_are_views_of_one_record(pytester):
    pytester.makepyfile(CHECK)
    files = [f"--fairmed-report=out/gate.{suffix}" for suffix in ("json", "html", "md")]
    result = pytester.runpytest_inprocess(MODEL, *files, "-p", "no:randomly")
    result.stdout.fnmatch_lines(["run record written to *", "report written to *", "summary writ*"])
    record = read_run_record(pytester.path / "out" / "gate.json")
    summary = (pytester.path / "out" / "gate.md").read_text(encoding="utf-8")
    assert summary == markdown_summary(record)
    page = (pytester.path / "out" / "gate.html").read_text(encoding="utf-8")
    assert record["created"] in page
    assert not record["interrupted"]
    assert record["complete"]


def test_a_name_with_another_suffix_is_refused(pytester):
    result = pytester.runpytest_inprocess(MODEL, "--fairmed-report=gate.pdf")
    result.stderr.fnmatch_lines(["*expected a name ending in .json, .html or .md*"])


def test_a_page_without_its_extra_is_refused_before_anything_is_drawn(pytester, monkeypatch):
    monkeypatch.setattr(written, "find_spec", lambda name: None)
    pytester.makepyfile(CHECK)
    result = pytester.runpytest_inprocess(MODEL, "--fairmed-report=gate.html")
    result.stderr.fnmatch_lines(['*pip install "pytest-fairmedagent[[]report[]]"*'])
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert not (pytester.path / ".fairmed").exists()


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["alone", "two workers"])
def test_the_summary_of_a_job_is_appended_once(pytester, monkeypatch, workers):
    page = pytester.path / "step.md"
    page.write_text("before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    pytester.makepyfile(CHECK)
    pytester.runpytest_subprocess(MODEL, "--fairmed-report=out.json", "-p", "no:randomly", *workers)
    record = json.loads((pytester.path / "out.json").read_text(encoding="utf-8"))
    assert len(record["contrasts"]) == 2
    assert page.read_text(encoding="utf-8") == "before\n" + markdown_summary(record)


def test_a_later_start_writes_the_record_whole_without_a_draw(pytester):
    pytester.makepyfile(CHECK)
    records = []
    for name in ("first.json", "second.json"):
        pytester.runpytest_inprocess(MODEL, f"--fairmed-report={name}", "-p", "no:randomly")
        records.append(read_run_record(pytester.path / name))
    first, second = records
    assert (first["runs"][0]["drawn"], second["runs"][0]["drawn"]) == (20, 0)
    for part in ("rows", "contrasts", "arms", "controls", "guards", "verdicts", "conditions"):
        assert first[part] == second[part], part
    assert second["complete"]


def test_options_that_beat_the_plan_are_deviations(pytester):
    pytester.makepyfile(CHECK)
    pytester.runpytest_inprocess(
        MODEL, "--fairmed-report=out.json", "--fairmed-alpha=0.01", "-k", "admission"
    )
    told = read_run_record(pytester.path / "out.json")["deviations"]
    assert [entry["kind"] for entry in told] == ["option", "selection"]
    assert told[0]["text"] == "alpha is 0.01 by option; the plan file has 0.05"
    assert told[1]["text"].startswith("1 of the 2 contrasts registered in test_")


@pytest.mark.parametrize("n_good", [0, 8])
def test_what_a_broken_agent_says_harms_no_output(pytester, n_good):
    pytester.makepyfile(CHECK)
    pytester.makeconftest(HOSTILE.replace("GOOD", str(n_good)))
    reports = [f"--fairmed-report=out.{suffix}" for suffix in ("json", "html", "md")]
    result = pytester.runpytest_subprocess(MODEL, "--junitxml=out.xml", *reports)
    lines = result.outlines
    commands = [line for line in lines if line.lstrip().startswith("::")]
    longest = max(map(len, lines))
    assert (commands, longest < 5_000) == ([], True)
    ElementTree.parse(pytester.path / "out.xml")
    assert bool(read_run_record(pytester.path / "out.json")["runs"][0]["missing"]) == bool(n_good)
    page = (pytester.path / "out.html").read_text(encoding="utf-8")
    assert page.count("<script>") == 1
    assert len(page) < 1_000_000


def test_junit_has_the_numbers_of_the_record(pytester):
    pytester.makepyfile(CHECK)
    pytester.runpytest_inprocess(MODEL, "--junitxml=out.xml", "--fairmed-report=out.json")
    found = {}
    for case in ElementTree.parse(pytester.path / "out.xml").iter("testcase"):
        for entry in case.iter("property"):
            found[entry.get("name")] = entry.get("value")
    for c in read_run_record(pytester.path / "out.json")["contrasts"]:
        name = f"fairmed.{c['action']}"
        assert found[f"{name}.verdict"] == c["verdict"]
        for key, value in (("gap", c["gap"]), ("low", c["interval"][0]), ("floor", c["floor"])):
            assert float(found[f"{name}.{key}"]) == pytest.approx(value, abs=1e-6)


def test_an_ini_key_leaves_the_numbers_out_of_junit(pytester):
    pytester.makepyfile(CHECK)
    pytester.makeini("[pytest]\nfairmed_junit_properties = no\n")
    pytester.runpytest_inprocess(MODEL, "--junitxml=out.xml")
    tree = ElementTree.parse(pytester.path / "out.xml")
    assert len(list(tree.iter("testcase"))) == 2
    assert not list(tree.iter("property"))
