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
    most = max(c["replicates_to_find"] for c in sought)
    assert "in every inconclusive contrast (here 3 replicates)" in text
    assert (
        f"to find a gap of 0.1 in one action takes {most:.0f} replicates of 4 vignettes, "
        f"--fairmed-replicates={most:.0f}" in text
    )
    assert "rule out" not in text  # nothing without a margin


def test_to_find_and_to_rule_out_are_two_numbers(record):
    for contrast in record["contrasts"]:
        contrast |= {"margin": 0.1, "replicates_to_find": 50.0, "replicates_to_rule_out": 30.0}
    text = " ".join(" ".join(summary_lines(record)).split())
    assert "takes 50 replicates of 4 vignettes, --fairmed-replicates=50" in text
    assert "rule out gaps beyond ±0.1 takes 30 replicates of 4 vignettes" in text
    record["contrasts"][0]["replicates_to_find"] = None
    text = " ".join(" ".join(summary_lines(record)).split())
    assert "in one action no number of replicates is enough with 4 vignettes" in text


def test_the_replicates_that_it_names_have_the_power_that_it_says(record):
    for contrast in record["contrasts"]:
        if contrast["floor"]:
            power = power_of_gap(
                contrast["gap_sought"],
                contrast["floor"],
                4 * contrast["replicates_to_find"],
                n_vignettes=4,
                n_members=contrast["family_size"],
                n_actions=len(ACTIONS),
            )
            assert power == pytest.approx(0.8, abs=0.04)


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
