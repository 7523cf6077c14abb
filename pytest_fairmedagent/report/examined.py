"""What `fairmed doctor` found, in lines for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_fairmedagent.report.text import file_size, fitted

Record = dict[str, Any]

WIDTH = 80
_MODELS = 12  # of one server that are listed
OK, NONE, BAD = "ok", "-", "BROKEN"


def doctor_lines(record: Record) -> list[str]:
    """Return a table of subject, state (`ok`, `-` for not there, `BROKEN`) and what there is."""
    lines = [f"{name:<10} {state:<7} {text}" for name, state, text in _rows(record)]
    lines += ["", *(f"next: {command}" for command in record["next"])]
    return [part for line in lines for part in fitted(line, WIDTH)]


def _rows(record: Record) -> Iterator[tuple[str, str, str]]:
    packages = record["packages"]
    python = record["python"]
    yield (
        "versions",
        OK if python["supported"] else BAD,
        f"{record['generator']}, Python {python['version']}, pytest {packages['pytest']}",
    )
    yield from _ollama(record)
    embedded = record["embedded"]
    there = embedded["runtime"] and embedded["weights"]
    runtime = f"xllamacpp {embedded['runtime']}" if embedded["runtime"] else "no runtime"
    text = embedded["fault"] or f"{runtime}, weights: {embedded['weights'] or 'none'}"
    yield "embedded", BAD if embedded["fault"] else OK if there else NONE, text
    for name, is_set in record["keys"].items():
        yield "key", OK if is_set else NONE, f"{name} is {'set' if is_set else 'not set'}"
    for name, extra in record["extras"].items():
        text = "installed" if extra["installed"] else extra["install"]
        yield "extra", OK if extra["installed"] else NONE, f"{name}: {text}"
    for name in ("pytest-xdist", "pytest-timeout"):
        found = packages[name]
        yield "plugin", OK if found else NONE, f"{name} {found or 'is not installed'}"
    yield _store(record["store"])
    folder = record["folder"]
    yield (
        "folder",
        OK if folder["writable"] else BAD,
        f"files can{'' if folder['writable'] else 'not'} be written here",
    )
    if record["asked"] is not None:
        lacks = record["asked"]["lacks"]
        yield "asked", BAD if lacks else OK, f"{record['asked']['model']}"
        for text in lacks:
            yield "", "", text


def _ollama(record: Record) -> Iterator[tuple[str, str, str]]:
    for server in record["ollama"]:
        if server["fault"]:
            yield "ollama", NONE, f"{server['url']}: {server['fault']}"
            continue
        n = len(server["models"])
        yield (
            "ollama",
            OK if n else NONE,
            f"{server['version']} at {server['url']}, {n} model{'' if n == 1 else 's'}",
        )
        for model in server["models"][:_MODELS]:
            size = file_size(model["bytes"]) if model["bytes"] is not None else ""
            told = (model["parameters"], model["quantisation"], size)
            yield "", "", f"  {model['name']:<28} {' '.join(filter(None, told))}"
        if n > _MODELS:
            yield "", "", f"  and {n - _MODELS} more"


def _store(store: Record) -> tuple[str, str, str]:
    if not store["there"]:
        return "store", NONE, f"no store at {store['path']} yet"
    if store["fault"]:
        return "store", BAD, store["fault"]
    runs = f"{store['runs']} run{'' if store['runs'] == 1 else 's'}"
    unfinished = f" ({store['unfinished']} unfinished)" if store["unfinished"] else ""
    text = f"{store['path']}: {file_size(store['bytes'])}, {runs}{unfinished}"
    if store["damage"]:
        return "store", BAD, f"{text}; damaged: {store['damage'][0]}"
    if not store["writable"]:
        return "store", BAD, f"{text}; it cannot be written"
    if store["damage"] is None:
        return "store", OK, f"{text}; large, so not read: fairmed show {store['path']} --check"
    return "store", OK, f"{text}, whole"
