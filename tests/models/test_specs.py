"""What a SPEC names, and what opening it needs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_fairmedagent.errors import ModelError, PlanError
from pytest_fairmedagent.models import weights
from pytest_fairmedagent.models.base import Decoding
from pytest_fairmedagent.models.specs import ModelSpec, open_model, parse_spec


def open_spec(text: str, **changes: object) -> object:
    given: dict[str, object] = {
        "decoding": Decoding(),
        "base_url": None,
        "base_url_trusted": True,
        "workers": None,
    }
    return open_model(parse_spec(text), **{**given, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "backend", "name"),
    [
        ("llama3.1:8b", "ollama", "llama3.1:8b"),
        ("llama3", "ollama", "llama3"),
        (" qwen2.5:0.5b ", "ollama", "qwen2.5:0.5b"),
        ("ollama/llama3.1:8b", "ollama", "llama3.1:8b"),
        ("someone/medmodel:latest", "ollama", "someone/medmodel:latest"),
        ("hf.co/bartowski/Llama-3.2-1B-GGUF:Q4_K_M", "ollama",
         "hf.co/bartowski/Llama-3.2-1B-GGUF:Q4_K_M"),
        ("registry.local:5000/team/model", "ollama", "registry.local:5000/team/model"),
        ("ollama/embedded", "ollama", "embedded"),
        ("anthropic/claude-sonnet-4-5", "anthropic", "claude-sonnet-4-5"),
        ("claude-sonnet-4-5", "anthropic", "claude-sonnet-4-5"),
        ("openai/meta-llama/Llama-3.1-8B", "openai", "meta-llama/Llama-3.1-8B"),
        ("embedded", "embedded", ""),
        ("embedded//models/tiny.gguf", "embedded", "/models/tiny.gguf"),
        ("embedded/models/tiny.gguf", "embedded", "models/tiny.gguf"),
        ("recorded/runs/my run.json", "recorded", "runs/my run.json"),
        ("simulated", "simulated", ""),
    ],
)  # fmt: skip
def test_a_spec_names_a_backend_and_a_model(text: str, backend: str, name: str) -> None:
    assert parse_spec(text) == ModelSpec(backend, name)


def test_what_follows_simulated_is_its_options() -> None:
    spec = parse_spec("simulated:floor=0.087, gap=0.15,swap=race_black")
    assert spec.options == {"floor": "0.087", "gap": "0.15", "swap": "race_black"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "it is empty"),
        ("   ", "it is empty"),
        ("anthropic", "what follows 'anthropic/' is missing"),
        ("openai/", "a model is missing after 'openai/'"),
        ("ollama/", "no name that Ollama could know"),
        ("recorded/", "a path is missing"),
        ("embedded/model.bin", "ends in .gguf"),
        ("llama 3", "white space"),
        ("llama3:8b:q4", "no name that Ollama could know"),
        ("simulated:floor", "'floor' is not of the form name=value"),
        ("simulated:floor=", "'floor=' is not of the form name=value"),
        ("simulated:floor=0.1,floor=0.2", "floor is given twice"),
        ("embeded", "did you mean 'embedded'?"),
        ("antropic/claude-x", "did you mean 'anthropic'?"),
        ("--fairmed-profile=quick", "no name that Ollama could know"),
    ],
)
def test_nonsense_is_an_error_that_says_why_and_shows_examples(text: str, says: str) -> None:
    with pytest.raises(PlanError) as caught:
        parse_spec(text)
    first, *rest = str(caught.value).splitlines()
    assert says in first
    assert "examples: llama3.1:8b" in rest[-1]


@pytest.mark.parametrize(
    ("text", "package", "line"),
    [
        ("embedded", "xllamacpp", 'pip install --only-binary=:all: "xllamacpp=='),
        ("llama3", "ollama", "pip install ollama"),
        ("claude-x", "anthropic", "pip install anthropic"),
        ("openai/x", "openai", 'pip install "pytest-fairmedagent[openai]"'),
    ],
)
def test_a_missing_package_is_an_error_with_the_line_that_mends_it(
    text: str, package: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = {"openai": "openai_compatible", "xllamacpp": "embedded"}.get(package, package)
    for name in (module, f"{module}_host"):
        monkeypatch.delitem(sys.modules, f"pytest_fairmedagent.models.{name}", raising=False)
    monkeypatch.setitem(sys.modules, package, None)  # imports as if it were not installed
    with pytest.raises(ModelError, match=f"the package {package} is not installed") as caught:
        open_spec(text)
    assert line in str(caught.value)
    assert not caught.value.transient


def test_a_package_that_does_not_load_says_so_in_its_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "xllamacpp.py").write_text("raise ImportError('GLIBC_2.38 not found')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "pytest_fairmedagent.models.embedded", raising=False)
    monkeypatch.delitem(sys.modules, "xllamacpp", raising=False)
    with pytest.raises(ModelError, match=r"does not load: GLIBC_2.38 not found"):
        open_spec("embedded")


def test_the_lines_that_install_the_runtime_name_the_version_that_the_extra_pins() -> None:
    project = Path(__file__).parents[2] / "pyproject.toml"
    pinned = next(
        line for line in project.read_text().splitlines() if line.startswith("embedded = ")
    )
    assert pinned.split('"')[1] in weights.INSTALL


def test_only_the_package_of_the_backend_asked_for_is_imported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("ollama")
    for name in ("anthropic", "openai", "xllamacpp"):
        monkeypatch.setitem(sys.modules, name, None)
    assert open_spec("llama3").name == "llama3"  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", ["simulated", "recorded/run.json"])
def test_what_is_made_elsewhere_is_not_opened_here(text: str) -> None:
    with pytest.raises(ValueError, match=r"internal: '(simulated|recorded)' models are not opened"):
        open_spec(text)


def test_fewer_than_one_worker_is_refused() -> None:
    with pytest.raises(PlanError, match="concurrency is 0"):
        open_spec("llama3", workers=0)
