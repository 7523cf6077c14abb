"""The confounding registry: what it says of a case, and what the shipped one must not say."""

import re
from dataclasses import replace

import pytest

from pytest_fairmedagent.domain import ACTIONS, Confounder, confounded
from pytest_fairmedagent.errors import FileFormatError
from pytest_fairmedagent.files.cases import read_vignette
from pytest_fairmedagent.files.contradictions import SOURCE as CONTRADICTED
from pytest_fairmedagent.files.plans import profile_path, read_plan
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.files.vignettes import read_vignettes, shipped_vignettes
from pytest_fairmedagent.testing import blank_vignettes

CATALOGUE = read_swaps()
NAMES = read_swaps(shipped_vignettes() / "names.toml")
SHIPPED = read_vignettes([shipped_vignettes()])

CASE = """\
schema = 1
id = "{id}"
title = "A case"
domain = "medication"
difficulty = "clear"
provenance = "Made for a test."
narrative = "A knee hurts."
menu = [
  {{ id = "aa", name = "A", result = "a" }},
  {{ id = "bb", name = "B", result = "b" }},
  {{ id = "cc", name = "C", result = "c" }},
]
"""
REGISTRY = """\
schema = 1

[[entry]]
attribute = "age"
outcome = "any_opioid"
vignettes = "all"
direction = "fewer"
source = "A guideline, 2020"
reason = "caution"

[[entry]]
swap = "sex_woman"
outcome = "referral"
vignettes = ["knee"]
direction = "more"
source = "Another, 2021"
reason = "anatomy"
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "knee.toml").write_text(CASE.format(id="knee"))
    (tmp_path / "hip.toml").write_text(CASE.format(id="hip"))
    (tmp_path / "confounding.toml").write_text(REGISTRY)
    return tmp_path


def cells(catalogue, cases):
    found = confounded(catalogue, catalogue.swaps, ACTIONS, cases)
    return {(c.swap, c.action): c.vignettes for c in found}


def test_a_registry_speaks_for_the_cases_of_its_folder(folder):
    cases = read_vignettes([folder])
    both = ("hip", "knee")
    assert cells(CATALOGUE, cases.values()) == {
        ("age_34", "any_opioid"): both,
        ("age_78", "any_opioid"): both,
        ("sex_woman", "referral"): ("knee",),
    }
    assert read_vignette(folder / "inner" / "knee.toml") == cases["knee"]
    assert cells(CATALOGUE, blank_vignettes(2).values()) == {}


def test_an_edited_registry_is_read_anew(folder):
    read_vignettes([folder])
    path = folder / "confounding.toml"
    path.write_text(REGISTRY.replace('"fewer"', '"more"') + "\n# edited\n")
    import os

    os.utime(path, ns=(1, 1))
    assert read_vignettes([folder])["hip"].confounders[0].direction == "more"


def test_an_intersection_is_confounded_where_one_of_its_attributes_is():
    (case,) = blank_vignettes(1).values()
    entry = Confounder("referral", "more", "A source", "a reason", attribute="sex")
    found = cells(CATALOGUE, [replace(case, confounders=(entry,))])
    assert {swap for swap, _ in found} == {
        swap for swap in CATALOGUE.swaps if "sex" in CATALOGUE.conditions[swap].changes
    }
    assert ("black_woman_medicaid", "referral") in found
    assert ("race_black", "referral") not in found


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('attribute = "age"\n', "", "needs 'attribute' or 'swap'"),
        ('attribute = "age"', 'attribute = "age"\nswap = "age_78"', "and one of the two"),
        ('outcome = "referral"', 'outcome = "refer"', "expected one of high_acuity"),
        ('direction = "more"', 'direction = "up"', "expected one of more, fewer, either"),
        ('source = "Another, 2021"', "", "'entry[1].source' is missing"),
        ('["knee"]', '["kne"]', "no vignette 'kne' in this folder. Did you mean 'knee'?"),
    ],
)
def test_a_broken_registry_is_named_with_file_and_line(folder, old, new, says):
    path = folder / "confounding.toml"
    assert old in REGISTRY
    path.write_text(REGISTRY.replace(old, new, 1))
    with pytest.raises(FileFormatError, match=re.escape(says)) as caught:
        read_vignettes([folder])
    assert re.match(rf"{re.escape(str(path))}:\d+: ", str(caught.value))


@pytest.mark.parametrize(
    ("profile", "catalogue"),
    [("quick", CATALOGUE), ("ci", CATALOGUE), ("release", CATALOGUE), ("name_signal", NAMES)],
)
def test_the_primary_family_of_a_profile_holds_nothing_confounded(profile, catalogue):
    primary = read_plan(profile_path(profile), catalogue).file.family[0]
    assert not list(confounded(catalogue, primary.swaps, primary.actions, SHIPPED.values()))


def test_race_and_insurance_alone_are_never_confounded():
    entries = {e for v in SHIPPED.values() for e in v.confounders}
    # A text that an arm contradicts is no reason why the arm might rightly differ.
    for entry in (entry for entry in entries if entry.source != CONTRADICTED):
        assert entry.attribute not in ("race_ethnicity", "insurance", "name_signal")
        assert not entry.swap.startswith(("race_", "insurance_"))


@pytest.mark.parametrize("vignette", SHIPPED.values(), ids=list(SHIPPED))
def test_every_entry_of_a_shipped_case_names_what_there_is(vignette):
    known = {*CATALOGUE.conditions, *NAMES.conditions}
    for name in ("minimal", "full"):
        known |= set(read_swaps(shipped_vignettes() / f"{name}.toml").conditions)
    attributes = {c.attribute for c in CATALOGUE.conditions.values()}
    for entry in vignette.confounders:
        assert entry.swap in known if entry.swap else entry.attribute in attributes
