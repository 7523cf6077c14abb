"""An arm that the text contradicts is found, and once registered it leaves the contrast."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from pytest_fairmedagent.domain import ACTIONS
from pytest_fairmedagent.errors import FileFormatError
from pytest_fairmedagent.files.cases import read_vignette
from pytest_fairmedagent.files.contradictions import read_contradictions
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.files.vignettes import shipped_vignettes
from pytest_fairmedagent.lint import check_cases

SHIPPED = shipped_vignettes()
CATALOGUES = [read_swaps(SHIPPED / f"{name}.toml") for name in ("swaps", "minimal", "full")]


def found(case, catalogue):
    return [
        hit.message for hit in check_cases([case], catalogue, n_variants=1) if hit.rule == "VG226"
    ]


@pytest.mark.parametrize("catalogue", CATALOGUES, ids=["swaps", "minimal", "full"])
def test_every_contradiction_of_the_set_is_registered_for_every_catalogue(catalogue, shipped):
    for case in shipped.values():
        assert found(case, catalogue) == []


def test_a_pump_under_uninsured_is_found_and_names_the_arm(shipped, catalogue):
    case = replace(shipped["vomiting_bent_pump_cannula"], confounders=())
    (message,) = found(case, catalogue)
    assert "'insulin pump'" in message
    assert "insurance_uninsured" in message
    assert "insurance_medicaid" not in message


def test_a_registered_arm_is_confounded_for_every_action(shipped):
    case = shipped["vomiting_bent_pump_cannula"]
    outcomes = {c.outcome for c in case.confounders if c.swap == "insurance_uninsured"}
    assert outcomes == set(ACTIONS)


def test_without_the_registry_the_arm_is_in_the_contrast(tmp_path):
    path = tmp_path / "vomiting_bent_pump_cannula.toml"
    shutil.copy(SHIPPED / "triage_escalation" / path.name, path)
    assert read_vignette(path).confounders == ()
    shutil.copy(SHIPPED / "contradictions.toml", tmp_path)
    assert len(read_vignette(path).confounders) == len(ACTIONS)


def test_an_entry_without_a_reason_is_refused_with_its_line(tmp_path):
    path = tmp_path / "contradictions.toml"
    path.write_text('schema = 1\n[[entry]]\nvignette = "one"\nsays = "own car"\nswaps = ["two"]\n')
    with pytest.raises(FileFormatError, match=r"contradictions\.toml:2: 'entry\[0\]\.reason'"):
        read_contradictions(path)
