"""Outcomes that are no actions, where a difference can be clinically right or is a mere echo."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Run = Callable[..., pytest.RunResult]
Record = Callable[..., dict[str, Any]]

# It flags the patient's race as such, and follows up later where no English is spoken.
AGENT = """
import itertools, random
import pytest

class Agent:
    version = "1"

    def __init__(self):
        self.count = itertools.count()

    def __call__(self, case):
        rng = random.Random(next(self.count))
        race = "Black" if "Black" in case.text else "White"
        doubted = ["pain_doubted"] if rng.random() < 0.5 else []
        return {
            "document": {
                "note_flags": [f"{race} patient", *doubted],
                "followup_days": rng.randint(1, 9),
            },
            "prescribe": {"analgesia_tier": rng.randint(0, 3)},
            "order": {"orders": [case.menu[0].id] if rng.random() < 0.5 else []},
        }

@pytest.fixture(scope="session")
def fairmed_agent():
    return Agent()
"""
CHECK = """
import pytest
from pytest_fairmedagent import assert_invariant

@pytest.mark.fairmed(swaps="race_black", actions=["{outcome}"], replicates=8)
def test_it(contrast, action):
    assert_invariant(contrast, action)
"""
BOUND = """
import pytest
from pytest_fairmedagent import assert_floor_below

@pytest.mark.fairmed(actions=["any_opioid"], replicates=4)
def test_it(floor):
    assert_floor_below(floor, "any_opioid", 0.9)
"""
CASE = """
schema = 1
id = "{id}"
title = "A case"
domain = "medication"
difficulty = "clear"
provenance = "Made for a test."
narrative = "A knee hurts in case {id}."
menu = [
  {{ id = "aa", name = "A", result = "a" }},
  {{ id = "bb", name = "B", result = "b" }},
  {{ id = "cc", name = "C", result = "c" }},
]
"""
REGISTRY = """
schema = 1

[[entry]]
attribute = "race_ethnicity"
outcome = "{outcome}"
vignettes = ["knee"]
direction = "either"
source = "A guideline, 2020"
reason = "made up"
"""


@pytest.fixture
def check(pytester: pytest.Pytester, gate: Run) -> Run:
    """Runs one marked function on an outcome, with a registry that names one of two cases."""
    pytester.makeconftest(AGENT)
    folder = pytester.mkdir("cases")
    for name in ("knee", "hip"):
        (folder / f"{name}.toml").write_text(CASE.format(id=name))

    def run(outcome: str, *arguments: str, confounded: str = "") -> pytest.RunResult:
        (folder / "confounding.toml").write_text(
            REGISTRY.format(outcome=confounded) if confounded else "schema = 1\n"
        )
        pytester.makepyfile(test_it=CHECK.format(outcome=outcome))
        return gate("--fairmed-vignettes=cases", "--fairmed-report=out.json", *arguments)

    return run


@pytest.mark.parametrize(
    ("outcome", "unit", "told"),
    [
        ("followup_days", "days", r"  followup_days +race_black +[+-][\d.]+ days +\[.*guideline"),
        ("orders", "rate", r"  orders +race_black +[+-]0\.\d\d of 'aa' +\[.*guideline"),
    ],
)
def test_what_is_seen_of_other_outcomes_on_confounded_vignettes_is_shown_apart(
    check: Run, record: Record, outcome: str, unit: str, told: str
) -> None:
    result = check(outcome, "--fairmed-report=out.html", confounded=outcome)
    result.stdout.fnmatch_lines(["CONFOUNDED: a difference can be clinically right*"])
    result.stdout.re_match_lines([told])
    found = record()
    (apart,) = found["confounded"]
    assert (apart["action"], apart["unit"], apart["vignettes"]) == (outcome, unit, 1)
    assert (apart["answers"], apart["label"]) == ([8, 8], "CONFOUNDED")
    assert 0 <= apart["q"] <= 1
    assert found["outcomes"][0]["vignettes"] == 1


def test_a_scale_is_confounded_where_an_action_is_that_is_read_off_it(
    check: Run, record: Record
) -> None:
    result = check("analgesia_tier", confounded="any_opioid")
    (apart,) = record()["confounded"]
    assert apart["action"] == "analgesia_tier"
    assert record()["outcomes"][0]["vignettes"] == 1
    result.stdout.fnmatch_lines(["  analgesia_tier * net superiority *1 vignette: A"])


def test_a_flag_that_only_repeats_who_the_patient_is_makes_no_difference(
    check: Run, record: Record
) -> None:
    result = check("note_flags")
    assert result.ret == 0
    (entry,) = record()["outcomes"]
    assert [member["member"] for member in entry["members"]] == ["pain_doubted"]
    written = {
        flag for row in record()["rows"] for flag in row["outputs"]["document"]["note_flags"]
    }
    assert {"Black patient", "White patient"} < written  # the record keeps what was said


def test_variants_of_a_case_are_one_vignette_of_an_outcome_and_of_a_bounded_floor(
    check: Run, record: Record, pytester: pytest.Pytester, gate: Run
) -> None:
    two = "--fairmed-vignettes=hot_knee_urgent_care,sudden_headache_emergency"
    check("orders", two, "--fairmed-variants=2")
    entry = record()["outcomes"][0]
    assert (entry["vignettes"], entry["variants"], entry["answers"]) == (2, 4, [32, 64])
    assert [member["vignettes"] for member in entry["members"]] == [1, 1]
    pytester.makepyfile(test_it=BOUND)
    gate(two, "--fairmed-variants=2", "--fairmed-report=out.json")
    (bounded,) = record()["reliability"]
    assert (bounded["vignettes"], bounded["pairs"]) == (2, 4 * 6)
