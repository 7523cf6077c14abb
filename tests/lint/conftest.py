"""The shipped case set, read once."""

from __future__ import annotations

import pytest

from pytest_fairmedagent.domain import Catalogue, Vignette
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.files.vignettes import read_vignettes, shipped_vignettes


@pytest.fixture(scope="session")
def shipped() -> dict[str, Vignette]:
    return read_vignettes([shipped_vignettes()])


@pytest.fixture(scope="session")
def catalogue() -> Catalogue:
    return read_swaps()
