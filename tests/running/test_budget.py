"""Money: a run stops between whole rounds, and what is not known is never 0."""

import threading
import time
from dataclasses import replace

import pytest

from pytest_fairmedagent.agents.clinical import ClinicalAgent
from pytest_fairmedagent.domain import Family, Plan, Trajectory
from pytest_fairmedagent.errors import FileFormatError, ModelError, PlanError
from pytest_fairmedagent.files.prices import SHIPPED, PricesFile, price_of
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.files.toml import TomlFile
from pytest_fairmedagent.models.base import Reply
from pytest_fairmedagent.models.simulated import SimulatedModel, Truth
from pytest_fairmedagent.plugin.progress import _text
from pytest_fairmedagent.running import sampler
from pytest_fairmedagent.running.budget import Budget, Estimate, Spent
from pytest_fairmedagent.running.drawn import Drawn
from pytest_fairmedagent.running.store import Store
from pytest_fairmedagent.study import Study
from pytest_fairmedagent.testing import blank_vignettes

CATALOGUE = read_swaps()
CASES = blank_vignettes(4)
FAMILY = Family("f", ("race_black",), ("admission",), tuple(CASES), replicates=6)
PLAN = Plan((FAMILY,), "reference", ("rerender",))
ROUND = 4 * 3  # cases, arms
WORST = 10  # five stages, each with one repair

TABLE = """
schema = 1
[[price]]
model = "simulated/dear"
input = 10.0
output = 100.0
cache_read = 1.0
source = "a test"
read = 2026-11-30
"""


class Counting(SimulatedModel):
    """A simulated model whose replies have tokens."""

    def __init__(self):
        super().__init__("m", Truth(), CATALOGUE)

    def chat(self, request, worker):
        reply = super().chat(request, worker)
        return Reply(reply.text, input_tokens=1000, output_tokens=10, cache_read_tokens=400)


@pytest.fixture
def price(tmp_path):
    file = tmp_path / "prices.toml"
    file.write_text(TABLE)
    found = price_of("simulated/dear", (file,))
    assert found is not None
    return found


def study(folder, budget, tokens=None):
    found = Study(PLAN, CASES, CATALOGUE, ClinicalAgent(), Counting(), Store(folder), budget=budget)
    found.estimate = Estimate(WORST, tokens)
    return found


def lengths(found):
    return {len(row) for row in found.table.rows.values()}


def test_a_limit_of_calls_is_never_passed_and_leaves_all_arms_equally_long(tmp_path):
    limit = 5 * ROUND * 2 + WORST * ROUND + 7  # two rounds, room for a third, not for a fourth
    found = study(tmp_path, Budget(max_calls=limit))
    found.sample(FAMILY.members)
    assert lengths(found) == {3}
    assert found.info.calls <= limit
    assert f"--fairmed-max-calls={limit}" in found.info.ended
    assert (found.info.complete, found.info.replicates) == (False, 3)


def test_a_run_that_had_to_end_is_judged_at_the_rounds_it_has(tmp_path):
    found = study(tmp_path, Budget(max_calls=WORST * ROUND * 2))
    found.sample(FAMILY.members)
    [verdict] = found.judge().verdicts
    assert verdict.look == 3
    assert verdict.comparison.swap.n == (3,) * len(CASES)
    assert verdict.status != "UNMEASURED"


def test_a_budget_too_small_for_a_floor_is_refused_before_the_first_call(tmp_path):
    found = study(tmp_path, Budget(max_calls=WORST * ROUND * 2 - 1))
    with pytest.raises(PlanError, match="fewer than 2 whole rounds"):
        found.sample(FAMILY.members)
    assert found.store.calls_made == 0


def test_dollars_are_counted_by_the_table_with_cached_tokens_at_their_own_price(tmp_path, price):
    found = study(tmp_path / "s", Budget(price=price))
    found.sample(FAMILY.members)
    each = (600 * 10 + 400 * 1 + 10 * 100) / 1e6
    assert found.info.spent_usd == pytest.approx(6 * ROUND * 5 * each)


def test_a_limit_of_dollars_stops_before_the_round_that_would_pass_it(tmp_path, price):
    trial = 5 * (600 * 10 + 400 * 1 + 10 * 100) / 1e6
    found = study(tmp_path / "s", Budget(max_usd=4.5 * ROUND * trial, price=price), Spent(5, 5, 5))
    found.sample(FAMILY.members)
    assert lengths(found) == {4}
    assert found.info.spent_usd <= 4.5 * ROUND * trial


def test_dollars_of_a_server_that_does_not_say_what_it_took_are_unknown_and_no_limit(
    tmp_path, price
):
    class Silent(Counting):
        def chat(self, request, worker):
            return Reply(super().chat(request, worker).text)

    found = study(tmp_path / "s", Budget(price=price))
    found.model = Silent()
    lines = []
    found.sample(FAMILY.members, lambda progress: lines.append(_text(progress, "m")))
    assert found.info.spent_usd is None
    assert "$" not in lines[-1]
    assert f", {6 * ROUND * 5} calls, " in lines[-1]
    limited = study(tmp_path / "t", Budget(max_usd=5.0, price=price), Spent(5, 5, 5))
    limited.model = Silent()
    with pytest.raises(PlanError, match="does not say how many tokens its answers took"):
        limited.sample(FAMILY.members)


def test_what_was_answered_before_a_trial_was_lost_is_paid_for_and_counted_once(
    tmp_path, price, monkeypatch
):
    monkeypatch.setattr(sampler, "with_retries", lambda call, **_: call())

    class Lost(Counting):
        n = 0

        def chat(self, request, worker):
            self.n += 1
            if self.n == 5:  # after four stages of the first trial
                raise ModelError("the line", transient=True)
            return super().chat(request, worker)

    each = (600 * 10 + 400 * 1 + 10 * 100) / 1e6
    first = study(tmp_path / "s", Budget(price=price))
    first.model = Lost()
    first.sample(FAMILY.members)
    assert first.info.spent_usd == pytest.approx((6 * ROUND * 5 - 1) * each)
    again = study(tmp_path / "s", Budget(price=price))
    again.sample(FAMILY.members)
    assert again.info.complete
    assert again.info.spent_usd == pytest.approx(6 * ROUND * 5 * each)


class Dearer(Counting):
    """Each of its answers takes more than the one before."""

    n = 0

    def chat(self, request, worker):
        self.n += 1
        time.sleep(0.0005)
        return replace(super().chat(request, worker), output_tokens=self.n)


def test_processes_that_share_a_run_end_it_after_the_same_round(tmp_path, price):
    Store(tmp_path / "s").close()
    found = [
        study(tmp_path / "s", Budget(max_usd=3.0, price=price), Spent(5, 5000, 50, 2000))
        for _ in range(2)
    ]
    for one in found:
        one.model = Dearer()
    threads = [threading.Thread(target=one.sample, args=(FAMILY.members,)) for one in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert lengths(found[0]) == lengths(found[1])
    assert found[0].info.replicates == found[1].info.replicates < 6


def test_a_round_that_another_process_has_begun_is_drawn_to_its_end(tmp_path, monkeypatch):
    real = Drawn.found

    def found(drawn):  # another process draws a trial of the fourth round, once the third is over
        there = real(drawn)
        if len(there) == 3 * ROUND:
            place = next(place for trial, place in drawn.places.items() if trial.replicate == 3)
            drawn.store.claim(drawn.run, place)
            drawn.store.complete(drawn.run, place, Trajectory({"triage": {}}, calls=5))
        return real(drawn)

    monkeypatch.setattr(Drawn, "found", found)
    one = study(tmp_path, Budget(max_calls=WORST * ROUND * 2))
    one.sample(FAMILY.members)
    assert lengths(one) == {4}
    assert one.info.replicates == 4


def test_more_money_after_a_look_is_more_draws_after_a_look(tmp_path):
    study(tmp_path, Budget(max_calls=WORST * ROUND * 2)).sample(FAMILY.members)
    again = study(tmp_path, Budget())
    again.sample(FAMILY.members)
    assert again.info.complete
    assert again.info.earlier_looks == (3,)


def test_the_same_budget_again_draws_nothing_more_and_says_the_same(tmp_path):
    first = study(tmp_path, Budget(max_calls=WORST * ROUND * 2))
    first.sample(FAMILY.members)
    again = study(tmp_path, Budget(max_calls=WORST * ROUND * 2))
    again.sample(FAMILY.members)
    assert again.info.drawn == 0
    [verdict], [before] = again.judge().verdicts, first.judge().verdicts
    assert verdict.explain() == before.explain()


def test_no_price_is_unknown_and_not_nothing(tmp_path):
    assert price_of("ollama/llama3.1:8b") is None
    found = study(tmp_path, Budget())
    found.sample(FAMILY.members)
    assert found.info.spent_usd is None


def test_every_shipped_price_has_a_source_and_a_date_and_names_one_model():
    entries = TomlFile(SHIPPED).parse(PricesFile).price
    assert len({entry.model for entry in entries}) == len(entries)
    for entry in entries:
        assert entry.source
        assert price_of(entry.model).model == entry.model
        assert price_of(f"{entry.model}-20250929").model == entry.model
        assert entry.output >= entry.input > 0


def test_a_name_that_goes_on_is_another_model():
    assert price_of("openai/gpt-4o-mini").input < price_of("openai/gpt-4o").input
    assert price_of("openai/gpt-4o-audio") is None
    assert price_of("anthropic/claude-opus-4-5", shipped=False) is None


def test_a_price_table_with_a_mistake_names_file_and_line(tmp_path):
    file = tmp_path / "prices.toml"
    file.write_text(TABLE.replace("output = 100.0", "output = -1.0"))
    with pytest.raises(FileFormatError, match=r"prices\.toml:6"):
        price_of("simulated/dear", (file,))
