"""Nonsense is refused by name, and the package weighs little when it is imported."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pytest_fairmedagent import stats

NAN = math.nan


def counts_of(name):
    """The argument lists of functions of two arms, with the third value of k_swap in doubt."""
    return {
        "stratified_test": lambda k, m, j, n: stats.stratified_test(k, m, j, n),
        "excess": lambda k, m, j, n: stats.excess(k, m, j, n),
        "sham_guard": lambda k, m, j, n: stats.sham_guard(k, m, j, n, [(j, n)]),
        "collapse_unanimous": lambda k, m, j, n: stats.collapse_unanimous(k, m, j, n),
        "standardised_differences": lambda k, m, j, n: stats.standardised_differences(k, m, j, n),
        "missingness_test": lambda k, m, j, n: stats.missingness_test(k, m, j, n),
        "worst_case": lambda k, m, j, n: stats.worst_case(k, m, [0, 0], j, n, [0, 0], sign=1),
        "excess_test": lambda k, m, j, n: stats.excess_test(k, j, m, n),
    }[name]


TWO_ARMS = (
    "stratified_test",
    "excess",
    "sham_guard",
    "collapse_unanimous",
    "standardised_differences",
    "missingness_test",
    "worst_case",
    "excess_test",
)


@pytest.mark.parametrize("name", TWO_ARMS)
@pytest.mark.parametrize(
    ("k", "m", "j", "n", "says"),
    [
        ([3, 0], [2, 2], [0, 0], [2, 2], r"no more positives than m_swap, got 3 of 2 at index 0"),
        ([1, 0], [2, 2], [0, 9], [2, 2], r"k_ref: .*got 9 of 2 at index 1"),
        ([-1, 0], [2, 2], [0, 0], [2, 2], r"k_swap: expected counts >= 0, got -1"),
        ([1, 0], [2, 2], [0, 0], [2, -2], r"n_ref: expected counts >= 0, got -2"),
        ([NAN, 0], [2, 2], [0, 0], [2, 2], r"k_swap: expected counts, got NaN"),
        ([0.5, 0], [2, 2], [0, 0], [2, 2], r"k_swap: expected whole numbers, got 0.5"),
        ([1, 0, 0], [2, 2], [0, 0], [2, 2], r"shape|equal"),
        ([1, 0], [2, 2], [0, 0, 1], [2, 2, 2], r"shape|same strata|vignettes"),
        ([[1, 0]], [[2, 2]], [[0, 0]], [[2, 2]], r"1-d"),
        (["1", "0"], [2, 2], [0, 0], [2, 2], r"k_swap: expected counts, got values of type"),
        ([1, [0]], [2, 2], [0, 0], [2, 2], r"k_swap: expected a rectangular array"),
        ([], [], [], [], r"expected at least one vignette"),
        ([None, 0], [2, 2], [0, 0], [2, 2], r"k_swap: expected counts"),
    ],
)
def test_impossible_counts_of_two_arms_are_named(name, k, m, j, n, says):
    call = counts_of(name)
    if name == "excess_test":
        says = says.replace("m_swap", ".*")
    with pytest.raises(ValueError, match=says):
        call(k, m, j, n)


ONE_ARM = {
    "floor": stats.floor,
    "normalised_floor": stats.normalised_floor,
    "percentile_interval": stats.percentile_interval,
    "percentile_intervals": stats.percentile_intervals,
    "leave_one_out": stats.leave_one_out,
    "vote_floor": lambda k, n: stats.vote_floor(k, n, votes=1),
    "rarefied_flags": lambda k, n: stats.rarefied_flags(k, n, draws=2),
    "pass_hat_k": lambda k, n: stats.pass_hat_k(k, n, draws=2),
    "floor_difference": lambda k, n: stats.floor_difference(k, n, k, n),
    "pooled_floor": lambda k, n: stats.pooled_floor([[a] for a in k], [[b] for b in n]),
    "arity_matched": lambda k, n: stats.arity_matched([[a, a] for a in k], [[b, b] for b in n]),
}


@pytest.mark.parametrize("name", ONE_ARM)
@pytest.mark.parametrize(
    ("k", "n", "says"),
    [
        ([3, 0], [2, 2], "no more positives than"),
        ([-1, 0], [2, 2], ">= 0, got -1"),
        ([NAN, 0], [2, 2], "NaN"),
        ([1.5, 0], [2, 2], "whole numbers, got 1.5"),
        ([1, 0, 1], [2, 2], "shapes"),
        ([], [], "vignette|2-d"),
    ],
)
def test_impossible_counts_of_one_arm_are_named(name, k, n, says):
    with pytest.raises(ValueError, match=says):
        ONE_ARM[name](k, n)


TEST = stats.stratified_test([5, 2], [9, 9], [1, 2], [9, 9])
NO_PAIRS = stats.stratified_test([0], [0], [0], [0])


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: stats.stratified_test([1], [2], [1], [2], strata=["a", "b"]), "strata: .*1 label"),
        (lambda: TEST.interval(1.0), "confidence: expected a number strictly between"),
        (lambda: TEST.interval(NAN), "confidence: expected a finite number"),
        (lambda: stats.floor([1], [2]).interval(target="all"), "target: expected one of"),
        (lambda: stats.zero_floor_upper([2], confidence=95), "confidence"),
        (lambda: stats.odds_ratio(TEST, confidence=0), "confidence"),
        (lambda: stats.tost(TEST, margin=0.1, alpha=0.6), "alpha: .*below one half"),
        (lambda: stats.futility(NO_PAIRS, share_done=0.5), "test: expected a test with pairs"),
        (lambda: stats.futility(TEST, share_done=0), "share_done"),
        (lambda: stats.excess_test([1], [1], [2], [2], n_resamples=0, rng=1.5), "n_resamples|rng"),
        (lambda: stats.percentile_interval([1], [2], rng=-1), "rng: expected a whole number"),
        (lambda: stats.floor_difference([1], [2], [1, 1], [2, 2]), "the same vignettes, got 1"),
        (
            lambda: stats.floor_difference([1], [2], [1], [1]),
            "n_b: expected at least one replicate",
        ),
        (lambda: stats.leave_one_out([1, 0], [2, 1]), "at least two vignettes, got 1"),
        (lambda: stats.vote_floor([1], [9], votes=2), "votes: expected an odd number, got 2"),
        (lambda: stats.vote_floor([1], [9], votes=3, replicates=8), "replicates: .*at least 9"),
        (lambda: stats.vote_cell(3, 5, 3), "k, n, votes"),
        (lambda: stats.rarefied_flags([1], [2], draws=0), "draws: expected a whole number"),
        (lambda: stats.arity_matched([[1]], [[2]]), "at least two arms, got 1"),
        (lambda: stats.sign_flip_test([NAN]), "values: expected at least one finite value"),
        (lambda: stats.sign_flip_test([[1.0]]), "values: expected one value per vignette"),
        (lambda: stats.runs_test([[1, 2]]), r"cells\[0\]: expected 0, 1 or None, got 2"),
        (lambda: stats.runs_test([]), "cells: expected at least one sequence"),
        (lambda: stats.first_draw_effect([]), "cells: expected at least one sequence"),
        (lambda: stats.sham_guard([1], [2], [1], [2], []), "shams: expected at least one"),
        (lambda: stats.sham_guard([1], [2], [1], [2], [([1, 1], [2, 2])]), r"shams\[0\]"),
        (lambda: stats.worst_case([1], [2], [0], [1], [2], [0], sign=0), "sign: .*got 0"),
        (lambda: stats.worst_case([1], [2], [0, 1], [1], [2], [0], sign=1), "missing_swap"),
        (lambda: stats.holm([0.5, 1.2]), "p: expected values in 0..1, got 1.2"),
        (lambda: stats.holm([NAN]), "p: expected values in 0..1, got nan"),
        (lambda: stats.holm([0.1, 0.2], n_members=1), "n_members: expected at least the 2"),
        (lambda: stats.benjamini_hochberg([-0.1]), "p: expected values in 0..1"),
        (lambda: stats.tarone_holm([0.1], [0.1, 0.2]), "equal lengths"),
        (lambda: stats.tarone_holm([0.1], [0.2]), "p_attainable 0.2, got 0.1"),
        (lambda: stats.e_bh([-1.0]), "e: expected values >= 0"),
        (lambda: stats.e_bh([NAN]), "e: expected values >= 0"),
        (lambda: stats.e_value(-1, 2), "b: expected a whole number of at least 0, got -1"),
        (lambda: stats.e_value(1.5, 2), "b: expected a whole number"),
        (lambda: stats.e_process([1], [1, 2]), "one value per round"),
        (lambda: stats.confidence_sequence(1, 1, 1, alpha=0), "alpha"),
        (lambda: stats.margin_e_values(1, 1, 1, margin=0), "margin"),
        (lambda: stats.group_sequential([4, 2]), "looks: expected rising"),
        (lambda: stats.group_sequential([]), "looks: expected rising"),
        (lambda: stats.group_sequential([2, 4], kind="haybittle"), "kind: expected one of"),
        (lambda: stats.group_sequential([2]).adjusted([0.1, 0.2]), "at most 1 looks, got 2"),
        (lambda: stats.smallest_detectable_gap(1.2, 100), "floor: expected a number in 0..1"),
        (lambda: stats.smallest_detectable_gap(0.1, 0), "n_pairs: expected a number above 0"),
        (lambda: stats.power_of_gap(2, 0.1, 10), "gap: expected a gap in -1..1"),
        (lambda: stats.pairs_for_gap(0.1, 0.1, power=1), "power"),
        (lambda: stats.power_to_certify(0, 0.1, 10), "margin"),
        (lambda: stats.effective_pairs(0, 1, 1), "n_vignettes"),
        (lambda: stats.smallest_detectable_gap(0.1, 9, kind="peek"), "kind: expected one of"),
        (lambda: stats.power_of_gap(0.1, 0.1, 9, n_vignettes=0), "n_vignettes"),
        (lambda: stats.chance_to_certify_all(0.1, [], 9, 2), "floors: expected one for each"),
        (lambda: stats.chance_to_certify_all(0.1, [0.1], [9, 9], 2), "expected one for each of 2"),
        (lambda: stats.rate_law(0.5), "floor: expected below 0.5"),
        (lambda: stats.logit_shift(0.6, 1, 1), "gap: expected the mean"),
        (lambda: stats.simulate_plan(0.1, 4, 2, rule="peek"), "rule: expected one of"),
        (lambda: stats.simulate_plan(0.1, 4, 2, imbalance=0.5), "imbalance"),
        (lambda: stats.simulate_plan(0.1, 4, 2, rule="pocock", missing=0.1), "missing"),
        (lambda: stats.score_test([[1]], [[1], [2]]), "the same strata, got 1 and 2"),
        (lambda: stats.score_test([], []), "the same strata, got 0"),
        (lambda: stats.score_test([["x"]], [[1]]), r"scores_swap\[0\]: expected numbers"),
        (lambda: stats.score_test([[math.inf]], [[1]]), "finite scores"),
        (lambda: stats.set_contrast([[{"a"}]], []), "the same vignettes, got 1 and 0"),
        (lambda: stats.spearman([1, 2], [1, 2, 3]), "equal lengths"),
        (lambda: stats.spearman([1], [1]), "x: expected at least two values"),
        (lambda: stats.spearman([1, NAN], [1, 2]), "x: expected numbers, got NaN"),
        (lambda: stats.kappa([[1, 2, 3], [4, 5, 6]]), "square table"),
        (lambda: stats.kappa([[0, 0], [0, 0]]), "at least one pair"),
        (lambda: stats.kappa([[1, 0], [0, 1]], weights="cubic"), "weights: expected one of"),
        (lambda: stats.kappa_of([1], [1, 2]), "the same cases"),
        (lambda: stats.kappa_of([None], [1]), "at least one complete pair"),
        (lambda: stats.kappa_of([1], [2], labels=[1]), "labels: .*2"),
    ],
)
def test_other_nonsense_is_named(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def test_counts_may_come_as_lists_arrays_floats_or_booleans():
    want = stats.stratified_test([1, 0], [1, 1], [0, 0], [1, 1]).p
    assert stats.stratified_test([True, False], [1, 1], [False, False], [1, 1]).p == want
    assert stats.stratified_test(np.array([1.0, 0.0]), (1, 1), np.zeros(2), np.ones(2)).p == want
    small = np.array([1, 0], dtype=np.uint8)
    assert stats.stratified_test(small, [1, 1], [0, 0], [1, 1]).p == want


def test_counts_near_the_limit_of_integers_do_not_overflow():
    test = stats.stratified_test([60_000], [120_000], [59_000], [120_000])
    # Hypergeometric variance 120000**2 119000 121000 / (240000**2 239999), by hand.
    assert test.null_var == pytest.approx(119_000 * 121_000 / (4 * 239_999))
    assert 0 < test.p < 1e-3


def test_every_public_name_is_listed_once_and_explained():
    assert len(stats.__all__) == len(set(stats.__all__))
    for name in stats.__all__:
        member = getattr(stats, name)
        assert inspect.getdoc(member), name
        if inspect.isfunction(member):
            assert "Error" in member.__doc__, name


def results():
    k, j, runs = [5, 2, 9], [1, 2, 8], [10, 10, 10]
    arms = (k, runs, j, runs)
    test = stats.stratified_test(*arms)
    rows = [[1, 0, 1], [0, 0, 1]]
    sets = [[{"a"}, {"b"}]]
    rng = np.random.default_rng(1)
    wide = [[rng.integers(0, 2, (3, 2)).astype(float) for _ in range(4)] for _ in range(2)]
    return [
        test,
        stats.floor(k, runs),
        stats.floor([0], [1]),
        stats.pooled_floor([[5], [2]], [[10], [10]]),
        stats.percentile_intervals(k, runs, n_resamples=20),
        stats.floor_difference(*arms, n_resamples=20),
        stats.floor_change(*arms),
        stats.leave_one_out(k, runs),
        stats.vote_floor(k, runs, votes=3),
        stats.normalised_floor(k, runs),
        stats.excess(*arms),
        stats.excess([1], [1], [1], [1]),
        stats.arity_matched(np.stack((k, j), axis=1), [[10, 10]] * 3, n_resamples=9),
        stats.sign_flip_test([1, 2, -1]),
        stats.runs_test(rows),
        stats.first_draw_effect(rows),
        stats.sham_guard(*arms, [(j, runs)]),
        stats.odds_ratio(test),
        stats.tost(test, margin=0.2),
        stats.futility(test, share_done=0.5),
        stats.futility(test, share_done=0.5, margin=0.2),
        stats.e_process([1, 2], [0, 1]),
        stats.group_sequential([2, 4]),
        stats.simulate_plan(0.1, 3, 2, margin=0.2, n_datasets=3),
        stats.score_test(rows, rows),
        stats.score_test([[None]], [[1]]),
        stats.set_contrast(sets, sets, n_resamples=9),
        stats.set_contrast([[{"a"}]], sets, n_resamples=9),
        stats.set_contrast(sets, sets, n_resamples=9).elements[0],
        stats.spearman([1, 2, 3], [1, 3, 2]),
        stats.kappa([[3, 1], [1, 3]]),
        stats.repeats_between([["a", "b"]], [["a", "a"]]),
        stats.repeats_of_fields([[("a", 1), ("b", 2), ("c", 3)]]),
        stats.repeats_of_fields([]),
        stats.signed_p(test),
        stats.imbalance_of_cells([3, 2], [3, 4]),
        stats.mean_gap_test(k, runs, j, [9, 10, 10]),
        stats.swap_test(*wide),
        stats.surface_noise(*wide, [wide[1]]),
        stats.swap_against_shams(*wide, [wide[1]], n_relabellings=99),
        stats.runs_to_find(0.2, 0.1, 40, 2, n_members=1, n_datasets=5),
    ]


def test_every_result_is_frozen_and_reads_as_a_sentence():
    seen = set()
    for result in results():
        name = type(result).__name__
        seen.add(name)
        assert repr(result) == f"<{name}: {result}>"
        assert len(str(result)) > 20
        assert "object at" not in str(result)
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(result, dataclasses.fields(result)[0].name, 0)
    assert seen == {n for n in stats.__all__ if inspect.isclass(getattr(stats, n))}


def test_stats_imports_numpy_and_itself_only():
    # Floor 0: pure numbers. scipy is imported inside functions, never at the top of a module.
    root = Path(inspect.getfile(stats)).parent
    for path in root.glob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 1, path
            allowed = sys.stdlib_module_names | {"numpy"}
            assert all(name.partition(".")[0] in allowed for name in names), (path, names)


def test_importing_stats_and_deciding_a_check_does_not_load_scipy():
    script = (
        "import sys\n"
        "from pytest_fairmedagent import stats\n"
        "t = stats.stratified_test([5, 2], [9, 9], [1, 2], [9, 9])\n"
        "t.interval(), stats.holm([t.p]), stats.runs_test([[1, 0, 1]])\n"
        "stats.smallest_detectable_gap(.1, 100), stats.tost(t, margin=.5)\n"
        "print(sorted(m for m in sys.modules if m.partition('.')[0] == 'scipy'))\n"
    )
    root = Path(inspect.getfile(stats)).parents[2]
    run = subprocess.run(
        [sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"
