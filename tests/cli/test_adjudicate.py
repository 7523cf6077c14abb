"""Clinicians judge cases on forms, and what they say becomes bands."""

from __future__ import annotations

import csv
import json
import shutil

import pytest

from pytest_fairmedagent.files.cases import read_vignette
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.files.vignettes import shipped_vignettes

SHIPPED = shipped_vignettes()
NAMES = ("bee_sting_urgent_care", "coffee_ground_vomit_ward", "rising_potassium_clinic")
REGISTERED = """schema = 1
[[adjudicator]]
id = "ann"
role = "Physician"
attestation = "I judged the cases that name me."
date = 2026-01-31
[[adjudicator]]
id = "ben"
role = "Physician"
attestation = "I judged the cases that name me."
date = 2026-01-31
"""


@pytest.fixture
def cases(tmp_path):
    folder = tmp_path / "cases"
    folder.mkdir()
    for name in NAMES:
        shutil.copy(SHIPPED / "triage_escalation" / f"{name}.toml", folder)
    return folder


@pytest.fixture
def forms(fairmed, cases, tmp_path):
    out = tmp_path / "forms"
    ran = fairmed("adjudicate", cases, "--rater", "ann", "--rater", "ben", "--out", out)
    assert ran.status == 0, ran.err
    return out


def fill(path, answer):
    rows = list(csv.DictReader(path.open(encoding="utf-8")))
    for row in rows:
        row["answer"] = answer(row["case"], row["outcome"])
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def test_a_form_shows_no_arm_and_asks_a_ward_whether_somebody_remains(forms):
    page = (forms / "ann.html").read_text(encoding="utf-8")
    reference = read_swaps().reference.descriptor
    assert "Patient:" not in page
    assert not any(part in page for part in reference.split(", "))
    assert "Remains in the hospital" in page
    assert "Is admitted to the hospital" in page


def test_each_rater_has_an_order_of_their_own(fairmed, tmp_path):
    out = tmp_path / "many"
    ran = fairmed(
        "adjudicate", SHIPPED / "medication", "--rater", "ann", "--rater", "ben", "--out", out
    )
    assert ran.status == 0

    def order(rater):
        rows = csv.DictReader((out / f"{rater}.csv").open(encoding="utf-8"))
        return list(dict.fromkeys(row["case"] for row in rows))

    assert sorted(order("ann")) == sorted(order("ben"))
    assert order("ann") != order("ben")


def test_agreement_is_told_and_registered_raters_stand_behind_the_bands(fairmed, cases, forms):
    (cases / "adjudicators.toml").write_text(REGISTERED)
    fill(forms / "ann.csv", lambda case, outcome: "yes" if outcome == "admission" else "either")
    fill(forms / "ben.csv", lambda case, outcome: "yes" if outcome == "admission" else "no")
    sheets = (forms / "ann.csv", forms / "ben.csv")
    ran = fairmed("adjudicate", cases, "--read", *sheets, "--json")
    told = {row["action"]: row for row in json.loads(ran.out)["actions"]}
    assert told["admission"]["ac1"] == 1
    assert told["referral"]["ac1"] < 0
    assert told["referral"]["cases"] == len(NAMES)
    assert fairmed("adjudicate", cases, "--read", *sheets, "--write").status == 0
    for name in NAMES:
        case = read_vignette(cases / f"{name}.toml")
        band = case.band("admission")
        assert (band.accept, band.provenance) == ({True}, "clinician-adjudicated")
        assert band.adjudicators == ("ann", "ben")
        parted = case.band("referral")
        assert parted.accept == {True, False}
        assert parted.disputed == "ann: either, ben: no"


def test_unsigned_stays_author_derived(fairmed, cases, forms):
    fill(forms / "ann.csv", lambda case, outcome: "no")
    assert fairmed("adjudicate", cases, "--read", forms / "ann.csv", "--write").status == 0
    band = read_vignette(cases / f"{NAMES[0]}.toml").band("icu_escalation")
    assert (band.provenance, band.adjudicators) == ("author-derived", ())


def test_a_case_that_has_changed_since_is_refused(fairmed, cases, forms):
    fill(forms / "ann.csv", lambda case, outcome: "no")
    path = cases / f"{NAMES[0]}.toml"
    path.write_text(
        path.read_text(encoding="utf-8").replace("Stung", "Just stung"), encoding="utf-8"
    )
    ran = fairmed("adjudicate", cases, "--read", forms / "ann.csv")
    assert ran.status == 2
    assert "has changed since it was judged" in ran.err


def test_a_form_with_answers_is_not_overwritten(fairmed, cases, forms):
    ran = fairmed("adjudicate", cases, "--rater", "ann", "--out", forms)
    assert ran.status == 2
    assert "may hold answers" in ran.err
