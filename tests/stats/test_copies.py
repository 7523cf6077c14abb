"""Stored answers that are served again: exact laws by enumeration, and what is never called one."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_fairmedagent import stats

outputs = st.lists(st.sampled_from("abc"), min_size=1, max_size=3)


def between(a, b):
    return sum(x == y for x in a for y in b)


def telling(a, b):
    return len(set(a)) > 1 or len(set(b)) > 1


def law(a, b):
    """Law of the equal pairs between two arms when draws are dealt to them afresh."""
    pool, found = a + b, {}
    deals = list(itertools.combinations(range(len(pool)), len(a)))
    for deal in deals:
        one = [pool[i] for i in deal]
        two = [pool[i] for i in range(len(pool)) if i not in deal]
        met = between(one, two)
        found[met] = found.get(met, 0) + Fraction(1, len(deals))
    return found


@given(st.lists(st.tuples(outputs, outputs), min_size=1, max_size=3))
@settings(deadline=None, max_examples=40)
def test_few_equal_outputs_between_arms_are_as_unlikely_as_all_deals_say(cells):
    told = [(a, b) for a, b in cells if telling(a, b)]
    total = {0: Fraction(1)}
    for a, b in told:
        longer = {}
        for (x, p), (y, q) in itertools.product(total.items(), law(a, b).items()):
            longer[x + y] = longer.get(x + y, 0) + p * q
        total = longer
    observed = sum(between(a, b) for a, b in told)
    found = stats.repeats_between(*zip(*cells, strict=True))
    assert found.p == pytest.approx(float(sum(p for x, p in total.items() if x <= observed)))
    assert found.between == observed
    pairs = itertools.combinations
    assert found.within == sum(x == y for c in told for arm in c for x, y in pairs(arm, 2))
    assert found.expected == pytest.approx(float(sum(x * p for x, p in total.items())))
    assert found.n_cells == sum(len({*a, *b}) < len(a) + len(b) for a, b in told)


def test_answers_stored_for_each_arm_repeat_inside_it_and_not_between():
    found = stats.repeats_between([["a", "b", "a"]] * 6, [["c", "d", "d"]] * 6)
    # Of 20 deals of six draws 4 have both pairs inside an arm.
    assert found.p == pytest.approx((4 / 20) ** 6)
    assert (found.within, found.between, found.n_cells) == (12, 0, 6)
    assert stats.repeats_between([["a", "b", "a"]] * 6, [["b", "a", "a"]] * 6).p > 0.5


def test_copies_of_one_answer_in_each_arm_tell_nothing_for_they_count_once():
    found = stats.repeats_between([["a", "a"]] * 9, [["b", "b"]] * 9)
    assert (found.p, found.n_cells, found.within) == (1, 0, 0)
    assert stats.repeats_between([["a", "a"]], [["b", "c"]]).n_cells == 1
    assert stats.repeats_between([["b", "c"]], [["a", "a"]]).n_cells == 1
    assert stats.repeats_between([["b", "c"]], [["a"]]).n_cells == 0  # no two are equal


def test_missing_outputs_are_left_out_and_of_many_draws_the_first_forty_are_taken():
    a, b = ["a", None, "b", "a"], [None, "c", "c"]
    want = stats.repeats_between([["a", "b", "a"]], [["c", "c"]])
    found = stats.repeats_between([a], [b])
    assert (found.p, found.between) == (want.p, want.between)
    long = [str(i % 7) for i in range(40)]
    cut = stats.repeats_between([long], [long])
    more = stats.repeats_between([[*long, *"xyz"]], [[None, *long, *"xyz"]])
    assert (cut.p, cut.within) == (more.p, more.within)
    assert stats.MOST_DRAWS == 40
    with pytest.raises(ValueError, match="second: expected 1 cells, got 2"):
        stats.repeats_between([["a"]], [["a"], ["b"]])


def picks(rng, n_cells, stored, n_draws, fields):
    """Cells whose draws are picked from stored ones, each with these fields."""
    cells = []
    for _ in range(n_cells):
        pool = [fields(rng) for _ in range(stored)]
        cells.append([pool[i] for i in rng.integers(0, stored, n_draws)])
    return cells


def unlike(rng):
    return (int(rng.integers(0, 10**6)), int(rng.integers(0, 10**6)), bool(rng.random() < 0.5))


def test_picks_from_few_answers_are_wholly_alike_or_unlike():
    rng = np.random.default_rng(1)
    found = stats.repeats_of_fields(picks(rng, 8, 2, 6, unlike), n_resamples=99)
    assert found.p == 0.01
    assert found.fields == (0, 1)
    assert found.telling
    assert 0.35 < found.repeated < 0.65
    fresh = stats.repeats_of_fields(picks(rng, 8, 300, 6, unlike))
    assert (fresh.p, fresh.fields) == (1, (0, 1))


def test_fields_that_are_permuted_in_all_ways_give_the_p_of_the_resamples():
    # One cell of four draws: aabb in both fields. In 8 of 24 orders of the second the pairs agree.
    cell = [("a", 1), ("a", 1), ("b", 2), ("b", 2)]
    others = [[("c", 3)], [(None, 4), None], []]  # a third value, so that the fields can tell
    found = stats.repeats_of_fields([cell, *others], n_resamples=30_000, rng=3)
    assert found.repeated == pytest.approx(2 / 6)
    assert found.n_cells == 1
    assert found.p == pytest.approx(8 / 24, abs=3 * math.sqrt(2 / 9 / 30_000))


def test_three_fields_are_permuted_each_by_itself():
    cell = [("a", 1, "x"), ("a", 1, "x"), ("b", 2, "y")]
    found = stats.repeats_of_fields([cell, [("c", 3, "z")]], n_resamples=30_000, rng=4)
    # The pair of the first field is met by those of both others in a third each.
    assert found.p == pytest.approx(1 / 9, abs=3 * math.sqrt(8 / 81 / 30_000))


def test_two_draws_of_a_cell_say_nothing_by_themselves():
    rng = np.random.default_rng(2)
    assert stats.repeats_of_fields(picks(rng, 30, 2, 2, unlike), n_resamples=99).p == 1


@pytest.mark.parametrize(
    "cells",
    [
        [],
        [[]],
        [[("a", 1)], [("b", 2)]],
        [[("a", 1)] * 3, [("b", 2)] * 3],
    ],
)
def test_without_a_cell_of_two_outputs_nothing_is_told(cells):
    found = stats.repeats_of_fields(cells)
    assert (found.p, found.n_cells, found.fields, found.telling) == (1, 0, (), False)
    assert math.isnan(found.repeated)


def test_actions_alone_cannot_tell_copies_from_habit():
    rng = np.random.default_rng(4)
    cells = picks(rng, 16, 2, 10, lambda g: tuple(bool(x) for x in g.random(6) < 0.5))
    found = stats.repeats_of_fields(cells)
    assert (found.p, found.fields) == (1, ())


def test_a_field_of_two_values_does_not_tell_draws_apart_though_it_differs_in_all_pairs():
    cell = [(1, True), (2, False), (1, True), (2, False)]
    other = [(3, True), (4, False), (3, True), (4, False)]
    assert stats.repeats_of_fields([cell, other]).fields == (0,)


def test_one_field_that_tells_is_not_enough():
    rng = np.random.default_rng(4)
    cells = picks(rng, 16, 2, 10, lambda g: (int(g.integers(0, 10**6)), bool(g.random() < 0.5)))
    found = stats.repeats_of_fields(cells)
    assert (found.p, found.fields, found.telling) == (1, (0,), False)


def test_a_field_tells_draws_apart_from_nine_tenths_of_the_pairs_that_differ():
    # Of ten pairs of five draws one is alike in the first field: nine tenths differ.
    cell = [(0, 5, 0), (0, 6, 1), (1, 7, 2), (2, 8, 0), (3, 9, 0)]
    assert stats.repeats_of_fields([cell]).fields == (0, 1)
    wider = [*cell, (3, 9, 1)]
    assert stats.repeats_of_fields([wider]).fields == (1,)


def test_a_text_that_does_not_tell_draws_apart_speaks_for_the_agent():
    def worded(rng):
        return (*unlike(rng), str(rng.integers(0, 3)))

    cells = picks(np.random.default_rng(6), 8, 2, 6, worded)
    spoken = stats.repeats_of_fields(cells, texts=(3,))
    assert (spoken.p, spoken.fields) == (1, (0, 1))
    assert stats.repeats_of_fields(cells).p < 0.01
    steady = [[(*draw[:3], "the same words") for draw in cell] for cell in cells]
    assert stats.repeats_of_fields(steady, texts=(3,)).p < 0.01  # it never varies: no witness


def test_few_repeats_are_no_sign_of_a_small_store():
    # 6 of 24 pairs are alike in one set, 6 of 25 in the other: a quarter is the least.
    alike = [("a", 1), ("a", 1), ("a", 1), ("b", 2)]  # 3 of 6 pairs
    apart = [(f"x{i}", i) for i in range(3, 7)]  # none of 6
    pair = [("p", 90), ("q", 91)]  # none of 1
    quarter = stats.repeats_of_fields([alike, alike, apart, apart], n_resamples=99)
    assert quarter.repeated == 0.25
    assert quarter.p < 1
    less = stats.repeats_of_fields([alike, alike, apart, apart, pair], n_resamples=99)
    assert less.repeated == 0.24
    assert less.p == 1


def test_draws_must_have_the_same_fields_and_forty_are_enough():
    with pytest.raises(ValueError, match="cells: expected 2 fields a draw, got 1"):
        stats.repeats_of_fields([[("a", 1)], [("b",)]])
    with pytest.raises(ValueError, match="n_resamples"):
        stats.repeats_of_fields([[("a", 1)]], n_resamples=0)
    cell = [(i // 2, i // 2) for i in range(40)]
    assert stats.repeats_of_fields([cell]).repeated == (
        stats.repeats_of_fields([[*cell, (1, 7), (1, 8)]]).repeated
    )
