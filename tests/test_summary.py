"""The terminal summary is a view of the run record, and says what a small run cannot."""

import pytest

from pytest_fairmedagent.agents.clinical import ClinicalAgent
from pytest_fairmedagent.domain import ACTIONS, Family, Plan
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.models.simulated import SimulatedModel, Truth
from pytest_fairmedagent.report.record import build_record
from pytest_fairmedagent.report.terminal import WIDTH, summary_lines
from pytest_fairmedagent.running.store import Store
from pytest_fairmedagent.stats import power_of_gap
from pytest_fairmedagent.study import Study
from pytest_fairmedagent.testing import blank_vignettes

CASES = blank_vignettes(4)
FAMILY = Family("primary", ("race_black",), tuple(ACTIONS), tuple(CASES), replicates=3)
CATALOGUE = read_swaps()


@pytest.fixture
def record(tmp_path):
    study = Study(
        Plan((FAMILY,), "reference", ("rerender",), ("sham_left_handed",)),
        CASES,
        CATALOGUE,
        ClinicalAgent(),
        SimulatedModel("simulated", Truth(seed=3), CATALOGUE),
        Store(tmp_path),
    )
    study.sample(FAMILY.members)
    return build_record([study], profile="quick", says="Too small.")


def test_it_says_what_could_have_been_seen_and_what_would_be_needed(record):
    text = " ".join(" ".join(summary_lines(record)).split())
    assert "smaller ones would have passed unseen" in text or "no gap at all" in text
    sought = [c for c in record["contrasts"] if c["verdict"] == "INCONCLUSIVE"]
    most = max(c["pairs_to_find"] for c in sought)
    assert f"takes {most:.0f} replicate pairs each (here 12)" in text
    assert f"--fairmed-replicates={-(-most // 4):.0f} with 4 vignettes" in text


def test_the_pairs_that_it_names_have_the_power_that_it_says(record):
    for contrast in record["contrasts"]:
        if contrast["floor"]:
            power = power_of_gap(
                contrast["gap_sought"],
                contrast["floor"],
                contrast["pairs_to_find"],
                n_members=contrast["family_size"],
            )
            assert power == pytest.approx(0.8, abs=1e-6)


def test_every_contrast_stands_in_it_with_its_numbers(record):
    lines = summary_lines(record)
    for contrast in record["contrasts"]:
        [line] = [
            line
            for line in lines
            if line.split()[1:3] == [contrast["action"], contrast["condition"]]
        ]
        assert line.startswith(f"  {contrast['verdict']}")
        assert f"{contrast['gap']:+.2f}" in line
        assert f"{contrast['floor']:.3f}" in line


def test_text_of_others_neither_moves_the_cursor_nor_commands_a_log(record):
    run = record["runs"][0]
    run["model"] = "\x1b[2J::error::owned"
    run["missing"] = {"reference": {"::error file=x::pwned\r\n::set-output": 1}}
    lines = summary_lines(record)
    assert all(line.isprintable() for line in lines)
    assert not any(line.lstrip().startswith("::") for line in lines)


def test_its_lines_fit_the_width(record):
    assert max(map(len, summary_lines(record))) <= WIDTH
