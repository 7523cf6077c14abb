"""What this machine can run: models, keys, packages, the store. Nothing is loaded or changed.

Only Ollama's servers are asked, those that `OLLAMA_HOST` names or the one of this machine. Of keys
it is told whether their variable is set, never what it holds.
"""

from __future__ import annotations

import http.client
import importlib.metadata
import json
import os
import platform
import re
import ssl
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pytest_fairmedagent import __version__
from pytest_fairmedagent.errors import FairmedError
from pytest_fairmedagent.models import weights
from pytest_fairmedagent.models.specs import ModelSpec, parse_spec

Record = dict[str, Any]

SCHEMA = 1
TIMEOUT_S = 2.0  # a server of this machine or this network that answers later is of no use
KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "OLLAMA_API_KEY")
_ASKED = {"anthropic": KEYS[:2], "openai": KEYS[2:3]}
_MOST = 4_000_000  # bytes of a server's answer
_CHECKED = 200_000_000  # bytes of a store that is read as a whole within seconds

PACKAGES = (
    "pytest",
    "hypothesis",
    "numpy",
    "scipy",
    "pydantic",
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
    "embedded": (("xllamacpp",), weights.INSTALL.splitlines()[0]),
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
        "ollama": [_ollama(url, timeout_s) for url in _servers(env)],
        "embedded": _embedded(packages),
        "store": _store(store),
        "folder": {"path": str(Path.cwd()), "writable": _writable(Path.cwd())},
    }
    record["asked"] = None if spec is None else {"model": model, "lacks": _lacks(spec, record)}
    record["next"] = _next(record)
    return record


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _servers(env: Mapping[str, str]) -> list[str]:
    """Return Ollama's servers as URLs without user names, as its own client completes them."""
    servers = []
    for name in (env.get("OLLAMA_HOST") or "127.0.0.1:11434").split(","):
        url = name.strip()
        parts = urlsplit(url if "://" in url else f"http://{url}")
        try:
            host, port = parts.hostname or "127.0.0.1", parts.port
        except ValueError:  # no number of a port: it is told as a server that cannot be asked
            host, port = parts.hostname or "127.0.0.1", 0
        if host in ("0.0.0.0", "::"):  # noqa: S104 - an address to listen at, not to ask
            host = "127.0.0.1"
        if port is None:
            port = {"http": 80, "https": 443}.get(parts.scheme, 11434) if "://" in url else 11434
        scheme = parts.scheme if parts.scheme in ("http", "https") else "http"
        servers.append(f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}")
    return list(dict.fromkeys(servers))


def _ollama(url: str, timeout_s: float) -> Record:
    """Return version and models of a server, or why it did not tell them."""
    found: Record = {"url": url, "version": None, "models": [], "fault": ""}
    try:
        found["version"] = str(_get(url, "/api/version", timeout_s)["version"])
        for entry in _get(url, "/api/tags", timeout_s)["models"]:
            details = entry.get("details") or {}
            found["models"].append(
                {
                    "name": str(entry["name"]),
                    "bytes": entry.get("size") if isinstance(entry.get("size"), int) else None,
                    "parameters": str(details.get("parameter_size") or ""),
                    "quantisation": str(details.get("quantization_level") or ""),
                    "digest": str(entry.get("digest") or "")[:12],
                }
            )
    except (OSError, http.client.HTTPException) as error:
        found["fault"] = f"no answer: {getattr(error, 'strerror', None) or type(error).__name__}"
    except (ValueError, KeyError, TypeError, AttributeError):
        found["fault"] = "it answers, and not as Ollama does"
    return found


def _get(url: str, path: str, timeout_s: float) -> Any:
    """Return the JSON of a GET. Neither a proxy is asked for it nor a redirect followed."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port
    connection = (
        http.client.HTTPSConnection(
            host, port, timeout=timeout_s, context=ssl.create_default_context()
        )
        if parts.scheme == "https"
        else http.client.HTTPConnection(host, port, timeout=timeout_s)
    )
    try:
        connection.request("GET", path, headers={"Accept": "application/json"})
        response = connection.getresponse()
        if response.status != 200:
            raise ValueError(f"status {response.status}")
        return json.loads(response.read(_MOST))
    finally:
        connection.close()


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


def _lacks(spec: ModelSpec, record: Record) -> list[str]:
    """Return what a model that was asked for lacks on this machine, a line each."""
    if spec.backend in ("anthropic", "openai"):
        lacks = []
        if not record["packages"][spec.backend]:
            lacks.append(f"the package {spec.backend} is not installed: pip install {spec.backend}")
        if not any(record["keys"][name] for name in _ASKED[spec.backend]):
            lacks.append(f"{_ASKED[spec.backend][0]} is not set in the environment")
        return lacks
    simple: dict[str, Callable[[], list[str]]] = {
        "ollama": lambda: _lacks_ollama(spec.name, record),
        "embedded": lambda: _lacks_embedded(spec.name, record),
        "recorded": lambda: _lacks_recording(spec.name),
    }
    return simple.get(spec.backend, list)()


def _lacks_ollama(name: str, record: Record) -> list[str]:
    lacks = []
    wanted = {name.casefold(), f"{name}:latest".casefold()}
    for server in record["ollama"]:
        if server["fault"]:
            lacks.append(f"{server['url']}: {server['fault']}; start it with: ollama serve")
        elif not wanted & {model["name"].casefold() for model in server["models"]}:
            lacks.append(f"{server['url']} has no {name}; fetch it with: ollama pull {name}")
    return lacks


def _lacks_embedded(path: str, record: Record) -> list[str]:
    lacks = []
    if record["embedded"]["runtime"] is None:
        lacks.append(f"the runtime xllamacpp is not installed: {EXTRAS['embedded'][1]}")
    if path:
        try:
            weights.find_weights(path)
        except FairmedError as error:
            lacks.append(str(error).splitlines()[0])
    elif record["embedded"]["fault"]:
        lacks.append(record["embedded"]["fault"])
    elif record["embedded"]["weights"] is None:
        lacks.append(f"no weights are installed: {weights.INSTALL.splitlines()[1].strip()}")
    return lacks


def _lacks_recording(name: str) -> list[str]:
    path = Path(re.sub(r"#\d+$", "", name))
    return [] if path.exists() else [f"{path} does not exist"]


def _next(record: Record) -> list[str]:
    """Return the commands that suggest themselves, the first one first."""
    if record["asked"] is not None:
        name = record["asked"]["model"]
        if record["asked"]["lacks"]:
            return [f"mend what is missing above, then: fairmed doctor --model {name}"]
        return [f"pytest --fairmed-model={name} --fairmed-profile=quick"]
    usable = []
    for server in record["ollama"]:
        if server["models"]:
            smallest = min(server["models"], key=lambda m: (m["bytes"] or 0, m["name"]))
            usable.append(smallest["name"])
            break
    embedded = record["embedded"]
    if embedded["runtime"] and embedded["weights"] and not embedded["fault"]:
        usable.append("embedded")
    commands = [f"pytest --fairmed-model={name} --fairmed-profile=quick" for name in usable]
    if record["keys"][KEYS[0]] or record["keys"][KEYS[1]]:
        commands.append("fairmed plan --gap 0.1 --model claude-haiku-4-5")
    if record["keys"][KEYS[2]]:
        commands.append("fairmed plan --gap 0.1 --model openai/gpt-4.1-mini")
    if not usable:
        commands.append(
            "pytest --fairmed-model=simulated:floor=0.087,seed=1 --fairmed-profile=quick"
        )
        commands.append("ollama pull llama3.1:8b, or: " + EXTRAS["embedded"][1])
    return commands
