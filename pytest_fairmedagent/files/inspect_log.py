"""Logs of inspect_ai: `.eval` (a zip of JSON files) and `.json`, read without inspect_ai.

Format: https://inspect.aisi.org.uk/eval-logs.html, and what inspect-ai 0.3.285 writes.
"""

from __future__ import annotations

import io
import json
import re
import struct
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_fairmedagent.errors import FileFormatError

SUFFIX = ".eval"
MOST_BYTES = 1_000_000_000  # of one unpacked part
_ZSTANDARD = 93  # the method's number in a zip; `zipfile` knows it from Python 3.14 on
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")
_JSON_LOG = re.compile(rb'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"status"\s*:\s*"\w+"\s*,\s*"eval"\s*:')


@dataclass(frozen=True)
class InspectLog:
    """One log. `header` is all but the samples; `samples` are its finished samples, by epoch."""

    path: Path
    header: Mapping[str, Any]
    samples: tuple[Mapping[str, Any], ...]

    @property
    def evaluated(self) -> Mapping[str, Any]:
        """What was run: task, model, and their settings."""
        found: Mapping[str, Any] = self.header["eval"]
        return found


def is_inspect_log(path: Path) -> bool:
    """Whether a file is a log of inspect_ai, by its name or, for `.json`, how it begins."""
    if path.suffix != ".json":
        return path.suffix == SUFFIX
    try:
        with path.open("rb") as file:
            return _JSON_LOG.match(file.read(500)) is not None
    except OSError:
        return False


def read_inspect_log(path: Path) -> InspectLog:
    """Return a log. Raises FileFormatError, also where it needs a package to be unpacked."""
    try:
        if path.suffix == SUFFIX:
            with zipfile.ZipFile(path) as archive:
                header = _json(path, archive, _header_of(path, archive))
                names = [n for n in archive.namelist() if n.startswith("samples/")]
                samples = [_json(path, archive, name) for name in names]
        else:
            header = json.loads(path.read_bytes())
            samples = header.pop("samples", None) or []
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read: {error.strerror}") from error
    except (zipfile.BadZipFile, ValueError, RecursionError) as error:
        raise FileFormatError(f"{path}: is no whole log of inspect_ai: {error}") from error
    if not (isinstance(header, dict) and isinstance(header.get("eval"), dict)):
        raise FileFormatError(f"{path}: is no log of inspect_ai: its header has no 'eval'")
    if not samples:
        raise FileFormatError(
            f"{path}: holds no sample. Expected a log written with log_samples (the default)."
        )
    for sample in samples:
        if not (isinstance(sample, dict) and "id" in sample and type(sample.get("epoch")) is int):
            raise FileFormatError(f"{path}: a sample has no id and epoch: {str(sample)[:60]}")
    samples.sort(key=lambda sample: (sample["epoch"], str(sample["id"])))
    return InspectLog(path, header, tuple(samples))


def _header_of(path: Path, archive: zipfile.ZipFile) -> str:
    # A run that was cut has only what it wrote down when it began.
    for name in ("header.json", "_journal/start.json"):
        if name in archive.namelist():
            return name
    raise FileFormatError(f"{path}: is no log of inspect_ai: it has no header.json")


def _json(path: Path, archive: zipfile.ZipFile, name: str) -> Any:
    info = archive.getinfo(name)
    if info.file_size > MOST_BYTES:
        raise FileFormatError(f"{path}: {name} unpacks to {info.file_size} bytes, too many to read")
    try:
        content = archive.read(info)
    except NotImplementedError:
        content = _unpacked(path, info)
    return json.loads(content)


def _unpacked(path: Path, info: zipfile.ZipInfo) -> bytes:
    """Return a part that this Python's `zipfile` cannot unpack."""
    if info.compress_type != _ZSTANDARD:
        raise FileFormatError(f"{path}: is packed by method {info.compress_type}, which is unknown")
    try:
        import zstandard
    except ImportError:
        raise FileFormatError(
            f"{path}: is packed with Zstandard, which Python reads from 3.14 on.\n"
            '  Run: pip install "pytest-fairmedagent[inspect]"\n'
            "  or, where inspect_ai is: inspect log convert --to json LOG --output-dir DIR"
        ) from None
    with path.open("rb") as file:
        file.seek(info.header_offset)
        fields = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
        file.seek(fields[-2] + fields[-1], io.SEEK_CUR)  # the part's name and extra field
        packed = file.read(info.compress_size)
    try:
        with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(packed)) as reader:
            return bytes(reader.read(info.file_size))
    except zstandard.ZstdError as error:
        raise FileFormatError(f"{path}: {info.filename} cannot be unpacked: {error}") from error


def found_at(log: InspectLog, sample: Mapping[str, Any], place: str) -> Iterator[Any]:
    """Yield what stands at a place such as `scores.admit.value`; nothing where there is none.

    A text that is a JSON object is entered: `output.completion.admit` is what the answer says. A
    place that begins with `eval` is of the log: `eval.task_args.arm`.
    """
    names = place.split(".")
    value: Any = log.header if names[0] == "eval" else sample
    for name in names:
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                return
        if isinstance(value, list) and name.isascii() and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        elif isinstance(value, dict) and name in value:
            value = value[name]
        else:
            return
        if isinstance(value, str) and value.startswith("attachment://"):
            value = (sample.get("attachments") or {}).get(value[len("attachment://") :], value)
    yield value
