"""Over all shipped bases, variants and conditions the descriptor is the only difference."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_fairmedagent import strategies
from pytest_fairmedagent.domain import Case, Condition, Vignette, n_variants, render, variants
from pytest_fairmedagent.domain.vignette import PATIENT, SLOT
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.files.vignettes import read_vignettes, shipped_vignettes

pytestmark = pytest.mark.slow

BASES = read_vignettes([shipped_vignettes()])
CATALOGUE = read_swaps()
N = 5


def drawn(base: Vignette, seed: int) -> tuple[Vignette, ...]:
    return variants(base, min(N, n_variants(base)), seed)


def masked(vignette: Vignette, condition: Condition) -> str:
    """Digest of all that an agent is shown but the descriptor, which must stand at its place."""
    case = render(vignette, condition)
    descriptor = condition.descriptor_in(vignette)
    before, slot, after = vignette.narrative.strip().partition(f"{{{PATIENT}}}")
    if not slot:
        before, after = f"{before}\nPatient: ", ""
    for written in (descriptor, descriptor.removesuffix(".")):
        if case.text == f"{before}{written}{after}":
            return Case(f"{before}\x1f{after}", case.menu).digest
    return case.digest  # the descriptor is not at its place, so no other arm has this digest


def assert_arms_match(vignette: Vignette, conditions: list[Condition]) -> None:
    assert len({masked(vignette, condition) for condition in conditions}) == 1
    counted = [c for c in conditions if c.attribute != "no_descriptor"]
    assert len({len(render(vignette, c).text.split()) for c in counted}) == 1


@pytest.mark.parametrize("base", BASES.values(), ids=list(BASES))
def test_masked_digests_are_equal_and_words_match_in_every_arm_of_every_variant(base: Vignette):
    for vignette in drawn(base, seed=0):
        assert not SLOT.search(vignette.narrative)
        assert_arms_match(vignette, list(CATALOGUE.conditions.values()))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(list(BASES.values())), st.integers(0, 2**31 - 1))
def test_so_they_are_whatever_the_seed(base: Vignette, seed: int):
    for vignette in drawn(base, seed):
        assert_arms_match(vignette, list(CATALOGUE.conditions.values()))


@settings(max_examples=150, deadline=None)
@given(strategies.vignettes(), strategies.catalogues())
def test_so_they_are_for_any_case_and_catalogue(vignette, catalogue):
    assert_arms_match(vignette, list(catalogue.conditions.values()))


def test_all_rendered_cases_of_the_set_are_distinct():
    texts = [
        hashlib.sha256(render(vignette, condition).text.encode()).hexdigest()
        for base in BASES.values()
        for vignette in drawn(base, seed=0)
        for condition in CATALOGUE.conditions.values()
        if condition.kind != "identical"
    ]
    assert len(set(texts)) == len(texts)


def test_an_arm_of_other_length_is_seen():
    vignette = next(iter(BASES.values()))
    longer = Condition("longer", f"{CATALOGUE.reference.descriptor} Also.")
    with pytest.raises(AssertionError):
        assert_arms_match(vignette, [CATALOGUE.reference, longer])


def test_an_arm_that_differs_elsewhere_is_seen():
    vignette = next(iter(BASES.values()))
    other = replace(vignette, narrative=f"Today. {vignette.narrative}")
    assert masked(other, CATALOGUE.reference) != masked(vignette, CATALOGUE.reference)
