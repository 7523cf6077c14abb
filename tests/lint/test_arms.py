"""The descriptor is the only difference between arms: every renderer that slips is caught."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_fairmedagent.domain import Case, Order, render
from pytest_fairmedagent.domain.variants import n_variants, variants
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.files.vignettes import read_vignettes, shipped_vignettes
from pytest_fairmedagent.lint.arms import check_arms

VIGNETTES = list(read_vignettes([shipped_vignettes()]).values())
CATALOGUE = read_swaps()
CONDITIONS = [c for c in CATALOGUE.conditions.values() if c.kind != "reference"]


def rules(vignette, **kwargs):
    return {hit.rule for hit in check_arms(vignette, CATALOGUE, n=3, **kwargs)}


def test_the_shipped_cases_differ_in_the_descriptor_alone():
    for vignette in VIGNETTES:
        assert list(check_arms(vignette, CATALOGUE, n=5)) == []


def _pronoun(case: Case, descriptor: str) -> Case:
    return replace(case, text=case.text.replace("Background:", "She waits. Background:"))


def _descriptor_in_the_text(case: Case, descriptor: str) -> Case:
    return replace(case, text=f"{descriptor}\n{case.text}")


def _case_of_a_letter(case: Case, descriptor: str) -> Case:
    return replace(case, text=case.text.replace("Background", "background"))


def _space(case: Case, descriptor: str) -> Case:
    return replace(case, text=case.text.replace(". ", ".  ", 1))


def _result(case: Case, descriptor: str) -> Case:
    first = case.menu[0]
    return replace(case, menu=(Order(first.id, first.name, "Normal."), *case.menu[1:]))


def _order_of_the_menu(case: Case, descriptor: str) -> Case:
    return replace(case, menu=case.menu[::-1])


def _shorter_menu(case: Case, descriptor: str) -> Case:
    return replace(case, menu=case.menu[:-1])


def _heading(case: Case, descriptor: str) -> Case:
    return replace(case, text=case.text.replace("\nPatient: ", "\nDescription: "))


SLIPS = [
    _pronoun,
    _descriptor_in_the_text,
    _case_of_a_letter,
    _space,
    _result,
    _order_of_the_menu,
    _shorter_menu,
    _heading,
]


@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: slip.__name__)
@pytest.mark.parametrize("seed", range(4))
def test_one_arm_that_says_something_else_is_caught(slip, seed):
    rng = random.Random(f"{slip.__name__}{seed}")
    vignette, spoilt = rng.choice(VIGNETTES), rng.choice(CONDITIONS)

    def slipping(v, condition):
        case = render(v, condition)
        return slip(case, condition.descriptor) if condition == spoilt else case

    found = list(check_arms(vignette, CATALOGUE, renderer=slipping))
    assert [hit.rule for hit in found] == ["VG101"]
    assert spoilt.id in found[0].message


@pytest.mark.parametrize("vignette", [v for v in VIGNETTES if v.pools], ids=lambda v: v.id)
def test_a_variant_that_changes_more_than_its_pools_is_caught(vignette):
    drawn = variants(vignette, 2, seed=1)
    longer = replace(drawn[1], narrative=drawn[1].narrative + " The end.")
    other_menu = replace(drawn[1], menu=drawn[1].menu[1:])
    other_base = replace(drawn[1], variant_of="another")
    for spoilt in (longer, other_menu, other_base):
        assert rules(vignette, drawn=(drawn[0], spoilt)) == {"VG102"}
    assert rules(vignette, drawn=drawn) == set()


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_any_variant_under_any_condition_has_the_masked_text_of_the_reference(data):
    vignette = data.draw(st.sampled_from(VIGNETTES))
    seed = data.draw(st.integers(0, 2**32))
    variant = data.draw(st.sampled_from(variants(vignette, min(5, n_variants(vignette)), seed)))
    condition = data.draw(st.sampled_from(CONDITIONS))
    texts = [
        render(variant, c).text.replace(c.descriptor_in(variant), "\0")
        for c in (CATALOGUE.reference, condition)
    ]
    assert texts[0] == texts[1]
    assert texts[0].count("\0") == 1
