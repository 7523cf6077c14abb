"""The replicate table for other software: one line a trajectory, as CSV or Parquet.

Columns are the place of the trajectory, its actions as they were counted, every output as
`stage.field`, and its calls. Lists stand as JSON. A cell that is empty was missing.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_fairmedagent.domain import ACTIONS, Trajectory
from pytest_fairmedagent.errors import FairmedError, FileFormatError
from pytest_fairmedagent.files.records import RecordSource
from pytest_fairmedagent.files.run_record import read_run_record
from pytest_fairmedagent.report.text import clean
from pytest_fairmedagent.running.archive import Archive, store_file
from pytest_fairmedagent.shelf.export import run_rows, write_whole

SUFFIXES = (".csv", ".parquet")

Columns = dict[str, list[Any]]

_FIRST = ("vignette", "condition", "replicate", "complete", "missing")
_LAST = ("cluster", "calls", "retries", "input_tokens", "output_tokens", "drawn", "config")
_NO_CLUSTER = ("cluster", "")  # a vignette that is no variant has none
_FORMULA = ("=", "+", "-", "@", "::")  # with which a cell is more than text, or a log line is


def export_table(source: Path, number: int | None, target: Path) -> str:
    """Write the replicate table of a store's run or of a record file; return what was written.

    The suffix of `target` names the format. Raises FairmedError for a source without trajectories
    and for Parquet without pyarrow, StoreError where the file cannot be written.
    """
    rows = _rows_of(source, number)
    if not rows:
        raise FairmedError(f"{source}: holds no trajectories, so there is no table to export")
    columns = replicate_columns(rows)
    as_bytes = _parquet(columns) if target.suffix == ".parquet" else _csv(columns)
    write_whole(target, as_bytes)
    return f"{len(rows)} trajectories of {source} written to {target}, {len(columns)} columns"


def replicate_columns(rows: Sequence[Mapping[str, Any]]) -> Columns:
    """Return the columns of rows as records have them, in one order; None is a missing cell."""
    lines = [_cells(row) for row in rows]
    names = {name for line in lines for name in line}
    actions = [name for line in lines for name in line if name.startswith("action.")]
    outputs = sorted(n for n in names if n not in (*_FIRST, *_LAST, *actions))
    order = [*_FIRST, *dict.fromkeys(actions), *outputs, *(n for n in _LAST if n in names)]
    return {name: [line.get(name) for line in lines] for name in order}


def _cells(row: Mapping[str, Any]) -> dict[str, Any]:
    missing: Mapping[str, str] = row.get("missing") or {}
    cells: dict[str, Any] = {
        "vignette": row["vignette"],
        "condition": row["condition"],
        "replicate": row["replicate"],
        "complete": not missing,
        "missing": "; ".join(f"{stage}: {reason}" for stage, reason in missing.items()) or None,
    }
    cells |= {f"action.{action}": label for action, label in _labels(row).items()}
    for stage, fields in row["outputs"].items():
        cells |= {f"{stage}.{name}": _cell(value) for name, value in (fields or {}).items()}
    known = {name: row[name] for name in _LAST if name in row}
    cells |= {name: _cell(value) for name, value in known.items() if (name, value) != _NO_CLUSTER}
    return cells


def _labels(row: Mapping[str, Any]) -> Mapping[str, bool | None]:
    """Return the labels that a record has counted, or else those of the six actions."""
    if "labels" in row:
        found: Mapping[str, bool | None] = row["labels"]
        return found
    outputs = {stage: fields or {} for stage, fields in row["outputs"].items()}
    trajectory = Trajectory(outputs, row.get("missing") or {})
    return {name: action.read(trajectory) for name, action in ACTIONS.items()}


def _cell(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return json.dumps(value, ensure_ascii=False)


def _rows_of(source: Path, number: int | None) -> list[Mapping[str, Any]]:
    if source.is_dir() or store_file(source) is not None:
        with Archive(source) as archive:
            return list(run_rows(archive, number))
    if number is not None:
        raise FairmedError(f"{source}: is no store, so it has no run {number}. Leave --run out.")
    try:
        rows: list[Mapping[str, Any]] = read_run_record(source)["rows"]
    except FileFormatError:  # then it is a record file of another kind, or none
        rows = [row._asdict() for _, row in RecordSource(source).rows()]
    return rows


def _csv(columns: Columns) -> bytes:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([_text(name) for name in columns])
    for line in zip(*columns.values(), strict=True):
        writer.writerow([_shown(value) for value in line])
    return file.getvalue().encode()


def _shown(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _text(value) if isinstance(value, str) else value


def _text(text: str) -> str:
    """Return text that no spreadsheet takes for a formula, and that stays on its line."""
    text = clean(text)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text


def _parquet(columns: Columns) -> bytes:
    try:
        import pyarrow as arrow
        import pyarrow.parquet
    except ImportError as error:
        raise FairmedError(
            "Parquet needs pyarrow, which is not installed.\n"
            "  pip install pyarrow, or name a file that ends in .csv"
        ) from error
    table = arrow.table({name: _uniform(values) for name, values in columns.items()})
    file = io.BytesIO()
    arrow.parquet.write_table(table, file)
    return file.getvalue()


def _uniform(values: Iterable[Any]) -> list[Any]:
    """Return the values of a column in one type: text where there are several."""
    values = list(values)
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) <= 1 or kinds == {int, float}:
        return [float(v) if kinds == {int, float} and v is not None else v for v in values]
    return [None if v is None else v if isinstance(v, str) else json.dumps(v) for v in values]
