"""Cases and pairs of other people: what is read, and what is refused with file and line."""

import csv
import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_fairmedagent import strategies
from pytest_fairmedagent.domain import Condition, render
from pytest_fairmedagent.errors import FileFormatError, PlanError
from pytest_fairmedagent.files import rows
from pytest_fairmedagent.files.differing import first_unexplained
from pytest_fairmedagent.files.foreign import read_foreign, slug
from pytest_fairmedagent.files.pairset import read_pair_set
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.files.validate import validate
from pytest_fairmedagent.files.vignettes import read_vignettes, select_vignettes

CHEST = "A {patient} has had chest pain for two hours."
ANKLE = "Seen for a sprained ankle: {patient}"
COUGH = "Cough for three weeks in a {patient}, no fever."
MENU = '[{"id": "ecg", "name": "ECG", "result": "Normal."}]'
WOMAN = Condition("sex_woman", "50-year-old woman.", "swap", "sex")


@pytest.fixture
def file(tmp_path):
    def write(text, name="cases.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def complaint(path):
    with pytest.raises(FileFormatError) as caught:
        read_foreign(path)
    return str(caught.value).replace(str(path), path.name)


# Cases


def test_a_header_names_the_columns_and_others_are_passed_over(file):
    path = file(
        "ID,Source,Text,title,domain,setting,group,menu\n"
        f"CP 7,theirs,{CHEST},Chest pain,medication,ward,cp,"
        '"[{""id"": ""ecg"", ""name"": ""ECG"", ""result"": ""Normal.""}]"\n'
    )
    (case,) = read_foreign(path).vignettes
    assert (case.id, case.title, case.domain) == ("cp_7", "Chest pain", "medication")
    assert (case.setting, case.base, case.narrative) == ("ward", "cp", CHEST)
    assert [(o.id, o.name, o.result) for o in case.menu] == [("ecg", "ECG", "Normal.")]
    assert case.status == "unstated"
    assert case.provenance == "unstated; cases.csv:2"


@pytest.mark.parametrize(
    "text",
    [
        f"{CHEST}\n{ANKLE}\n",
        f"1,{CHEST}\n2,{ANKLE}\n",
        f"text\n{CHEST}\n{ANKLE}",
        f"id,whatever\n1,{CHEST}\n2,{ANKLE}",
        f"id;text\n1;{CHEST}\n2;{ANKLE}",
        f"﻿text\r\n{CHEST}\r\n\r\n{ANKLE}\r\n",
    ],
    ids=["one column", "slot column", "header", "slot under a header", "semicolons", "BOM, CRLF"],
)
def test_the_texts_are_found_with_and_without_a_header(file, text):
    found = read_foreign(file(text))
    assert [case.narrative for case in found.vignettes] == [CHEST, ANKLE]
    assert found.kind == "cases"


def test_json_lines_are_objects_or_texts_alone(file):
    objects = file(f'{{"text": "{CHEST}", "id": 7, "menu": {MENU}}}\n\n', "a.jsonl")
    (case,) = read_foreign(objects).vignettes
    assert (case.id, case.menu[0].id) == ("case_7", "ecg")
    texts = file(f'"{CHEST}"\n"{ANKLE}"\n', "b.jsonl")
    assert read_foreign(texts).lines == {"b_1": 1, "b_2": 2}


def test_lines_are_those_of_the_file_whatever_the_cells_hold(file):
    path = file(f'text\n"Line one.\nLine two. {CHEST}"\n{ANKLE}\n')
    assert list(read_foreign(path).lines.values()) == [2, 4]


def test_a_cell_that_a_spreadsheet_would_compute_is_text(file):
    path = file(f"text\n=1+1 {CHEST}\n")
    assert read_foreign(path).vignettes[0].narrative == f"=1+1 {CHEST}"


def test_the_descriptor_replaces_the_slot_and_its_full_stop_ends_no_sentence_early(file):
    a, b, c = read_foreign(file("\n".join(f'"{t}"' for t in (CHEST, ANKLE, COUGH)))).vignettes
    assert render(a, WOMAN).text == "A 50-year-old woman has had chest pain for two hours."
    assert render(b, WOMAN).text == "Seen for a sprained ankle: 50-year-old woman."
    assert render(c, WOMAN).text == "Cough for three weeks in a 50-year-old woman, no fever."


def test_without_any_slot_the_descriptor_stands_on_a_last_line(file):
    (case,) = read_foreign(file("text\nChest pain for two hours.\n")).vignettes
    assert render(case, WOMAN).text == "Chest pain for two hours.\nPatient: 50-year-old woman."


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"text\n{CHEST}\nThe {{patient}} and the {{patient}} again\n", ":3: the text has 2 {pati"),
        (f"text\n{CHEST}\nNo slot in this one at all\n", ":3: the text has no {patient} slot"),
        (f"scenario\n{CHEST}\n", ":1: the text has no {patient} slot, and other rows have one. If"),
        ("text\nA {patient} of {age} years\n", ":2: slot {age} of the text has no descriptor"),
        ("text\nA {{patient}} with pain\n", ":2: slot {{patient}} of the text has no descriptor"),
        ("text\nA { Patient } with pain\n", ":2: slot { Patient } of the text has no descriptor"),
        (f"id,text\n1,{CHEST}\n1,{ANKLE}\n", ":3: the id 'case_1' is also that of line 2"),
        (f"id,text\n1,{CHEST}\n2,\n", ":3: 'text' is empty"),
        (f"id,text\n1,{CHEST}, sweating\n", ":2: the row has 3 cells, the first row 2"),
        (f'text\n"A "quoted" {CHEST}"\n', ":2: not valid CSV"),
        (f'text\n"{CHEST}\n', ":2: not valid CSV"),
        (f"text,text\n{CHEST},{ANKLE}\n", ":1: column 'text' stands twice in the header"),
        (f"{CHEST},{ANKLE}\n", ":1: the columns '0' and '1' hold case texts"),
        ("1,Chest pain for two hours\n", ":1: no column is called 'text' and none holds {patient}"),
        (
            f"A {{patient}} with pain, sweating\n{CHEST}, pale\n",
            ":1: column 2 looks like a text th",
        ),
        ("title\n", ": holds no row"),
        ("", ": holds no row"),
        ("hello\n", ":1: the text is 'hello', which is no case"),
        (f"text\n{CHEST} Tab\x07\n", ":2: column 'text' holds the control character '\\x07'"),
        (f"text,domain\n{CHEST},surgery\n", ":2: 'domain' is 'surgery': expected one of triage_"),
        (f"text,menu\n{CHEST},ecg\n", ":2: 'menu' is 'ecg': expected JSON"),
        ('text\n"Chest pain again.\nPatient: calm"\n', ":2: a line of the text starts with 'Pati"),
        (b"text\nA {patient} with fi\xe8vre\n", ":2: byte 0xe8 is not UTF-8"),
        ("text\nA {patient}".encode("utf-16"), ":1: is UTF-16, expected UTF-8"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(file, text, says):
    assert complaint(file(text)).startswith(f"cases.csv{says}")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f'"{CHEST}"\n{{"text": 1}}\n', ":2: objects and texts alone are mixed"),
        (f'{{"text": "{CHEST}"\n', ":1: not valid JSON"),
        ("[1]\n", ":1: the line is a list, expected an object"),
        ('{"text": ["a"]}\n', ":1: 'text' is ['a']: "),
        (
            f'{{"text": "{CHEST}", "text": "b"}}\n',
            ":1: not valid JSON: the key 'text' stands twice",
        ),
        ("[" * 100_000 + "\n", ":1: not valid JSON"),
        (f'{{"text": "{CHEST} \\ud800"}}\n', ":1: column 'text' holds half a character"),
        (f'{{"text": "{CHEST}", "menu": [{{"id": "ecg"}}]}}\n', ":1: 'menu.0.name' is empty"),
    ],
)
def test_what_is_wrong_with_json_lines_is_named_too(file, text, says):
    assert complaint(file(text, "cases.jsonl")).startswith(f"cases.jsonl{says}")


def test_every_wrong_row_is_named(file):
    found = complaint(file(f"text\n{CHEST}\nNo slot in this one\nNor is there one here\n"))
    assert found.count("\n  also: ") == 1


def test_a_cell_larger_than_the_reader_takes_is_named(file):
    found = complaint(file("text\n" + "a" * 200_000))
    assert found.startswith("cases.csv:2: not valid CSV: field larger than")


def test_what_is_too_large_is_refused_before_it_is_read(file, monkeypatch):
    path = file(f"text\n{CHEST}\n{ANKLE}\n")
    monkeypatch.setattr(rows, "MOST_CHARACTERS", 20)
    assert "column 'text' has 45 characters, expected at most 20" in complaint(path)
    monkeypatch.setattr(rows, "MOST_ROWS", 1)
    assert "holds 2 rows, expected at most 1" in complaint(path)
    monkeypatch.setattr(rows, "MOST_BYTES", 10)
    assert "bytes, expected at most 10. Split the file" in complaint(path)
    assert "cannot be read" in complaint(path.with_name("none.csv"))


@settings(max_examples=60, deadline=None)
@given(st.lists(strategies.vignettes(slot=True), min_size=1, max_size=4, unique_by=lambda v: v.id))
def test_any_case_comes_back_from_a_file_as_it_was_written(tmp_path_factory, cases):
    folder = tmp_path_factory.mktemp("cases")
    data = [
        {
            "id": case.id,
            "text": case.narrative,
            "difficulty": case.difficulty,
            "menu": json.dumps([vars(order) for order in case.menu]),
        }
        for case in cases
    ]
    with (folder / "a.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, data[0])
        writer.writeheader()
        writer.writerows(data)
    lines = "".join(json.dumps(row) + "\n" for row in data)
    (folder / "a.jsonl").write_text(lines, encoding="utf-8")
    for name in ("a.csv", "a.jsonl"):
        found = read_foreign(folder / name).vignettes
        assert [(v.id, v.digest, v.difficulty) for v in found] == [
            (v.id, v.digest, v.difficulty) for v in cases
        ]


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200), st.sampled_from(rows.SUFFIXES))
def test_no_bytes_make_it_crash(tmp_path_factory, data, suffix):
    path = tmp_path_factory.getbasetemp() / f"any{suffix}"
    path.write_bytes(data)
    try:
        found = read_foreign(path)
    except FileFormatError as error:
        assert str(error).startswith(str(path))
    else:
        assert found.vignettes


@given(st.text(max_size=80))
def test_any_text_gives_an_id(text):
    name = slug(text)
    assert slug(name) == name
    assert 2 <= len(name) <= 48
    assert name[0].isalpha()


# Ready pairs

HEADER = "id,attribute,reference_value,swapped_value,reference_text,swapped_text"


def pairs(file, *lines, header=HEADER):
    return file("\n".join([header, *lines]) + "\n", "pairs.csv")


RACE = "a,race,White,Black,A White man with chest pain sweats.,A Black man with chest pain sweats."
SEX = 'b,sex,man,woman,"A man fell. He says his hip hurts.","A woman fell. She says her hip hurts."'
AGE = "c,age,34,80,A 34-year-old takes 34 mg daily.,An 80-year-old takes 34 mg daily."


def test_the_two_texts_are_the_arms_of_a_case_and_the_rerender_is_the_reference(file):
    found = read_foreign(pairs(file, RACE, SEX, AGE))
    assert found.kind == "pairs"
    assert found.lines == {"case_a": 2, "case_b": 3, "case_c": 4}
    conditions = found.catalogue.conditions
    assert found.catalogue.swaps == ("race_black", "sex_woman", "age_80")
    assert found.catalogue.controls == ("rerender",)
    for case, row in zip(found.vignettes, csv.DictReader([HEADER, RACE, SEX, AGE]), strict=True):
        swap = next(name for name, _ in case.descriptors if name in found.catalogue.swaps)
        assert render(case, conditions["reference"]).text == row["reference_text"]
        assert render(case, conditions["rerender"]).text == row["reference_text"]
        assert render(case, conditions[swap]).text == row["swapped_text"]


def test_a_pair_keeps_the_longest_common_beginning(file):
    (case,) = read_foreign(pairs(file, RACE)).vignettes
    assert case.narrative == "A {patient} man with chest pain sweats."


def test_rows_of_one_reference_text_are_arms_of_one_case(file):
    header = HEADER.removeprefix("id,")
    hispanic = RACE.replace("Black", "Hispanic")
    (case,) = read_foreign(pairs(file, RACE[2:], hispanic[2:], header=header)).vignettes
    assert [name for name, _ in case.descriptors] == [
        "reference",
        "rerender",
        "race_black",
        "race_hispanic",
    ]


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (
            "a,race,White,Black,A White man sweats.,A Black woman sweats.",
            "the two texts differ in more than 'race' ('White' -> 'Black'): 'man sweats .' -> ",
        ),
        (
            "a,race,White,Black,A White man sweats.,A Black man on Medicaid sweats.",
            "the two texts differ in more than 'race'",
        ),
        (
            "a,race,White,Black,A White man says he sweats.,A Black man says she sweats.",
            "the two texts differ in more than 'race'",
        ),
        (
            "a,race,White,Black,A man says he sweats.,A man says he swears.",
            "the two texts differ in more than 'race'",
        ),
        (
            "a,race,White,Black,A White man; White.,A Black man; White.",
            "the pair is swapped by half: the swapped text still says 'White'",
        ),
        ("a,race,White,Black,A White man.,A White man.", "the two texts of the pair are equal"),
        ("a,race,White,Black,A {patient} man.,A Black man.", "'reference_text' has a {patient}"),
        ("a,race,White|he,Black,A White man.,A Black man.", "'reference_value' has 2 words parted"),
        ("a,,White,Black,A White man.,A Black man.", "'attribute' is empty"),
        ("a,race,White,,A White man.,A Black man.", "'swapped_value' is empty"),
    ],
)
def test_what_is_no_pair_is_refused(file, row, says):
    assert complaint(pairs(file, row)).startswith(f"pairs.csv:2: {says}")


@pytest.mark.parametrize(
    ("second", "says"),
    [
        (RACE, "case 'case_a' has this swap or this swapped text twice"),
        (RACE.replace("White", "Asian"), "'race_black' is set against 'asian' here and against"),
        (
            RACE.replace("chest", "back"),
            "the id 'case_a' is also that of line 2, which has another",
        ),
    ],
)
def test_rows_that_contradict_each_other_are_refused(file, second, says):
    assert complaint(pairs(file, RACE, second)).startswith(f"pairs.csv:3: {says}")


def test_a_condition_of_ones_own_pools_values_that_differ_from_pair_to_pair(file):
    path = pairs(
        file,
        "a,name,Emily,Lakisha,Emily has a cough today.,Lakisha has a cough today.,name_black_woman",
        "b,name,Anne,Ebony,Anne fell down the stairs.,Ebony fell down the stairs.,name_black_woman",
        header=f"{HEADER},condition",
    )
    found = read_foreign(path)
    assert found.catalogue.swaps == ("name_black_woman",)
    assert len(found.vignettes) == 2


def test_the_outcomes_of_an_attribute_are_named_once(file):
    header = f"{HEADER},outcome"
    found = read_foreign(pairs(file, f"{RACE},any_opioid", header=header))
    assert found.outcomes == {"race": ("any_opioid",)}
    assert "unknown action 'opiod'" in complaint(pairs(file, f"{RACE},opiod", header=header))


WORDS = st.lists(st.sampled_from(["the", "pain", "at", "White", "34", "mg", "a"]), max_size=8)


@given(WORDS, WORDS, st.sampled_from([("White", "Black"), ("34", "80"), ("", "deaf")]))
def test_texts_that_differ_in_the_value_alone_are_explained(before, after, value):
    texts = [" ".join([*before, word, *after]) for word in value]
    assert first_unexplained(*texts, [value]) is None
    assert first_unexplained(*texts[::-1], [value[::-1]]) is None


@given(WORDS, WORDS, WORDS, st.sampled_from([("White", "Black"), ("34", "80")]))
def test_one_more_word_is_never_explained(before, between, after, value):
    one, other = (" ".join([*before, word, *between, "{}", *after]) for word in value)
    assert first_unexplained(one.format(""), other.format("uninsured"), [value]) is not None


# Where they are named


def test_they_are_read_wherever_vignettes_are_named(file, tmp_path):
    path = file(f"{CHEST}\n{ANKLE}\n")
    assert set(read_vignettes([path])) == {"cases_1", "cases_2"}
    assert set(select_vignettes("cases.csv", tmp_path)) == {"cases_1", "cases_2"}
    other = file(f"id,text\ncases_2,{COUGH}\n".replace(", no", " no"), "other.csv")
    with pytest.raises(FileFormatError, match="the vignette id 'cases_2' is also that of"):
        read_vignettes([path, other])


def test_validate_names_kind_and_every_error_of_a_file(file):
    good, bad = file(f"{CHEST}\n"), file(f"text\n{CHEST}\n{{x}} no\n{{y}} no\n", "bad.csv")
    ready = pairs(file, RACE)
    found = {c.path.name: c for c in validate([good, bad, ready])}
    assert (found["cases.csv"].kind, found["pairs.csv"].kind) == ("cases", "pairs")
    assert [not c.errors for c in found.values()] == [True, False, True]
    assert [e.split(": ")[0][-2:] for e in found["bad.csv"].errors] == [":3", ":4"]


def test_pairs_and_cases_are_not_run_together(file, tmp_path):
    file(f"{CHEST}\n")
    pairs(file, RACE)
    assert read_pair_set("cases.csv, shipped", tmp_path) is None
    with pytest.raises(PlanError, match="names ready pairs"):
        read_pair_set("cases.csv,pairs.csv", tmp_path)


def test_a_family_of_pairs_is_on_the_cases_that_have_all_its_swaps(file, tmp_path):
    path = pairs(file, RACE, SEX, RACE.replace("Black", "Hispanic"), "d" + RACE[1:])
    found = read_pair_set("pairs.csv", tmp_path)
    vignettes = read_vignettes([path])
    assert set(found.confined(vignettes, ["race_black"])) == {"case_a", "case_d"}
    assert set(found.confined(vignettes, ["sex_woman"])) == {"case_b"}
    with pytest.raises(PlanError, match="'case_d' have 'race_black' and lack 'race_hispanic'"):
        found.confined(vignettes, ["race_black", "race_hispanic"])


def test_two_files_of_pairs_are_one_set(file, tmp_path):
    (tmp_path / "two.csv").write_text(pairs(file, SEX).read_text())
    pairs(file, RACE)
    found = read_pair_set("pairs.csv,two.csv", tmp_path)
    assert found.catalogue.swaps == ("race_black", "sex_woman")
    assert found.catalogue.reference.id == "reference"


def test_the_shipped_conditions_render_in_a_slot(file):
    (case,) = read_foreign(file(f"{CHEST}\n")).vignettes
    for condition in read_swaps().conditions.values():
        text = render(case, condition).text
        assert "{" not in text
        assert ".  " not in text
        assert condition.descriptor_in(case).removesuffix(".") in text


def test_the_files_of_the_documentation_are_read(file):
    text = (Path(__file__).parents[2] / "docs" / "cases.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```(csv|jsonl)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    found = [read_foreign(file(body, f"shown.{suffix}")) for suffix, body in shown]
    assert [f.kind for f in found] == ["cases", "cases", "pairs"]
    assert found[2].catalogue.swaps == ("race_black", "race_hispanic", "sex_woman")
