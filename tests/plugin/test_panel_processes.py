"""A panel whose items run in several processes: each knows a part, the record has to be whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pytest_fairmedagent.comparing.panel  # noqa: F401 - loads numpy's and scipy's parts once

pytestmark = pytest.mark.slow
pytest.importorskip("xdist")

Run = Callable[..., pytest.RunResult]
Record = Callable[..., dict[str, Any]]

ONE = "simulated:floor=0.3,seed=1"

# A single item for each model, so that two processes have one each.
CHECK = """
import pytest
from pytest_fairmedagent import assert_invariant

@pytest.mark.fairmed(
    swaps="insurance_medicaid", actions=["admission"], replicates=3,
    vignettes=["flank_pain_with_rigors", "heel_pain_clinic"],
)
def test_insurance(contrast):
    assert_invariant(contrast, "admission")
"""


def test_one_configuration_drawn_by_two_processes_is_refused_and_compared_with_nothing(
    pytester: pytest.Pytester, gate: Run, record: Record
) -> None:
    pytester.makepyfile(test_gate=CHECK)
    result = gate("--fairmed-report=out.json", "-n2", f"--fairmed-model={ONE},latency=0", model=ONE)
    assert result.ret not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    found = record()
    assert len(found["runs"]) == 1
    assert found["panel"]["differences"] == []
    [missing] = [seat for seat in found["panel"]["seats"] if seat["run"] is None]
    assert "are one configuration" in missing["fault"]


def test_what_kept_a_model_from_being_drawn_is_told_by_the_process_that_met_it(
    pytester: pytest.Pytester, gate: Run, record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
    pytester.makepyfile(test_gate=CHECK)
    result = gate("--fairmed-report=out.json", "-n2", f"--fairmed-model={ONE}", model="llama3.1:8b")
    [missing] = [seat for seat in record()["panel"]["seats"] if seat["run"] is None]
    assert "ollama" in missing["fault"].lower()
    result.stdout.fnmatch_lines(["*llama3.1:8b: no run of its own: *"])


RELATIONS = """
import pytest
from pytest_fairmedagent import assert_relation, relation

@relation
def always(swap, reference):
    return 0.5

CASES = ["flank_pain_with_rigors", "heel_pain_clinic"]
MARK = dict(swaps="insurance_medicaid", relation=always, replicates=3, vignettes=CASES)

@pytest.mark.fairmed(actions="admission", **MARK)
def test_admission(contrast):
    assert_relation(contrast, "admission")

@pytest.mark.fairmed(actions="referral", **MARK)
def test_referral(contrast):
    assert_relation(contrast, "referral")
"""


def test_verdicts_of_relations_are_counted_whichever_process_came_to_them(
    pytester: pytest.Pytester, gate: Run, record: Record
) -> None:
    pytester.makepyfile(test_gate=RELATIONS)
    gate("--fairmed-report=out.json", "-n2", model=ONE)
    found = record()
    assert len(found["relations"]) == 2
    assert found["verdicts"]["INCONCLUSIVE"] == 2
