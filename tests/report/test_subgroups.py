"""Subgroups: counted, described, and silent on nothing that they leave out."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_fairmedagent.report.subgroups import subgroup_entries, subgroup_lines

Record = dict[str, Any]


@pytest.fixture
def record(golden) -> Record:
    return golden()


def lines_of(record: Record) -> list[str]:
    return list(subgroup_lines(list(subgroup_entries(record, record["runs"][0]))))


def split_off_one(record: Record) -> str:
    """Make one case the only one of its domain."""
    name = record["rows"][0]["vignette"]
    for vignette, known in record["vignettes"].items():
        known["domain"] = "alone" if vignette == name else "others"
    return name


def test_a_subgroup_of_one_case_has_that_cases_counts_and_no_test(record):
    name = split_off_one(record)
    (alone,) = (e for e in subgroup_entries(record, record["runs"][0]) if e["group"] == "alone")
    assert alone["vignettes"] == 1
    row = [
        r["labels"]["admission"]
        for r in record["rows"]
        if (r["vignette"], r["condition"]) == (name, "reference")
    ]
    yes, n = row.count(True), len(row)
    floor = alone["floors"]["admission"]
    assert (floor["disagreements"], floor["pairs"]) == (yes * (n - yes), n * (n - 1) / 2)
    for gap in alone["gaps"]:
        assert gap["vignettes"] == 1
        assert not {"p", "q", "interval"} & set(gap)
    (line,) = (line for line in lines_of(record) if line.startswith("  alone"))
    assert "  1 vignette, " in line


def test_a_subgroup_without_two_draws_of_a_case_is_unmeasured_and_not_a_floor_of_0(record):
    split_off_one(record)
    record["rows"] = [row for row in record["rows"] if row["replicate"] == 1]
    assert all("floor unmeasured" in line for line in lines_of(record)[2:] if "vignette" in line)


def test_cases_that_are_all_alike_make_no_subgroups(record):
    for known in record["vignettes"].values():
        known |= {"domain": "one", "difficulty": "clear"}
    assert list(subgroup_entries(record, record["runs"][0])) == []
    assert lines_of(record) == []


def test_outcomes_and_relations_that_are_not_broken_down_are_named(record):
    split_off_one(record)
    assert not any("not here" in line for line in lines_of(record))
    first = record["plan"]["families"][0]
    first["actions"] = [*first["actions"], "urgency_score"]
    record["plan"]["families"].append({**first, "relation": "never_fewer 0123456789ab"})
    assert lines_of(record)[-1] == (
        "  not here: urgency_score, never_fewer; only actions are broken down"
    )
