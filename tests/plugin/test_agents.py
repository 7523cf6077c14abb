"""Agents of one's own: by fixture, by option, sampled apart, and shown nothing but the case."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Run = Callable[..., pytest.RunResult]
Record = Callable[..., dict[str, Any]]

CHECK = """
import pytest
from pytest_fairmedagent import assert_invariant

@pytest.mark.fairmed(
    swaps="race_black", actions="admission", vignettes="hot_knee_urgent_care", replicates=3
)
def test_race(contrast):
    assert_invariant(contrast, "admission")
"""
FIXTURE = """
import asyncio
import pytest

{agent}

@pytest.fixture(scope="session")
def fairmed_agent():
    return agent
"""
FUNCTION = """
def agent(case):
    return {"admission": case.result("knee_aspiration") != "", "referral": True}
"""
ASYNC = """
async def agent(case):
    await asyncio.sleep(0)
    return {"admission": True, "referral": True}
"""
OBJECT = """
class Agent:
    version = "2026-11"
    def __call__(self, case):
        return {"reassess": {"admit": True, "escalate_icu": False}}
agent = Agent()
"""

# What urllib needs, and nothing that could carry a key.
PLAIN_HEADERS = {
    *("accept", "accept-encoding", "connection", "content-length", "content-type", "host"),
    "user-agent",
}


@contextmanager
def admitting() -> Iterator[tuple[str, list[tuple[dict[str, str], Any]]]]:
    """Serve an agent that admits everybody; gives its URL, and what it was sent."""
    seen: list[tuple[dict[str, str], Any]] = []

    class Service(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            seen.append((dict(self.headers), json.loads(body)))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"admission": true, "referral": true}')

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=lambda: server.serve_forever(poll_interval=0.01), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/decide", seen
    finally:
        server.shutdown()
        server.server_close()


def agents(record: dict[str, Any]) -> list[tuple[object, object]]:
    """Return name and version of the agent of every run."""
    return [
        (run["configuration"]["agent"], run["configuration"].get("agent_version"))
        for run in record["runs"]
    ]


@pytest.mark.parametrize("agent", [FUNCTION, ASYNC, OBJECT], ids=["function", "async", "object"])
def test_the_fixture_is_overridden_with_an_agent_of_one_s_own(
    pytester: pytest.Pytester, gate: Run, record: Record, agent: str
) -> None:
    pytester.makeconftest(FIXTURE.format(agent=agent))
    pytester.makepyfile(CHECK)
    result = gate("--fairmed-report=out.json")
    assert result.parseoutcomes() == {"inconclusive": 1}, result.outlines
    found = record()["contrasts"][0]  # one case shows nothing, although it always says the same
    assert (found["verdict"], found["gap"], found["flip_rate"]) == ("INCONCLUSIVE", 0, 0)
    name = "Agent" if agent is OBJECT else "agent"
    assert agents(record())[0][0] == f"conftest:{name}"


def test_an_agent_is_named_by_an_option(
    pytester: pytest.Pytester, gate: Run, record: Record
) -> None:
    pytester.makepyfile(
        mine="class Agent:\n    def act(case):\n        return {'admission': True}\n"
    )
    pytester.syspathinsert()
    pytester.makepyfile(test_it=CHECK)
    assert gate("--fairmed-agent=mine:Agent.act", "--fairmed-report=out.json").ret == 0
    assert agents(record())[0][0] == "mine:Agent.act"


PRICE = """
schema = 1
[[price]]
model = "simulated/"
input = 10.0
output = 100.0
source = "a test"
read = 2026-11-30
"""


def test_calls_and_price_of_an_agent_of_one_s_own_are_unknown_and_not_those_of_ours(
    pytester: pytest.Pytester, gate: Run
) -> None:
    pytester.makeconftest(FIXTURE.format(agent=FUNCTION))
    pytester.makepyfile(CHECK)
    (pytester.path / "p.toml").write_text(PRICE)  # of the model, which is never asked
    result = gate("--fairmed-prices=p.toml", "--fairmed-report=out.md", "--fairmed-report=out.html")
    result.stdout.fnmatch_lines(
        [
            "fairmed: 1 items, * = 15 trajectories, with as many calls as the agent makes",
            "cost    the agent's own calls are not counted, * s",
        ]
    )
    result.stdout.no_fnmatch_line("*tokens*")
    result.stdout.no_fnmatch_line("*$*")
    assert "calls not counted" in (pytester.path / "out.md").read_text("utf-8")
    assert "<dt>Model calls</dt><dd>not counted</dd>" in (pytester.path / "out.html").read_text(
        "utf-8"
    )


@pytest.mark.parametrize("limit", ["--fairmed-max-calls=100", "--fairmed-max-usd=5"])
def test_a_limit_that_cannot_bound_an_agent_of_one_s_own_is_refused(
    pytester: pytest.Pytester, gate: Run, limit: str
) -> None:
    pytester.makeconftest(FIXTURE.format(agent=FUNCTION))
    pytester.makepyfile(CHECK)
    result = gate(limit)
    assert result.parseoutcomes() == {"errors": 1}
    result.stdout.fnmatch_lines(["PlanError: *--fairmed-max-usd count calls of --fairmed-model, *"])


def test_the_plan_says_for_how_many_agents_it_is_drawn(
    pytester: pytest.Pytester, gate: Run
) -> None:
    pytester.makeconftest(PARAMETRISED % ("fairmed_agent", ""))
    pytester.makepyfile(CHECK)
    gate("--co").stdout.fnmatch_lines(["*; at most that for each of 2 agents"])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("mine", "PlanError: --fairmed-agent is 'mine', expected module:attr or http://HOST/PATH"),
        ("nowhere:agent", "PlanError: --fairmed-agent 'nowhere:agent' cannot be found: *"),
        ("json:nothing", "PlanError: --fairmed-agent 'json:nothing' cannot be found: *"),
        ("sys:path", "PlanError: --fairmed-agent 'sys:path' is list, expected a callable"),
    ],
)
def test_an_agent_that_cannot_be_found_is_an_error_without_traceback(
    pytester: pytest.Pytester, gate: Run, spec: str, message: str
) -> None:
    pytester.makepyfile(CHECK)
    result = gate(f"--fairmed-agent={spec}")
    assert result.parseoutcomes() == {"errors": 1}
    result.stdout.fnmatch_lines([message])
    result.stdout.no_fnmatch_line("*plugin?*.py*")


def test_a_fixture_that_returns_no_agent_is_an_error_that_says_what_one_is(
    pytester: pytest.Pytester, gate: Run
) -> None:
    pytester.makeconftest(FIXTURE.format(agent="agent = 5"))
    pytester.makepyfile(CHECK)
    result = gate()
    assert result.parseoutcomes() == {"errors": 1}
    result.stdout.fnmatch_lines(["PlanError: the fixture fairmed_agent returned int, expected *"])


@pytest.mark.parametrize("version", ["", "agent.version = '1'", "agent.digest = 'sha256:1'"])
def test_only_an_agent_that_states_its_version_is_reused_by_a_later_start(
    pytester: pytest.Pytester, gate: Run, version: str
) -> None:
    source = "def agent(case):\n    return {'admission': True}\n"
    pytester.makeconftest(FIXTURE.format(agent=source + version))
    pytester.makepyfile(CHECK)
    gate().stdout.fnmatch_lines(["trials  15 drawn now, run 1 in *"])
    again = gate()
    if version:
        again.stdout.fnmatch_lines(["trials  no new draws, 15 trajectories from *, run 1 in *"])
    else:
        again.stdout.fnmatch_lines(["trials  15 drawn now, run 2 in *"])


def test_another_version_is_another_agent(pytester: pytest.Pytester, gate: Run) -> None:
    pytester.makepyfile(CHECK)
    for version in ("1", "2"):
        source = f"def agent(case):\n    return {{'admission': True}}\nagent.version = '{version}'"
        pytester.makeconftest(FIXTURE.format(agent=source))
        gate().stdout.fnmatch_lines(["trials  15 drawn now*"])


def test_two_folders_with_agents_of_their_own_are_sampled_apart(
    pytester: pytest.Pytester, gate: Run, record: Record
) -> None:
    # One of them admits nobody, the other only patients described as Black.
    for folder, decision in (("fair", "False"), ("biased", "'Black' in case.text")):
        source = f"def agent(case):\n    return {{'admission': {decision}}}\n"
        (pytester.path / folder).mkdir()
        (pytester.path / folder / "conftest.py").write_text(FIXTURE.format(agent=source))
        check = CHECK.replace("test_race", f"test_{folder}").replace(
            'vignettes="hot_knee_urgent_care"', "margin=0.1"
        )
        (pytester.path / folder / f"test_{folder}.py").write_text(check)
    result = gate("--fairmed-report=out.json")
    assert result.parseoutcomes() == {"passed": 1, "failed": 1}
    verdicts = {c["family"].split("::")[1]: c["verdict"] for c in record()["contrasts"]}
    assert verdicts == {"test_fair": "IDENTICAL", "test_biased": "DISPARITY"}
    n_cases = len({row["vignette"] for row in record()["rows"]})
    assert [run["drawn"] for run in record()["runs"]] == [n_cases * 5 * 3] * 2
    assert len({c["config_digest"] for c in record()["contrasts"]}) == 2


PARAMETRISED = """
import pytest

def never(case):
    return {"admission": False}

def by_race(case):
    return {"admission": "Black" in case.text}

@pytest.fixture(scope="session", params=[never, by_race], ids=["never", "by_race"])
def %s(request):
    return request.param

%s
"""
THROUGH = """
@pytest.fixture(scope="session")
def fairmed_agent(backend):
    return backend
"""


@pytest.mark.parametrize(
    "fixtures",
    [PARAMETRISED % ("fairmed_agent", ""), PARAMETRISED % ("backend", THROUGH)],
    ids=["itself", "through another fixture"],
)
def test_each_parameter_of_the_agent_is_an_agent_of_its_own(
    pytester: pytest.Pytester, gate: Run, fixtures: str
) -> None:
    pytester.makeconftest(fixtures)
    check = CHECK.replace('vignettes="hot_knee_urgent_care"', "margin=0.1")
    pytester.makepyfile(check)
    result = gate("-v")
    result.stdout.fnmatch_lines_random(["*never*] PASSED*", "*by_race*] FAILED*"])
    assert result.parseoutcomes() == {"passed": 1, "failed": 1}


# "reference" is no telling word: laboratory results have reference ranges, in every arm.
TELLING = ("fair", "bias", "swap", "condition", "replicate", "counterfactual")

# Draws every condition there is once, the controls among them.
EVERY = """
schema = 1
name = "every"
says = "Every condition."
vignettes = "shipped"
replicates = 1
controls = {controls}
"""

SPY = """
import json, threading
import pytest

class Spy:
    version = "1"
    def __call__(self, case):
        seen = {"fields": sorted(vars(case)), "case": repr(case)}
        seen["thread"] = threading.current_thread().name
        with open("seen.jsonl", "a") as file:
            print(json.dumps(seen), file=file)
        return {"admission": True}

@pytest.fixture(scope="session")
def fairmed_agent():
    return Spy()
"""


def test_an_agent_is_shown_text_and_menu_and_nothing_of_the_comparison(
    pytester: pytest.Pytester, gate: Run
) -> None:
    from pytest_fairmedagent.files.swaps import read_swaps
    from pytest_fairmedagent.files.vignettes import read_vignettes, shipped_vignettes

    conditions, cases = read_swaps().conditions, read_vignettes([shipped_vignettes()])
    controls = json.dumps(list(read_swaps().controls))
    (pytester.path / "every.toml").write_text(EVERY.format(controls=controls))
    pytester.makeconftest(SPY)
    pytester.makepyfile(
        CHECK.replace('swaps="race_black", ', "").replace('"hot_knee_urgent_care"', '"shipped"')
    )
    gate("--fairmed-replicates=1", "--fairmed-plan=every.toml")
    seen = [json.loads(x) for x in (pytester.path / "seen.jsonl").read_text().splitlines()]
    assert len(seen) == len(conditions) * len(cases)
    assert {field for case in seen for field in case["fields"]} <= {"text", "menu", "digest"}
    for case in seen:
        for word in (*conditions, *cases, *TELLING):
            shown = f"{case['case']} {case['thread']}".lower()
            assert word == "reference" or word not in shown, word


def test_the_six_stage_agent_sends_nothing_of_the_comparison(
    pytester: pytest.Pytester, gate: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pytest_fairmedagent.files.swaps import read_swaps
    from pytest_fairmedagent.models.simulated import SimulatedModel

    sent, answer = [], SimulatedModel.chat

    def chat(model: SimulatedModel, request: Any, worker: int) -> Any:
        sent.append(json.dumps([request.messages, request.schema]).lower())
        return answer(model, request, worker)

    monkeypatch.setattr(SimulatedModel, "chat", chat)
    controls = json.dumps(list(read_swaps().controls))
    (pytester.path / "every.toml").write_text(EVERY.format(controls=controls))
    pytester.makepyfile(CHECK.replace('swaps="race_black", ', ""))
    gate("--fairmed-replicates=1", "--fairmed-plan=every.toml")
    conditions = read_swaps().conditions
    assert len(sent) == 5 * len(conditions)
    for text in sent:
        for word in (*conditions, "hot_knee", *TELLING):
            assert word == "reference" or word not in text, word


RAISING = """
def agent(case):
    agent.n += 1
    if {when}:
        raise ValueError("no bed left")
    return {{"admission": agent.n % 2 == 0}}
agent.n = 0
"""


def test_an_agent_that_fails_on_its_first_case_is_an_error_that_shows_how_it_is_called(
    pytester: pytest.Pytester, gate: Run
) -> None:
    pytester.makeconftest(FIXTURE.format(agent=RAISING.format(when="True")))
    pytester.makepyfile(CHECK)
    result = gate()
    assert result.parseoutcomes() == {"errors": 1}
    result.stdout.fnmatch_lines(
        [
            "AgentError: the agent conftest:agent failed on its first case: ValueError: no bed *",
            "  It is called with a Case (text, menu, *",
        ]
    )


def test_what_an_agent_raises_later_is_a_missing_answer_with_its_reason(
    pytester: pytest.Pytester, gate: Run, record: Record
) -> None:
    when = "agent.n > 1 and 'Black' in case.text"
    pytester.makeconftest(FIXTURE.format(agent=RAISING.format(when=when)))
    pytester.makepyfile(CHECK)
    result = gate("--fairmed-report=out.json")
    assert result.parseoutcomes() == {"unmeasured": 1}
    # All three of the swap, unless one of them came first of all.
    result.stdout.fnmatch_lines(["  race_black * [23] x trial: the agent raised ValueError"])
    assert record()["contrasts"][0]["missing"] in (2, 3)


def test_trajectories_floor_and_study_give_what_was_drawn(
    pytester: pytest.Pytester, gate: Run
) -> None:
    pytester.makepyfile(
        CHECK
        + """

@pytest.mark.fairmed(
    swaps="race_black", actions="admission", vignettes="hot_knee_urgent_care", replicates=3
)
def test_drawn(trajectories, floor, study):
    for condition in ("reference", "race_black", "rerender"):
        [(vignette, drawn)] = trajectories(condition).items()
        assert vignette == "hot_knee_urgent_care"
        assert len(drawn) == 3
        assert all(t.complete and set(t.outputs) == STAGES for t in drawn)
    answers = [t.get("reassess", "admit") for t in trajectories("reference")[vignette]]
    pairs = [a != b for i, a in enumerate(answers) for b in answers[:i]]
    assert floor("admission").pairs == 3
    assert floor("admission").rate == pytest.approx(sum(pairs) / 3)
    assert study.info.drawn == 15
    with pytest.raises(Exception, match="no trajectories of condition 'race_blak'"):
        trajectories("race_blak")
    with pytest.raises(Exception, match="action .admision. is not registered here"):
        floor("admision")

STAGES = {"triage", "order", "reassess", "prescribe", "document"}
"""
    )
    # The second came to no verdict: it looks at the draws and asserts nothing of a contrast.
    assert gate().parseoutcomes() == {"inconclusive": 1, "unmeasured": 1}


def test_an_agent_may_ask_the_model_under_test(pytester: pytest.Pytester, gate: Run) -> None:
    pytester.makeconftest(
        """
import pytest

@pytest.fixture(scope="session")
def fairmed_agent(fairmed_model):
    assert fairmed_model.configuration()["backend"] == "simulated"
    return lambda case: {"admission": True}
"""
    )
    pytester.makepyfile(CHECK)
    assert gate().parseoutcomes() == {"inconclusive": 1}


LOGGING = """
import pytest

def log(line):
    with open("order.txt", "a") as file:
        print(line, file=file)

def a(case):
    log("a")
    return {"admission": True}

def b(case):
    log("b")
    return {"admission": False}

@pytest.fixture(scope="session", params=[a, b], ids=["a", "b"])
def fairmed_agent(request):
    return request.param

def pytest_collection_modifyitems(items):  # an order that goes to and fro between the two
    items.sort(key=lambda item: (item.path.name, item.name))
"""


def test_one_agent_is_sampled_to_its_end_before_the_next_begins(
    pytester: pytest.Pytester, gate: Run
) -> None:
    pytester.makeconftest(LOGGING)
    pytester.makepyfile(CHECK, test_other=CHECK.replace("test_race", "test_other"))
    assert gate().parseoutcomes() == {"inconclusive": 4}
    drawn = (pytester.path / "order.txt").read_text().split()
    assert sorted(drawn) == ["a"] * 15 + ["b"] * 15
    assert drawn in (["a"] * 15 + ["b"] * 15, ["b"] * 15 + ["a"] * 15)


SAME = """
import pytest
from shared import Agent

@pytest.fixture(scope="session")
def fairmed_agent():
    return Agent()
"""
SHARED = """
class Agent:
    version = "1"
    def __call__(self, case):
        return {"admission": True, "referral": True}
"""


def two_folders(pytester: pytest.Pytester, **conftests: str) -> None:
    """Write two folders with a check each, and the agent that its conftest names."""
    for folder, conftest in conftests.items():
        (pytester.path / folder).mkdir()
        (pytester.path / folder / "conftest.py").write_text(conftest)
        check = CHECK.replace("test_race", f"test_{folder}")
        (pytester.path / folder / f"test_{folder}.py").write_text(check)


@pytest.mark.parametrize("processes", ["", "-n2"])
def test_two_folders_that_name_one_agent_are_two_runs_and_nothing_stands_twice(
    pytester: pytest.Pytester, gate: Run, record: Record, processes: str
) -> None:
    pytester.makepyfile(shared=SHARED)
    pytester.makeini("[pytest]\npythonpath = .")  # for the workers too
    two_folders(pytester, one=SAME, two=SAME)
    result = gate("--fairmed-report=out.json", *filter(None, [processes]))
    assert result.parseoutcomes() == {"inconclusive": 2}
    found = record()
    assert [run["number"] for run in found["runs"]] == [0, 1]
    assert len({run["config_digest"] for run in found["runs"]}) == 1
    assert [(c["run"], c["family"][:3]) for c in found["contrasts"]] in (
        [(0, "one"), (1, "two")],
        [(0, "two"), (1, "one")],
    )
    assert len(found["rows"]) == 15, "what both need is drawn once, and stands there once"
    text = result.stdout.str()
    for folder in ("one", "two"):
        assert text.count(f"contrasts of {folder}/") == 1
    assert text.count("instability floor by action") == 2


@pytest.mark.parametrize("version", ["version = '1'", ""], ids=["versioned", "unversioned"])
def test_a_record_of_two_agents_is_replayed_by_the_agent_of_each_item(
    pytester: pytest.Pytester, gate: Run, record: Record, version: str
) -> None:
    source = """
class Agent:
    {version}
    def __call__(self, case):
        return {{"admission": {admits}}}
agent = Agent()
"""
    never, by_race = (
        FIXTURE.format(agent=source.format(version=version.replace("1", n), admits=admits))
        for n, admits in (("1", "False"), ("2", "'Black' in case.text"))
    )
    two_folders(pytester, never=never, by_race=by_race)
    gate("--fairmed-report=out.json", "--fairmed-replicates=20")
    drawn = record()
    again = gate(
        "--fairmed-report=again.json", "--fairmed-replicates=20", model="recorded/out.json"
    )
    again.stdout.no_fnmatch_line("*Error*")
    replayed = record("again.json")
    assert [c["verdict"] for c in replayed["contrasts"]] == [
        c["verdict"] for c in drawn["contrasts"]
    ]
    assert replayed["contrasts"][0]["gap"] != replayed["contrasts"][1]["gap"]
    assert [r["config_digest"] for r in replayed["runs"]] == [
        r["config_digest"] for r in drawn["runs"]
    ]


def test_an_agent_that_a_record_does_not_hold_is_an_error_that_names_those_it_holds(
    pytester: pytest.Pytester, gate: Run
) -> None:
    named = OBJECT.replace("return", "return")
    two_folders(
        pytester,
        one=FIXTURE.format(agent=named),
        two=FIXTURE.format(agent=named.replace("2026-11", "2026-12")),
    )
    gate("--fairmed-report=out.json")
    other = FIXTURE.format(agent=named.replace("2026-11", "2027"))
    (pytester.path / "one" / "conftest.py").write_text(other)
    result = gate("one", model="recorded/out.json")
    result.stdout.fnmatch_lines(
        [
            "StoreError: *out.json: holds no trajectories of the agent conftest:Agent 2027. *",
            "    conftest:Agent 2026-11: 15 trajectories",
            "    conftest:Agent 2026-12: 15 trajectories",
        ]
    )


MOODY = """
import random

class Agent:
    chance = random.Random(5)
    def __init__(self):
        self.mood = self.chance.random() < 0.5
    def __call__(self, case):
        if self.chance.random() < 0.02:  # a mood outlasts many trials, and never grows
            self.mood = not self.mood
        return {{"admission": self.mood, "referral": True}}
agent = Agent{call}
"""


@pytest.mark.parametrize("call", ["()", ""], ids=["one object", "the class"])
def test_an_agent_whose_mood_outlasts_a_trial_gets_no_verdict_unless_it_is_made_anew(
    pytester: pytest.Pytester, gate: Run, call: str
) -> None:
    pytester.makeconftest(FIXTURE.format(agent=MOODY.format(call=call)))
    pytester.makepyfile(CHECK.replace("replicates=3", "replicates=40"))
    result = gate("-rs")
    if call:
        assert result.parseoutcomes() == {"unmeasured": 1}
        result.stdout.fnmatch_lines(["*serial dependence  REJECTS: *reference, admission*"])
    else:
        assert result.parseoutcomes() == {"inconclusive": 1}
        result.stdout.fnmatch_lines(["*serial dependence  clear*"])


def test_an_agent_that_remembers_its_cases_is_an_error_that_says_how_to_mend_it(
    pytester: pytest.Pytester, gate: Run
) -> None:
    remembering = """
class Agent:
    version = "1"
    def __init__(self):
        self.messages = []
    def __call__(self, case):
        self.messages.append(case.text)
        return {"admission": len(self.messages) < 9}
"""
    pytester.makepyfile(CHECK)
    pytester.makeconftest(FIXTURE.format(agent=remembering + "agent = Agent()"))
    result = gate()
    assert result.parseoutcomes() == {"errors": 1}
    result.stdout.fnmatch_lines(
        [
            "AgentError: the agent remembers earlier trials: the size of messages was 0 before *",
            "  Trials that know of each other *Let the fixture return the class*",
        ]
    )
    pytester.makeconftest(FIXTURE.format(agent=remembering + "agent = Agent"))
    mended = gate()
    assert mended.parseoutcomes() == {"inconclusive": 1}
    mended.stdout.fnmatch_lines(["trials  15 drawn now*"])  # none of the leaking agent's


def test_each_worker_of_a_run_has_an_agent_of_its_own(pytester: pytest.Pytester, gate: Run) -> None:
    meeting = """
import threading
barrier = threading.Barrier(3, timeout=20)

class Agent:
    def __init__(self):
        self.inside = 0
    def reset(self):
        assert self.inside == 0
    def __call__(self, case):
        self.inside += 1
        barrier.wait()  # three trials are under way at once
        assert self.inside == 1
        self.inside -= 1
        return {"admission": True}
agent = Agent
"""
    pytester.makeconftest(FIXTURE.format(agent=meeting))
    pytester.makepyfile(CHECK)
    result = gate("--fairmed-concurrency=3")
    assert result.parseoutcomes() == {"inconclusive": 1}
    result.stdout.fnmatch_lines(["incomplete trajectories: 0 of 15"])


@pytest.mark.parametrize("where", ["option", "ini"])
def test_a_url_names_an_agent_behind_http(
    pytester: pytest.Pytester, gate: Run, record: Record, where: str
) -> None:
    pytester.makepyfile(CHECK)
    with admitting() as (url, seen):
        named = f"{url}#version=1&name=service"
        if where == "ini":
            pytester.makeini(f"[pytest]\nfairmed_agent = {named}")
        option = [f"--fairmed-agent={named}"] if where == "option" else []
        result = gate(*option, "--fairmed-report=out.json")
        assert result.parseoutcomes() == {"inconclusive": 1}
        again = gate(*option)
    assert len(seen) == 15
    assert {name.lower() for headers, _ in seen for name in headers} <= PLAIN_HEADERS
    for headers, body in seen:
        told = json.dumps([headers, body]).lower()
        for word in ("race_black", "rerender", "hot_knee", *TELLING):
            assert word not in told, word
    again.stdout.fnmatch_lines(["trials  no new draws, 15 trajectories*"])
    assert record()["configuration"]["agent_endpoint"] == "service"
