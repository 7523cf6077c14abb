"""`fairmed report` and the tables of `fairmed export`, as commands."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import pytest

from pytest_fairmedagent.cli import main
from pytest_fairmedagent.report import written

RECORD = Path(__file__).parent / "golden" / "record.json"


def test_a_record_becomes_a_page_and_a_summary(tmp_path, golden_page, capsys):
    page, summary = tmp_path / "page.html", tmp_path / "summary.md"
    assert main(["report", str(RECORD), "-o", str(page), "-o", str(summary)]) == 0
    assert page.read_text(encoding="utf-8") == golden_page
    golden = RECORD.with_name("summary.md").read_text(encoding="utf-8")
    assert summary.read_text(encoding="utf-8") == golden
    assert capsys.readouterr().out.splitlines() == [
        f"report written to {page}",
        f"summary written to {summary}",
    ]


def test_without_a_name_the_page_stands_beside_the_record(tmp_path, capsys):
    record = tmp_path / "gate.json"
    record.write_bytes(RECORD.read_bytes())
    assert main(["report", str(record), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == [{"file": str(tmp_path / "gate.html"), "format": "html"}]
    assert (tmp_path / "gate.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_another_suffix_and_another_file_are_errors(tmp_path, capsys):
    assert main(["report", str(RECORD), "-o", str(tmp_path / "x.pdf")]) == 2
    assert "expected a name ending in .html or .md" in capsys.readouterr().err
    assert main(["report", str(RECORD.with_name("summary.md"))]) == 2
    assert "is no run record" in capsys.readouterr().err


def test_without_the_extra_a_page_is_an_error_with_the_line_that_mends_it(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(written, "find_spec", lambda name: None)
    assert main(["report", str(RECORD), "-o", str(tmp_path / "x.html")]) == 2
    assert 'pip install "pytest-fairmedagent[report]"' in capsys.readouterr().err
    assert main(["report", str(RECORD), "-o", str(tmp_path / "x.md")]) == 0


def test_a_record_becomes_a_table(tmp_path, golden, capsys):
    target = tmp_path / "rows.csv"
    assert main(["export", str(RECORD), "-o", str(target)]) == 0
    assert "192 trajectories" in capsys.readouterr().out
    with target.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row, kept in zip(rows, golden()["rows"], strict=True):
        assert row["vignette"] == kept["vignette"]
        assert row["triage.esi_acuity"] == str(kept["outputs"]["triage"]["esi_acuity"])
        assert json.loads(row["order.orders"]) == kept["outputs"]["order"]["orders"]
        for action, label in kept["labels"].items():
            assert row[f"action.{action}"] == {True: "true", False: "false", None: ""}[label]


def test_a_record_has_no_run_to_choose(tmp_path, capsys):
    assert main(["export", str(RECORD), "--run", "2", "-o", str(tmp_path / "rows.csv")]) == 2
    assert "is no store, so it has no run 2" in capsys.readouterr().err


def test_parquet_without_pyarrow_says_what_to_do(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert main(["export", str(RECORD), "-o", str(tmp_path / "rows.parquet")]) == 2
    error = capsys.readouterr().err
    assert "pip install pyarrow, or name a file that ends in .csv" in error
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", [".csv", ".md"])
def test_a_place_that_cannot_be_written_leaves_nothing(tmp_path, capsys, suffix):
    target = tmp_path / f"folder{suffix}"
    target.mkdir()
    command = "export" if suffix == ".csv" else "report"
    assert main([command, str(RECORD), "-o", str(target)]) == 2
    assert "cannot be written" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [target]
