"""Which model `--fairmed-model=SPEC` means, and opening the one backend that answers it."""

from __future__ import annotations

import difflib
import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_fairmedagent.errors import ModelError, PlanError
from pytest_fairmedagent.models import weights
from pytest_fairmedagent.models.base import ChatModel, Decoding

_EXAMPLES = (
    "  examples: llama3.1:8b (Ollama), anthropic/claude-sonnet-4-5, openai/NAME, embedded, "
    "embedded/PATH.gguf, recorded/PATH, simulated:floor=0.087,gap=0.15,swap=race_black"
)
_PREFIXES = ("ollama", "anthropic", "openai", "embedded", "recorded", "simulated")

# What Ollama takes as a name: an optional host and namespace, a model, an optional tag.
_OLLAMA_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(:\d+)?(/[A-Za-z0-9][\w.-]*)*(:[\w][\w.-]*)?")

# module and class of a backend, the package it needs, and the line that installs that
_BACKENDS = {
    "embedded": (
        "embedded",
        "EmbeddedModel",
        "xllamacpp",
        weights.INSTALL,
    ),
    "ollama": ("ollama", "OllamaModel", "ollama", "pip install ollama"),
    "anthropic": ("anthropic", "AnthropicModel", "anthropic", "pip install anthropic"),
    "openai": (
        "openai_compatible",
        "OpenAICompatibleModel",
        "openai",
        'pip install "pytest-fairmedagent[openai]"',
    ),
}


@dataclass(frozen=True)
class ModelSpec:
    """A model as it was asked for.

    Attributes:
        backend: ollama, anthropic, openai, embedded, recorded or simulated.
        name: the server's name of the model, or a path; "" where there is nothing to name.
        options: what follows `simulated:`, as text; its meaning is that backend's.
    """

    backend: str
    name: str = ""
    options: Mapping[str, str] = field(default_factory=dict)


def parse_spec(spec: str) -> ModelSpec:
    """Return the model that a SPEC names. Raises PlanError for what names none."""
    text = spec.strip()
    if not text:
        raise _nonsense(spec, "it is empty")
    if text == "simulated" or text.startswith("simulated:"):
        return ModelSpec("simulated", options=_options(spec, text.partition(":")[2]))
    prefix, slash, name = text.partition("/")
    if prefix in ("recorded", "embedded") and slash:
        if not name:
            raise _nonsense(spec, f"a path is missing after '{prefix}/'")
        if prefix == "embedded" and not name.endswith(".gguf"):
            raise _nonsense(spec, "an embedded model is a file that ends in .gguf")
        return ModelSpec(prefix, name)
    if text == "embedded":
        return ModelSpec("embedded")
    if text in ("ollama", "anthropic", "openai", "recorded"):
        raise _nonsense(spec, f"what follows '{text}/' is missing")
    if re.search(r"\s", text):
        raise _nonsense(spec, "the name of a model has no white space")
    if prefix in ("anthropic", "openai") and slash:
        if not name:
            raise _nonsense(spec, f"a model is missing after '{prefix}/'")
        return ModelSpec(prefix, name)
    if text.startswith("claude-"):
        return ModelSpec("anthropic", text)
    return ModelSpec("ollama", _ollama_name(spec, text))


def open_model(
    spec: ModelSpec,
    *,
    decoding: Decoding,
    base_url: str | None,
    base_url_trusted: bool,
    workers: int | None,
) -> ChatModel:
    """Return the backend of a spec, made but not warmed up: its `open` does that.

    Only this backend's package is imported. `base_url_trusted` is false for a URL from project
    configuration, which then gets no key unless its host is this machine. `workers` None leaves
    the backend its default. Raises ModelError with the line that mends it.
    """
    if spec.backend not in _BACKENDS:
        raise ValueError(
            f"internal: {spec.backend!r} models are not opened here but made where their truth or "
            f"their recording is at hand; expected one of {sorted(_BACKENDS)}"
        )
    if workers is not None and workers < 1:
        raise PlanError(f"concurrency is {workers}, expected 1 or more")
    module, name, package, install = _BACKENDS[spec.backend]
    try:
        backend = importlib.import_module(f"pytest_fairmedagent.models.{module}")
    except ImportError as error:
        # Only the package's own absence is mended by installing it. One that is there and does not
        # load (another C library, a broken half of it) must show its own words.
        missing = isinstance(error, ModuleNotFoundError) and error.name == package
        state = "is not installed" if missing else f"does not load: {error}"
        raise ModelError(f"{spec.backend}: the package {package} {state}\n  {install}") from error
    model: ChatModel = getattr(backend, name)(
        spec.name,
        decoding=decoding,
        base_url=base_url,
        base_url_trusted=base_url_trusted,
        workers=workers,
    )
    return model


def _options(spec: str, text: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not (name and equals and value):
            raise _nonsense(spec, f"{part!r} is not of the form name=value")
        if name in options:
            raise _nonsense(spec, f"{name} is given twice")
        options[name] = value
    return options


def _ollama_name(spec: str, text: str) -> str:
    name = text[len("ollama/") :] if text.startswith("ollama/") else text
    if not _OLLAMA_NAME.fullmatch(name):
        raise _nonsense(spec, "it is no name that Ollama could know")
    # `ollama/NAME` says what it means; a bare word that is nearly a known prefix is a slip, and
    # taking it for a tag would end in advice to pull a model called "embeded".
    if name is text:
        head = re.split("[/:]", text)[0]
        near = difflib.get_close_matches(head, _PREFIXES[1:], n=1, cutoff=0.8)
        if near:
            raise _nonsense(
                spec, f"did you mean {near[0]!r}? An Ollama model of that name is ollama/{text}"
            )
    return name


def _nonsense(spec: str, reason: str) -> PlanError:
    return PlanError(f"--fairmed-model={spec!r} names no model: {reason}\n{_EXAMPLES}")
