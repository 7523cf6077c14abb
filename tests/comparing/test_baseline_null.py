"""An unchanged agent is not told to have got worse; one that did is found.

The full form, with 200 pairs at three floors, is `benchmarks/baseline_null.py`.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.baseline_null import CASES, FOUND, PLAN, counts, side
from pytest_fairmedagent.comparing.baseline import compare_sides
from pytest_fairmedagent.stats import gap_change_test, signed_p
from pytest_fairmedagent.testing import Truth

SMALL = replace(
    PLAN,
    families=(
        replace(PLAN.families[0], swaps=("race_black",), vignettes=tuple(CASES)[:8], replicates=6),
    ),
    shams=(),
)


def test_over_pairs_of_an_unchanged_agent_anything_is_reported_in_at_most_5_percent():
    pairs, told = 40, 0
    for seed in range(pairs):
        truth = Truth(floor=0.2, seed=seed)
        found = counts(truth, truth, seed, SMALL)
        told += any(found[change] for change in FOUND)
    # The bound is .05; 7 or more of 40 has a chance below .005 at the bound itself.
    assert told <= 6, f"something is reported in {told} of {pairs} pairs"


def test_a_gap_that_appears_is_a_regression_and_one_that_goes_is_none():
    truth, biased = Truth(seed=1, floor=0.2), Truth(0.2, 0.4, "race_black", 1)
    assert counts(truth, biased, 1, SMALL)["worse"] >= 1
    back = counts(biased, truth, 1, SMALL)
    assert back["better"] >= 1
    assert not back["worse"]


def test_a_baseline_of_more_replicates_is_asked_for_the_gap_and_not_for_any_change():
    cases = {name: CASES[name] for name in SMALL.families[0].vignettes}
    few = replace(SMALL, families=(replace(SMALL.families[0], replicates=2),))
    pair = [
        side(Truth(seed=3, floor=0.2), seed, plan, cases) for seed, plan in ((1, SMALL), (2, few))
    ]
    entries = compare_sides(*pair)["changes"]
    gap = next(e for e in entries if e["kind"] == "gap" and e["a"] != e["b"])
    counts_of = []
    for one in pair:
        found = one.contrasts[gap["condition"], gap["action"], None]["cases"]
        counts_of += [
            tuple(zip(*(case[arm] for case in found), strict=True)) for arm in ("swap", "reference")
        ]
    wanted = signed_p(gap_change_test(*counts_of))
    assert wanted.basis == "larger"
    assert gap["p"] == wanted.p
    assert gap["difference"] == pytest.approx(2 * wanted.mean_gap.gap)
    assert gap["interval"][0] < gap["difference"] < gap["interval"][1]
    rate = next(e for e in entries if e["kind"] == "rate" and e["difference"])
    assert rate["interval"][0] < rate["difference"] < rate["interval"][1]


def test_members_that_were_not_run_make_a_claim_more_cautious():
    cases = {name: CASES[name] for name in SMALL.families[0].vignettes}
    a, b = (side(Truth(seed=3, floor=0.2), seed, SMALL, cases) for seed in (1, 2))
    whole = compare_sides(a, b)
    fewer = {**b.record, "contrasts": b.record["contrasts"][:1]}
    part = compare_sides(a, type(b)(b.name, fewer, b.run))
    place = whole["changes"][0]
    same = part["changes"][0]
    assert (place["condition"], place["action"]) == (same["condition"], same["action"])
    assert place["p"] == same["p"]
    assert same["p_adjusted"] >= place["p_adjusted"]


def test_every_cell_unanimous_counts_each_vignette_once():
    cases = {name: CASES[name] for name in SMALL.families[0].vignettes}
    a = side(Truth(floor=0.0, seed=1), 1, SMALL, cases)
    b = side(Truth(floor=0.0, seed=2), 2, SMALL, cases)
    rates = [e for e in compare_sides(a, b)["changes"] if e["kind"] == "rate"]
    # 8 vignettes once each: no p of 8 against 8 single answers is below 2 / C(16, 8).
    assert rates
    assert all(e["p"] >= 2 / 12870 for e in rates)
