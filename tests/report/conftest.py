"""Records of known content: the golden one, and ones that are drawn from a simulated agent."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from pytest_fairmedagent.agents.clinical import ClinicalAgent
from pytest_fairmedagent.domain import ACTIONS, Family, Plan
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.models.simulated import SimulatedModel, Truth
from pytest_fairmedagent.report.html import html_report
from pytest_fairmedagent.report.record import build_record
from pytest_fairmedagent.running.store import Store
from pytest_fairmedagent.study import Study
from pytest_fairmedagent.testing import blank_vignettes

# Loaded here, for `pytester` forgets what an inner run was the first to load, and two matplotlibs
# do not know each other's figures.
pytest.importorskip("jinja2")
pytest.importorskip("matplotlib.figure")
pytest.importorskip("matplotlib.backends.backend_svg")

GOLDEN = Path(__file__).parent / "golden"
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)

Draw = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def golden() -> Callable[[], dict[str, Any]]:
    """Gives the golden record; each call a copy, so that a test may change it."""
    record = json.loads((GOLDEN / "record.json").read_text(encoding="utf-8"))
    return lambda: copy.deepcopy(record)


@pytest.fixture(scope="session")
def golden_page(golden: Callable[[], dict[str, Any]]) -> str:
    """The page of the golden record: drawing its plots takes a second."""
    return html_report(golden())


@pytest.fixture
def draw(tmp_path: Path) -> Draw:
    """Draws the record of a simulated agent that is biased in the first of the swaps.

    What a machine adds (its name, times, the store's place) is set to fixed words.
    """

    def drawn(
        n_vignettes: int, swaps: tuple[str, ...], replicates: int, *, per_vignette: bool = False
    ) -> dict[str, Any]:
        cases, catalogue = blank_vignettes(n_vignettes), read_swaps()
        shape = (tuple(cases), replicates)
        families = (
            Family("primary", swaps, tuple(ACTIONS), *shape, 0.2, per_vignette=per_vignette),
            Family("further", ("language_limited",), ("referral",), *shape, gating=False),
        )
        store = Store(tmp_path / "store")
        study = Study(
            Plan(families, "reference", ("rerender",), ("sham_left_handed",)),
            cases,
            catalogue,
            ClinicalAgent(),
            SimulatedModel(
                "simulated", Truth(floor=0.25, gap=0.5, swap=swaps[0], seed=5), catalogue
            ),
            store,
        )
        study.sample(member for family in families for member in family.members)
        store.close()
        return settled(build_record([study], profile="ci", says="Red on DISPARITY.", now=NOW))

    return drawn


def settled(record: dict[str, Any]) -> dict[str, Any]:
    record["environment"] = {"python": "3.11.0", "platform": "golden"}
    for run in record["runs"]:
        run |= {"created": 1767323045.0, "since": 1767323045.0, "elapsed_s": 1.5, "store": "golden"}
    record["budget"]["elapsed_s"] = 1.5
    return record
