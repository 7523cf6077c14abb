"""Runs side by side: complete cases, ties in ranks, what is left out, and no floor of another's."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_fairmedagent.comparing.panel import agreement, panel_entry
from pytest_fairmedagent.comparing.side import sides_of
from pytest_fairmedagent.report.compared import panel_lines

Cells = dict[str, dict[str, str]]  # action to vignette to its answers: y, n and - for missing
READ = {"y": True, "n": False, "-": None}


def record_of(*runs: Cells, complete: bool = True) -> dict[str, Any]:
    """A record of runs of the reference arm alone, one for each table of answers."""
    actions = list(runs[0])
    family = {
        "name": "f",
        "swaps": [],
        "actions": actions,
        "gating": True,
        "per_vignette": False,
        "vignettes": [],
    }
    record: dict[str, Any] = {
        "plan": {"reference": "reference", "families": [family], "identical": [], "shams": []},
        "runs": [],
        "arms": [],
        "contrasts": [],
        "rows": [],
    }
    for number, cells in enumerate(runs):
        seat = {"id": f"s{number}", "model": f"m{number}", "decoding": "unset"}
        digest = f"{number}" * 4
        record["runs"].append(
            {
                "number": number,
                "model": seat["model"],
                "seat": seat,
                "config_digest": digest,
                "complete": complete,
                "seed": 1,
            }
        )
        for vignette in cells[actions[0]]:
            for replicate in range(len(cells[actions[0]][vignette])):
                record["rows"].append(
                    {
                        "vignette": vignette,
                        "condition": "reference",
                        "replicate": replicate + 1,
                        "config": digest,
                        "labels": {a: READ[cells[a][vignette][replicate]] for a in actions},
                    }
                )
    return record


def floors_of(record: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {d["action"]: d for d in panel_entry(record)["differences"] if d["kind"] == "floor"}


def test_floors_are_compared_on_cases_that_are_complete_in_both_runs():
    a = {"admission": {"v": "yn", "w": "yn", "x": "y-"}}
    b = {"admission": {"v": "yy", "w": "--", "x": "yn"}}
    found = floors_of(record_of(a, b))["admission"]
    assert (found["vignettes"], found["left_out"]) == (1, 2)
    assert (found["a"], found["b"], found["removed"]) == (1, 0, 1)


def test_the_pooled_floor_leaves_out_a_case_that_lacks_any_of_the_answers():
    a = {"admission": {"v": "yn", "w": "yn"}, "referral": {"v": "nn", "w": "n-"}}
    found = floors_of(record_of(a, a))
    assert [found[name]["left_out"] for name in ("admission", "referral", "pooled")] == [0, 1, 1]


def test_a_run_without_a_complete_case_has_no_difference_and_takes_no_floor_of_the_other():
    a = {"admission": {"v": "yn", "w": "yn"}}
    b = {"admission": {"v": "--", "w": "-y"}}
    record = record_of(a, b)
    assert floors_of(record) == {}
    assert panel_entry(record)["agreement"][0]["actions"] == 0


def test_a_pooled_floor_is_never_tested_even_of_one_action():
    a = {"admission": {"v": "yyyn", "w": "yynn"}}
    b = {"admission": {"v": "yyyy", "w": "yyyn"}}
    found = floors_of(record_of(a, b))
    assert found["pooled"]["p"] is None
    assert "q" not in found["pooled"]
    assert found["admission"]["q"] == found["admission"]["p"]  # one test, not two


TIED = {
    "admission": {"v": "ynyn"},
    "referral": {"v": "yyny"},
    "any_opioid": {"v": "yyyn"},
    "cs_caution": {"v": "yyyy"},
}
TURNED = {
    "admission": {"v": "yyyy"},
    "referral": {"v": "ynyn"},
    "any_opioid": {"v": "yyny"},
    "cs_caution": {"v": "yynn"},
}


def test_ranks_with_ties_agree_wholly_with_themselves_and_less_with_others():
    same = agreement(*sides_of(record_of(TIED, TIED)))
    assert (same["actions"], same["kendall_tau_b"]) == (4, pytest.approx(1))
    assert same["spearman"] == pytest.approx(1)
    # Of 6 pairs 4 are untied in both, and all go against each other; 5 are untied in each.
    turned = agreement(*sides_of(record_of(TIED, TURNED)))
    assert turned["kendall_tau_b"] == pytest.approx(-4 / 5)


def test_where_all_floors_of_one_run_are_the_same_there_is_no_order_and_that_is_said():
    flat = {action: {"v": "yyyy"} for action in TIED}
    found = panel_entry(record_of(TIED, flat))
    assert found["agreement"][0]["kendall_tau_b"] is None
    assert found["agreement"][0]["spearman"] is None
    told = "\n".join(panel_lines(found))
    assert "order of the 4 actions by floor, s0 and s1: none" in told


def test_a_floor_that_grew_is_told_as_more_and_never_as_a_share_below_zero():
    a = {"admission": {"v": "yyyn", "w": "yyyn", "x": "yyyy"}}
    b = {"admission": {"v": "yynn", "w": "yynn", "x": "yyyn"}}
    (line,) = (x for x in panel_lines(panel_entry(record_of(a, b))) if "floor admission" in x)
    assert "83 % more [" in line
    assert "gone" not in line
    (back,) = (x for x in panel_lines(panel_entry(record_of(b, a))) if "floor admission" in x)
    assert "45 % gone [" in back


def test_a_run_that_was_cut_short_is_told_with_what_cut_it():
    cells = {"admission": {"v": "yn"}}
    record = record_of(cells, cells, complete=False)
    told = "\n".join(panel_lines(panel_entry(record, [{"id": "s1", "fault": "connection lost"}])))
    assert "  s1: connection lost" in told
    assert "  s0: the plan was not drawn to its end" in told


def test_two_runs_that_differ_in_model_and_decoding_are_not_set_against_each_other():
    cells = {"admission": {"v": "yn"}}
    record = record_of(cells, cells, cells)
    for run, (model, decoding) in zip(
        record["runs"], [("m", "t=0"), ("m", "t=1"), ("n", "t=1")], strict=True
    ):
        run["seat"] |= {"model": model, "decoding": decoding}
    found = {tuple(d["of"]) for d in panel_entry(record)["differences"]}
    assert found == {("s0", "s1"), ("s1", "s2")}


def test_a_family_that_a_relation_tests_counts_no_gap_of_an_action():
    record = record_of({"admission": {"v": "yn"}})
    family = record["plan"]["families"][0]
    family["swaps"] = ["race_black"]
    assert len(sides_of(record)[0].gating) == 1
    family["relation"] = "mine 0123"
    assert sides_of(record)[0].gating == frozenset()
