"""What collecting 5,000 fairness items costs against 5,000 plain parametrised ones.

Alternates the two, seven times each, and prints the median CPU of each and their ratio; the aim is
at most 1.5.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PLAIN = """
import pytest

@pytest.mark.parametrize("action", [f"action_{i}" for i in range(6)])
@pytest.mark.parametrize("contrast", [f"swap_{i}" for i in range(5)])
@pytest.mark.parametrize("vignette", [f"case_{i:03d}" for i in range(167)])
def test_plain(vignette, contrast, action):
    pass
"""

MARKED = """
import pytest
from pytest_fairmedagent import assert_invariant

@pytest.mark.fairmed(vignettes="cases")
def test_marked(vignette, contrast, action):
    assert_invariant(contrast, action)
"""

CASE = """schema = 1
id = "case_{i:03d}"
title = "Case {i}"
domain = "triage_escalation"
difficulty = "clear"
status = "author-derived"
provenance = "Made for a benchmark."
guideline = {{ title = "None", year = 2020 }}
narrative = "Case number {i}."
menu = [
  {{ id = "aa", name = "A", result = "a" }},
  {{ id = "bb", name = "B", result = "b" }},
  {{ id = "cc", name = "C", result = "c" }},
]
"""


def cpu_of(folder: Path, *arguments: str) -> float:
    """Return the CPU seconds of one collection."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "--collect-only",
            "-qq",
            "-p",
            "no:cacheprovider",
            *arguments,
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if out.returncode:
        raise SystemExit(out.stdout[-3000:] + out.stderr[-3000:])
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pytest.ini").write_text("[pytest]\n")
        (folder / "cases").mkdir()
        for i in range(167):
            (folder / "cases" / f"case_{i:03d}.toml").write_text(CASE.format(i=i))
        (folder / "test_plain.py").write_text(PLAIN)
        (folder / "test_marked.py").write_text(MARKED)
        plain, marked = [], []
        for _ in range(7):
            plain.append(cpu_of(folder, "test_plain.py"))
            marked.append(cpu_of(folder, "test_marked.py", "--fairmed-model=simulated"))
        a, b = statistics.median(plain), statistics.median(marked)
        print(f"5,010 items, median CPU of 7: plain {a:.2f} s, marked {b:.2f} s, ratio {b / a:.2f}")


if __name__ == "__main__":
    main()
