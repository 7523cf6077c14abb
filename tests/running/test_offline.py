"""Offline: what is in the store is judged though nothing can be asked any more."""

import pytest

from pytest_fairmedagent.agents.clinical import ClinicalAgent
from pytest_fairmedagent.agents.user import UserAgent
from pytest_fairmedagent.domain import Family, Plan
from pytest_fairmedagent.errors import TIMEOUT, ModelError, StoreError
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.models.base import Decoding
from pytest_fairmedagent.models.simulated import SimulatedModel, Truth
from pytest_fairmedagent.running.budget import Budget, Estimate
from pytest_fairmedagent.running.concurrency import Concurrency
from pytest_fairmedagent.running.store import Store
from pytest_fairmedagent.study import Study
from pytest_fairmedagent.testing import blank_vignettes

CATALOGUE = read_swaps()
CASES = blank_vignettes(2)
FAMILY = Family("f", ("race_black",), ("admission",), tuple(CASES), 4)
PLAN = Plan((FAMILY,), "reference", ("rerender",))
N_TRIALS = 2 * 3 * 4
SENT = Decoding({"temperature": 0.7})


class Server(SimulatedModel):
    """A server with weights that only it can tell, and an endpoint that only one run may ask."""

    endpoints = ("http://localhost:1",)

    def __init__(self, weights="sha256:1", decoding=SENT, name="m"):
        super().__init__(name, Truth(seed=1), CATALOGUE)
        self.told, self.sent = None, decoding
        self.weights = weights

    def open(self):
        self.told = self.weights

    def known(self):
        return {"decoding": self.sent.describe()}

    def configuration(self):
        assert self.told, "it has not been opened"
        return {"backend": "server", "weights": self.told, **self.known()}


class Gone(Server):
    """The same, not there any more."""

    def open(self):
        raise AssertionError("the server was asked")

    chat = open


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """Two runs of one test may not be taken for others that ask the server."""
    monkeypatch.setattr("pytest_fairmedagent.running.drawing.held", _nobody)


class _nobody:
    def __init__(self, urls, **others):
        self.urls = list(urls)

    def __enter__(self):
        return []

    def __exit__(self, *exc):
        return None


def drawn(folder, model, *, agent=None, plan=PLAN, offline=False, **changes):
    store = Store(folder)
    study = Study(
        plan, CASES, CATALOGUE, agent or ClinicalAgent(), model, store, offline=offline, **changes
    )
    try:
        study.sample(FAMILY.members)
    finally:
        store.close()
    return study


def test_offline_a_run_is_judged_as_it_was_and_no_server_is_asked(tmp_path):
    online = drawn(tmp_path, Server())
    offline = drawn(tmp_path, Gone(), offline=True)
    assert offline.rows() == online.rows()
    assert offline.info.config_digest == online.info.config_digest
    assert (offline.info.drawn, offline.info.earlier, offline.info.id) == (0, N_TRIALS, 1)
    [note] = offline.info.concurrency["notes"]
    assert note.startswith("offline: no server was asked; the configuration is that of run 1, 20")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"model": Gone(decoding=Decoding())}, "decoding temperature=0.7, not unset"),
        ({"agent": ClinicalAgent(exposure=("document",))}, r"exposure .*, not \['document'\]"),
        ({"concurrency": Concurrency(total=4)}, "workers 1, not 4"),
    ],
)
def test_what_is_known_without_a_server_must_agree(tmp_path, changes, field):
    drawn(tmp_path, Server())
    with pytest.raises(StoreError, match=rf"run 1, the last, has .*{field}"):
        drawn(tmp_path, **{"model": Gone(), "offline": True, **changes})


def test_another_model_of_the_store_is_not_taken_for_this_one(tmp_path):
    drawn(tmp_path, Server())
    with pytest.raises(StoreError, match=r"holds no run of n\.\n  Run without --fairmed-offline"):
        drawn(tmp_path, Gone(name="n"), offline=True)


def test_of_two_weights_under_one_name_those_of_the_newest_finished_run_are_taken(tmp_path):
    drawn(tmp_path, Server("sha256:1"))
    newest = drawn(tmp_path, Server("sha256:2"))
    with pytest.raises(ModelError):  # weights that nothing was drawn with
        drawn(tmp_path, Failing("sha256:3"))
    found = drawn(tmp_path, Gone(), offline=True)
    assert (found.info.id, found.info.configuration["weights"]) == (2, "sha256:2")
    assert found.rows() == newest.rows()


class Failing(Server):
    def chat(self, request, worker):
        raise ModelError("it is gone", kind=TIMEOUT, transient=False)


class Losing(Server):
    """Loses the trials of one arm, once it has answered at all."""

    answered = False

    def chat(self, request, worker):
        if self.answered and "Black" in request.messages[-1]["content"]:
            raise ModelError("did not answer in time", kind=TIMEOUT, transient=True)
        self.answered = True
        return super().chat(request, worker)


def test_what_a_server_lost_is_missing_offline_as_it_was_online(tmp_path, monkeypatch):
    monkeypatch.setattr("pytest_fairmedagent.running.sampler.BUDGET_S", 0.0)
    monkeypatch.setattr("pytest_fairmedagent.running.sampler.LOST_IN_A_ROW", 99)
    online = drawn(tmp_path, Losing())
    assert online.info.missing
    offline = drawn(tmp_path, Gone(), offline=True)
    assert offline.info.missing == online.info.missing
    assert not offline.info.complete


def test_a_run_that_its_budget_ended_is_judged_offline_at_the_same_round(tmp_path):
    limits = {"budget": Budget(max_calls=5 * 6 * 3), "estimate": Estimate(calls=5)}
    online = drawn(tmp_path, Server(), **limits)
    assert (online.info.replicates, bool(online.info.ended)) == (3, True)
    offline = drawn(tmp_path, Gone(), offline=True, **limits)
    assert (offline.info.replicates, offline.info.ended) == (3, online.info.ended)
    with pytest.raises(StoreError, match="6 of 24 trials are not in"):
        drawn(tmp_path, Gone(), offline=True)


def test_an_agent_without_a_version_has_no_run_to_be_read_offline(tmp_path):
    drawn(tmp_path, Server(), agent=UserAgent(lambda case: {"admission": True}))
    with pytest.raises(StoreError, match="agent_version unstated, this run only"):
        drawn(
            tmp_path,
            Gone(),
            agent=UserAgent(lambda case: {"admission": True}),
            offline=True,
        )


def test_offline_an_imported_run_is_not_continued(tmp_path):
    import json

    from pytest_fairmedagent.shelf.imported import import_file

    fields = drawn(tmp_path / "a", Server()).info.configuration
    rows = [
        {
            "vignette": "v",
            "condition": "c",
            "replicate": 1,
            "outputs": {"reassess": {"admit": True}},
        }
    ]
    file = tmp_path / "a.json"
    file.write_text(json.dumps({"configuration": {**fields, "model": "m"}, "rows": rows}))
    import_file(file, tmp_path / "b")
    with pytest.raises(StoreError, match="holds no run of m"):
        drawn(tmp_path / "b", Gone(), offline=True)
