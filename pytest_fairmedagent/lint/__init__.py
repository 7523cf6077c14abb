"""The linter behind `fairmed validate`: what keeps a case set honest, rule by rule."""

from pytest_fairmedagent.lint.checking import check_cases, check_run
from pytest_fairmedagent.lint.files import check_files
from pytest_fairmedagent.lint.finding import ERROR, WARNING, Finding, Hit, Rule
from pytest_fairmedagent.lint.rules import RULES

__all__ = [
    "ERROR",
    "RULES",
    "WARNING",
    "Finding",
    "Hit",
    "Rule",
    "check_cases",
    "check_files",
    "check_run",
]
