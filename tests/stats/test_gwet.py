"""AC1 against hand counts, a jackknife, and repeated samples of known agreement."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pytest_fairmedagent.stats.gwet import ac1


def test_a_table_by_hand():
    # 10 cases, 8 agree: 7 yes, 1 no; 2 apart. Share of yes 0.8; chance 2 * 0.8 * 0.2 = 0.32.
    answers = [["y", "y"]] * 7 + [["n", "n"]] + [["y", "n"]] * 2
    found = ac1(answers, ["y", "n"])
    assert found.agreement == pytest.approx(0.8)
    assert found.value == pytest.approx((0.8 - 0.32) / (1 - 0.32))
    assert (found.n, found.n_raters) == (10, 2)


def test_full_agreement_is_1_where_kappa_would_be_nothing():
    found = ac1([["y", "y", "y"]] * 6, ["y", "n"])
    assert found.value == 1
    assert found.interval() == (1, 1)


def test_the_standard_error_is_that_of_a_jackknife():
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 3, 80)
    answers = [
        [t if rng.random() < 0.8 else int(rng.integers(0, 3)) for _ in range(3)] for t in truth
    ]
    answers[3][1] = answers[7][0] = None
    whole = ac1(answers, [0, 1, 2])
    left = [ac1(answers[:i] + answers[i + 1 :], [0, 1, 2]).value for i in range(len(answers))]
    n = len(left)
    jackknife = math.sqrt((n - 1) / n * sum((v - np.mean(left)) ** 2 for v in left))
    assert whole.se == pytest.approx(jackknife, rel=0.05)


def test_the_interval_covers_the_value_of_the_population():
    """600 samples of 60 cases: 95% within three standard errors of the share, 0.009."""
    rng = np.random.default_rng(11)

    def draw(n):
        same = rng.random(n) < 0.7
        first = rng.random(n) < 0.8
        second = np.where(same, first, rng.random(n) < 0.8)
        return np.column_stack([first, second]).tolist()

    agreed = 0.7 + 0.3 * (0.64 + 0.04)
    truth = (agreed - 0.32) / 0.68
    inside = 0
    for _ in range(600):
        low, high = ac1(draw(60), [True, False]).interval()
        inside += low <= truth <= high
    assert 0.92 <= inside / 600 <= 0.98


def test_what_nobody_judged_twice_is_no_agreement():
    found = ac1([["y", None], [None, "n"]], ["y", "n"])
    assert math.isnan(found.value)
    assert found.n == 0
    assert found.interval() == (-1, 1)


@pytest.mark.parametrize(("answers", "labels"), [([["z"]], ["y", "n"]), ([["y"]], ["y"])])
def test_an_unknown_answer_and_a_single_label_are_refused(answers, labels):
    with pytest.raises(ValueError, match="labels"):
        ac1(answers, labels)
