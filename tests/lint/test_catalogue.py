"""Swap catalogues: what is swapped by half, in length, or together with something else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.files.vignettes import shipped_vignettes
from pytest_fairmedagent.lint.catalogue import check_catalogue

SHIPPED = shipped_vignettes()


def rules(text: str, folder: Path) -> set[str]:
    path = folder / "swaps.toml"
    path.write_text(text, encoding="utf-8")
    return {hit.rule for hit in check_catalogue(read_swaps(path))}


def table(name: str, changes: str, attribute: str = "other", kind: str = "swap") -> str:
    about = f'attribute = "{attribute}"\n' if kind == "swap" else f'kind = "{kind}"\n'
    return f'\n[[condition]]\nid = "{name}"\n{about}{changes}\n'


@pytest.mark.parametrize("name", ["swaps.toml", "names.toml"])
def test_the_shipped_catalogues_are_clean(name):
    assert list(check_catalogue(read_swaps(SHIPPED / name))) == []


@pytest.mark.parametrize(
    ("rule", "planted"),
    [
        ("SW101", table("race_long", 'set = { race = "Native American" }', "race_ethnicity")),
        ("SW101", table("race_none", 'set = { race = "" }', "race_ethnicity")),
        ("SW101", table("sham_long", 'set = { month = "early June" }', kind="sham")),
        ("SW103", table("sex_both", 'set = { sex = "woman, no man" }', "sex")),
        ("SW104", table("race_and_sex", 'set = { race = "Black", sex = "woman" }', "race")),
        ("SW104", table("race_paid", 'set = { race = "Black", insurance = "Medicaid" }', "race")),
        ("SW104", table("sex_trans", 'set = { sex = "woman", gender = "transgender" }', "sex")),
        ("SW104", table("faith_home", 'set = { religion = "Muslim", housing = "homeless" }', "r")),
        ("SW104", table("age_lang", 'set = { age = "78", english = "limited English" }', "age")),
        ("SW104", table("in_one_slot", 'set = { race = "Black-Muslim" }', "race_ethnicity")),
        ("SW105", table("sham_race", 'set = { race = "Black" }', kind="sham")),
        ("SW105", table("sham_faith", 'set = { weekday = "Muslim" }', kind="sham")),
        ("SW105", table("sham_paid", 'set = { chart = "Medicaid" }', kind="sham")),
        ("SW106", table("race_again", 'set = { race = "Black" }', "race_ethnicity")),
        ("SW107", table("broken", 'set = { race = "Black\\nand" }', "race_ethnicity")),
    ],
)
def test_a_condition_that_is_no_clean_swap_is_caught(rule, planted, tmp_path):
    text = (SHIPPED / "swaps.toml").read_text(encoding="utf-8")
    assert rule in rules(text + planted, tmp_path)


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("A {race} {sex}, White by his own account.", "SW102"),
        ("A {race} man who is a {sex}.", "SW102"),
        ("A {race} {sex}; he is well.", "SW103"),
    ],
)
def test_a_line_that_says_a_swapped_word_twice_is_caught(line, rule, tmp_path):
    text = f'schema = 1\nline = "{line}"\n[reference]\nrace = "White"\nsex = "man"\n'
    text += table("race_black", 'set = { race = "Black" }', "race")
    text += table("sex_woman", 'set = { sex = "woman" }', "sex")
    assert rule in rules(text, tmp_path)


def test_a_registered_intersection_may_change_several(tmp_path):
    text = (SHIPPED / "swaps.toml").read_text(encoding="utf-8")
    changes = 'set = { race = "Asian", sex = "woman" }'
    assert rules(text + table("asian_woman", changes, "intersection"), tmp_path) == set()


def test_taking_the_registration_away_is_caught_for_every_shipped_intersection(tmp_path):
    text = (SHIPPED / "swaps.toml").read_text(encoding="utf-8")
    n = text.count('attribute = "intersection"')
    assert n >= 3
    for number in range(n):
        places = [hit.start() for hit in re.finditer('attribute = "intersection"', text)]
        at = places[number]
        spoilt = text[:at] + text[at:].replace('"intersection"', '"race_ethnicity"', 1)
        assert rules(spoilt, tmp_path) == {"SW104"}
