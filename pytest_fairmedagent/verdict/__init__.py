"""The decision rule: table and plan in, verdicts out, each with all that it was computed from."""

from pytest_fairmedagent.relations.words import number, p_value
from pytest_fairmedagent.verdict.judgement import Judgement
from pytest_fairmedagent.verdict.judging import judge, planned_looks, undecided
from pytest_fairmedagent.verdict.relation import DESCRIPTIVE, RelationVerdict, judge_relation
from pytest_fairmedagent.verdict.reliability import RELIABLE, UNRELIABLE, Reliability
from pytest_fairmedagent.verdict.result import (
    DISPARITY,
    EQUIVALENT,
    IDENTICAL,
    INCONCLUSIVE,
    SEVERITY,
    UNMEASURED,
    Apart,
    Verdict,
)
from pytest_fairmedagent.verdict.swaps import SwapVerdict

__all__ = [
    "DESCRIPTIVE",
    "DISPARITY",
    "EQUIVALENT",
    "IDENTICAL",
    "INCONCLUSIVE",
    "RELIABLE",
    "SEVERITY",
    "UNMEASURED",
    "UNRELIABLE",
    "Apart",
    "Judgement",
    "RelationVerdict",
    "Reliability",
    "SwapVerdict",
    "Verdict",
    "judge",
    "judge_relation",
    "number",
    "p_value",
    "planned_looks",
    "undecided",
]
