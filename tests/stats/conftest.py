"""Where the reference data lie, and counts of random designs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(__file__).resolve().parents[3] / "shared" / "reference"


def load(name: str) -> Any:
    """A reference file, or None where the checkout came without them."""
    path = SHARED / name
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


@pytest.fixture(scope="session")
def reference() -> Any:
    """Loads a reference file by name, or skips."""

    def get(name: str) -> Any:
        data = load(name)
        if data is None:
            pytest.skip(f"reference data {name} not beside this checkout ({SHARED})")
        return data

    return get
