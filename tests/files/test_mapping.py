"""Files of other people, as they are: columns and slots by name, long format, pronouns."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_fairmedagent.domain import Condition, render
from pytest_fairmedagent.errors import FileFormatError, PlanError
from pytest_fairmedagent.files.foreign import read_foreign
from pytest_fairmedagent.lint import check_files

LAYOUTS = Path(__file__).resolve().parents[2] / "examples" / "layouts"
FILES = sorted(f for f in LAYOUTS.iterdir() if f.suffix in (".csv", ".jsonl"))
WOMAN = Condition("sex_woman", "Black woman.", "swap", "sex")
SOMEBODY = Condition("other", "nonbinary person.", "swap", "sex")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_public_layout_loads_by_one_command_without_a_finding(path):
    result = check_files([path])
    assert [error for file in result.files for error in file.errors] == []
    assert [str(finding) for finding in result.findings] == []
    assert result.files[0].vignettes


def test_there_are_six_layouts_and_31_groups():
    assert len(FILES) == 6
    catalogue = read_foreign(LAYOUTS / "thirty_one_groups.csv").catalogue
    assert len(catalogue.conditions) == 31 + 1  # and the identical re-render
    assert catalogue.reference.id == "reference"


def test_bracketed_slots_are_ours_and_pronouns_follow_the_descriptor():
    case = read_foreign(LAYOUTS / "pain_slots.csv").vignettes[0]
    assert "Her pain is 8/10" in render(case, WOMAN).text
    assert "Should she be given" in render(case, WOMAN).text
    assert "Should they be given" in render(case, SOMEBODY).text


@pytest.fixture
def cases(tmp_path):
    path = tmp_path / "cases.csv"
    path.write_text("case_id,Vignette,Text\n7,A {patient} with chest pain since noon.,x\n", "utf-8")
    return path


def test_an_option_names_the_columns_and_hides_those_that_have_our_names_by_chance(cases):
    (case,) = read_foreign(cases, "text=Vignette,id=case_id").vignettes
    assert (case.id, case.narrative) == ("case_7", "A {patient} with chest pain since noon.")


def test_a_column_that_is_not_there_is_named_with_those_that_are(cases):
    with pytest.raises(
        FileFormatError, match=r"cases\.csv:1: no column is called 'vignete'"
    ) as told:
        read_foreign(cases, "text=vignete")
    assert "Did you mean 'vignette'" in str(told.value)
    assert "The header has: case_id, vignette, text" in str(told.value)


@pytest.mark.parametrize("given", ["txet=Vignette", "text", "=Vignette"])
def test_a_column_that_is_not_read_is_refused(cases, given):
    with pytest.raises(PlanError, match="--fairmed-columns"):
        read_foreign(cases, given)


def test_a_long_file_needs_its_reference_in_every_case(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("case,arm,text\na,one,A man rests.\na,two,A woman rests.\nb,two,It is so.\n")
    with pytest.raises(FileFormatError, match="case 'b' has no text of 'one'"):
        read_foreign(path)


@pytest.mark.parametrize(
    ("cell", "n"),
    [("", 1), ("VG205: the age is the point of the case", 0), ("VG205(41): it is so here", 1)],
)
def test_a_row_silences_a_rule_with_a_reason(tmp_path, cell, n):
    path = tmp_path / "cases.csv"
    path.write_text(f'text,silence\n"A {{patient}}, a 62-year-old, has chest pain.",{cell}\n')
    rules = [finding.rule for finding in check_files([path]).findings]
    assert rules.count("VG205") == n


def test_a_silence_without_a_reason_is_refused(tmp_path):
    path = tmp_path / "cases.csv"
    path.write_text('text,silence\n"A {patient} has chest pain.",VG205\n')
    with pytest.raises(FileFormatError, match=r"cases\.csv:2: 'silence' is 'VG205', expected"):
        read_foreign(path)
