"""What a terminal shows: width, colour, progress and the retold verdict, beside pytest's own."""

import os
import re
import subprocess
import sys

import pytest

from pytest_fairmedagent.plugin import progress

pytestmark = pytest.mark.slow

MODEL = "simulated:floor=0.087,seed=1"

SOURCE = """\
import pytest
from pytest_fairmedagent import assert_invariant

@pytest.mark.fairmed(swaps=["race_black", "sex_woman"], actions=["admission", "referral"],
                     vignettes=["hot_knee_urgent_care"], replicates=3)
def test_it(contrast, action):
    assert_invariant(contrast, action)
"""
ITEM = "test_it.py::test_it[race_black-admission]"

# Progress is shown at once and at every step, as in a run that takes long.
EAGER = """\
import pytest_fairmedagent.plugin.progress as progress

progress.FIRST_S = progress.EVERY_S = 0.0
"""


@pytest.fixture
def project(pytester):
    pytester.makepyfile(test_it=SOURCE)
    return pytester


def section(result):
    """The lines of the plugin's own section."""
    lines = result.stdout.lines
    start = next(i for i, line in enumerate(lines) if re.fullmatch(r"=+ fairmed =+", line))
    ends = (i for i in range(start + 1, len(lines)) if re.search(r" in [\d.]+s|^===", lines[i]))
    return lines[start + 1 : next(ends)]


@pytest.mark.parametrize("arguments", [(), ("-q",), ("-v",), ("--tb=line",), ("--tb=no", "-v")])
def test_the_section_is_whole_and_fits_80_columns(project, gate, monkeypatch, arguments):
    monkeypatch.setenv("COLUMNS", "80")
    lines = section(gate(*arguments))
    assert max(map(len, lines)) <= 80
    rows = [line for line in lines if re.match(r"  (INCONCLUSIVE|DISPARITY) ", line)]
    assert len(rows) == 4 + 2
    assert sum(" any of " in row for row in rows) == 2
    assert [line for line in lines if line.startswith("  -- ")] == [
        "  -- race_black vs reference",
        "  -- sex_woman vs reference",
    ]


def test_a_wide_terminal_has_each_contrast_on_a_line_of_its_own(project, gate):
    lines = section(gate())
    for swap in ("race_black", "sex_woman"):
        for action in ("admission", "referral"):
            assert sum(line.split()[1:3] == [action, swap] for line in lines) == 1


def test_colour_is_pytests_to_decide_and_adds_nothing_else(project, gate):
    plain = gate("--color=no")
    coloured = gate("--color=yes", "--fairmed-fresh")
    assert "\x1b[" not in plain.stdout.str()
    assert re.search(r"  \x1b\[33mINCONCLUSIVE\x1b\[0m ", coloured.stdout.str())


@pytest.mark.parametrize(("name", "wants"), [("NO_COLOR", False), ("FORCE_COLOR", True)])
def test_the_environment_is_asked_for_colour(project, gate, monkeypatch, name, wants):
    for other in ("NO_COLOR", "FORCE_COLOR", "PY_COLORS"):
        monkeypatch.delenv(other, raising=False)
    monkeypatch.setenv(name, "1")
    assert ("\x1b[33mINCONCLUSIVE" in gate().stdout.str()) is wants


@pytest.mark.parametrize("asked", [ITEM, "race_black-admission"])
def test_one_verdict_is_retold_below_the_summary(project, gate, asked, record):
    result = gate(f"--fairmed-explain={asked}", "--fairmed-report=out.json")
    found = record()
    (contrast,) = (
        c
        for c in found["contrasts"]
        if (c["condition"], c["action"]) == ("race_black", "admission")
    )
    text = " ".join(result.stdout.str().split())
    assert f"explained: {ITEM}" in text
    assert f"So the verdict is {contrast['verdict']}" in text
    assert f"signed gap {contrast['gap']:+.2f}" in text
    assert text.count("So the verdict is") == 1
    assert "explain" not in found


def test_an_item_that_is_not_there_is_told_with_one_that_is(project, gate):
    result = gate("--fairmed-explain=race_blak-admission")
    said = "--fairmed-explain: no item of this run has 'race_blak-admission' in its node id"
    assert f"{said}; one is {ITEM}" in result.stdout.str()
    result = gate("--fairmed-explain=race_black")
    result.stdout.fnmatch_lines(["--fairmed-explain: 2 items have 'race_black' in their node ids*"])


def test_a_verdict_of_a_worker_is_retold_too(project, gate):
    pytest.importorskip("xdist")
    result = gate("-n1", f"--fairmed-explain={ITEM}")
    text = " ".join(result.stdout.str().split())
    assert text.count(f"explained: {ITEM}") == 1
    assert text.count("So the verdict is") == 1


@pytest.mark.parametrize("verbosity", ["-v", "-q", "--tb=short"])
def test_progress_in_a_log_stands_on_lines_of_its_own(project, gate, monkeypatch, verbosity):
    monkeypatch.setattr(progress, "FIRST_S", 0.0)
    monkeypatch.setattr(progress, "EVERY_S", 0.0)
    lines = gate(verbosity, model=f"{MODEL},latency=0.02").stdout.lines
    told = [line for line in lines if re.search(r"fairmed \d+/\d+", line)]
    assert told
    assert all(re.match(r"fairmed \d+/\d+", line) for line in told)
    if verbosity == "-v":
        results = [line for line in lines if "INCONCLUSIVE " in line and "[" in line]
        shown = [line for line in results if line.startswith("test_it.py::test_it[")]
        assert len(shown) == 4


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_progress_in_a_terminal_leaves_no_trace_in_the_lines_of_pytest(project):
    import pty

    project.makeconftest(EAGER)
    main, side = pty.openpty()
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:randomly", "-p", "no:xdist"]
    command.append(f"--fairmed-model={MODEL},latency=0.03")
    environment = {**os.environ, "COLUMNS": "100", "TERM": "xterm", "NO_COLOR": "1"}
    with subprocess.Popen(command, stdout=side, stderr=side, env=environment):
        os.close(side)
        written = b""
        while True:
            try:
                block = os.read(main, 65536)
            except OSError:  # how Linux says that the other side is closed
                break
            if not block:
                break
            written += block
    os.close(main)
    text = written.decode()
    assert re.search(r"\r\x1b\[Kfairmed \d+/\d+", text)
    # What is left on the screen: of each line what stands after its last rewriting.
    screen = [line.rstrip("\r").split("\r\x1b[K")[-1] for line in text.split("\n")]
    assert not any("fairmed " in line and re.search(r"\d+/\d+,", line) for line in screen)
    ended = [line for line in screen if re.match(r"test_it\.py::test_it\[\S+\] INCONCLUSIVE", line)]
    assert len(ended) == 4
    assert all(line.endswith("%]") for line in ended)
    assert len({len(line) for line in ended}) == 1, "percentages stand in one column"
