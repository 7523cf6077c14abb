"""The record follows its published schema, tells what was not as planned, and is read back."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from pydantic import BaseModel

from pytest_fairmedagent.errors import FileFormatError
from pytest_fairmedagent.files.run_record import RunRecord, read_run_record, record_schema
from pytest_fairmedagent.report.context import deviation_entries
from pytest_fairmedagent.verdict import SEVERITY
from tests.report.whole import whole_record

PUBLISHED = Path(__file__).resolve().parents[2] / "docs" / "record.schema.json"


def keys_of(schema: object) -> set[str]:
    """Every property that a JSON Schema names, with what it requires."""
    found: set[str] = set()
    if isinstance(schema, dict):
        found |= {f"{schema.get('title')}.{name}" for name in schema.get("properties", {})}
        found |= {f"{schema.get('title')}!{name}" for name in schema.get("required", [])}
        for inner in schema.values():
            found |= keys_of(inner)
    elif isinstance(schema, list):
        for inner in schema:
            found |= keys_of(inner)
    return found


def test_the_published_schema_is_that_of_the_code():
    # By its keys, for versions of pydantic differ in how they write a schema down.
    published = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    assert keys_of(published) == keys_of(json.loads(record_schema()))
    assert published["title"] == RunRecord.__name__


def test_a_record_that_is_drawn_now_follows_the_published_schema(draw):
    schema = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    record = draw(2, ("race_black",), 2)
    jsonschema.Draft202012Validator(schema).validate(record)
    assert set(record["verdicts"]) == set(SEVERITY)


def undescribed(part: object, path: str = "") -> set[str]:
    """Every key of a record that its schema says nothing of."""
    found: set[str] = set()
    if isinstance(part, BaseModel):
        found |= {f"{path}.{name}" for name in part.model_extra or {}}
        for name in type(part).model_fields:
            found |= undescribed(getattr(part, name), f"{path}.{name}")
    elif isinstance(part, (list, dict)):
        for inner in part.values() if isinstance(part, dict) else part:
            found |= undescribed(inner, path)
    return found


def test_the_schema_describes_every_key_of_a_record(draw, golden):
    drawn = draw(2, ("race_black",), 2)
    whole = whole_record(golden()) | {"confounded": []}  # made of a contrast there
    for record in (drawn, golden(), whole):
        assert undescribed(RunRecord.model_validate(record)) == set()


@pytest.mark.parametrize(
    ("spoil", "path"),
    [
        (lambda r: r["contrasts"][0].update(gap=1.5), "contrasts.0.gap"),
        (lambda r: r["contrasts"][0].update(verdict="FAIR"), "contrasts.0.verdict"),
        (lambda r: r["rows"][3].pop("labels"), "rows.3.labels"),
        (lambda r: r.pop("deviations"), "deviations"),
        (lambda r: r["budget"].update(calls="many"), "budget.calls"),
    ],
)
def test_a_record_that_breaks_the_schema_is_refused_with_the_place(golden, tmp_path, spoil, path):
    record = golden()
    spoil(record)
    schema = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    assert not jsonschema.Draft202012Validator(schema).is_valid(record)
    file = tmp_path / "record.json"
    file.write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(FileFormatError, match=f"is no run record of this version: {path}"):
        read_run_record(file)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is no run record"),
        ('{"rows": []}', "is no run record"),
        ('{"schema": 2, "runs": []}', "of schema 2, and 1 can be read"),
    ],
)
def test_what_is_no_record_is_refused(tmp_path, text, message):
    (tmp_path / "record.json").write_text(text, encoding="utf-8")
    with pytest.raises(FileFormatError, match=message):
        read_run_record(tmp_path / "record.json")


def test_keys_of_a_later_version_are_kept(golden, tmp_path):
    record = {**golden(), "later": {"a": 1}}
    (tmp_path / "record.json").write_text(json.dumps(record), encoding="utf-8")
    assert read_run_record(tmp_path / "record.json") == record


def test_the_cases_of_a_contrast_give_its_gap(golden):
    for entry in [*golden()["contrasts"], *golden()["controls"]]:
        gaps = [
            c["swap"][0] / c["swap"][1] - c["reference"][0] / c["reference"][1]
            for c in entry["cases"]
        ]
        assert sum(gaps) / len(gaps) == pytest.approx(entry["gap"], abs=1e-12)


def test_the_noise_band_is_what_the_family_can_just_tell_from_nothing(golden):
    from pytest_fairmedagent.stats import power_of_gap

    for c in golden()["contrasts"]:
        if c["floor"]:
            power = power_of_gap(
                c["noise"],
                c["floor"],
                c["pairs"],
                n_vignettes=c["vignettes"],
                n_members=c["family_size"],
                n_actions=6,
            )
            assert power == pytest.approx(0.5, abs=0.06)


def test_what_was_selected_overridden_and_not_drawn_is_told(golden):
    record = golden()
    record["contrasts"] = [c for c in record["contrasts"] if c["action"] != "referral"]
    record["runs"][0] |= {"complete": False, "earlier_looks": [5], "registered": False}
    told = deviation_entries(record, ["replicates is 8 by option; the plan file has 10"])
    assert [entry["kind"] for entry in told] == [
        "option",
        "selection",
        "selection",
        "incomplete",
        "earlier looks",
        "post hoc",
    ]
    assert "10 of the 12 contrasts registered in primary were run" in told[1]["text"]


def test_a_whole_run_by_the_plan_has_no_deviation(golden):
    assert deviation_entries(golden()) == golden()["deviations"] == []
