"""What this machine can run: models, keys, packages, the store. Nothing is loaded or changed.

Only Ollama's servers are asked, those that `OLLAMA_HOST` names or the one of this machine. Of keys
it is told whether their variable is set, never what it holds.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_fairmedagent import __version__
from pytest_fairmedagent.doctor import ollama
from pytest_fairmedagent.doctor.advice import (
    ANTHROPIC,
    EMBEDDED_INSTALL,
    OPENAI,
    lacks_of,
    next_commands,
)
from pytest_fairmedagent.errors import FairmedError
from pytest_fairmedagent.models import weights
from pytest_fairmedagent.models.specs import parse_spec

Record = dict[str, Any]

SCHEMA = 1
TIMEOUT_S = 2.0  # a server of this machine or this network that answers later is of no use
KEYS = (*ANTHROPIC, *OPENAI, "OLLAMA_API_KEY")
_CHECKED = 200_000_000  # bytes of a store that is read as a whole within seconds

PACKAGES = (
    "pytest",
    "hypothesis",
    "numpy",
    "scipy",
    "ollama",
    "anthropic",
    "openai",
    "xllamacpp",
    "jinja2",
    "matplotlib",
    "pyarrow",
    "pytest-xdist",
    "pytest-timeout",
)
EXTRAS = {
    "embedded": (("xllamacpp",), EMBEDDED_INSTALL),
    "openai": (("openai",), 'pip install "pytest-fairmedagent[openai]"'),
    "report": (("jinja2", "matplotlib"), 'pip install "pytest-fairmedagent[report]"'),
}


def examine(
    store: Path,
    *,
    model: str = "",
    env: Mapping[str, str] = os.environ,
    timeout_s: float = TIMEOUT_S,
) -> Record:
    """Return what is there, what a model that is asked for lacks, and what to do next.

    Raises PlanError for a `model` that is no SPEC.
    """
    spec = parse_spec(model) if model else None
    packages = {name: _version(name) for name in PACKAGES}
    record: Record = {
        "schema": SCHEMA,
        "generator": f"pytest-fairmedagent {__version__}",
        "python": {"version": platform.python_version(), "supported": sys.version_info >= (3, 10)},
        "platform": platform.platform(),
        "packages": packages,
        "extras": {
            name: {"installed": all(packages[p] for p in needed), "install": install}
            for name, (needed, install) in EXTRAS.items()
        },
        "keys": {name: bool(env.get(name)) for name in KEYS},
        "ollama": [ollama.ask(url, timeout_s) for url in ollama.servers(env)],
        "embedded": _embedded(packages),
        "store": _store(store),
        "folder": {"path": str(Path.cwd()), "writable": _writable(Path.cwd())},
    }
    record["asked"] = None if spec is None else {"model": model, "lacks": lacks_of(spec, record)}
    record["next"] = next_commands(record)
    return record


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _embedded(packages: Mapping[str, str | None]) -> Record:
    """Return whether runtime and weights are there, and whose weights; nothing is put together."""
    variable = os.environ.get(weights.VARIABLE)
    found: Record = {"runtime": packages["xllamacpp"], "weights": None, "fault": ""}
    if variable:
        found["weights"] = f"{weights.VARIABLE}={variable}"
        try:
            weights.find_weights("")
        except FairmedError as error:
            found["fault"] = str(error).splitlines()[0]
    else:
        found["weights"] = weights.packaged()
    return found


def _store(path: Path) -> Record:
    from pytest_fairmedagent.running.archive import Archive, store_file

    found: Record = {"path": str(path), "there": False, "writable": None, "fault": ""}
    file = store_file(path)
    if file is None:
        return found
    found |= {"there": True, "writable": os.access(file, os.W_OK), "bytes": 0, "runs": 0}
    try:
        with Archive(path) as archive:
            runs = archive.runs()
            found |= {
                "bytes": archive.size,
                "runs": len(runs),
                "unfinished": sum(run.finished is None for run in runs),
                "damage": archive.check() if archive.size <= _CHECKED else None,
            }
    except FairmedError as error:
        found["fault"] = str(error).splitlines()[0]
    return found


def _writable(folder: Path) -> bool:
    """Whether a file can be made there. Tried, since rights and file systems say too little."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
