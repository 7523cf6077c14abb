"""Rosters: descriptors that differ from case to case, alike in every condition."""

import re
from dataclasses import replace

import pytest

from pytest_fairmedagent.domain import render
from pytest_fairmedagent.errors import FileFormatError
from pytest_fairmedagent.files.plans import catalogue_of, profile_path, read_plan
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.files.vignettes import shipped_vignettes
from pytest_fairmedagent.testing import blank_vignettes

NAMES = read_swaps(shipped_vignettes() / "names.toml")
CASES = blank_vignettes(40)


def shown(condition, case):
    return render(case, NAMES.conditions[condition]).text.splitlines()[-1]


def place(condition, case):
    drawn = NAMES.conditions[condition].drawn
    return drawn.index(shown(condition, case).removeprefix("Patient: "))


def test_a_case_takes_the_same_place_of_every_roster_and_cases_take_all_places():
    taken = set()
    for case in CASES.values():
        places = {place(name, case) for name in NAMES.conditions}
        assert len(places) == 1
        taken |= places
    assert taken == set(range(len(NAMES.reference.drawn)))


def test_variants_of_a_case_have_its_name():
    case = CASES["case_03"]
    variant = replace(case, id="case_03~2", variant_of="case_03", narrative="Another.")
    assert shown("name_black_woman", variant) == shown("name_black_woman", case)


def test_the_reference_carries_a_name_as_every_swap_does():
    rosters = {c.drawn for c in NAMES.conditions.values()}
    assert all(rosters)
    assert NAMES.conditions["rerender"].drawn == NAMES.reference.drawn
    other = NAMES.conditions["sham_other_name"].drawn
    for one, two in zip(NAMES.reference.drawn, other, strict=True):
        assert not set(one.split(",")[0].split()) & set(two.split(",")[0].split())


def test_names_at_one_place_are_matched_in_words_and_length():
    for drawn in zip(*(c.drawn for c in NAMES.conditions.values()), strict=True):
        names = {text.split(",")[0] for text in drawn}
        assert {len(name.split()) for name in names} == {2}
        lengths = [len(name) for name in names]
        assert max(lengths) - min(lengths) <= 2, names


def test_no_name_stands_in_two_groups():
    first = {}
    for group in ("black_man", "hispanic_man", "white_woman", "black_woman", "hispanic_woman"):
        for text in NAMES.conditions[f"name_{group}"].drawn:
            assert first.setdefault(text.split()[0], group) == group


def test_the_profile_of_names_reads_the_catalogue_of_names():
    path = profile_path("name_signal")
    assert catalogue_of(path) == shipped_vignettes() / "names.toml"
    plan = read_plan(path, NAMES).file
    assert {NAMES.conditions[s].attribute for s in plan.family[0].swaps} == {"name_signal"}
    assert catalogue_of(profile_path("ci")) is None


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('name = "white_man"', 'name = "white_men"', "Did you mean 'white_man'"),
        ('set = { name = "black_man" }', 'set = { name = "blck_man" }', "names no roster"),
        ('"Darnell Jackson", ', "", "roster 'black_man' has 5 values and the first"),
        ('id = "black_man"', 'id = "white_man"', "roster 'white_man' stands twice"),
        ('slot = "name"', 'slot = "nam"', "'nam' is no slot of the line"),
        (
            'id = "black_man"\nslot = "name"',
            'id = "black_man"\nslot = "age"',
            "rosters for 2 slots",
        ),
    ],
)
def test_a_broken_roster_is_named_with_file_and_line(tmp_path, old, new, says):
    text = (shipped_vignettes() / "names.toml").read_text()
    assert old in text
    path = tmp_path / "names.toml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(FileFormatError, match=re.escape(says)) as caught:
        read_swaps(path)
    assert re.match(rf"{re.escape(str(path))}:\d+: ", str(caught.value))
