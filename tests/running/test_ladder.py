"""The concurrency that is measured: one number before the first trial, kept for the series."""

import threading
import time
from dataclasses import replace
from itertools import count

import pytest

from pytest_fairmedagent.agents.clinical import ClinicalAgent
from pytest_fairmedagent.agents.http import HttpAgent
from pytest_fairmedagent.agents.user import UserAgent
from pytest_fairmedagent.domain import ACTIONS, Family, Plan
from pytest_fairmedagent.errors import OVERLOADED, RATE_LIMITED, ModelError, PlanError, StoreError
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.models.base import Reply
from pytest_fairmedagent.models.simulated import SimulatedModel, Truth
from pytest_fairmedagent.running import concurrency, ladder
from pytest_fairmedagent.running.budget import Budget, Estimate
from pytest_fairmedagent.running.concurrency import Concurrency
from pytest_fairmedagent.running.ladder import Measured, Rung, measure
from pytest_fairmedagent.running.store import Store
from pytest_fairmedagent.study import Study
from pytest_fairmedagent.testing import blank_vignettes

CATALOGUE = read_swaps()
CASES = blank_vignettes(2)
FAMILY = Family("f", ("race_black",), tuple(ACTIONS), tuple(CASES), replicates=2)
PLAN = Plan((FAMILY,), "reference", ("rerender",))
PORT = count(20_000)


class Server(SimulatedModel):
    """A simulated model behind a server: `slots` calls are answered at once, others wait."""

    def __init__(self, slots=1000, latency_s=0.0, fault=lambda under_way: None):
        super().__init__("m", Truth(), CATALOGUE)
        self.endpoints = (f"http://127.0.0.1:{next(PORT)}",)  # of its own, so that no test waits
        self.workers = 4
        self.asked = []
        self._free = threading.Semaphore(slots)
        self._latency_s, self._fault = latency_s, fault
        self._guard, self._under_way = threading.Lock(), 0

    def chat(self, request, worker):
        with self._guard:
            self.asked.append(request)
            self._under_way += 1
            error = self._fault(self._under_way)
        try:
            if error:
                time.sleep(0.02)  # those that come together meet it together
                raise error
            with self._free:
                time.sleep(self._latency_s)
        finally:
            with self._guard:
                self._under_way -= 1
        if request.stage == "warm-up":
            return Reply('{"largest": 1, "smallest": 0}', input_tokens=300, output_tokens=8)
        return super().chat(request, worker)


def climbed(monkeypatch, rates, faults=()):
    """Let the rungs have these rates, in calls a second."""
    by_number = {2**i: rate for i, rate in enumerate(rates)}

    def climb(model, under_way, replies):
        replies += [Reply("")] * 8
        return Rung(under_way, 8, 8 / by_number[under_way], dict(faults).get(under_way, ""))

    monkeypatch.setattr(ladder, "_climb", climb)


@pytest.mark.parametrize(
    ("rates", "workers"),
    [
        ([1, 1.02], 1),  # one slot: twice as many only wait
        ([1, 1.9, 3.5, 3.6], 4),
        ([1, 2, 4, 8, 16, 32], 32),
        ([1, 0.5], 1),
        ([1, 1.3, 1.6], 2),
    ],
)
def test_the_last_doubling_that_was_worth_it_is_taken(monkeypatch, rates, workers):
    climbed(monkeypatch, rates)
    found = measure(Server(), most_calls=500)
    assert found.workers == workers
    assert [rung.rate for rung in found.rungs] == pytest.approx(rates)
    assert found.calls == 1 + 8 * len(rates)


def test_a_number_that_met_a_rate_limit_is_not_taken_however_fast_it_was(monkeypatch):
    climbed(monkeypatch, [1, 2, 100], {4: RATE_LIMITED}.items())
    found = measure(Server(), most_calls=500)
    assert found.workers == 2
    assert "4: rate limited" in str(found)


@pytest.mark.parametrize(("most_calls", "workers"), [(0, 2), (16, 2), (17, 4), (33, 8)])
def test_no_more_calls_are_made_than_the_plan_is_worth(monkeypatch, most_calls, workers):
    monkeypatch.setattr(ladder, "RISES", 0.0)
    server = Server()
    assert measure(server, most_calls=most_calls).workers == workers
    assert len(server.asked) <= max(9, most_calls)


def test_a_server_with_two_slots_is_asked_two_or_little_more_at_once():
    server = Server(slots=2, latency_s=0.1)
    found = measure(server, most_calls=500)
    # 4 only if the rung before was held up by a quarter of its time.
    assert found.workers in (2, 4)
    assert found.calls == len(server.asked) == 1 + sum(rung.calls for rung in found.rungs)
    assert (found.input_tokens, found.output_tokens) == (300 * found.calls, 8 * found.calls)


@pytest.mark.parametrize("kind", [RATE_LIMITED, OVERLOADED])
def test_a_passing_fault_ends_the_climb_below_it(monkeypatch, kind):
    monkeypatch.setattr(ladder, "RISES", 0.0)

    def fault(under_way):
        return ModelError("busy", kind=kind, transient=True) if under_way > 2 else None

    found = measure(Server(latency_s=0.02, fault=fault), most_calls=500)
    assert found.workers == 2
    assert [rung.fault for rung in found.rungs] == ["", "", kind]


def test_a_fault_that_cannot_pass_is_raised(monkeypatch):
    def fault(under_way):
        return ModelError("no such key") if under_way > 1 else None

    monkeypatch.setattr(ladder, "RISES", 0.0)
    with pytest.raises(ModelError, match="no such key"):
        measure(Server(latency_s=0.02, fault=fault), most_calls=500)


def test_the_prompts_are_no_trial_and_no_two_are_alike():
    server = Server()
    found = measure(server, most_calls=40)
    assert len({request.messages for request in map(_frozen, server.asked)}) == found.calls
    text = str([request.messages for request in server.asked]).lower()
    assert not any(word in text for word in ("patient", "fair", "race", "case"))


def _frozen(request):
    return type(
        "Frozen", (), {"messages": tuple(tuple(sorted(m.items())) for m in request.messages)}
    )


# The number of a run


def study(tmp_path, model, *, agent=None, how=None, **changes):
    found = Study(PLAN, CASES, CATALOGUE, agent or ClinicalAgent(), model, Store(tmp_path))
    for name, value in changes.items():
        setattr(found, name, value)
    found.concurrency = how or Concurrency(measure=True)
    return found


@pytest.fixture
def measured(monkeypatch):
    """Lets the measurements come to the numbers of a list, and counts them."""

    def give(*numbers):
        left, made = iter(numbers), []

        def instead(model, *, most_calls):
            made.append(most_calls)
            return Measured(next(left), (Rung(1, 4, 2.0),), 4, 1200, 32)

        monkeypatch.setattr(concurrency, "measure", instead)
        return made

    return give


def test_the_run_is_drawn_at_the_measured_number_and_says_how_it_came_to_it(tmp_path, measured):
    made = measured(8)
    found = study(tmp_path, Server())
    found.sample(FAMILY.members)
    assert (found.info.workers, found.info.configuration["workers"]) == (8, 8)
    assert found.info.concurrency["measured"]["rungs"][0]["rate"] == 2.0
    assert found.info.concurrency["notes"] == [
        "measured: 8 calls at once, of 4 to measure it (1: 2/s)"
    ]
    assert made == [5 * 2 * 3 * 2 // 10]


def test_the_calls_of_the_measurement_count_in_the_run_that_made_it_and_in_its_budget(
    tmp_path, measured
):
    measured(8, 8)
    n_calls, budget = 5 * 2 * 3 * 2, Budget(max_calls=64)
    found = study(tmp_path, Server(), budget=budget, estimate=Estimate(calls=5))
    found.sample(FAMILY.members)
    assert found.info.calls == n_calls + 4
    assert (found.info.input_tokens, found.info.output_tokens) >= (1200, 32)
    with pytest.raises(PlanError, match="4 calls are made"):
        study(
            tmp_path / "other", Server(), budget=Budget(max_calls=63), estimate=Estimate(calls=5)
        ).sample(FAMILY.members)


def test_a_budget_too_small_for_a_floor_is_refused_before_anything_is_measured(tmp_path, measured):
    made = measured(8)
    server = Server()
    with pytest.raises(PlanError, match="fewer than 2 whole rounds"):
        study(tmp_path, server, budget=Budget(max_calls=59), estimate=Estimate(calls=5)).sample(
            FAMILY.members
        )
    assert (made, server.asked) == ([], [])


def test_a_measurement_takes_no_larger_share_of_a_budget_than_of_a_plan(tmp_path, measured):
    made = measured(8)
    big = Plan((replace(FAMILY, replicates=20),), "reference", ("rerender",))
    found = study(tmp_path, Server(), plan=big, budget=Budget(max_calls=80))
    found.estimate = Estimate(calls=5)
    found.sample(big.families[0].members)
    assert made == [8]
    assert found.info.calls <= 80


def test_a_later_start_keeps_the_number_and_the_series_though_it_would_measure_another(
    tmp_path, measured
):
    made = measured(8, 3)
    first = study(tmp_path, Server())
    first.sample(FAMILY.members)
    second = study(tmp_path, Server())
    second.sample(FAMILY.members)
    assert len(made) == 1
    assert (second.info.drawn, second.info.workers) == (0, 8)
    assert second.info.config_digest == first.info.config_digest


def test_a_fresh_start_measures_anew_and_its_processes_take_what_the_first_found(
    tmp_path, measured
):
    made = measured(8, 3, 5)
    study(tmp_path, Server()).sample(FAMILY.members)
    for _ in range(2):
        again = study(tmp_path, Server(), fresh="monday")
        again.sample(FAMILY.members)
        assert again.info.workers == 3
    assert len(made) == 2
    plain = study(tmp_path, Server())  # goes on with the newest series
    plain.sample(FAMILY.members)
    assert (plain.info.workers, plain.info.drawn) == (3, 0)


def test_another_configuration_is_measured_by_itself(tmp_path, measured):
    made = measured(8, 3)
    study(tmp_path, Server()).sample(FAMILY.members)
    other = Server()
    other.truth = Truth(seed=5)
    found = study(tmp_path, other)
    found.sample(FAMILY.members)
    assert (len(made), found.info.workers) == (2, 3)


def test_of_processes_that_start_together_one_measures_and_they_share_the_number(
    tmp_path, monkeypatch
):
    made = []

    def slowly(model, *, most_calls):
        made.append(most_calls)
        time.sleep(0.1)
        return Measured(8, (), 0, 0, 0)

    monkeypatch.setattr(concurrency, "measure", slowly)
    how = Concurrency(measure=True, processes=3)
    studies = [study(tmp_path, Server(), how=how) for _ in range(3)]
    threads = [threading.Thread(target=s.sample, args=(FAMILY.members,)) for s in studies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert [s.model.workers for s in studies] == [2, 2, 2]
    assert [s.info.workers for s in studies] == [8, 8, 8]  # what the server has to do with
    assert len({s.info.config_digest for s in studies}) == 1


def test_offline_nothing_is_measured_and_the_number_is_that_of_the_run(tmp_path, measured):
    made = measured(8)
    with pytest.raises(StoreError, match="holds no run of"):
        study(tmp_path, Server(), offline=True).sample(FAMILY.members)
    assert made == []
    study(tmp_path, Server()).sample(FAMILY.members)
    again = study(tmp_path, Server(), offline=True)
    again.sample(FAMILY.members)
    assert (len(made), again.info.drawn, again.info.workers) == (1, 0, 8)
    assert again.info.concurrency["measured"]["calls"] == 4


def test_an_agent_that_asks_in_its_own_way_needs_a_number(tmp_path, measured):
    measured(8)
    agent = UserAgent(lambda case: {"admission": True})
    for model in (Server(), SimulatedModel("m", Truth(), CATALOGUE)):
        with pytest.raises(PlanError, match="give a number"):
            study(tmp_path, model, agent=agent).sample(FAMILY.members)


def test_a_model_in_this_process_has_its_cores_and_nothing_to_measure(tmp_path, measured):
    made = measured(8)
    found = study(tmp_path, SimulatedModel("m", Truth(), CATALOGUE))
    found.sample(FAMILY.members)
    assert (made, found.info.workers, found.info.concurrency["measured"]) == ([], 1, None)


def test_a_second_run_on_the_same_server_is_refused_before_it_asks_anything(tmp_path, monkeypatch):
    from pytest_fairmedagent.running import drawing, endpoints

    monkeypatch.setattr(drawing, "held", lambda *a, **k: endpoints.held(*a, **k, wait_s=0.05))
    model = Server()
    notes = []
    with (
        endpoints.held(model.endpoints, start="another"),
        pytest.raises(ModelError, match="is being asked by another run: process"),
    ):
        study(tmp_path, model).sample(FAMILY.members, lambda p: notes.append(p.note))
    assert model.asked == []
    assert notes
    assert notes[0].startswith("waits for the server: process ")
    with endpoints.held(model.endpoints, start="another"):
        found = study(tmp_path, model, how=Concurrency(share=True))
        found.sample(FAMILY.members)
    assert "shared with another run: process" in found.info.concurrency["notes"][0]


def test_an_agent_behind_http_on_this_machine_is_asked_by_one_run_at_a_time(tmp_path, monkeypatch):
    from pytest_fairmedagent.running import drawing, endpoints

    monkeypatch.setattr(drawing, "held", lambda *a, **k: endpoints.held(*a, **k, wait_s=0.05))
    url = f"http://127.0.0.1:{next(PORT)}"
    agent = UserAgent(HttpAgent(f"{url}/decide", version="1"))
    model = SimulatedModel("m", Truth(), CATALOGUE)
    with (
        endpoints.held([f"{url}/other"], start="another"),
        pytest.raises(ModelError, match="is being asked by another run: process"),
    ):
        study(tmp_path, model, agent=agent, how=Concurrency()).sample(FAMILY.members)
