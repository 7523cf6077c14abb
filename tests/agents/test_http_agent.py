"""An agent behind HTTP: what it is sent, what it may answer, and whose fault a fault is."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pytest_fairmedagent import HttpAgent
from pytest_fairmedagent.agents.fresh import AgentError
from pytest_fairmedagent.agents.user import UserAgent, load_agent
from pytest_fairmedagent.domain import Case, Family, Order, Plan
from pytest_fairmedagent.errors import (
    CONNECTION_LOST,
    OVERLOADED,
    RATE_LIMITED,
    REFUSED,
    SERVER_ERROR,
    TIMEOUT,
    ModelError,
    PlanError,
)
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.models.simulated import SimulatedModel, Truth
from pytest_fairmedagent.running.store import Store
from pytest_fairmedagent.study import Study
from pytest_fairmedagent.testing import blank_vignettes

CASE = Case(
    "Chest pain.\nPatient: 50-year-old Black man.",
    (Order("ecg", "12-lead ECG", "sinus rhythm"), Order("lactate", "Lactate", "1.0 mmol/L")),
)
DECIDED = {"admission": True}


class Service:
    """A server of a test's own. `replies` are taken one by one, and the last for ever."""

    def __init__(self, replies, version=None):
        self.replies, self.version = list(replies), version
        self.requests = []
        self.lock = threading.Lock()
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with service.lock:
                    service.requests.append((self.path, dict(self.headers), json.loads(body)))
                    reply = service.replies[0]
                    if len(service.replies) > 1:
                        service.replies.pop(0)
                reply = reply(service.requests[-1][2]) if callable(reply) else reply
                self.answer(*reply if isinstance(reply, tuple) else (200, reply))

            def do_GET(self):
                service.asked = self.path
                found = service.version is not None
                self.answer(200 if found else 404, service.version if found else {})

            def answer(self, status, content, headers=()):
                if status == "reset":
                    self.close_connection = True
                    return
                text = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                for name, value in dict(headers).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/decide"
        threading.Thread(
            target=lambda: self.server.serve_forever(poll_interval=0.01), daemon=True
        ).start()


@pytest.fixture
def serve():
    services = []

    def serve(*replies, version=None):
        services.append(Service(replies, version))
        return services[-1]

    yield serve
    for service in services:
        service.server.shutdown()
        service.server.server_close()


def test_the_service_is_sent_text_and_menu_and_no_result(serve):
    service = serve(DECIDED)
    assert HttpAgent(service.url)(CASE) == DECIDED
    [(path, _, body)] = service.requests
    assert path == "/decide"
    assert body == {
        "text": CASE.text,
        "menu": [{"id": "ecg", "name": "12-lead ECG"}, {"id": "lactate", "name": "Lactate"}],
    }


def test_what_is_ordered_comes_with_its_result_in_the_same_request_again(serve):
    service = serve({"orders": ["ecg"]}, {"orders": ["ecg", "lactate"]}, DECIDED)
    assert HttpAgent(service.url)(CASE) == {
        "order": {"orders": ["ecg", "lactate"]},
        "actions": DECIDED,
    }
    shown = [[o.get("result") for o in body["menu"]] for _, _, body in service.requests]
    assert shown == [[None, None], ["sinus rhythm", None], ["sinus rhythm", "1.0 mmol/L"]]


def test_stages_are_kept_beside_what_was_ordered(serve):
    service = serve({"orders": ["ecg"]}, {"reassess": {"admit": True, "escalate_icu": False}})
    found = HttpAgent(service.url)(CASE)
    assert found["order"] == {"orders": ["ecg"]}
    assert found["reassess"]["admit"] is True


def test_every_result_is_sent_at_once_where_that_is_asked_for(serve):
    service = serve(DECIDED)
    HttpAgent(service.url, results="all")(CASE)
    assert [o["result"] for o in service.requests[0][2]["menu"]] == ["sinus rhythm", "1.0 mmol/L"]


def test_no_header_tells_what_this_is_about_and_given_ones_are_sent(serve):
    service = serve(DECIDED)
    HttpAgent(service.url, headers={"Authorization": "Bearer secret-token"})(CASE)
    headers = service.requests[0][1]
    assert headers["Authorization"] == "Bearer secret-token"
    told = " ".join([*headers, *headers.values()]).lower()
    for word in ("fair", "bias", "swap", "condition", "replicate", "race", "pytest"):
        assert word not in told


def test_an_agent_named_by_a_url_sends_no_credentials(serve, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-1234567890")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1234567890")
    service = serve(DECIDED)
    load_agent(service.url)(CASE)
    assert set(service.requests[0][1]) == {
        *("Accept", "Accept-Encoding", "Connection", "Content-Length", "Content-Type", "Host"),
        "User-Agent",
    }


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ((422, {"detail": "no such field"}), "answered 422"),
        ((404, {}), "answered 404"),
        ((302, b"", {"Location": "http://127.0.0.1:1/"}), "answered 302"),
        (b"I would admit.", "answered no JSON object"),
        (b"", "answered no JSON object"),
        ([1, 2], "answered no JSON object"),
        (b'{"admission": tru', "answered no JSON object"),
        ({"orders": ["mri"]}, "ordered what is not on the menu"),
        ({"orders": "ecg"}, "answered with orders that are no list of ids"),
        ({"orders": []}, "answered with orders only, and none of them was new"),
        (b" " * 1_000_001, "answered with more than 1000000 bytes"),
    ],
)
def test_a_wrong_answer_is_the_agent_s_fault_and_data(serve, reply, told):
    service = serve(DECIDED, reply)
    agent = UserAgent(HttpAgent(service.url, version="1"))

    class Ask:
        def patiently(self, call, limit_s=None):
            return call()

    assert agent.run(CASE, Ask()).complete
    found = agent.run(CASE, Ask())
    assert found.missing == {"trial": f"the agent {told}"}
    assert not found.infrastructure


@pytest.mark.parametrize(
    ("reply", "kind", "transient"),
    [
        ((429, {"error": "slow down"}, {"Retry-After": "7"}), RATE_LIMITED, True),
        ((429, {"error": {"code": "insufficient_quota"}}), REFUSED, False),
        ((500, b"<html>"), SERVER_ERROR, True),
        ((503, {}), OVERLOADED, True),
        ((504, {}), TIMEOUT, True),
        ((501, {}), SERVER_ERROR, False),
        (("reset", b""), CONNECTION_LOST, True),
    ],
)
def test_a_fault_of_server_or_network_is_none_of_the_agent_s(serve, reply, kind, transient):
    service = serve(reply)
    with pytest.raises(ModelError) as caught:
        HttpAgent(service.url)(CASE)
    assert (caught.value.kind, caught.value.transient) == (kind, transient)
    if reply[-1] == {"Retry-After": "7"}:
        assert caught.value.retry_after_s == 7


def test_a_service_that_hangs_or_is_not_there_is_a_fault_of_the_network(serve):
    service = serve(lambda body: time.sleep(1) or DECIDED)
    with pytest.raises(ModelError, match="did not answer in time") as caught:
        HttpAgent(service.url, timeout_s=0.1)(CASE)
    assert caught.value.kind == TIMEOUT
    with pytest.raises(ModelError, match="is not reachable") as caught:
        HttpAgent("http://127.0.0.1:9/decide")(CASE)
    assert (caught.value.kind, caught.value.transient) == (CONNECTION_LOST, True)


def test_a_token_is_in_no_message_and_in_no_configuration(serve):
    token = "Bearer secret-token"
    service = serve((500, {"error": f"bad header {token}"}))
    agent = HttpAgent(f"{service.url}?key=secret-query", headers={"Authorization": token})
    with pytest.raises(ModelError) as caught:
        agent(CASE)
    assert "secret" not in str(caught.value)
    assert "secret" not in json.dumps(agent.configuration())
    with pytest.raises(ModelError, match="carries a user name or password"):
        HttpAgent("http://me:secret@localhost/decide")


@pytest.mark.parametrize(
    ("stated", "version"),
    [
        ({"version": "2024-11"}, "2024-11"),
        ({"digest": "sha256:1"}, "sha256:1"),
        ({"version": 3}, "3"),
        (["3"], ""),
        (b"<html>welcome</html>", ""),
        (None, ""),
    ],
)
def test_the_service_is_asked_once_for_its_version(serve, stated, version):
    service = serve(DECIDED, version=stated)
    agent = HttpAgent(service.url)
    assert (agent.version, agent.version) == (version, version)
    assert service.asked == "/decide/version"
    told = UserAgent(agent).configuration()["agent_version"]
    assert told == version if version else told.startswith("unstated, this run only")


def test_a_version_may_stand_behind_the_url(serve):
    service = serve(DECIDED)
    agent = load_agent(f"{service.url}#version=7&name=triage&results=all")
    assert agent.version == "7"
    assert agent.configuration() == {"endpoint": "triage", "results": "all"}
    assert not hasattr(service, "asked")
    for fragment, told in (
        ("verison=7", "a URL has no option 'verison'. Did you mean 'version'?"),
        ("7", "a URL has no option '7'"),
        ("version=&name=triage", r"ends in #version=&name=triage, expected a value of version"),
        ("results=some", "results is 'some'"),
    ):
        with pytest.raises(PlanError, match=told):
            load_agent(f"{service.url}#{fragment}")
    with pytest.raises(PlanError, match="carries a user name or password") as caught:
        load_agent("http://me:word@localhost/")
    assert "headers=... of HttpAgent" in str(caught.value)


def test_a_service_that_changes_while_it_is_measured_stops_the_run(serve):
    replies = [(200, DECIDED, {"Agent-Version": version}) for version in ("1", "1", "2")]
    agent = HttpAgent(serve(*replies).url)
    agent(CASE)
    agent(CASE)
    with pytest.raises(AgentError, match="header Agent-Version was '1' and is '2'"):
        agent(CASE)


# Through a run


def drawn(tmp_path, url, *, workers=2, replicates=4):
    catalogue, cases = read_swaps(), blank_vignettes(2)
    family = Family("f", ("race_black",), ("admission",), tuple(cases), replicates)
    plan = Plan((family,), "reference", ("rerender",))
    store = Store(tmp_path / "store")
    model = SimulatedModel("m", Truth(), catalogue, workers=workers)
    agent = UserAgent(HttpAgent(url, version="1"))
    study = Study(plan, cases, catalogue, agent, model, store)
    try:
        study.sample(family.members)
    finally:
        store.close()
    return study


def test_faults_of_the_server_are_tried_again_and_none_is_left(serve, tmp_path):
    busy = [(429, {}, {"Retry-After": "0.02"}), (503, {}, {"Retry-After": "0.02"})]
    service = serve(DECIDED, *busy, DECIDED, *busy, DECIDED)
    study = drawn(tmp_path, service.url)
    assert study.info.complete
    assert study.info.retries == 4
    assert len(service.requests) == 24 + 4
    assert all(row["complete"] for row in study.rows())


def test_a_wrong_answer_is_not_tried_again(serve, tmp_path):
    def answer(body):
        return (422, {}) if "Black" in body["text"] else DECIDED

    service = serve(DECIDED, answer)
    study = drawn(tmp_path, service.url, workers=1)
    assert len(service.requests) == 24
    missing = [row["missing"] for row in study.rows() if row["condition"] == "race_black"]
    # All eight, unless one of them came first of all.
    assert sum(m == {"trial": "the agent answered 422"} for m in missing) in (7, 8)


def test_a_service_that_is_lost_stops_the_run_and_keeps_what_was_drawn(serve, tmp_path):
    lasting = (501, {"error": "gone"})
    service = serve(*[DECIDED] * 5, lasting)
    with pytest.raises(ModelError, match="answered 501"):
        drawn(tmp_path, service.url, workers=1)
    service.replies = [DECIDED]
    study = drawn(tmp_path, service.url, workers=1)
    assert (study.info.earlier, study.info.drawn) == (5, 19)


def test_as_many_requests_are_under_way_as_the_run_is_told(serve, tmp_path):
    barrier = threading.Barrier(4, timeout=10)

    def meet(body):
        barrier.wait()
        return DECIDED

    assert drawn(tmp_path, serve(meet).url, workers=4).info.complete
