"""`fairmed validate`: every complaint with file and line, and a status that a build can use."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import pytest_fairmedagent
from pytest_fairmedagent.files.vignettes import shipped_vignettes

AUDIT = Path(pytest_fairmedagent.__file__).parent / "audit"
SWAPS = """schema = 1
line = "A {race} patient."

[reference]
race = "White"

[[condition]]
id = "race_green"
attribute = "race"
set = { race = "Green" }
"""
PLAN = """schema = 1
name = "own"
says = "For a test."
replicates = 3

[[family]]
name = "primary"
swaps = ["race_green"]
"""


def test_what_comes_with_the_project_is_ok(fairmed):
    ran = fairmed("validate", shipped_vignettes(), AUDIT)
    assert ran.status == 0
    assert "bad  " not in ran.out
    kinds = set(re.findall(r"^ok .*\((.*)\)$", ran.out, re.MULTILINE))
    known = {"vignette", "swaps", "plan", "adjudicators", "confounding", "contradictions"}
    assert kinds == known


def test_every_error_is_listed_with_file_and_line(fairmed, tmp_path):
    path = tmp_path / "case.toml"
    path.write_text('schema = 1\nid = "Bad Id"\ntitle = ""\nnarrative = "x"\nmenu = []\nodd = 1\n')
    ran = fairmed("validate", path)
    assert ran.status == 1
    lines = [line for line in ran.out.splitlines() if not line.startswith("  ")]
    assert all(line.startswith(f"bad  {path}:") for line in lines)
    for place in (":2: 'id'", ":3: 'title'", ":5: 'menu'", ":6: unknown key 'odd'"):
        assert any(place in line for line in lines), place
    assert any("'domain' is missing" in line for line in lines)


def test_json_says_the_same(fairmed, tmp_path):
    good, bad = tmp_path / "swaps.toml", tmp_path / "rules.toml"
    good.write_text(SWAPS)
    bad.write_text('schema = 1\nblock = 3\nactions = ["admission"]\n')
    ran = fairmed("validate", good, bad, "--json")
    assert ran.status == 1
    one, other = json.loads(ran.out)
    assert one == {"file": str(good), "kind": "swaps", "ok": True, "errors": [], "findings": []}
    assert (other["kind"], other["ok"]) == ("rules", False)
    assert other["errors"][0].startswith(f"{bad}:2: 'block' is 3")


def test_a_plan_is_read_with_the_catalogue_beside_it(fairmed, tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN)
    alone = fairmed("validate", tmp_path)
    assert alone.status == 1
    assert f"{tmp_path / 'plan.toml'}:8: unknown swap 'race_green'" in alone.out
    (tmp_path / "swaps.toml").write_text(SWAPS)
    assert fairmed("validate", tmp_path).status == 0


def test_two_vignettes_of_one_id_are_named(fairmed, tmp_path):
    text = next(shipped_vignettes().rglob("early*.toml")).read_text(encoding="utf-8")
    for name in ("a.toml", "b.toml"):
        (tmp_path / name).write_text(text, encoding="utf-8")
    ran = fairmed("validate", tmp_path)
    assert ran.status == 1
    assert re.findall(r"^bad  .*/(\w)\.toml: .* is also that of", ran.out, re.MULTILINE) == ["b"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n", "is neither a vignette nor a swaps, plan or rules file"),
        ("x = \n", ":1: not valid TOML"),
        ("", "no keys at all"),
        ('[[condition]]\nname = "a"\n', "'schema' is missing"),
    ],
)
def test_what_is_none_of_these_files_is_bad(fairmed, tmp_path, text, said):
    path = tmp_path / "odd.toml"
    path.write_text(text)
    ran = fairmed("validate", path)
    assert ran.status == 1
    assert said in ran.out


def test_a_path_that_is_not_there_and_an_empty_folder_are_bad(fairmed, tmp_path):
    ran = fairmed("validate", tmp_path / "no.toml", tmp_path)
    assert ran.status == 1
    assert "cannot be read" in ran.out
    assert "holds no file *.toml" in ran.out


@pytest.fixture
def case(tmp_path):
    """Writes a shipped case with a change into a folder of its own."""

    def write(old, new):
        path = next(shipped_vignettes().rglob("flank_pain*.toml"))
        text = path.read_text(encoding="utf-8")
        assert old in text
        copy = tmp_path / path.name
        copy.write_text(text.replace(old, new, 1), encoding="utf-8")
        return copy

    return write


def line_of(path, word):
    lines = path.read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if word in line)


def test_an_error_of_a_rule_has_file_line_and_advice(fairmed, case):
    path = case("The patient opens", "She opens")
    ran = fairmed("validate", path)
    assert ran.status == 1
    (line,) = (text for text in ran.out.splitlines() if text.startswith("bad  "))
    assert line.startswith(f"bad  {path}:{line_of(path, 'She opens')}: VG201 'She' tells the sex")
    assert "expected to say who it is. Reword it" in line


def test_a_finding_in_a_result_has_the_line_of_the_result(fairmed, case):
    path = case("Many Gram-negative rods.", "Many rods in his urine.")
    assert f"{path}:{line_of(path, 'his urine')}: VG201 'his'" in fairmed("validate", path).out


def test_a_warning_fails_under_strict_alone(fairmed, case):
    path = case("Allergies:", "Reacts to:")
    ran = fairmed("validate", path)
    assert ran.status == 0
    first = line_of(path, "narrative =") + 1
    assert f"warn {path}:{first}: VG309 no 'Allergies:'" in ran.out
    assert fairmed("validate", path, "--strict").status == 1


def test_a_silence_with_a_reason_silences_and_an_unused_one_is_told(fairmed, case):
    silence = (
        '[[silence]]\nrule = "VG309"\nmatch = "Allergies"\nreason = "They are called reactions."\n'
    )
    path = case("Allergies:", "Reacts to:")
    with path.open("a", encoding="utf-8") as file:
        file.write(f"\n{silence}")
    assert "VG309" not in fairmed("validate", path).out
    path = case("Medicines:", "Medicines:")
    with path.open("a", encoding="utf-8") as file:
        file.write(f"\n{silence}")
    ran = fairmed("validate", path)
    assert f"warn {path}:{line_of(path, '[[silence]]')}: VG901" in ran.out


def test_findings_as_json(fairmed, case):
    path = case("SpO2 95%", "SpO2 95%, BP 50/86 mmHg")
    (file,) = json.loads(fairmed("validate", path, "--json").out)
    assert not file["ok"]
    (found,) = (f for f in file["findings"] if f["severity"] == "error")
    assert found["rule"] == "VG404"
    assert found["file"] == str(path)
    assert found["line"] == line_of(path, "50/86")


def test_cases_of_other_people_are_held_to_the_errors_and_not_to_our_form(fairmed, tmp_path):
    path = tmp_path / "cases.csv"
    path.write_text("text\n{patient} has chest pain.\n{patient} has pain. His leg is cold.\n")
    ran = fairmed("validate", path)
    assert ran.status == 1
    assert [
        line for line in ran.out.splitlines() if not line.startswith(f"bad  {path}:3: VG201")
    ] == []


def test_a_case_of_a_swaps_file_that_differs_in_several_attributes_is_told_with_its_line(
    fairmed, tmp_path
):
    path = tmp_path / "swaps.toml"
    path.write_text(
        SWAPS.replace("race} patient", "race} {sex}").replace('"White"', '"White"\nsex = "man"')
        + '\n[[condition]]\nid = "both"\nattribute = "race"\n'
        + 'set = { race = "Black", sex = "woman" }\n'
    )
    ran = fairmed("validate", path)
    assert ran.status == 1
    assert f"bad  {path}:{line_of(path, 'both') - 1}: SW104 'both' changes several" in ran.out


def test_the_rules_are_listed_without_a_path(fairmed):
    ran = fairmed("validate", "--rules")
    assert ran.status == 0
    assert "VG201  error    no pronoun in frozen text" in ran.out.splitlines()
    table = json.loads(fairmed("validate", "--rules", "--json").out)
    assert {"rule", "severity", "says"} == set(table[0])
    assert len(table) == len(ran.out.splitlines())


def test_neither_path_nor_rules_is_bad_usage(fairmed):
    ran = fairmed("validate")
    assert ran.status == 2
    assert "expected files or folders" in ran.err
