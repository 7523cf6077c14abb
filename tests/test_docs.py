"""The reference names every option, argument, fixture, action and condition there is."""

import re
from pathlib import Path

import pytest

from pytest_fairmedagent import strategies
from pytest_fairmedagent.domain import ACTIONS
from pytest_fairmedagent.files.cases import OrderTable, VignetteFile
from pytest_fairmedagent.files.foreign import CaseRow
from pytest_fairmedagent.files.pairs import PairRow
from pytest_fairmedagent.files.plans import FamilyTable, PlanFile
from pytest_fairmedagent.files.swaps import ConditionTable, SwapsFile, read_swaps
from pytest_fairmedagent.plugin import __all__ as fixtures
from pytest_fairmedagent.plugin.registry import MARK_ARGUMENTS

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")


def fields():
    models = (VignetteFile, OrderTable, SwapsFile, ConditionTable, PlanFile, FamilyTable)
    for model in (*models, CaseRow, PairRow):
        for name, field in model.model_fields.items():
            yield field.alias or name


@pytest.mark.parametrize(
    "word",
    [*MARK_ARGUMENTS, *fixtures, *ACTIONS, *read_swaps().conditions, *sorted(set(fields()))],
)
def test_the_reference_names(word):
    assert re.search(rf"[`{{\[ ]{re.escape(word)}[`=,\]}} ]", REFERENCE), word


def test_the_reference_and_the_help_have_the_same_options(pytester):
    helped = set(re.findall(r"--fairmed-[a-z-]+", pytester.runpytest("--help").stdout.str()))
    documented = set(re.findall(r"^\| `(--fairmed-[a-z-]+)`", REFERENCE, re.MULTILINE))
    assert helped == documented


def test_every_link_of_the_readme_leads_somewhere():
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_the_readme_has_the_two_commands_that_ci_runs():
    for name in ("main", "tests"):
        assert f"<!-- ci: {name} -->\n```\n" in README


@pytest.mark.parametrize("name", strategies.__all__)
def test_the_strategies_are_all_described(name):
    assert f"| `{name}(" in (ROOT / "docs" / "strategies.md").read_text(encoding="utf-8")
