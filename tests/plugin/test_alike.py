"""One run is the same run however its items are spread, ordered, or cut in two."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Record = Callable[..., dict[str, Any]]

CHECKS = """
import pytest
from pytest_fairmedagent import assert_floor_below, assert_invariant

CASES = {"vignettes": "rib_fractures_ward, heel_pain_clinic", "replicates": 3}
SWAPS = ["race_black", "race_hispanic"]

@pytest.mark.xdist_group("a")
@pytest.mark.fairmed(swaps=SWAPS, actions=["admission", "orders"], **CASES)
def test_pooled(contrast, action):
    assert_invariant(contrast, action)

@pytest.mark.xdist_group("b")
@pytest.mark.fairmed(swaps="insurance_medicaid", actions="referral", exploratory=True, **CASES)
def test_by_case(vignette, contrast, action):
    assert_invariant(contrast, action)

@pytest.mark.fairmed(swaps="race_black", actions="referral", **CASES)
def test_floor(floor, action):
    assert_floor_below(floor, action, 0.6)
"""
MODEL = "--fairmed-model=simulated:floor=0.2,seed=1"
OF_THE_START = {  # what tells when and where it was drawn, and not what
    *("created", "since", "elapsed_s", "store", "store_bytes"),
    *("drawn", "earlier", "calls_found", "calls_made"),
}


@pytest.fixture
def told(pytester: pytest.Pytester, record: Record) -> Callable[..., tuple[Any, Any, Any]]:
    """Runs the checks; returns record, JUnit and summary without what tells of the start."""
    pytester.makepyfile(test_it=CHECKS)

    def run(name: str, *arguments: str) -> tuple[Any, Any, Any]:
        files = (f"--fairmed-report={name}.json", f"--junitxml={name}.xml")
        result = pytester.runpytest_subprocess(MODEL, f"--fairmed-store={name}", *files, *arguments)
        found = record(f"{name}.json")
        assert sum(found["runs"][0][kind] for kind in ("drawn", "earlier")) == 2 * 7 * 3
        del found["created"], found["budget"]["elapsed_s"], found["checklist"]
        for part in OF_THE_START:
            del found["runs"][0][part]
        for start in found["runs"][0]["starts"]:
            del start["created"]
        summary = result.stdout.str().partition("instability floor by")[2]
        return found, _junit(name), summary.partition("run record written")[0]

    return run


def _junit(name: str) -> list[Any]:
    return sorted(
        (
            case.get("name"),
            sorted(
                (str(p.get("name")), str(p.get("value")))
                for p in case.iter("property")
                if "sampling" not in str(p.get("name"))
            ),
            [(tag.tag, tag.get("message")) for tag in case if tag.tag != "properties"],
        )
        for case in ElementTree.parse(f"{name}.xml").iter("testcase")
    )


def test_record_junit_and_summary_are_the_same_however_a_run_is_spread_ordered_or_resumed(
    told: Callable[..., tuple[Any, Any, Any]], pytester: pytest.Pytester
) -> None:
    pytest.importorskip("xdist")
    pytest.importorskip("pytest_randomly")
    alone = told("alone", "-p", "no:randomly", "-n0")
    part = pytester.runpytest_inprocess(MODEL, "--fairmed-store=resumed", "-k", "race_hispanic")
    assert re.search(r"trials  \d+ drawn now", part.stdout.str())
    for name, *arguments in (
        ("load", "-p", "no:randomly", "-n4", "--dist=load"),
        ("loadgroup", "-n2", "--dist=loadgroup", "--randomly-seed=7"),
        ("resumed", "-p", "no:randomly", "-p", "no:xdist"),
    ):
        for one, other in zip(alone, told(name, *arguments), strict=True):
            assert one == other, name
