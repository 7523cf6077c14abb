"""Record files: trajectories as JSON Lines, or as one JSON object with `rows`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from pytest_fairmedagent.errors import FileFormatError
from pytest_fairmedagent.files.record_row import Row, check_row

LINES = (".jsonl", ".ndjson")

_SPACE = re.compile(r"[ \t\r\n]*")


class RecordSource:
    """One record file, read row by row, so that its size is no matter.

    JSON Lines may begin with a line that is no trajectory: the header. `header` is whole only after
    `rows` has ended, for a JSON object may go on behind its rows.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.header: dict[str, Any] = {}

    def rows(self, block_key: str = "block") -> Iterator[tuple[int, Row]]:
        """Yield line and trajectory of every row. Raises FileFormatError with file and line."""
        try:
            read = self._lines() if self.path.suffix in LINES else self._object()
            for line, data in read:
                yield line, check_row(self.path, line, data, block_key)
        except OSError as error:
            raise FileFormatError(f"{self.path}: cannot be read: {error.strerror}") from error

    def _lines(self) -> Iterator[tuple[int, Any]]:
        first = True
        with self.path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                if raw.isspace():
                    continue
                try:
                    data = json.loads(raw.decode("utf-8-sig" if first else "utf-8"))
                except (ValueError, RecursionError) as error:
                    self._fail(number, f"not valid JSON: {_reason(error)}")
                if first and isinstance(data, dict) and not {"vignette", "outputs"} & set(data):
                    inner = data.pop("rows", ())
                    self.header = data
                    for row in inner if isinstance(inner, list) else ():
                        yield number, row
                else:
                    yield number, data
                first = False

    def _object(self) -> Iterator[tuple[int, Any]]:
        try:
            text = self.path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise FileFormatError(f"{self.path}: cannot be read: {error}") from error
        scan = _Scan(self, text)
        scan.take("{", "one JSON object with a list 'rows', or JSON Lines")
        found = False
        if not scan.sees("}"):
            while True:
                key = scan.value()
                scan.take(":", "':'")
                if key == "rows" and scan.sees("["):
                    found = True
                    while not scan.sees("]"):
                        yield scan.line(), scan.value()
                        if not scan.sees(","):
                            scan.take("]", "',' or ']'")
                            break
                else:
                    self.header[str(key)] = scan.value()
                if not scan.sees(","):
                    scan.take("}", "',' or '}'")
                    break
        if not found and (not scan.ends() or "vignette" in self.header):
            self.header = {}  # it is JSON Lines by another name
            yield from self._lines()
        elif not found:
            self._fail(1, "expected one JSON object with a list 'rows', or JSON Lines")
        elif not scan.ends():
            self._fail(scan.line(), "expected the end of the file behind the JSON object")

    def _fail(self, line: int, message: str) -> NoReturn:
        raise FileFormatError(f"{self.path}:{line}: {message}")


class _Scan:
    """Takes a JSON text apart piece by piece: a list of rows is never held as objects whole."""

    def __init__(self, source: RecordSource, text: str) -> None:
        self._source, self._text, self._at = source, text, 0
        self._decode = json.JSONDecoder().raw_decode
        self._counted, self._line = 0, 1
        self._skip()

    def line(self) -> int:
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def ends(self) -> bool:
        return self._at >= len(self._text)

    def sees(self, sign: str) -> bool:
        """Whether the next sign is this one, and then step over it."""
        if self._text.startswith(sign, self._at):
            self._at += 1
            self._skip()
            return True
        return False

    def take(self, sign: str, expected: str) -> None:
        if not self.sees(sign):
            self._source._fail(self.line(), f"not valid JSON: expected {expected}")

    def value(self) -> Any:
        try:
            found, self._at = self._decode(self._text, self._at)
        except (ValueError, RecursionError) as error:
            self._at = getattr(error, "pos", self._at)
            self._source._fail(self.line(), f"not valid JSON: {_reason(error)}")
        self._skip()
        return found

    def _skip(self) -> None:
        match = _SPACE.match(self._text, self._at)
        assert match is not None  # noqa: S101 - it matches nothing too
        self._at = match.end()


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return error.msg if isinstance(error, json.JSONDecodeError) else str(error)


NO_ROWS = "holds no trajectories. Expected rows of a record file."


def declared_configuration(path: Path, header: Mapping[str, Any]) -> Mapping[str, object]:
    """Return what a header says of the configuration, or that it is the file's own."""
    declared = header.get("configuration")
    if isinstance(declared, dict):
        return declared
    return {"declared by": path.name, "model": str(header.get("model", "unknown"))}
