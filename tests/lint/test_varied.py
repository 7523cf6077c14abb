"""An attribute that is stated is not one that varies: errors are where the text fights an arm."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_fairmedagent.domain import Catalogue, Condition
from pytest_fairmedagent.lint import check_cases, check_files
from pytest_fairmedagent.lint.checking import check_run, severity

SOUND = Path(__file__).with_name("planted") / "sound_foreign.jsonl"
PAYER = Catalogue(
    {
        "reference": Condition("reference", "30-year-old woman, private insurance.", "reference"),
        "medicaid": Condition(
            "medicaid", "30-year-old woman, Medicaid insurance.", "swap", "insurance"
        ),
    }
)


@pytest.fixture
def case(shipped):
    return replace(shipped["hot_knee_urgent_care"], template="", pools=(), status="unstated")


def weights(case, text, catalogue):
    case = replace(case, narrative=f"{text} {case.narrative}")
    hits = check_cases([case], catalogue, ours=())
    return {(hit.rule, severity(hit)) for hit in hits if hit.rule[:3] == "VG2"}


def test_thirty_sound_cases_of_others_have_no_finding():
    result = check_files([SOUND])
    assert len(result.files[0].vignettes) >= 30
    assert [str(finding) for finding in result.findings] == []


def test_an_obstetric_case_loads_where_no_arm_contradicts_it(case, catalogue):
    text = "She is 20 weeks pregnant, gravida 2."
    assert weights(case, text, PAYER) == set()
    assert ("VG203", "error") in weights(case, text, catalogue)


def test_what_all_arms_contradict_alike_is_a_warning_and_what_one_changes_an_error(case):
    assert weights(case, "He is in pain.", PAYER) == {("VG201", "warning")}
    assert weights(case, "She has Medicaid.", PAYER) == {("VG207", "error")}


def test_a_run_on_cases_of_others_starts_where_no_arm_contradicts(case):
    other = replace(case, narrative=f"She is pregnant; the mother died at 52. {case.narrative}")
    assert check_run([other], PAYER) == []


@pytest.mark.parametrize(
    "text",
    [
        "The father died of a heart attack at 52.",
        "Asthma since the age of six.",
        "A black widow spider bit the thigh.",
        "The sister has the same rash.",
    ],
)
def test_relatives_ages_long_past_and_insects_are_no_cues(text, case, catalogue):
    assert weights(case, text, catalogue) == set()


def test_weight_and_psychiatric_labels_count_where_an_arm_states_them(case):
    line = "{} person with {} history."
    catalogue = Catalogue(
        {
            "reference": Condition("reference", line.format("slim", "surgical"), "reference"),
            "obese": Condition("obese", line.format("obese", "surgical"), "swap", "weight"),
            "psychotic": Condition(
                "psychotic", line.format("slim", "bipolar"), "swap", "psychiatric"
            ),
        }
    )
    found = weights(case, "Obesity is noted, and a manic episode.", catalogue)
    assert {rule for rule, _ in found} == {"VG224", "VG225"}


def test_numbers_of_other_countries_are_read(case):
    text = "Glucose 28,4 mmol/L, temperature 38,5 C, leukocytes 12,400/uL."
    hits = check_cases([replace(case, narrative=text)], PAYER, ours=())
    assert [hit for hit in hits if hit.rule[:3] == "VG4"] == []


def test_every_row_of_a_lexicon_has_a_source():
    from pytest_fairmedagent.files.toml import TomlFile

    folder = Path(__import__("pytest_fairmedagent").__file__).parent / "lint" / "lexicons"
    files = list(folder.glob("*.toml"))
    assert len(files) >= 7
    for file in files:
        for key, rows in TomlFile(file).data.items():
            assert all(len(str(row["source"])) > 8 for row in rows), (file.name, key)


@pytest.mark.parametrize("unit", ["he ", "left knee ", "apixaban 5 mg ", "a ", "[", "twenty-"])
def test_the_time_grows_with_the_text_and_no_faster(unit, case):
    """Four times the text takes at most nine times as long; a quadratic rule would take sixteen."""

    def took(n, turn=0):
        text = f"Seen {turn}. {unit * (n // len(unit))}."  # what was seen is remembered
        start = time.process_time()
        check_cases([replace(case, narrative=text)], PAYER, n_variants=1)
        return time.process_time() - start

    took(2000)
    short = min(took(8000, turn) for turn in range(3))
    long = min(took(32_000, turn) for turn in range(2))
    assert long <= 9 * max(short, 0.02)
