"""Calls under way: never more than the limit, halved by a rate limit, back after answers."""

import threading
import time

import pytest

from pytest_fairmedagent.running.throttle import RECOVER_AFTER, Throttle


def answer(throttle, n=1):
    for _ in range(n):
        throttle.leave(throttle.enter(0), answered=True)


def test_a_rate_limit_halves_the_limit_down_to_one():
    throttle, limits = Throttle(8), []
    for _ in range(5):
        throttle.leave(throttle.enter(0), limited=True)
        limits.append(throttle.limit)
    assert limits == [4, 2, 1, 1, 1]


def test_calls_that_were_refused_together_halve_it_once():
    throttle = Throttle(8)
    for ticket in [throttle.enter(0) for _ in range(8)]:
        throttle.leave(ticket, limited=True)
    assert throttle.limit == 4


def test_it_comes_back_by_one_for_every_stretch_of_answers_and_no_further_than_it_was():
    throttle = Throttle(4)
    throttle.leave(throttle.enter(0), limited=True)
    answer(throttle, RECOVER_AFTER - 1)
    assert throttle.limit == 2
    answer(throttle)
    assert throttle.limit == 3
    answer(throttle, 10 * RECOVER_AFTER)
    assert throttle.limit == 4


def test_another_rate_limit_starts_the_stretch_anew():
    throttle = Throttle(4)
    throttle.leave(throttle.enter(0), limited=True)
    answer(throttle, RECOVER_AFTER - 1)
    throttle.leave(throttle.enter(0), limited=True)
    answer(throttle, RECOVER_AFTER - 1)
    assert throttle.limit == 1


def test_other_faults_change_nothing():
    throttle = Throttle(4)
    for _ in range(50):
        throttle.leave(throttle.enter(0))
    assert throttle.limit == 4


def test_who_finds_no_place_gets_none_within_the_time():
    throttle = Throttle(1)
    assert throttle.enter(0) is not None
    assert throttle.enter(0.01) is None


def test_after_a_cut_those_under_way_end_and_only_then_others_start():
    throttle = Throttle(4)
    tickets = [throttle.enter(0) for _ in range(4)]
    throttle.leave(tickets[0], limited=True)
    assert throttle.enter(0) is None
    throttle.leave(tickets[1], answered=True)
    assert throttle.enter(0) is None
    throttle.leave(tickets[2], answered=True)
    assert throttle.enter(0) is not None


@pytest.mark.parametrize("most", [1, 3])
def test_many_threads_never_exceed_it_and_all_get_their_turn(most):
    throttle, guard = Throttle(most), threading.Lock()
    under_way, peak, done = 0, 0, 0

    def work():
        nonlocal under_way, peak, done
        for _ in range(20):
            ticket = throttle.enter(10)
            with guard:
                under_way += 1
                peak = max(peak, under_way)
            time.sleep(0.0002)
            with guard:
                under_way -= 1
                done += 1
            throttle.leave(ticket, answered=True)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert (peak, done) == (most, 160)


def test_what_a_rate_limit_did_is_told_with_the_share_of_every_arm():
    throttle = Throttle(8)
    throttle.count("reference")
    throttle.leave(throttle.enter(0), limited=True)
    throttle.leave(throttle.enter(0), limited=True)
    assert (throttle.limit, throttle.lowest, throttle.shrunk) == (2, 2, True)
    throttle.count("reference")
    throttle.count("race_black")
    answer(throttle, 10 * RECOVER_AFTER)
    throttle.count("race_black")
    throttle.count("race_black")
    assert (throttle.limit, throttle.lowest, throttle.shrunk) == (8, 2, False)
    assert throttle.note() == (
        "a rate limit cut the calls under way from 8 to 2; 2 of 5 calls were made below 8: "
        "33% (race_black) to 50% (reference) of an arm's"
    )


def test_a_run_without_a_rate_limit_has_nothing_to_tell():
    throttle = Throttle(8)
    throttle.count("reference")
    throttle.leave(throttle.enter(0))
    assert throttle.note() == ""
