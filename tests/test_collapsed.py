"""Copies of one answer: which vignettes count once, and that the test keeps its level then."""

import itertools
from fractions import Fraction

import pytest

from pytest_fairmedagent.domain import ReplicateTable, Trajectory, frozen
from pytest_fairmedagent.stats import stratified_test


def said(*answers, **fields):
    """A row of trajectories: what each says, or None where it is incomplete."""
    return [
        Trajectory({"actions": {"referral": a == "yes"}, "note": {"text": a, **fields}})
        if a is not None
        else Trajectory({"actions": {"referral": True}, "note": {"text": "yes"}}, {"x": "lost"})
        for a in answers
    ]


def table(swap, reference, **fields):
    rows = {(f"v{i}", "swap"): row for i, row in enumerate(swap)}
    rows |= {(f"v{i}", "reference"): row for i, row in enumerate(reference)}
    return ReplicateTable(rows, "d", **fields)


def names(n):
    return [f"v{i}" for i in range(n)]


CASES = [
    (("yes", "yes"), ("no", "no"), True),
    (("yes", "yes"), ("yes", "yes"), True),
    (("yes", "yes"), ("yes", "no"), False),
    (("yes", "no"), ("no", "no"), False),
    (("yes",), ("no", "no"), False),
    (("yes", "yes"), (), False),
    (("yes", None), ("no", "no"), False),
    ((None, None), ("no", "no"), False),
    (("yes", "yes", "yes", "maybe"), ("no", "no", "no", "no"), False),
]


@pytest.mark.parametrize(("swap", "reference", "once"), CASES)
def test_a_vignette_collapses_where_whole_outputs_repeat_inside_both_arms(swap, reference, once):
    found = table([said(*swap)], [said(*reference)])
    assert found.collapsed(["v0"], "swap", "reference") == (once,)
    assert found.collapsed(["v0"], "reference", "swap") == (once,)


def test_each_vignette_collapses_by_itself_and_from_so_many_draws_as_asked_for():
    found = table(
        [said("a", "a", "a"), said("a", "b", "a"), said("a", "a")],
        [said("b", "b", "b"), said("a", "a", "a"), said("a", "a", "a")],
    )
    assert found.collapsed(names(3), "swap", "reference") == (True, False, True)
    assert found.collapsed(names(3), "swap", "reference", replicates=3) == (True, False, False)
    assert found.collapsed(names(3), "swap", "reference", replicates=1) == (True, False, True)
    assert found.collapsed([], "swap", "reference") == ()
    assert found.collapsed(["v9"], "swap", "reference") == (False,)


def test_each_arm_of_a_pooled_row_must_repeat_its_own_output():
    rows = [said("a", "a")] * 3
    pooled = [said("b", "b", "c", "c"), said("b", "b", "b", "c"), said("b", "b", "b", "b", "b")]
    sizes = {
        ("v0", "reference"): (2, 2),
        ("v1", "reference"): (2, 2),
        ("v2", "reference"): (4, 1),
    }
    found = table(rows, pooled, blocks=sizes)
    assert found.collapsed(names(3), "swap", "reference") == (True, False, False)
    assert table(rows, pooled).collapsed(names(3), "swap", "reference") == (False, False, True)


def test_copies_count_by_their_first_draw_and_of_one_case_by_its_first_variant():
    swap = [said("yes", "yes"), said("yes", "no"), said("no", "no"), said("yes", "yes")]
    found = table(swap, swap, clusters={"v1": "v0", "v2": "v0"})
    once = found.collapsed(names(4), "swap", "reference")
    assert once == (True, False, True, True)
    counts = found.counts(names(4), "swap", "referral", once=once)
    assert (counts.k, counts.n) == ((1, 1, 0, 1), (1, 2, 0, 1))
    assert counts.missing == (0, 0, 0, 0)
    assert counts.clusters == ("v0", "v0", "v0", "v3")
    plain = found.counts(names(4), "swap", "referral")
    assert (plain.k, plain.n) == ((2, 1, 0, 2), (2, 2, 2, 2))
    assert found.counts(names(4), "swap", "referral", once=(False,) * 4) == plain
    readings = found.readings(names(4), "swap", "referral", once=once)
    assert readings.cells == ((True,), (True, False), (), (True,))
    assert found.readings(names(4), "swap", "referral").n == (2, 2, 2, 2)
    with pytest.raises(ValueError, match="zip"):
        found.counts(names(4), "swap", "referral", once=(True,))


def test_a_pooled_row_counts_by_the_references_own_first_draw():
    found = table([said("no", "no")], [said("yes", "yes", "no", "no")])
    counts = found.counts(["v0"], "reference", "referral", once=(True,))
    assert (counts.k, counts.n) == ((1,), (1,))


def test_a_missing_answer_of_a_copy_is_missing_once():
    rows = {("v0", c): [Trajectory({"note": {"text": "a"}})] * 3 for c in ("swap", "reference")}
    counts = ReplicateTable(rows, "d").counts(["v0"], "swap", "referral", once=(True,))
    assert (counts.k, counts.n, counts.missing) == ((0,), (0,), (1,))
    cut = table([said("a", None, None)], [said("a")]).incomplete(["v0"], "swap")
    assert (cut.k, cut.n, cut.missing) == ((2,), (3,), (0,))


def test_arms_are_the_same_where_all_their_outputs_are_one_in_three_draws():
    same = table([said("a", "a", "a"), said("b", "b", "b")], [said("a", "a", "a"), said(*"bbb")])
    assert same.same_outputs(names(2), "swap", "reference")
    assert not same.same_outputs(names(3), "swap", "reference")
    fewer = table([said("a", "a", "a"), said("a", "a")], [said("a", "a", "a"), said("a", "a")])
    assert not fewer.same_outputs(names(2), "swap", "reference")
    other = table([said("a", "a", "a")], [said("c", "c", "c")])
    assert not other.same_outputs(["v0"], "swap", "reference")
    assert not table([said("a", "a")], [said("a", "a", "a")]).same_outputs(
        ["v0"], "swap", "reference"
    )
    pooled = table(
        [said("a", "a", "a")],
        [said("a", "a", "a", "b", "b", "b")],
        blocks={("v0", "reference"): (3, 3)},
    )
    assert pooled.collapsed(["v0"], "swap", "reference") == (True,)
    assert not pooled.same_outputs(["v0"], "swap", "reference")


def test_equal_outputs_have_one_number_in_every_condition_of_a_vignette():
    found = table([said("a", "b", None, "a"), said("b")], [said("b", "c"), said("b")])
    assert found.whole("v0", "swap") == (0, 1, None, 0)
    assert found.whole("v0", "reference") == (1, 2)
    assert found.whole("v0", "swap", most=2) == (0, 1)
    assert found.whole("v1", "reference") == (0,)
    assert found.whole("v7", "swap") == ()


def test_outputs_are_frozen_into_what_is_equal_where_they_are():
    one = {"a": {"x": [1, 2], "y": None}, "b": {"z": "text"}}
    other = {"b": {"z": "text"}, "a": {"y": None, "x": (1, 2)}}
    assert frozen(one) == frozen(other)
    assert hash(frozen(one)) == hash(frozen(other))
    assert frozen(one) != frozen({**one, "b": {"z": "texts"}})
    assert frozen([1, 2]) != frozen([2, 1])
    assert frozen({"x": {1}}) == frozenset({("x", "{1}")})  # what cannot be hashed, as it is shown


# --- the level, by enumeration ------------------------------------------------------------------


def cells(rate, sizes):
    """Every outcome of one vignette, {(k, m, j, n): chance}, with copies counted once.

    Draws are yes or no and nothing else is answered; `sizes` are the draws of the swap, of the
    reference and, if there are three, of the re-render that is pooled into it.
    """
    found = {}
    for draws in itertools.product((0, 1), repeat=sum(sizes)):
        chance, ends = Fraction(1), [0, *itertools.accumulate(sizes)]
        for x in draws:
            chance *= rate if x else 1 - rate
        arms = [draws[a:b] for a, b in itertools.pairwise(ends)]
        said_in = {"swap": arms[0], "reference": tuple(itertools.chain(*arms[1:]))}
        words = {name: said(*("yes" if x else "no" for x in arm)) for name, arm in said_in.items()}
        blocks = {("v0", "reference"): tuple(sizes[1:])}
        one = table([words["swap"]], [words["reference"]], blocks=blocks)
        once = one.collapsed(["v0"], "swap", "reference")
        k, m, j, n = (
            value[0]
            for arm in ("swap", "reference")
            for value in (
                one.counts(["v0"], arm, "referral", once=once).k,
                one.counts(["v0"], arm, "referral", once=once).n,
            )
        )
        found[k, m, j, n] = found.get((k, m, j, n), 0) + chance
    return found


@pytest.mark.parametrize(
    ("rates", "replicates"),
    [
        (("1/2", "1/2", "1/2"), 2),
        (("1/10", "1/2", "9/10"), 2),
        (("1/5", "1/5", "1/5"), 2),
        (("1/10", "1/2"), 3),
        (("4/5", "9/10"), 3),
    ],
)
def test_the_exact_test_keeps_its_level_where_copies_count_once(rates, replicates):
    laws = [cells(Fraction(rate), (replicates, replicates)) for rate in rates]
    of_p = {}
    for drawn in itertools.product(*(law.items() for law in laws)):
        counts = list(zip(*(cell for cell, _ in drawn), strict=True))
        chance = 1.0
        for _, part in drawn:
            chance *= float(part)
        p = round(stratified_test(*counts).p, 12)
        of_p[p] = of_p.get(p, 0.0) + chance
    total = 0.0
    for p in sorted(of_p):
        total += of_p[p]
        assert total <= p + 1e-9
    assert total == pytest.approx(1)


@pytest.mark.parametrize("rate", ["1/10", "1/2", "4/5"])
def test_copies_that_count_once_favour_neither_arm_with_a_pooled_reference(rate):
    law = cells(Fraction(rate), (2, 2, 2))
    assert sum(law.values()) == 1
    lean = sum(chance * (k - Fraction(m * (k + j), m + n)) for (k, m, j, n), chance in law.items())
    assert lean == 0
    # Asking that all draws of the pooled row are one output would favour the rarer answer.
    one = {
        (k, m, j, n): (k / m, 1, j / n, 1) if k in (0, m) and j in (0, n) else (k, m, j, n)
        for k, m, j, n in itertools.product(range(3), (2,), range(5), (4,))
    }
    plain = {}
    for draws in itertools.product((0, 1), repeat=6):
        key = one[sum(draws[:2]), 2, sum(draws[2:]), 4]
        chance = Fraction(rate) ** sum(draws) * (1 - Fraction(rate)) ** (6 - sum(draws))
        plain[key] = plain.get(key, 0) + chance
    tilted = sum(float(c) * (k - m * (k + j) / (m + n)) for (k, m, j, n), c in plain.items())
    assert (abs(tilted) > 1e-4) == (rate != "1/2")
