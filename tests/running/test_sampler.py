"""Drawing: every trial ends as a result or as missing with its reason; no finished call is lost."""

import json
import sqlite3
import threading
import time

import pytest

from pytest_fairmedagent.agents.clinical import ClinicalAgent
from pytest_fairmedagent.domain import ACTIONS, Family, Plan
from pytest_fairmedagent.errors import (
    CONNECTION_LOST,
    OVERLOADED,
    RATE_LIMITED,
    TIMEOUT,
    ModelError,
)
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.models.base import Reply
from pytest_fairmedagent.models.simulated import SimulatedModel, Truth
from pytest_fairmedagent.running import sampler as sampler_module
from pytest_fairmedagent.running import throttle
from pytest_fairmedagent.running.store import Store
from pytest_fairmedagent.study import Study
from pytest_fairmedagent.testing import blank_vignettes

CATALOGUE = read_swaps()
CASES = blank_vignettes(3)
FAMILY = Family("f", ("race_black",), tuple(ACTIONS), tuple(CASES), replicates=4)
PLAN = Plan((FAMILY,), "reference", ("rerender",))
N_TRIALS = 3 * 3 * 4


class Faulty(SimulatedModel):
    """A simulated model whose calls go through `fault(n, request)` first; n counts from 1."""

    def __init__(self, fault, workers=1):
        super().__init__("faulty", Truth(), CATALOGUE)
        self.workers = workers
        self.requests = []
        self._fault = fault
        self._guard = threading.Lock()

    def chat(self, request, worker):
        with self._guard:
            self.requests.append(request)
            n = len(self.requests)
        answer = self._fault(n, request)
        return answer if answer is not None else super().chat(request, worker)


def study(tmp_path, model, **changes):
    return Study(PLAN, CASES, CATALOGUE, ClinicalAgent(), model, Store(tmp_path), **changes)


def once(call, **_):
    """In place of `with_retries`."""
    return call()


def n_calls(tmp_path):
    with sqlite3.connect(tmp_path / "runs.sqlite") as db:
        return db.execute("SELECT count(*) FROM calls").fetchone()[0]


def n_outputs(found):
    return [t.outputs for row in found.table.rows.values() for t in row]


def test_every_trial_of_the_plan_is_drawn_with_five_calls(tmp_path):
    found = study(tmp_path, SimulatedModel("m", Truth(), CATALOGUE))
    found.sample(FAMILY.members)
    assert found.info.complete
    assert (found.info.drawn, found.info.calls) == (N_TRIALS, 5 * N_TRIALS)
    assert all(len(row) == 4 for row in found.table.rows.values())


def test_a_second_start_draws_nothing_and_finds_the_same(tmp_path):
    first = study(tmp_path, SimulatedModel("m", Truth(), CATALOGUE))
    first.sample(FAMILY.members)
    model = Faulty(lambda n, request: pytest.fail("a call was repeated"))
    model.name = "m"
    again = study(tmp_path, model)
    again.sample(FAMILY.members)
    assert (again.info.drawn, again.info.earlier) == (0, N_TRIALS)
    assert n_outputs(again) == n_outputs(first)


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path):
    def interrupt(n, request):
        if n == 42:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        study(tmp_path, Faulty(interrupt)).sample(FAMILY.members)
    assert n_calls(tmp_path) == 41
    model = Faulty(lambda n, request: None)
    resumed = study(tmp_path, model)
    resumed.sample(FAMILY.members)
    assert len(model.requests) == 5 * N_TRIALS - 41
    undisturbed = study(tmp_path / "other", SimulatedModel("m", Truth(), CATALOGUE))
    undisturbed.sample(FAMILY.members)
    assert n_outputs(resumed) == n_outputs(undisturbed)


def test_with_many_workers_no_call_is_made_twice(tmp_path):
    model = Faulty(lambda n, request: time.sleep(0.0005), workers=8)
    found = study(tmp_path, model)
    found.sample(FAMILY.members)
    assert len(model.requests) == len({r.digest for r in model.requests}) == 5 * N_TRIALS
    again = study(tmp_path / "again", Faulty(lambda n, request: None, workers=8))
    again.sample(FAMILY.members)
    assert n_outputs(found) == n_outputs(again)


def test_another_concurrency_is_another_configuration(tmp_path):
    one, two = (study(tmp_path, Faulty(lambda n, r: None, workers=n)) for n in (1, 2))
    one.sample(FAMILY.members)
    two.sample(FAMILY.members)
    assert one.info.config_digest != two.info.config_digest
    assert two.info.earlier == 0


def test_a_reply_that_is_not_valid_is_asked_for_once_more_and_recorded(tmp_path):
    seen = []

    def prose_first(n, request):
        seen.append(request)
        last = request.messages[-1]["content"]
        if request.stage == "reassess" and "cannot be used" not in last:
            return Reply("I would admit this patient.")
        return None

    found = study(tmp_path, Faulty(prose_first))
    found.sample(FAMILY.members)
    assert (found.info.repairs, found.info.calls) == (N_TRIALS, 6 * N_TRIALS)
    assert not found.info.missing
    repairs = [r.messages[-1]["content"] for r in seen if "cannot be" in r.messages[-1]["content"]]
    assert all("no JSON object in the reply" in text for text in repairs)


def test_a_stage_that_stays_invalid_is_missing_with_its_reason_and_ends_the_trajectory(tmp_path):
    def never(n, request):
        return Reply('{"orders": ["surgery"]}') if request.stage == "order" else None

    found = study(tmp_path, Faulty(never))
    found.sample(FAMILY.members)
    trajectory = next(iter(found.table.rows.values()))[0]
    assert trajectory.missing["order"] == "orders holds 'surgery', which is not on the menu"
    assert trajectory.missing["reassess"] == "not reached"
    assert set(trajectory.outputs) == {"triage"}
    assert found.info.missing["reference"] == {
        "order: orders holds 'surgery', which is not on the menu": 12
    }


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply("", finish="refusal"), "refusal"),
        (Reply(""), "empty reply"),
        (Reply('{"esi_acuity": 2, "urg', finish="length"), "cut at the token limit"),
        (Reply("ESI 2, I would say."), "no JSON object in the reply"),
        (Reply('{"esi_acuity": 9, "urgency_score": 1}'), "esi_acuity is 9, expected 1..5"),
        (Reply('{"esi_acuity": 2}'), "urgency_score is missing"),
    ],
)
def test_a_fault_of_the_agent_is_counted_for_its_arm_and_stays_as_data_on_resume(
    tmp_path, reply, reason
):
    line = CATALOGUE.conditions["race_black"].descriptor

    def in_one_arm(n, request):
        shown = any(line in message["content"] for message in request.messages)
        return reply if shown and request.stage == "triage" else None

    first = study(tmp_path, Faulty(in_one_arm))
    first.sample(FAMILY.members)
    assert first.info.missing == {"race_black": {f"triage: {reason}": 12}}
    assert first.info.complete  # nothing is left to draw
    model = Faulty(lambda n, request: pytest.fail("an answer was asked for again"))
    again = study(tmp_path, model)
    again.sample(FAMILY.members)
    assert (again.info.drawn, again.info.missing) == (0, first.info.missing)


def test_transient_faults_are_tried_again_and_lose_nothing(tmp_path):
    def busy(n, request):
        if n % 3 == 0:
            raise ModelError("overloaded", transient=True, retry_after_s=0.001)

    found = study(tmp_path, Faulty(busy))
    found.sample(FAMILY.members)
    assert found.info.complete
    assert found.info.retries > 0
    assert n_calls(tmp_path) == 5 * N_TRIALS


def test_a_trial_lost_to_the_server_is_missing_now_and_drawn_on_the_next_start(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(sampler_module, "with_retries", once)

    def lost(n, request):
        if n == 7:
            raise ModelError("the line\n  advice", kind=CONNECTION_LOST, transient=True)

    first = study(tmp_path, Faulty(lost))
    first.sample(FAMILY.members)
    assert not first.info.complete
    [reasons] = first.info.missing.values()
    assert reasons == {"trial: connection lost": 1}
    [lost_one] = [t for row in first.table.rows.values() for t in row if not t.complete]
    assert lost_one.missing == {"trial": "connection lost: the line"}
    second = study(tmp_path, Faulty(lambda n, request: None))
    second.sample(FAMILY.members)
    assert second.info.complete
    assert (second.info.drawn, second.info.missing) == (1, {})


def test_a_server_that_is_gone_ends_the_run_instead_of_failing_every_trial(tmp_path, monkeypatch):
    monkeypatch.setattr(sampler_module, "with_retries", once)

    def gone(n, request):
        if n > 20:
            raise ModelError("connection refused", transient=True)

    model = Faulty(gone)
    with pytest.raises(ModelError, match="connection refused"):
        study(tmp_path, model).sample(FAMILY.members)
    assert len(model.requests) <= 20 + sampler_module.LOST_IN_A_ROW


def test_a_server_that_never_answered_ends_the_run_with_its_first_trial(tmp_path, monkeypatch):
    monkeypatch.setattr(sampler_module, "with_retries", once)

    def down(n, request):
        raise ModelError("connection refused", transient=True)

    model = Faulty(down)
    with pytest.raises(ModelError, match="connection refused"):
        study(tmp_path, model).sample(FAMILY.members)
    assert len(model.requests) == 1


def test_a_fault_that_cannot_pass_ends_the_run_at_once(tmp_path):
    def wrong(n, request):
        raise ModelError("no such model")

    model = Faulty(wrong)
    with pytest.raises(ModelError, match="no such model"):
        study(tmp_path, model).sample(FAMILY.members)
    assert len(model.requests) == 1


def test_a_hung_call_is_given_up_and_the_trial_goes_on_with_another_try(tmp_path):
    released = threading.Event()

    def hang(n, request):
        if n == 7:
            released.wait(20)
            return Reply("from a call that was given up")
        return None

    model = Faulty(hang, workers=2)
    model.call_limit_s = 0.2
    found = study(tmp_path, model)
    start = time.monotonic()
    found.sample(FAMILY.members)
    released.set()
    assert time.monotonic() - start < 15
    assert found.info.complete
    assert (found.info.retries, len(model.requests)) == (1, 5 * N_TRIALS + 1)
    assert n_calls(tmp_path) == 5 * N_TRIALS
    with sqlite3.connect(tmp_path / "runs.sqlite") as db:
        assert not db.execute("SELECT 1 FROM calls WHERE reply LIKE '%given up%'").fetchall()


def test_a_server_that_hangs_for_good_ends_the_run_with_a_timeout(tmp_path, monkeypatch):
    monkeypatch.setattr(sampler_module, "FIRST_BUDGET_S", 0.0)
    released = threading.Event()
    model = Faulty(lambda n, request: released.wait(20) and None)
    model.call_limit_s = 0.1
    with pytest.raises(ModelError, match=r"had not ended after 0\.1 s") as caught:
        study(tmp_path, model).sample(FAMILY.members)
    released.set()
    assert caught.value.kind == TIMEOUT


def test_what_a_rate_limit_did_is_shown_while_it_lasts_and_kept_in_the_run(tmp_path, monkeypatch):
    from pytest_fairmedagent.plugin.progress import _text

    monkeypatch.setattr(sampler_module, "POLL_S", 0.01)
    monkeypatch.setattr(throttle, "RECOVER_AFTER", 20)

    def busy(n, request):
        time.sleep(0.003)
        if n == 20:
            raise ModelError("busy", kind=RATE_LIMITED, transient=True, retry_after_s=0.01)

    found, lines = study(tmp_path, Faulty(busy, workers=4)), []
    found.sample(FAMILY.members, lambda progress: lines.append(_text(progress, "m")))
    assert any("rate limited to 2 at once" in line for line in lines)
    assert "rate limited" not in lines[0] + lines[-1]
    assert found.info.concurrency["lowest"] == 2
    [note] = found.info.concurrency["notes"]
    assert note.startswith("a rate limit cut the calls under way from 4 to 2; ")
    assert f"of {5 * N_TRIALS} calls" in note


@pytest.mark.parametrize(("kind", "fewest", "most"), [(RATE_LIMITED, 1, 4), (OVERLOADED, 5, 8)])
def test_a_rate_limit_halves_the_calls_under_way_and_an_overload_does_not(
    tmp_path, monkeypatch, kind, fewest, most
):
    monkeypatch.setattr(throttle, "RECOVER_AFTER", 10_000)
    guard, under_way, peak = threading.Lock(), 0, 0

    def busy(n, request):
        nonlocal under_way, peak
        with guard:
            under_way += 1
            peak = max(peak, under_way if n > 40 else 0)
        time.sleep(0.003)
        with guard:
            under_way -= 1
        if n == 20:
            raise ModelError("busy", kind=kind, transient=True, retry_after_s=0.01)

    found = study(tmp_path, Faulty(busy, workers=8))
    found.sample(FAMILY.members)
    assert found.info.complete
    assert fewest <= peak <= most


def test_two_processes_share_the_work_and_both_end_with_all_of_it(tmp_path):
    models = [Faulty(lambda n, request: time.sleep(0.001)) for _ in range(2)]
    studies = [study(tmp_path, model) for model in models]
    threads = [threading.Thread(target=s.sample, args=(list(FAMILY.members),)) for s in studies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(len(model.requests) for model in models) == 5 * N_TRIALS
    assert n_outputs(studies[0]) == n_outputs(studies[1])
    assert all(s.info.complete for s in studies)


def test_the_agent_is_never_shown_which_arm_it_is_in(tmp_path):
    model = Faulty(lambda n, request: None)
    study(tmp_path, model).sample(FAMILY.members)
    sent = json.dumps([request.messages for request in model.requests]).lower()
    for word in ("race_black", "rerender", "reference", "sham", "fair", "bias", "audit"):
        assert word not in sent, word
