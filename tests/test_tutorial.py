"""The tutorial's commands, in order, in a fresh virtual environment; its lines are their output.

It takes minutes, so it runs only where `FAIRMED_TUTORIAL` is set: `yes` makes a virtual environment
and installs this checkout; `here` takes the current one, as `.ci/run` does in the one it just made.
"""

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "tutorial.md"
WANTED = os.environ.get("FAIRMED_TUTORIAL", "")
BLOCK = re.compile(
    r"(?:<!-- (?P<note>[^\n]*) -->\n)?```(?P<kind>\w+)(?: title=\"(?P<title>[^\"]+)\")?\n"
    r"(?P<body>.*?)```",
    re.DOTALL,
)


def blocks():
    """The page's blocks in order: (note, kind, title, body)."""
    text = PAGE.read_text(encoding="utf-8")
    return [(m["note"] or "", m["kind"], m["title"], m["body"]) for m in BLOCK.finditer(text)]


def plain(text):
    """Output as the page shows it: without the width of columns and the ends of lines."""
    return re.sub(r"\s+", " ", text)


def test_the_tutorial_has_commands_files_and_their_output():
    kinds = [kind for _, kind, _, _ in blocks()]
    assert kinds.count("sh") >= 8
    assert kinds.count("python") == 2
    assert kinds.count("text") >= 6
    notes = {note for note, *_ in blocks()}
    assert notes <= {"", "by hand", "exits 1", "needs embedded"}, notes


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    """The folder of the commands: of a fresh environment with this checkout installed."""
    if WANTED == "here":
        return Path(sysconfig.get_path("scripts"))
    place = tmp_path_factory.mktemp("fresh") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    (install,) = (body for note, _, _, body in blocks() if note == "by hand")
    pip = [str(place / "bin" / "python"), "-m", "pip", "install", "-q"]
    for line in install.splitlines()[:2]:
        arguments = line.partition("#")[0].replace('"', "").split()
        assert arguments[:2] == ["pip", "install"]
        done = subprocess.run(
            [*pip, *arguments[2:]], cwd=ROOT, capture_output=True, text=True, check=False
        )
        if "No matching distribution" in done.stderr or "NewConnectionError" in done.stderr:
            pytest.skip(f"no package index is reached: {done.stderr.strip()[-200:]}")
        assert done.returncode == 0, done.stderr
    return place / "bin"


@pytest.mark.skipif(not WANTED, reason="takes minutes: set FAIRMED_TUTORIAL=yes (or =here)")
@pytest.mark.timeout(1500)
def test_every_command_of_the_tutorial_does_what_the_page_says(scripts, tmp_path):
    hidden = ("CI", "GITHUB", "PYTEST", "FAIRMED", "VIRTUAL_ENV", "PYTHONPATH")
    env = {k: v for k, v in os.environ.items() if not k.startswith(hidden)}
    env["PATH"] = f"{scripts}{os.pathsep}{env.get('PATH', '')}"
    env |= {"COLUMNS": "100", "NO_COLOR": "1", "PYTHONUTF8": "1"}
    printed, n_run = "", 0
    for note, kind, title, body in blocks():
        if kind == "python":
            target = tmp_path / title
            target.parent.mkdir(exist_ok=True)
            target.write_text(body, encoding="utf-8")
        elif kind == "text":
            for line in body.splitlines():
                for part in line.split("..."):
                    assert plain(part).strip() in printed, f"{part!r} is not printed:\n{printed}"
        elif note != "by hand":
            assert kind == "sh"
            printed = ""
            for line in body.replace("\\\n", " ").splitlines():
                ran = subprocess.run(
                    ["sh", "-c", line],
                    cwd=tmp_path,
                    env=env,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    encoding="utf-8",
                    check=False,
                )
                expected = 1 if note == "exits 1" else 0
                assert ran.returncode == expected, f"{line}\n{ran.stdout}"
                printed += plain(ran.stdout)
                n_run += 1
    assert n_run >= 10
