"""Every case of statistics_cases.json, to its tolerance; fractions exactly.

The file is not part of the repository. Where it is absent, the restated cases in the other files
of this directory still hold the same numbers.
"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from pytest_fairmedagent import stats

KINDS = {
    "signed_exact_test": 10,
    "excess_over_floor": 2,
    "pooled_floor": 1,
    "floor": 1,
    "floor_ci": 1,
    "serial_runs_test": 1,
    "majority_vote_floor": 2,
    "prevalence_normalised_floor": 1,
    "zero_floor_upper": 1,
    "spearman_exact": 3,
    "multiplicity": 1,
    "e_value": 2,
    "planning": 1,
}


def close(value, expected, rel=1e-9):
    return value == pytest.approx(expected, rel=rel, abs=1e-12)


@pytest.fixture
def cases(reference):
    found = {}
    for case in reference("statistics_cases.json")["cases"]:
        found.setdefault(case["kind"], []).append((case["input"], case["expected"]))
    return found


def test_no_case_of_the_file_is_left_out(cases):
    assert {kind: len(members) for kind, members in cases.items()} == KINDS


def test_signed_exact_tests(cases):
    for given, want in cases["signed_exact_test"]:
        test = stats.stratified_test(**given, fractions=True)
        assert test.p_fraction == Fraction(want["p_two_sided_fraction"])
        assert test.mid_p_fraction == Fraction(want["mid_p_fraction"])
        assert close(test.p, want["p_two_sided"])
        assert close(test.mid_p, want["mid_p"])
        assert test.statistic == want["T"]
        assert close(test.null_mean, want["null_mean"])
        assert close(test.null_var, want["null_var"])
        assert close(test.gap, want["signed_gap_mh"])
        assert close(test.gap_simple, want["signed_gap_simple_mean"])
        assert close(test.se(), want["gap_se_plus_one"])
        assert all(map(close, test.interval(), want["gap_ci95_plus_one"]))
        assert close(test.p_attainable, want["min_attainable_p"])
        if "mean_excess_over_floor" in want:
            parts = stats.excess(**given)
            assert close(parts.mean, want["mean_excess_over_floor"])
            assert close(parts.flip_rate, want["mean_cross_discordance"])
            # The file gives the mean of cells; the floor itself weights by pairs.
            assert close(parts.floor_ref, want["floor_reference"])
            assert close(parts.floor_swap, want["floor_swap"])


def test_excess_over_floor(cases):
    for given, want in cases["excess_over_floor"]:
        k, j, replicates = given["k_swap"], given["k_ref"], given["R"]
        runs = [replicates] * len(k)
        assert stats.excess_test_fraction(k, j, replicates) == Fraction(want["p_fraction"])
        assert close(stats.excess_test(k, j, replicates), want["p"])
        assert close(stats.excess(k, runs, j, runs).mean, want["mean_excess"])
        assert list(stats.excess(k, runs, j, runs).cells) == pytest.approx(want["per_vignette"])


def test_floors(cases):
    ((given, want),) = cases["floor"]
    found = stats.floor(given["k"], given["R"])
    assert close(found.rate, want["pair_weighted"])
    assert list(found.cells) == pytest.approx(want["per_cell"], rel=1e-9)
    assert found.pairs == want["comparisons"]
    assert close(float(found.cells.mean()), want["mean_of_cells"])
    ((given, want),) = cases["pooled_floor"]
    assert close(given["sum_k_R_minus_k"] / given["comparisons"], want["floor"])


def test_floor_intervals(cases):
    ((given, want),) = cases["floor_ci"]
    found = stats.floor(given["k"], given["R"])
    assert close(found.rate, want["floor"])
    assert found.interval(given["conf"]) == pytest.approx(tuple(want["ci"]), abs=want["tol"])
    ((given, want),) = cases["zero_floor_upper"]
    runs = [given["R"]] * given["V"]
    for target, key in (("fixed", "fixed"), ("population", "superpopulation")):
        bound = stats.zero_floor_upper(runs, confidence=given["conf"], target=target)
        assert close(bound, want[key])


def test_votes_and_normalised_floor(cases):
    for given, want in cases["majority_vote_floor"]:
        for k, (fraction, value) in want["by_k"].items():
            cell = stats.vote_cell(int(k), given["R"], given["votes"])
            assert cell == Fraction(fraction)
            assert close(float(cell), value)
    ((given, want),) = cases["prevalence_normalised_floor"]
    found = stats.normalised_floor(given["k"], given["R"])
    assert close(found.rate, want["unbiased_denominator"])
    assert close(found.rate_simple, want["floor_over_2p1p"])
    assert close(found.rate_simple, want["one_minus_fleiss_kappa"])


def test_runs_and_rank_correlation(cases):
    ((given, want),) = cases["serial_runs_test"]
    found = stats.runs_test(given["cells"], fractions=True)
    assert found.p_fraction == Fraction(want["p_fraction"])
    assert close(found.p, want["p"])
    for given, want in cases["spearman_exact"]:
        found = stats.spearman(given["x"], given["y"])
        assert found.p_fraction == Fraction(want["p_fraction"])
        assert close(found.rho, want["rho"])
        assert close(found.p, want["p"])


def test_multiplicity(cases):
    ((given, want),) = cases["multiplicity"]
    alpha = given["alpha"]
    assert list(stats.holm(given["p"])) == pytest.approx(want["holm"])
    assert list(stats.holm(given["p"]) <= alpha) == want["holm_reject"]
    assert list(stats.benjamini_hochberg(given["p"])) == pytest.approx(want["bh"])
    assert list(stats.tarone_holm(given["p"], given["p_min"], alpha)) == want["tarone_holm_reject"]


def test_e_values_and_planning(cases):
    for given, want in cases["e_value"]:
        b, c, z, alpha = given["plus"], given["minus"], given["zero"], given["alpha"]
        e = stats.e_value(b, c)
        assert close(e, want["e"])
        assert e == float(Fraction(want["e_fraction"]))
        assert (e >= 1 / alpha) == want["reject"]
        interval = stats.confidence_sequence(b, c, z, alpha=alpha)
        assert interval == pytest.approx(tuple(want["confseq95"]), abs=want["tol_confseq"])
    ((given, want),) = cases["planning"]
    pairs = given["V"] * given["R"]
    level = {"alpha": given["alpha"], "power": given["power"]}
    gap = stats.smallest_detectable_gap(given["floor"], pairs, **level)
    assert close(gap, want["min_detectable_gap"])
    needed = stats.pairs_for_gap(given["gap"], given["floor"], **level)
    assert close(needed, want["replicate_pairs_needed"])
    assert math.ceil(needed / given["V"]) == want["replicates_per_vignette"]
