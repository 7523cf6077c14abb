"""A swap as a whole stands above its outcomes in every view, also where none of these is named."""

from __future__ import annotations

import pytest

from pytest_fairmedagent.report.checklist_study import analysis
from pytest_fairmedagent.report.explained import explained_lines
from pytest_fairmedagent.report.html import html_report
from pytest_fairmedagent.report.markdown import markdown_summary
from pytest_fairmedagent.report.sentences import sentences
from pytest_fairmedagent.report.terminal import summary_lines
from pytest_fairmedagent.report.wholes import said_of, tally


@pytest.fixture
def somewhere(golden):
    """The golden record, as if race_black differed somewhere and in no outcome by itself."""
    record = golden()
    for contrast in record["contrasts"]:
        if contrast["condition"] == "race_black":
            contrast |= {"verdict": "INCONCLUSIVE", "p_adjusted": 0.2}
            record["verdicts"]["DISPARITY"] -= 1
            record["verdicts"]["INCONCLUSIVE"] += 1
    record["swaps"][0] |= {"named": [], "p_adjusted": 0.0123, "flags": ["a flag of the swap"]}
    return record


SAID = "differs somewhere, no outcome singled out"


@pytest.mark.parametrize("width", [80, 104])
def test_the_terminal_has_the_swap_before_its_outcomes_and_counts_it(somewhere, width):
    lines = summary_lines(somewhere, width=width)
    at = next(i for i, line in enumerate(lines) if SAID in line)
    assert lines[at].startswith("  DISPARITY    any of 6")
    assert "0.0123" in lines[at]
    assert lines[at + 1] == "      a flag of the swap"
    assert lines[at + 2].startswith("  INCONCLUSIVE high_acuity")
    assert "10 INCONCLUSIVE, 3 EQUIVALENT, 1 swap that differs somewhere (DISPARITY)" in lines


def test_markdown_says_it_in_heading_sentence_and_table(somewhere):
    text = markdown_summary(somewhere)
    assert text.startswith("## Fairness: 1 swap with a disparity somewhere, 10 inconclusive")
    assert f"| ❌ disparity | `race_black` | {SAID}; `a flag of the swap` | 0.0123 |" in text
    assert "though no single outcome can be named" in text


def test_the_page_says_it_in_tally_sentence_and_table(somewhere):
    page = html_report(somewhere)
    assert "swap differs somewhere, though no single outcome can be named" in page
    assert f"<td>{SAID}; a flag of the swap</td>" in page


def test_the_sentence_names_the_swap_and_its_p(somewhere):
    assert sentences(somewhere).said.startswith(
        "Under race_black the agent differs somewhere by more than its own noise explains "
        "(p = 0.0123), though no single outcome can be named"
    )


def test_nothing_is_counted_besides_where_outcomes_are_named(golden):
    assert tally(golden()) == ["6 DISPARITY", "4 INCONCLUSIVE", "3 EQUIVALENT"]


def test_the_swap_is_explained_before_its_outcomes(somewhere):
    asked = [("primary", "race_black", action, None) for action in ("admission", "referral")]
    text = "\n".join(explained_lines(somewhere, "test_it.py::test_it", asked, width=300))
    heads = [
        text.index(f"{what}, race_black vs reference")
        for what in ("the swap as a whole", "admission", "referral")
    ]
    assert heads == sorted(heads)
    assert "as one of 2 registered swaps of primary 0.0123, to be at most 0.05." in text
    assert f"So the verdict on the swap is DISPARITY: {SAID}." in text
    assert "To be known besides: a flag of the swap." in text
    assert "race_hispanic" not in text


def test_names_that_leave_no_room_give_way_to_their_number(golden):
    whole = golden()["swaps"][0]
    assert said_of(whole, 45) == "differs in all 6 outcomes"
    assert said_of({**whole, "named": whole["named"][:5]}, 45) == "differs in 5 of 6 outcomes"
    assert said_of({**whole, "named": ["admission"]}, 45) == "differs in admission"
    assert all(name in said_of(whole) for name in whole["named"])


class TestMethods:
    @staticmethod
    def of(record):
        return next(value for _, item, value in analysis(record) if item == "methods")

    def test_swaps_tested_as_a_whole_are_named_and_holm_is_not(self, golden):
        told = self.of(golden())
        assert "each swap first tested as a whole" in told
        assert "Westfall and Young" in told
        assert "Benjamini and Hochberg" in told
        assert "Holm" not in told

    def test_a_family_of_single_tests_is_holm(self, golden):
        record = golden() | {"swaps": []}
        assert "Holm within a family," in self.of(record)
        assert "as a whole" not in self.of(record)

    def test_averages_of_e_values_are_no_relabelling(self, golden):
        record = golden()
        record["plan"]["sequential"] = "e"
        assert "relabelled" not in self.of(record)
        assert "mean of its outcomes' e-values" in self.of(record)
