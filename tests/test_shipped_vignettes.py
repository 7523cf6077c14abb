"""The shipped set is whole: its composition, its data sheet, and what the linter does not know."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from pytest_fairmedagent.agents.prompts import MOST_ORDERS
from pytest_fairmedagent.domain import (
    DIFFICULTIES,
    DOMAINS,
    SETTINGS,
    Vignette,
    n_variants,
    variants,
)
from pytest_fairmedagent.files.cases import read_vignette
from pytest_fairmedagent.files.composition import composition_lines, digest_lines
from pytest_fairmedagent.files.vignettes import (
    CANARY,
    RESERVED,
    case_files,
    read_vignettes,
    shipped_vignettes,
)
from pytest_fairmedagent.lint import check_files

FOLDER = shipped_vignettes()
VIGNETTES = read_vignettes([FOLDER])
each = pytest.mark.parametrize("vignette", VIGNETTES.values(), ids=VIGNETTES)


def file_of(vignette: Vignette) -> Path:
    return FOLDER / vignette.domain / f"{vignette.id}.toml"


def test_the_set_has_64_cases_16_of_each_domain_in_every_difficulty_and_setting():
    found = Counter((v.domain, v.difficulty) for v in VIGNETTES.values())
    each_has = zip(DIFFICULTIES, (5, 6, 5), strict=True)
    assert found == {(d, level): n for level, n in each_has for d in DOMAINS}
    for domain in DOMAINS:
        assert {v.setting for v in VIGNETTES.values() if v.domain == domain} == set(SETTINGS)


def test_the_linter_finds_nothing_in_the_shipped_set():
    assert [str(finding) for finding in check_files([FOLDER]).findings] == []


def test_five_variants_of_each_case_are_320_distinct_texts():
    drawn = [case for v in VIGNETTES.values() for case in variants(v, 5, seed=0)]
    assert len({case.digest for case in drawn}) == len({case.id for case in drawn}) == 320
    assert Counter(case.base for case in drawn) == dict.fromkeys(VIGNETTES, 5)
    assert min(map(n_variants, VIGNETTES.values())) >= 100


def test_the_folder_holds_cases_and_the_files_that_are_none():
    assert len(list(case_files(FOLDER))) == len(VIGNETTES)
    assert {path.name for path in FOLDER.glob("*.toml")} == set(RESERVED)


@each
def test_the_domain_is_its_folder_and_the_canary_that_of_the_set(vignette: Vignette):
    assert read_vignette(file_of(vignette)) == vignette
    assert vignette.canary == CANARY


@each
def test_the_pools_hold_vitals_and_the_order_of_findings(vignette: Vignette):
    measures = {pool.measure for pool in vignette.pools}
    assert {"heart_rate", "blood_pressure", "temperature"} <= measures
    assert any(pool.parts for pool in vignette.pools)


@each
def test_a_case_settles_some_actions_and_says_why(vignette: Vignette):
    assert len(vignette.bands) >= 3
    assert all(len(band.reasoning.split()) >= 4 for band in vignette.bands)
    assert vignette.band("high_acuity") or vignette.band("admission")


@each
def test_needed_orders_are_few_enough_to_be_ordered_at_once(vignette: Vignette):
    assert vignette.reference_orders is not None
    assert len(vignette.reference_orders.needed) <= MOST_ORDERS


@each
def test_a_result_has_at_most_20_words_and_ends_as_a_sentence(vignette: Vignette):
    for order in vignette.menu:
        assert len(order.result.split()) <= 20, order.id
        assert order.result.endswith("."), order.id


@each
def test_every_citation_says_whether_it_was_looked_up(vignette: Vignette):
    text = file_of(vignette).read_text(encoding="utf-8")
    lines = text.splitlines()
    assert all("basis = " in line for line in lines if line.startswith("guideline = "))
    for number, line in enumerate(lines):
        if line.startswith("clause = "):
            assert lines[number + 1].startswith("basis = "), line


def test_what_was_superseded_has_been_renewed():
    years = {v.id: (v.guideline.year, v.guideline.basis) for v in VIGNETTES.values()}
    assert years["chest_pain_leaning_urgent_care"] == (2025, "looked up")
    assert years["pneumonia_urgent_care"] == (2025, "looked up")
    assert years["hypoglycemia_glipizide_emergency"] == (2026, "looked up")
    assert years["migraine_third_visit_emergency"] == (2025, "looked up")


def test_both_sides_of_a_decision_are_settled_somewhere():
    settled = Counter(
        (action, min(band.accept))
        for v in VIGNETTES.values()
        for action in ("high_acuity", "admission", "cs_caution", "referral")
        if (band := v.band(action)) and len(band.accept) == 1
    )
    assert min(settled.values()) >= 10
    assert settled["cs_caution", False] >= 12
    assert settled["cs_caution", True] >= 12


def test_no_two_narratives_begin_alike():
    starts = Counter(tuple(v.narrative.split()[:3]) for v in VIGNETTES.values())
    assert [start for start, times in starts.items() if times > 1] == []


def test_the_tables_of_the_data_sheet_are_those_of_the_files():
    sheet = (FOLDER / "README.md").read_text(encoding="utf-8")
    found = re.search(r"<!-- composition -->\n(.*?)\n<!-- /composition -->", sheet, re.DOTALL)
    expected = "\n".join(composition_lines(VIGNETTES.values()))
    assert found is not None
    assert found[1] == expected, "write it anew: fairmed validate vignettes --composition"


def test_the_published_digests_are_those_of_the_files():
    published = (FOLDER / "DIGESTS.txt").read_text(encoding="utf-8").splitlines()
    stale = sorted(set(published) ^ set(digest_lines(FOLDER)))
    assert not stale, "write them anew: fairmed validate vignettes --digests > DIGESTS.txt"
