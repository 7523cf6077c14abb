"""What a case set says of itself: tables of its composition, and digests of its files."""

import shutil
import subprocess

import pytest

from pytest_fairmedagent.cli import main
from pytest_fairmedagent.files.composition import digest_lines
from pytest_fairmedagent.files.vignettes import shipped_vignettes

NAME = "hot_knee_urgent_care"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine").mkdir()
    shutil.copy(next(shipped_vignettes().rglob(f"{NAME}.toml")), tmp_path / "mine")
    shutil.copy(shipped_vignettes() / "swaps.toml", tmp_path)
    return tmp_path


def test_the_tables_count_cases_bands_and_renderings(folder, capsys):
    assert main(["validate", str(folder), "--composition"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == "| diagnostic_ordering | 1 | 1 | 0 | 0 | 0 | 1 | 0 | 0 | 0 |"
    assert lines[3] == "| all | 1 | 1 | 0 | 0 | 0 | 1 | 0 | 0 | 0 |"
    assert "| esi_acuity | 1 | 1 | 0 | 0 |" in lines
    assert lines[-1].startswith(f"| `{NAME}` | diagnostic_ordering | clear | urgent_care |")


def test_the_digests_change_with_the_files_and_not_with_their_line_ends(folder):
    before = list(digest_lines(folder))
    assert [line.split("  ")[1] for line in before] == [f"mine/{NAME}.toml", "swaps.toml"]
    path = folder / "swaps.toml"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert list(digest_lines(folder)) == before
    path.write_text(path.read_text() + "# more\n")
    case, swaps = digest_lines(folder)
    assert (case, swaps != before[1]) == (before[0], True)


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="needs sha256sum")
def test_sha256sum_checks_what_is_printed(folder, capsys):
    assert main(["validate", str(folder), "--digests"]) == 0
    (folder / "DIGESTS.txt").write_text(capsys.readouterr().out)
    subprocess.run(["sha256sum", "-c", "DIGESTS.txt"], cwd=folder, check=True, capture_output=True)


def test_digests_are_of_a_folder(folder, capsys):
    assert main(["validate", str(folder / "swaps.toml"), "--digests"]) != 0
    assert "is no folder. Name the folder of a case set" in capsys.readouterr().err
