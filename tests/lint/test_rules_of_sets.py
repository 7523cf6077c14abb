"""What holds among the cases of a set, and the shipped set under all rules together."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_fairmedagent.domain import Order
from pytest_fairmedagent.files.vignettes import shipped_vignettes
from pytest_fairmedagent.lint import RULES, check_cases, check_files, check_run

ROOT = Path(__file__).resolve().parents[2]
SEEDS = range(3)


def drawn(shipped, seed, n=3):
    return random.Random(seed).sample(list(shipped.values()), n)


def rules(vignettes, catalogue):
    return {hit.rule for hit in check_cases(vignettes, catalogue)}


def test_the_linter_finds_nothing_in_the_shipped_set():
    result = check_files([shipped_vignettes()])
    assert [str(finding) for finding in result.findings] == []
    assert [error for file in result.files for error in file.errors] == []


def test_at_most_one_in_a_hundred_checks_of_a_case_is_silenced_and_each_with_a_reason(shipped):
    of_cases = [rule for rule in RULES if rule.startswith("VG")]
    silences = [silence for vignette in shipped.values() for silence in vignette.silences]
    assert len(silences) <= 0.01 * len(of_cases) * len(shipped)
    assert all(len(silence.reason.split()) >= 3 for silence in silences)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_order_that_has_another_name_in_one_case_is_caught(shipped, catalogue, seed):
    first, *others = drawn(shipped, seed)
    order = first.menu[0]
    twins = [replace(v, menu=(order, *v.menu[1:])) for v in (first, *others)]
    spoilt = replace(twins[-1], menu=(Order(order.id, "Something else", "Well."),))
    before = [h for h in check_cases(twins, catalogue) if h.rule == "VG305"]
    found = [h for h in check_cases([*twins[:-1], spoilt], catalogue) if h.rule == "VG305"]
    assert [h.case for h in found if h not in before] == [spoilt.id]


@pytest.mark.parametrize("canary", ["", "another canary"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_case_without_the_canary_of_the_set_is_caught(shipped, catalogue, canary, seed):
    first, *others = drawn(shipped, seed)
    assert "VG307" not in rules([first, *others], catalogue)
    assert "VG307" in rules([replace(first, canary=canary), *others], catalogue)


@pytest.mark.parametrize("seed", range(6))
def test_a_case_told_again_with_other_numbers_is_caught(shipped, catalogue, seed):
    first, *others = drawn(shipped, seed)
    numbers = re.sub(r"\d", lambda hit: str((int(hit[0]) + 1) % 10), first.narrative)
    sentences = numbers.split(". ")
    moved = ". ".join([sentences[1], sentences[0], *sentences[2:]])
    again = replace(first, id="told_again", narrative=moved, template="", pools=(), menu=())
    found = [h for h in check_cases([first, *others, again], catalogue) if h.rule == "VG601"]
    assert [h.case for h in found] == ["told_again"]
    assert first.id in found[0].message


@pytest.mark.parametrize("seed", SEEDS)
def test_a_menu_copied_from_another_case_is_caught(shipped, catalogue, seed):
    first, other, third = drawn(shipped, seed)
    assert "VG602" not in rules([first, other, third], catalogue)
    copied = replace(other, menu=first.menu, reference_orders=None)
    found = [h for h in check_cases([first, copied, third], catalogue) if h.rule == "VG602"]
    assert [h.case for h in found] == [copied.id]


def test_variants_of_one_case_may_be_alike(shipped, catalogue):
    (first,) = drawn(shipped, 1, 1)
    twin = replace(first, id=f"{first.id}~2", variant_of=first.id)
    assert not {"VG601", "VG602"} & rules([first, twin], catalogue)


def test_a_run_is_held_to_the_errors_and_to_no_warning(shipped, catalogue):
    (first,) = drawn(shipped, 2, 1)
    short = replace(first, narrative="Chest pain.", template="", pools=())
    assert "VG302" in rules([short], catalogue)
    assert check_run([short], catalogue) == []
    told = replace(short, narrative="She has chest pain.")
    assert {hit.rule for hit in check_run([told], catalogue)} == {"VG201"}


def test_the_documentation_has_every_rule_with_its_severity():
    text = (ROOT / "docs" / "linter.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| `([A-Z]{2}\d{3})` \| (error|warning) \| (.+) \|$", text, re.MULTILINE)
    assert table == [(rule.id, rule.severity, rule.says) for rule in RULES.values()]
