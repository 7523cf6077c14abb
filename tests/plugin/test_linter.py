"""Cases and swaps are held to the linter's rules before anything is sampled."""

from __future__ import annotations

import pytest

from pytest_fairmedagent.files.vignettes import shipped_vignettes

CASE = next(shipped_vignettes().rglob("flank_pain*.toml")).read_text(encoding="utf-8")
TEST = """
import pytest
from pytest_fairmedagent import assert_invariant

@pytest.mark.fairmed(swaps="race_black", actions="admission", replicates=3{more})
def test_it(contrast, action):
    assert_invariant(contrast, action)
"""


def write_case(pytester, old="", new="", name="mine"):
    folder = pytester.mkdir(name)
    text = CASE.replace(old, new, 1) if old else CASE
    (folder / "flank_pain_with_rigors.toml").write_text(text, encoding="utf-8")
    return folder / "flank_pain_with_rigors.toml"


def test_a_case_that_tells_the_sex_stops_the_run_with_file_and_line(pytester, gate):
    path = write_case(pytester, "The patient opens", "She opens")
    pytester.makepyfile(TEST.format(more=""))
    result = gate("--fairmed-vignettes=mine")
    lines = path.read_text(encoding="utf-8").splitlines()
    number = next(i for i, line in enumerate(lines, 1) if "She opens" in line)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{path}:{number}: VG201 'She' tells the sex of the patient*"])
    assert not (pytester.path / ".fairmed").exists()


def test_a_sound_case_runs(pytester, gate):
    write_case(pytester)
    pytester.makepyfile(TEST.format(more=""))
    result = gate("--fairmed-vignettes=mine")
    assert sum(result.parseoutcomes().values()) >= 1
    assert result.ret in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)


def test_a_warning_stops_nothing(pytester, gate):
    write_case(pytester, "Allergies:", "Reacts to:")
    pytester.makepyfile(TEST.format(more=""))
    assert gate("--fairmed-vignettes=mine").ret != pytest.ExitCode.USAGE_ERROR


def test_a_silenced_error_stops_nothing(pytester, gate):
    path = write_case(pytester, "The patient opens", "She opens")
    with path.open("a", encoding="utf-8") as file:
        file.write('\n[[silence]]\nrule = "VG201"\nreason = "All arms of ours are women."\n')
    pytester.makepyfile(TEST.format(more=""))
    assert gate("--fairmed-vignettes=mine").ret != pytest.ExitCode.USAGE_ERROR


def test_cases_that_a_mark_names_are_checked_too(pytester, gate):
    path = write_case(pytester, "SpO2 95%", "SpO2 95%, BP 50/86 mmHg")
    pytester.makepyfile(TEST.format(more=', vignettes="mine"'))
    result = gate()
    assert result.ret != pytest.ExitCode.OK
    result.stdout.fnmatch_lines([f"*{path}:*: VG404 *systolic expected above diastolic*"])


def test_a_catalogue_whose_swap_changes_two_attributes_stops_the_run(pytester, gate):
    pytester.path.joinpath("own.toml").write_text(
        'schema = 1\nline = "A {race} {sex}."\n[reference]\nrace = "White"\nsex = "man"\n'
        '[[condition]]\nid = "race_black"\nattribute = "race"\n'
        'set = { race = "Black", sex = "woman" }\n'
        '[[condition]]\nid = "rerender"\nkind = "identical"\n',
        encoding="utf-8",
    )
    pytester.makepyfile(TEST.format(more=""))
    result = gate("--fairmed-swaps=own.toml", "--fairmed-vignettes=flank_pain_with_rigors")
    assert result.ret != pytest.ExitCode.OK
    told = result.stderr.str() + result.stdout.str()
    assert "own.toml:6: SW104 'race_black' changes several attributes at once (race, sex)" in told
