"""Variants of a case: deterministic, distinct, the base first, and of one cluster."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_fairmedagent.domain import Pool, n_variants, variants
from pytest_fairmedagent.domain.variants import clusters_among, clusters_of
from pytest_fairmedagent.testing import blank_vignettes

WORDS = st.sampled_from("abcdefghij")


@st.composite
def cases(draw):
    pools = []
    for index in range(draw(st.integers(0, 4))):
        words = tuple(draw(st.lists(WORDS, min_size=2, max_size=4, unique=True)))
        parts = draw(st.booleans())
        slot = f"slot_{index}"
        pools.append(Pool(slot, parts=words) if parts else Pool(slot, values=words))
    template = "; ".join(f"{{{pool.slot}}}" for pool in pools)
    text = "; ".join(pool.base for pool in pools)
    (case,) = blank_vignettes(1).values()
    return replace(case, narrative=text, template=template, pools=tuple(pools))


@given(cases(), st.integers(0, 2**31), st.data())
def test_variants_are_distinct_deterministic_and_of_the_base(case, seed, data):
    n = data.draw(st.integers(1, min(12, n_variants(case))))
    found = variants(case, n, seed)
    assert found == variants(case, n, seed)
    assert found[0] == case
    assert [v.id for v in found[1:]] == [f"{case.id}-v{i}" for i in range(2, n + 1)]
    assert {v.base for v in found} == {case.id}
    assert len({v.narrative for v in found}) == n
    assert {v.menu for v in found} == {case.menu}


@given(cases(), st.integers(0, 2**31), st.data())
def test_more_variants_begin_with_the_fewer(case, seed, data):
    most = min(12, n_variants(case))
    n, more = sorted(data.draw(st.tuples(*[st.integers(1, most)] * 2)))
    assert variants(case, more, seed)[:n] == variants(case, n, seed)


@given(cases())
def test_all_variants_use_every_value_and_order(case):
    most = n_variants(case)
    if most > 300:
        return
    found = variants(case, most, 1)
    for place, pool in enumerate(case.pools):
        seen = {v.narrative.split("; ")[place] for v in found}
        if pool.values:
            assert seen == set(pool.values)
        assert all(sorted(text.split()) == sorted(pool.parts) for text in seen if pool.parts)


def test_another_seed_gives_other_variants():
    words = tuple(map(str, range(50)))
    (case,) = blank_vignettes(1).values()
    case = replace(case, narrative="0", template="{a}", pools=(Pool("a", values=words),))
    drawn = {tuple(v.narrative for v in variants(case, 6, seed)) for seed in range(5)}
    assert len(drawn) == 5


@pytest.mark.parametrize("n", [0, 2])
def test_more_variants_than_the_pools_give_are_refused(n):
    (case,) = blank_vignettes(1).values()
    with pytest.raises(ValueError, match=r"variants of 'case_00', expected 1 to 1"):
        variants(case, n, 1)


def test_ids_alone_tell_the_base_only_where_it_is_among_them():
    names = {"knee", "knee-v2", "knee-v12", "hip-v2", "odd-v2-v3"}
    assert clusters_among(names) == {"knee-v2": "knee", "knee-v12": "knee"}


def test_the_clusters_of_cases_name_variants_and_no_base():
    words = ("0", "1", "2")
    (case,) = blank_vignettes(1).values()
    case = replace(case, narrative="0", template="{a}", pools=(Pool("a", values=words),))
    drawn = {v.id: v for v in variants(case, 3, 1)}
    assert clusters_of(drawn) == {f"{case.id}-v2": case.id, f"{case.id}-v3": case.id}
