"""Serial dependence, copies, shams, missing outcomes, and the guards' common budget."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from pytest_fairmedagent import stats

LAWS = settings(deadline=None, max_examples=40)
bits = st.lists(st.sampled_from([0, 1]), min_size=1, max_size=6)


def n_runs(cell):
    return sum(1 for _ in itertools.groupby(cell))


def law_of(values):
    law = {}
    for value in values:
        law[value] = law.get(value, 0) + Fraction(1, len(values))
    return law


def convolved(laws):
    total = {0: Fraction(1)}
    for law in laws:
        longer = {}
        for (x, p), (y, q) in itertools.product(total.items(), law.items()):
            longer[x + y] = longer.get(x + y, 0) + p * q
        total = longer
    return total


@given(st.lists(bits, min_size=1, max_size=3))
@LAWS
def test_few_runs_are_as_unlikely_as_all_orders_say(cells):
    mixed = [cell for cell in cells if len(set(cell)) > 1]
    law = convolved([law_of([n_runs(o) for o in itertools.permutations(c)]) for c in mixed])
    observed = sum(map(n_runs, mixed))
    want = sum(p for runs, p in law.items() if runs <= observed)
    found = stats.runs_test(cells, fractions=True)
    assert found.p_fraction == want
    assert found.p == pytest.approx(float(want))
    assert found.n_cells == len(mixed)
    assert found.expected == pytest.approx(float(sum(runs * p for runs, p in law.items())))


def test_the_worked_example_of_runs():
    cells = [[1, 1, 1, 0, 0, 1], [0, 0, 0, 1, 1, 1], [1, 0, 1, 0, 1, 0]]
    assert stats.runs_test(cells, fractions=True).p_fraction == Fraction(691, 1500)
    with_gaps = [[1, None, 1, 1, 0, 0, 1, None], *cells[1:], [1, 1, 1], []]
    assert stats.runs_test(with_gaps).p == stats.runs_test(cells).p


def test_sticky_replicates_are_found_and_independent_ones_left_alone():
    rng = np.random.default_rng(3)
    fresh = (rng.random((40, 10)) < rng.beta(0.4, 0.4, (40, 1))).astype(int)
    sticky = fresh.copy()
    for r in range(1, 10):
        copied = rng.random(40) < 0.5
        sticky[copied, r] = sticky[copied, r - 1]
    assert stats.runs_test(fresh.tolist()).p > 0.05
    assert stats.runs_test(sticky.tolist()).p < 0.001
    assert stats.runs_test([[1, 1], [0, 0]]).p == 1


def test_a_cold_start_that_differs_everywhere_is_found():
    # Four cells of five, the first apart: it could have been any of five in each, (1/5)**4.
    found = stats.first_draw_effect([["a", "b", "b", "b", "b"]] * 4)
    assert found.p == pytest.approx(1 / 625)
    assert (found.rate_first, found.rate_rest) == (1, 0)
    last = stats.first_draw_effect([["b", "b", "b", "b", "a"]] * 4)
    assert last.p == 1
    assert last.rate_first == pytest.approx(1 / 4)


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=3, max_size=4), min_size=1, max_size=3))
@LAWS
def test_any_replicate_may_be_the_first_under_the_null(cells):
    laws, observed = [], 0
    for cell in cells:
        apart = [sum(x != y for y in cell) for x in cell]
        laws.append(law_of(apart))
        observed += apart[0]
    want = sum(p for value, p in convolved(laws).items() if value >= observed)
    assert stats.first_draw_effect(cells).p == pytest.approx(float(want))


def test_a_missing_first_draw_tells_nothing():
    found = stats.first_draw_effect([[None, 1, 1, 0], [1, None, 0]])
    assert (found.p, found.n_cells) == (1, 0)


@given(
    st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30), st.integers(2, 20)
)
@LAWS
def test_copies_of_an_answer_cannot_make_a_result_significant(answers, copies):
    swap, ref = (np.array(column, dtype=int) for column in zip(*answers, strict=True))
    ones = np.ones_like(swap)
    single = stats.stratified_test(swap, ones, ref, ones)
    counts, collapsed = stats.collapse_unanimous(
        swap * copies, ones * copies, ref * copies, ones * copies
    )
    assert collapsed
    assert stats.stratified_test(*counts).p == single.p


def test_one_mixed_cell_keeps_all_replicates():
    counts, collapsed = stats.collapse_unanimous([3, 1], [3, 3], [0, 0], [3, 3])
    assert not collapsed
    assert [list(c) for c in counts] == [[3, 1], [3, 3], [0, 0], [3, 3]]
    missing, collapsed = stats.collapse_unanimous([3, 0], [3, 0], [0, 2], [2, 2])
    assert collapsed
    assert [list(c) for c in missing] == [[1, 0], [1, 0], [0, 1], [1, 1]]


def test_filling_against_the_gap_can_only_weaken_it():
    counts = ([8, 7], [9, 8], [2, 3], [9, 10])
    k, m, j, n = counts
    filled = stats.worst_case(k, m, [1, 2], j, n, [1, 0], sign=0.4)
    assert [list(c) for c in filled] == [[8, 7], [10, 10], [3, 3], [10, 10]]
    assert stats.stratified_test(*filled).p > stats.stratified_test(*counts).p
    low = stats.worst_case(j, n, [1, 0], k, m, [1, 2], sign=-0.4)
    assert [list(c) for c in low] == [[3, 3], [10, 10], [8, 7], [10, 10]]


@given(st.data())
@LAWS
def test_no_other_filling_is_worse(data):
    m, n = 4, 4
    k, j = data.draw(st.integers(0, m)), data.draw(st.integers(0, n))
    lost_swap, lost_ref = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))
    worst = stats.stratified_test(
        *stats.worst_case([k], [m], [lost_swap], [j], [n], [lost_ref], sign=1)
    )
    for a in range(lost_swap + 1):
        for b in range(lost_ref + 1):
            other = stats.stratified_test([k + a], [m + lost_swap], [j + b], [n + lost_ref])
            assert other.p_greater <= worst.p_greater * (1 + 1e-12)


def test_missingness_is_an_outcome_like_any_other():
    test = stats.missingness_test([4, 3], [10, 10], [0, 0], [10, 10])
    assert test.p == stats.stratified_test([4, 3], [10, 10], [0, 0], [10, 10]).p
    assert test.p < 0.05


def test_guards_share_one_budget():
    assert list(stats.guard_rejections([0.001, 0.004, 0.5])) == [True, True, False]
    assert list(stats.guard_rejections([0.001, 0.004], n_members=18)) == [False, False]
    assert list(stats.guard_rejections([])) == []


def sham_design(rng, n_vignettes, jitter, gap_logit=0.0, n_shams=2):
    p = rng.beta(0.377, 0.377, n_vignettes)
    logit = np.log(p) - np.log1p(-p)
    arms = []
    for shift in [gap_logit, *[0.0] * n_shams]:
        moved = logit + shift + rng.normal(0, jitter, n_vignettes)
        arms.append(rng.binomial(10, 1 / (1 + np.exp(-moved))))
    return arms[0], rng.binomial(10, p), arms[1:]


def test_surface_noise_fools_the_exact_test_and_not_the_sham_guard():
    rng = np.random.default_rng(8)
    runs = np.full(16, 10)
    exact = guarded = 0
    for _ in range(600):
        k, j, shams = sham_design(rng, 16, jitter=1.0)
        exact += stats.stratified_test(k, runs, j, runs).p <= 0.05
        guarded += stats.sham_guard(k, runs, j, runs, [(s, runs) for s in shams]).passes
    # STATISTICS has .125 and .044; three standard errors at 600 are .041 and .025.
    assert exact / 600 > 0.084
    assert guarded / 600 < 0.069


def test_a_gap_beyond_surface_noise_passes_the_sham_guard():
    rng = np.random.default_rng(9)
    runs = np.full(16, 10)
    passed = 0
    for _ in range(100):
        k, j, shams = sham_design(rng, 16, jitter=0.0, gap_logit=2.0)
        passed += stats.sham_guard(k, runs, j, runs, [(s, runs) for s in shams]).passes
    assert passed > 90


def test_the_sham_guard_adds_surface_variance_and_uses_t():
    k, j, sham, runs = [8, 7, 6, 9], [4, 3, 3, 5], [9, 3, 2, 5], [10] * 4
    found = stats.sham_guard(k, runs, j, runs, [(sham, runs)])
    tau2 = max(0.0, stats.excess(sham, runs, j, runs).mean)
    test = stats.stratified_test(k, runs, j, runs)
    variance = test.null_var / test.weight**2 + tau2 / 4
    assert found.tau2 == pytest.approx(tau2)
    assert found.statistic == pytest.approx(test.gap / math.sqrt(variance))
    assert found.quantile == pytest.approx(scipy_stats.t.ppf(0.975, 3))
    assert found.gaps_to_shams == (stats.stratified_test(k, runs, sham, runs).gap,)
    # A sham that moves further the same way takes the sign away.
    further = stats.sham_guard(k, runs, j, runs, [([10] * 4, runs)])
    assert not further.same_sign
    assert not further.passes


def test_one_replicate_cannot_measure_surface_noise():
    ones = [1] * 12
    found = stats.sham_guard(ones, ones, [0] * 12, ones, [([0] * 12, ones)])
    assert math.isnan(found.tau2)
    assert not found.passes
