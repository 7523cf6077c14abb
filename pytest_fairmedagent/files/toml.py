"""Reading TOML so that every complaint names its file and line."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from pytest_fairmedagent.errors import FileFormatError, closest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Model = TypeVar("Model", bound="Strict")

_TABLE = re.compile(r"^\s*(\[\[?)\s*([A-Za-z0-9_.\-]+)\s*\]\]?")
_KEY = re.compile(r"^\s*\"?([A-Za-z0-9_\-]+)\"?\s*=")


class Strict(BaseModel):
    """A table of a file: unknown keys and wrong types are errors, never ignored or coerced."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class TomlFile:
    """The text and data of one TOML file. Raises FileFormatError where it cannot be read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise FileFormatError(f"{path}: cannot be read: {reason}") from error
        try:
            self.data: dict[str, Any] = _loads(self.text)
        except tomllib.TOMLDecodeError as error:
            found = re.search(r"at line (\d+)", str(error))
            at = found.group(1) if found else len(self.text.splitlines())
            raise FileFormatError(f"{path}:{at}: not valid TOML: {error}") from error
        self._lines = _line_numbers(self.text)

    def line(self, location: Sequence[str | int]) -> int:
        """Return the line (from 1) of a key, or of the nearest table that holds it."""
        for length in range(len(location), -1, -1):
            found = self._lines.get(tuple(location[:length]))
            if found is not None:
                return found
        return 1

    def error(self, location: Sequence[str | int], message: str) -> FileFormatError:
        return FileFormatError(f"{self.path}:{self.line(location)}: {message}")

    def parse(self, model: type[Model]) -> Model:
        """Return the data as a `model`. The error names line, key, value and what was expected."""
        try:
            return model.model_validate(self.data)
        except ValidationError as error:
            # A misspelt key is both unknown and missing; what is there comes first.
            found = sorted(error.errors(include_url=False), key=lambda e: e["type"] == "missing")
            problems = [self._problem(model, e) for e in found]
            more = "".join(f"\n  also: {problem}" for problem in problems[1:])
            raise FileFormatError(problems[0] + more) from None

    def _problem(self, model: type[BaseModel], error: Mapping[str, Any]) -> str:
        location = tuple(error["loc"])
        name = ".".join(f"[{p}]" if isinstance(p, int) else p for p in location).replace(".[", "[")
        where = f"{self.path}:{self.line(location)}: "
        if error["type"] == "missing":
            return f"{where}'{name}' is missing. Add it."
        if error["type"] == "extra_forbidden":
            known = _known_keys(model, location)
            return f"{where}unknown key '{name}'.{closest(str(location[-1]), known)}"
        value = repr(error.get("input"))
        shown = value if len(value) <= 60 else value[:57] + "..."
        return f"{where}'{name}' is {shown}: {error['msg'].removeprefix('Value error, ')}."


@lru_cache(maxsize=256)
def _loads(text: str) -> dict[str, Any]:
    """Return the data of a text. One text is read by several readers, and parsed once; none of them
    changes what it is given."""
    found: dict[str, Any] = tomllib.loads(text)
    return found


def _known_keys(model: type[BaseModel], location: Sequence[str | int]) -> list[str]:
    """Return the keys that the table of `location` may have."""
    for part in location[:-1]:
        if isinstance(part, int) or part not in model.model_fields:
            continue
        for inner in _models_in(model.model_fields[part].annotation):
            model = inner
    return [field.alias or name for name, field in model.model_fields.items()]


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    arguments = get_args(annotation)  # first: before Python 3.11 list[X] passes for a class
    if not arguments and isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in arguments for model in _models_in(argument)]


@lru_cache(maxsize=256)
def _line_numbers(text: str) -> dict[tuple[str | int, ...], int]:
    """Map the place of each table and key to its line.

    TOML readers give no positions for values, so this scans the layout that people write: tables,
    arrays of tables, one key a line. Lines inside multi-line strings are passed over.
    """
    lines: dict[tuple[str | int, ...], int] = {}
    table: tuple[str | int, ...] = ()
    counts: dict[tuple[str | int, ...], int] = {}
    quote = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if quote:
            if quote in line:
                quote = ""
            continue
        header = _TABLE.match(line)
        key = _KEY.match(line)
        if header:
            path: tuple[str | int, ...] = ()
            parts = header.group(2).split(".")
            for depth, part in enumerate(parts):
                path += (part,)
                if header.group(1) == "[[" and depth == len(parts) - 1:
                    counts[path] = counts.get(path, -1) + 1
                if path in counts:
                    path += (counts[path],)
            table = path
            lines.setdefault(table, number)
        elif key:
            lines.setdefault((*table, key.group(1)), number)
            for mark in ('"""', "'''"):
                if line.count(mark) % 2:
                    quote = mark
    return lines
