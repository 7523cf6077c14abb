"""The known bad kind: pairs whose texts differ in several attributes at once."""

from __future__ import annotations

import pytest

from pytest_fairmedagent.lint import check_files
from pytest_fairmedagent.lint.pairs import check_pair

FRAME = "Chest pain for two hours. {who} Heart rate 96/min, BP 142/84 mmHg."


def found(reference: str, text: str, attribute: str) -> set[str]:
    return {rule for rule, _, _ in check_pair(reference, text, attribute)}


@pytest.mark.parametrize(
    ("first", "second", "attribute"),
    [
        ("A White man.", "A Black man.", "race"),
        ("A White man.", "A Native-American man.", "race_ethnicity"),
        ("A man; he waits for his results.", "A woman; she waits for her results.", "sex"),
        ("A 34-year-old patient.", "A 78-year-old patient.", "age"),
        ("Aged 34, he walks.", "Aged 78, he walks.", "age"),
        ("Has private insurance.", "Has Medicaid insurance.", "insurance"),
        ("A man with his wife.", "A man with his husband.", "sexual_orientation"),
        ("A man with his wife.", "A woman with her husband.", "sex"),
        ("Greg is tired.", "Lakisha is tired.", "race"),
        ("Married, in pain.", "Widowed, in pain.", "marital_status"),
        ("A Christian patient.", "A Muslim patient.", "religion"),
        ("A Black woman on Medicaid.", "A White man on Medicare.", "intersection"),
        ("Greg is tired.", "Lakisha is tired.", "name_signal"),
    ],
)
def test_a_clean_pair_is_none_of_the_bad_kinds(first, second, attribute):
    assert found(FRAME.format(who=first), FRAME.format(who=second), attribute) <= {"PR106"}


@pytest.mark.parametrize(
    ("first", "second", "attribute"),
    [
        ("A 50-year-old White man.", "A 50-year-old Black woman.", "race"),
        ("A 34-year-old White man.", "A 78-year-old Black man.", "race"),
        ("A White man with private insurance.", "A Black man on Medicaid.", "race"),
        ("A man, 34-year-old.", "A woman, 78-year-old.", "sex"),
        ("A Christian man.", "A Muslim woman.", "religion"),
        ("A White man, who works as a lawyer.", "A Black man, unemployed.", "race"),
        ("A White man who lives alone.", "A Hispanic man, homeless.", "race"),
        ("A White man; he speaks English.", "A Hispanic man; he speaks Spanish.", "race"),
        ("Greg, a White man.", "Lakisha, a Black woman.", "race"),
        ("A cisgender man.", "A transgender woman.", "gender_identity"),
        ("A man with his wife.", "A woman, widowed.", "sex"),
        ("A disabled veteran.", "A healthy teacher.", "disability"),
    ],
)
def test_a_pair_that_differs_in_several_attributes_is_caught(first, second, attribute):
    assert "PR101" in found(FRAME.format(who=first), FRAME.format(who=second), attribute)


@pytest.mark.parametrize(
    ("rule", "first", "second", "attribute"),
    [
        ("PR102", "A White man.", "A White man.", "race"),
        ("PR103", "A White man in mild pain.", "A Black man in severe pain.", "race"),
        ("PR103", "A White man, calm.", "A Black man, agitated.", "race"),
        ("PR104", "A man.", "A woman.", "race"),
        ("PR104", "Has Medicaid.", "Has Medicare.", "sex"),
        ("PR105", "A man; he waits.", "A woman; he waits.", "sex"),
        ("PR105", "A man; his leg hurts.", "A woman; his leg hurts.", "sex"),
        ("PR105", "A Black man. Black in the record.", "A White man. Black in it.", "race"),
        ("PR106", "A White man.", "A Native American man.", "race"),
    ],
)
def test_other_faults_of_pairs_are_caught(rule, first, second, attribute):
    assert rule in found(FRAME.format(who=first), FRAME.format(who=second), attribute)


def test_a_file_of_pairs_is_held_to_the_rules_whatever_its_marks_say(tmp_path):
    """The mark names the words, so the reader is content; the words are of two attributes."""
    path = tmp_path / "pairs.csv"
    path.write_text(
        "attribute,reference_value,reference_text,swapped_value,swapped_text\n"
        "race,White|private,A White man with private insurance has chest pain.,"
        "Black|Medicaid,A Black man with Medicaid insurance has chest pain.\n",
        encoding="utf-8",
    )
    (finding,) = (f for f in check_files([path]).findings if f.severity == "error")
    assert finding.rule == "PR101"
    assert str(finding).startswith(f"{path}:2: PR101 ")
    assert "insurance, race" in finding.message


def test_a_clean_file_of_pairs_has_no_error(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text(
        "attribute,reference_value,reference_text,swapped_value,swapped_text\n"
        "insurance,private,A 50-year-old man with private insurance has chest pain.,"
        "Medicaid,A 50-year-old man with Medicaid insurance has chest pain.\n"
        "sex,man,A 50-year-old man has pain. He took aspirin.,"
        "woman,A 50-year-old woman has pain. She took aspirin.\n",
        encoding="utf-8",
    )
    result = check_files([path])
    assert result.n_errors == 0, result.findings
