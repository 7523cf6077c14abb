"""Rows of CSV and JSON Lines files that other people wrote, each with its line."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_fairmedagent.errors import FileFormatError

SUFFIXES = (".csv", ".tsv", ".jsonl")
MOST_BYTES = 20_000_000
MOST_ROWS = 10_000
MOST_CHARACTERS = 100_000  # of one cell

# Not the tab, nor what ends a line: the rest of the control characters is no clinical text.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


@dataclass(frozen=True)
class Row:
    """One row: its line in the file (from 1) and its values by column, in order.

    Values are texts; JSON Lines also have what JSON has. Columns without a name are called `0`,
    `1`, ... by their place.
    """

    line: int
    values: dict[str, object]


@dataclass(frozen=True)
class Rows:
    """The rows of a file; `named` tells whether their columns have names."""

    path: Path
    rows: tuple[Row, ...]
    named: bool

    def error(self, line: int, message: str) -> FileFormatError:
        return FileFormatError(f"{self.path}:{line}: {message}")


def read_rows(path: Path, known: Sequence[str], slot: str) -> Rows:
    """Return the rows of a file. Raises FileFormatError with file and line.

    A CSV file has a header row where one of its cells is a `known` column and none has the `slot`.
    Nothing in a file is evaluated: a cell that a spreadsheet would take for a formula is text.
    """
    text = _text_of(path)
    found = (
        _lines(path, text) if path.suffix.lower() == ".jsonl" else _table(path, text, known, slot)
    )
    if not found.rows:
        raise FileFormatError(f"{path}: holds no row. Expected one case or pair a row.")
    if len(found.rows) > MOST_ROWS:
        raise FileFormatError(f"{path}: holds {len(found.rows)} rows, expected at most {MOST_ROWS}")
    for row in found.rows:
        for name, value in row.values.items():
            problem = _problem(value)
            if problem:
                where = f"column '{name}'" if found.named else f"column {int(name) + 1}"
                raise found.error(row.line, f"{where} {problem}.")
    return found


def _text_of(path: Path) -> str:
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise FileFormatError(
                f"{path}: has {size} bytes, expected at most {MOST_BYTES}. Split the file."
            )
        data = path.read_bytes()
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read: {error.strerror or error}") from error
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileFormatError(f"{path}:1: is UTF-16, expected UTF-8. Save it as 'CSV UTF-8'.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise FileFormatError(
            f"{path}:{line}: byte 0x{data[error.start]:02x} is not UTF-8. Save the file as "
            "'CSV UTF-8'; one in another encoding would be read with wrong letters."
        ) from None


def _table(path: Path, text: str, known: Sequence[str], slot: str) -> Rows:
    records = list(_records(path, text, _delimiter(path, text, known)))
    if not records:
        return Rows(path, (), named=False)
    line, first = records[0]
    names = [cell.strip().lower() for cell in first]
    named = any(name in known for name in names) and not any(slot in cell for cell in first)
    if named:
        twice = next((name for name in names if name and names.count(name) > 1), None)
        if twice is not None:
            raise FileFormatError(f"{path}:{line}: column '{twice}' stands twice in the header")
        records = records[1:]
    else:
        names = [str(place) for place in range(len(first))]
    for line, cells in records:
        if len(cells) != len(names):
            raise FileFormatError(
                f"{path}:{line}: the row has {len(cells)} cells, the first row {len(names)}. Put "
                'texts that hold a comma or a line break in "quotes".'
            )
    rows = (Row(line, dict(zip(names, cells, strict=True))) for line, cells in records)
    return Rows(path, tuple(rows), named)


def _delimiter(path: Path, text: str, known: Sequence[str]) -> str:
    """Return what parts cells: a comma, a tab in .tsv, or `;` where it parts known columns."""
    if path.suffix.lower() == ".tsv":
        return "\t"
    names = [name.strip().strip('"').lower() for name in text.split("\n", 1)[0].split(";")]
    return ";" if len(names) > 1 and any(name in known for name in names) else ","


def _records(path: Path, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line and cells of every record that is not empty."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        raise FileFormatError(
            f"{path}:{line}: not valid CSV: {error}. A quote inside a quoted text is written twice."
        ) from None


def _lines(path: Path, text: str) -> Rows:
    """Return the rows of JSON Lines: objects, or texts alone, which are a column without a name."""
    rows: list[Row] = []
    named: bool | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line, object_pairs_hook=_object)
        except (ValueError, RecursionError) as error:
            raise FileFormatError(f"{path}:{number}: not valid JSON: {error}") from None
        if not isinstance(value, (dict, str)):
            shown = type(value).__name__
            raise FileFormatError(
                f"{path}:{number}: the line is a {shown}, expected an object or a text in quotes"
            )
        if named not in (None, isinstance(value, dict)):
            raise FileFormatError(
                f"{path}:{number}: objects and texts alone are mixed. Use one of them throughout."
            )
        named = isinstance(value, dict)
        rows.append(Row(number, value if isinstance(value, dict) else {"0": value}))
    return Rows(path, tuple(rows), bool(named))


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    names = [name.strip().lower() for name, _ in pairs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"the key '{twice}' stands twice")
    return dict(zip(names, (value for _, value in pairs), strict=True))


def _problem(value: object) -> str:
    """Return what is wrong with a cell as text; "" for nothing."""
    if not isinstance(value, str):
        return ""
    if len(value) > MOST_CHARACTERS:
        return f"has {len(value)} characters, expected at most {MOST_CHARACTERS}"
    found = _CONTROL.search(value)
    if found:
        return f"holds the control character {found.group()!r}. Remove it"
    if re.search(r"[\ud800-\udfff]", value):
        return "holds half a character (a lone surrogate). Mend the file"
    return ""
