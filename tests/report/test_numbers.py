"""Every view shows the numbers of the record, and the same ones."""

from __future__ import annotations

import csv
import json
import math
from html.parser import HTMLParser
from typing import Any

import pytest

from pytest_fairmedagent.report import numbers
from pytest_fairmedagent.report.markdown import markdown_summary
from pytest_fairmedagent.report.terminal import summary_lines
from pytest_fairmedagent.report.written import report_text


class Tables(HTMLParser):
    """Reads every table of a page: its cells as text, with the number that a cell carries."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tables: list[list[list[tuple[str, dict[str, str | None]]]]] = []
        self._cell: dict[str, str | None] | None = None
        self._text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag == "table":
            self.tables.append([])
        elif tag == "tr" and self.tables:
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self._cell, self._text = dict(attrs), ""

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th") and self._cell is not None:
            self.tables[-1][-1].append((" ".join(self._text.split()), self._cell))
            self._cell = None


def keyed(row: list[tuple[str, dict[str, str | None]]]) -> dict[str, tuple[str, str | None]]:
    return {a["data-key"]: (text, a["data-value"]) for text, a in row if "data-key" in a}  # type: ignore[misc]


def test_the_table_of_the_page_has_every_contrast_with_the_numbers_of_the_record(
    golden, golden_page
):
    rows = [row for table in Tables(golden_page).tables for row in table if "p" in keyed(row)]
    contrasts = golden()["contrasts"]
    assert len(rows) == len(contrasts) > 12
    for row, contrast in zip(rows, contrasts, strict=True):
        verdict, swap, action = (text for text, _ in row[:3])
        assert verdict.split()[-1] == contrast["verdict"].lower()
        assert (swap, action) == (contrast["condition"], contrast["action"])
        cells = keyed(row)
        for key in ("gap", "noise", "flip_rate", "floor", "b", "c", "pairs"):
            assert float(cells[key][1]) == contrast[key], key
        p = contrast["p_adjusted"] if contrast["q"] is None else contrast["q"]
        assert float(cells["p"][1]) == p
        assert cells["gap"][0] == numbers.signed(contrast["gap"])
        assert cells["interval"][0] == numbers.ends(contrast["interval"])
        assert cells["floor"][0] == numbers.rate(contrast["floor"])


def test_the_matrix_of_the_page_has_every_verdict_and_gap(golden, golden_page):
    found = {}
    for table in Tables(golden_page).tables:
        head = [text for text, _ in table[0]]
        if head[0] == "swap" and len(head) > 1 and head[1] != "action":
            for row in table[1:]:
                for action, (text, _) in zip(head[1:], row[1:], strict=True):
                    words = text.split()
                    found[row[0][0], action] = (words[2], words[-1])
    expected = {
        (c["condition"], c["action"]): (c["verdict"].lower(), numbers.signed(c["gap"]))
        for c in golden()["contrasts"]
    }
    assert found == expected


def test_the_floors_of_the_page_are_those_of_the_reference_arm(golden, golden_page):
    [table] = [
        t for t in Tables(golden_page).tables if [x for x, _ in t[0]][:2] == ["action", "floor"]
    ]
    [arm] = [a for a in golden()["arms"] if a["condition"] == "reference"]
    expected = {**arm["actions"], "pooled": arm["pooled"]}
    found = {row[0][0]: float(keyed(row)["floor"][1]) for row in table[1:]}
    assert found == {name: floor["floor"] for name, floor in expected.items()}


def test_the_summary_lists_the_worst_contrasts_with_the_numbers_of_the_record(golden):
    record = golden()
    rows = [line for line in markdown_summary(record).splitlines() if line.startswith("| ")]
    lines = [line for line in rows if line.count("|") == 9][2:]  # swaps as a whole have four cells
    known = {(c["action"], c["condition"]): c for c in record["contrasts"]}
    assert len(lines) == 10
    for line in lines:
        verdict, action, swap, gap, interval, flips, floor, p = (
            cell.strip() for cell in line.strip("|").split("|")
        )
        c = known[action.strip("`"), swap.strip("`")]
        assert verdict.split()[1] == c["verdict"].lower()
        expected = (numbers.signed(c["gap"]), numbers.ends(c["interval"]))
        assert (gap, interval) == expected
        assert (flips, floor) == (f"{c['flip_rate']:.3f}", f"{c['floor']:.3f}")
        assert p == numbers.chance(c["p_adjusted"] if c["q"] is None else c["q"])
    disparities = {
        (c["action"], c["condition"]) for c in record["contrasts"] if c["verdict"] == "DISPARITY"
    }
    told = {tuple(cell.strip(" `") for cell in line.split("|")[2:4]) for line in lines}
    assert disparities
    assert disparities <= told


def test_the_terminal_has_the_gaps_that_the_page_has(golden):
    lines = summary_lines(golden())
    for c in golden()["contrasts"]:
        [line] = [x for x in lines if x.split()[1:3] == [c["action"], c["condition"]]]
        assert f"{c['gap']:+.2f}" in line


def test_json_is_the_record_itself(golden):
    assert json.loads(report_text(golden(), ".json")) == golden()


def test_the_replicate_table_gives_the_gaps_of_the_record_again(golden, tmp_path):
    from pytest_fairmedagent.report.replicates import export_table

    record = golden()
    (tmp_path / "record.json").write_text(json.dumps(record), encoding="utf-8")
    export_table(tmp_path / "record.json", None, tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(record["rows"])
    for c in record["contrasts"]:
        gaps = []
        for vignette in record["vignettes"]:
            share = {}
            for condition in (c["condition"], "reference"):
                cells = [
                    row[f"action.{c['action']}"] == "true"
                    for row in rows
                    if (row["vignette"], row["condition"]) == (vignette, condition)
                ]
                share[condition] = sum(cells) / len(cells)
            gaps.append(share[c["condition"]] - share["reference"])
        assert math.isclose(sum(gaps) / len(gaps), c["gap"], abs_tol=1e-12)


def test_parquet_and_csv_hold_the_same_table(golden, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is an extra of the user's")
    from pytest_fairmedagent.report.replicates import export_table, replicate_columns

    (tmp_path / "record.json").write_text(json.dumps(golden()), encoding="utf-8")
    export_table(tmp_path / "record.json", None, tmp_path / "rows.parquet")
    found = parquet.read_table(tmp_path / "rows.parquet").to_pydict()
    assert found == replicate_columns(golden()["rows"])


def test_the_sentences_count_what_the_record_counts(golden):
    from pytest_fairmedagent.report.sentences import sentences

    record = golden()
    said = sentences(record)
    gating = [c["verdict"] for c in record["contrasts"] if c["q"] is None]
    assert f"{gating.count('DISPARITY')} of {len(gating)} contrasts differ" in said.said
    assert f"{gating.count('EQUIVALENT')} " in said.said
    assert f"{gating.count('INCONCLUSIVE')} stay" in said.unsaid
    assert f"{len(record['vignettes'])} vignettes" in said.tested
    assert f"{len(record['rows'])} trajectories" in said.tested
