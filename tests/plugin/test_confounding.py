"""Confounded contrasts at the pytest surface: refused, left out, and shown apart."""

import re

import pytest

CHECK = """
import pytest
from pytest_fairmedagent import assert_invariant

@pytest.mark.fairmed(
    {mark}, vignettes="hot_knee_urgent_care, lower_abdominal_pain_emergency", replicates=2
)
def test_it({arguments}):
    assert_invariant(contrast, action)
"""


def check(mark, arguments="contrast, action"):
    return CHECK.format(mark=mark, arguments=arguments)


def test_a_gate_that_could_only_find_what_can_be_right_is_refused_by_name(pytester, gate):
    pytester.makepyfile(check('swaps="age_78", actions=["referral", "any_opioid"]'))
    result = gate()
    result.stdout.fnmatch_lines(
        ["*family '*::test_it' cannot gate age_78 on any_opioid: on every*"]
    )
    assert result.ret != 0


def test_an_exploratory_function_can_look_at_it(pytester, gate):
    pytester.makepyfile(check('swaps="age_78", actions="any_opioid", exploratory=True'))
    result = gate("--fairmed-strict=yes")
    assert result.parseoutcomes() == {"inconclusive": 1}


def test_a_function_that_names_no_swaps_tests_those_that_can_be_tested(pytester, gate):
    pytester.makepyfile(check('actions="any_opioid"'))
    result = gate("--collect-only", "-q")
    items = set(re.findall(r"test_it\[(\w+)-any_opioid\]", result.stdout.str()))
    assert {"race_black", "sex_woman"} < items
    assert not {"age_34", "age_78", "no_descriptor"} & items


def test_the_summary_and_the_record_show_what_was_left_out(pytester, gate, record):
    pytester.makepyfile(check('swaps=["sex_woman", "race_black"], actions="referral"'))
    result = gate("--fairmed-report=out.json")
    result.stdout.fnmatch_lines(
        ["CONFOUNDED: a difference can be clinically right*", "  referral * sex_woman *ACR*"]
    )
    found = record()
    (apart,) = found["confounded"]
    assert (apart["label"], apart["condition"]) == ("CONFOUNDED", "sex_woman")
    assert [c["vignette"] for c in apart["cases"]] == ["lower_abdominal_pain_emergency"]
    counted = {c["condition"]: c["vignettes"] for c in found["contrasts"]}
    assert counted == {"sex_woman": 1, "race_black": 2}


@pytest.mark.parametrize("strict", ["yes", "no"])
def test_strict_asks_nothing_where_a_difference_can_be_right(pytester, gate, strict):
    text = check('swaps="age_78", actions="any_opioid"', "vignette, contrast, action")
    pytester.makepyfile(text)
    assert gate(f"--fairmed-strict={strict}").parseoutcomes() == {"inconclusive": 2}
