"""Each rule finds the fault it is for, planted in real cases; and it finds nothing without one."""

from __future__ import annotations

import random
from collections import Counter
from functools import lru_cache
from pathlib import Path
from runpy import run_path

import pytest

from pytest_fairmedagent.domain import Catalogue
from pytest_fairmedagent.errors import FileFormatError
from pytest_fairmedagent.files.cases import read_vignette
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.files.vignettes import case_files, shipped_vignettes
from pytest_fairmedagent.lint import RULES, check_cases
from pytest_fairmedagent.lint.files import check_file

pytestmark = pytest.mark.slow

FILES = [f for f in case_files(shipped_vignettes()) if "[reference_orders]" in f.read_text("utf-8")]
CORRUPTIONS = list(run_path(str(Path(__file__).with_name("corruptions.py")))["corruptions"]())
# Rules that are about more than one file, or about no file: test_rules_of_sets.py and others.
# Those of attributes that the shipped descriptors do not state: test_varied.py.
ELSEWHERE = {"VG101", "VG102", "VG224", "VG225", "VG305", "VG307", "VG601", "VG602"}


@lru_cache(maxsize=1)
def catalogue() -> Catalogue:
    return read_swaps()


def found_in(path: Path) -> Counter[tuple[str, str]]:
    """Return the findings about one file, with the shipped catalogue; "" stands for the format."""
    try:
        vignette = read_vignette(path)
    except FileFormatError as error:
        return Counter({("", str(error)): 1})
    hits = [*check_cases([vignette], catalogue()), *check_file(path, vignette)]
    return Counter((hit.rule, hit.message) for hit in hits)


found_before = lru_cache(maxsize=None)(found_in)


def test_every_rule_of_a_single_file_has_a_corruption():
    tried = {corruption.rule for corruption in CORRUPTIONS}
    of_files = {rule for rule in RULES if rule.startswith("VG")}
    assert of_files - tried == ELSEWHERE


@pytest.mark.parametrize("corruption", CORRUPTIONS, ids=lambda c: c.name)
def test_a_corruption_is_caught(corruption, tmp_path: Path):
    rng = random.Random(corruption.name)
    for path in rng.sample(FILES, len(FILES)):
        text = path.read_text(encoding="utf-8")
        spoilt = corruption.spoil(text, rng)
        if spoilt is None:
            continue  # the case has nothing of the kind
        assert spoilt != text, f"{path.name} was not changed"
        copy = tmp_path / path.name
        copy.write_text(spoilt, encoding="utf-8")
        new = found_in(copy) - found_before(path)
        assert corruption.rule in {rule for rule, _ in new}, f"{path.name}: {dict(new)}"
        return
    pytest.fail("no case has what this corrupts")


def test_there_are_at_least_200_corruptions():
    assert len({corruption.name for corruption in CORRUPTIONS}) >= 200
