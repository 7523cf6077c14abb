"""What every test of the pytest surface needs: a project, and a run of pytest in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

# Loaded here, for `pytester` forgets what an inner run was the first to load: numpy and pydantic
# cannot be loaded twice in one process, and hypothesis takes two seconds each time.
import hypothesis  # noqa: F401
import pytest
import scipy.optimize
import scipy.special
import scipy.stats  # noqa: F401

import pytest_fairmedagent.agents.clinical
import pytest_fairmedagent.agents.user
import pytest_fairmedagent.models.simulated
import pytest_fairmedagent.plugin.finish
import pytest_fairmedagent.plugin.start  # noqa: F401

Run = Callable[..., pytest.RunResult]

MODEL = "simulated:floor=0.087,seed=1"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the outer run reaches the inner one, and lines of its summary are not cut."""
    for name in ("CI", "BUILD_NUMBER", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "FAIRMED_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "250")


@pytest.fixture
def gate(pytester: pytest.Pytester) -> Run:
    """Runs pytest in this process, in fixed order, with the fairness tests turned on."""

    def run(*arguments: str, model: str = MODEL) -> pytest.RunResult:
        return pytester.runpytest_inprocess(
            f"--fairmed-model={model}", "-p", "no:randomly", *arguments
        )

    return run


@pytest.fixture
def record(pytester: pytest.Pytester) -> Callable[..., dict[str, Any]]:
    """Reads a run record that an inner run has written, out.json by default."""

    def read(name: str = "out.json") -> dict[str, Any]:
        return json.loads((pytester.path / name).read_text(encoding="utf-8"))

    return read
