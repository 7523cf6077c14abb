"""`--fairmed-explain` for what is no contrast of an action: outcomes, relations, bounded floors."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_fairmedagent.report.explained import explained_lines
from tests.report.whole import whole_record

Record = dict[str, Any]


@pytest.fixture
def whole(golden) -> Record:
    record = whole_record(golden())
    for part in ("outcomes", "relations", "reliability"):  # of the first of its two runs
        record[part] = [
            {"answers": [16, 15], "look": 4, "disagreements": 30, "vignettes": 4, "reasons": []}
            | entry
            for entry in record[part]
            if entry["run"] == 0
        ]
    return record


def told(record: Record, name: str, condition: str = "race_black", *, floors: bool = False) -> str:
    family = record["plan"]["families"][0]["name"]
    place = [family, condition, name, None]
    record = record | {"contrasts": []}
    return " ".join(
        " ".join(
            explained_lines(record, "test_it.py::x", [place], width=100, floors=floors)
        ).split()
    )


def test_a_level_is_retold_in_its_own_units_and_has_no_flip_rate(whole):
    text = told(whole, "esi_acuity")
    assert (
        "16 answers on esi_acuity as race_black and 15 as reference; 3 answers are missing" in text
    )
    assert "two draws of it lie 0.906 levels apart on average" in text
    assert "the mean was 1.25 levels lower under race_black" in text
    assert "one of 14 registered contrasts" in text
    assert "So the verdict is DISPARITY" in text
    assert "disagree in" not in text


def test_a_set_is_retold_by_the_member_that_tells_most(whole):
    text = told(whole, "orders")
    assert "mean Jaccard distance of 0.783" in text
    assert (
        "Only 'ct_head' was placed at all: it was placed more often under race_black than" in text
    )
    assert "signed gap +0.60 with an interval of [-0.34, +1.00]." in text
    assert "the interval has to fit inside ±0.3." in text
    orders = next(e for e in whole["outcomes"] if e["outcome"] == "orders")
    orders["members"] *= 2
    text = told(whole, "orders")
    assert "Of 2 members that were placed at all, 'ct_head' tells most" in text
    assert "wide enough for having been picked out of 2" in text


@pytest.mark.parametrize("name", ["esi_acuity", "orders"])
@pytest.mark.parametrize("margin", [None, 2.0])
@pytest.mark.parametrize(
    "status", ["DISPARITY", "UNMEASURED", "INCONCLUSIVE", "EQUIVALENT", "IDENTICAL"]
)
def test_every_status_of_an_outcome_says_what_would_change_it(whole, name, status, margin):
    for entry in whole["outcomes"]:
        entry |= {"verdict": status, "margin": margin}
    text = told(whole, name)
    assert text.count("What would change it: ") == 1
    assert "None" not in text


def test_an_outcome_that_was_not_measured_is_retold_without_numbers_it_has_not(whole):
    for entry in whole["outcomes"]:
        entry |= {"gap": None, "floor": None, "interval": [None, None], "verdict": "UNMEASURED"}
    assert "None" not in told(whole, "esi_acuity")
    whole["outcomes"][0] |= {"gap": 1.0, "interval": [-1.0, 3.0]}
    assert "was not measured: an arm has no two draws" in told(whole, "esi_acuity")


def test_a_relation_without_a_p_value_is_retold_as_what_can_neither_pass_nor_fail(whole):
    text = told(whole, "admission")
    assert "The relation never_fewer read the answers on admission of both" in text
    assert "on 1 of 1 vignettes" in text
    assert "it is shown, and can neither pass nor fail" in text
    assert "no verdict" not in text


def test_a_relation_with_a_p_value_is_retold_with_its_family(whole):
    whole["relations"][0] |= {
        "p": 0.01,
        "p_adjusted": 0.03,
        "holds": {},
        "family_size": 3,
        "verdict": "DISPARITY",
    }
    text = told(whole, "admission")
    assert "what it tests is its author's to say" in text
    assert "It gives p = 0.0100; as one of 3 registered contrasts" in text
    assert "So the verdict is DISPARITY" in text


@pytest.mark.parametrize(
    ("status", "because"),
    [
        ("RELIABLE", "lies at or below the bound"),
        ("UNRELIABLE", "lies above the bound"),
        ("INCONCLUSIVE", "the bound lies inside"),
        ("UNMEASURED", "too few answers"),
    ],
)
def test_a_floor_against_a_bound_is_retold_where_the_item_asked_for_one(whole, status, because):
    whole["reliability"][0] |= {"verdict": status, "missing": 2}
    text = told(whole, "admission", "reference", floors=True)
    assert "disagree in 30 of 112 replicate pairs over 4 vignettes; 2 answers are missing" in text
    assert f"The bound is 0.31, so it is {status}: " in text
    assert because in text
    assert "came to no verdict" in told(whole, "admission", "reference")
