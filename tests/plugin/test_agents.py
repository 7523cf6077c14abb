"""Agents of one's own: by fixture, by option, sampled apart, and shown nothing but the case."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

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
    assert result.parseoutcomes() == {"passed": 1}, result.outlines  # it always says the same
    assert record()["contrasts"][0]["verdict"] == "IDENTICAL"
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


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("mine", "PlanError: --fairmed-agent is 'mine', expected module:attr"),
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
            'vignettes="hot_knee_urgent_care"', "margin=0.01"
        )
        (pytester.path / folder / f"test_{folder}.py").write_text(check)
    result = gate("--fairmed-report=out.json")
    assert result.parseoutcomes() == {"passed": 1, "failed": 1}
    verdicts = {c["family"].split("::")[1]: c["verdict"] for c in record()["contrasts"]}
    assert verdicts == {"test_fair": "IDENTICAL", "test_biased": "DISPARITY"}
    assert [run["drawn"] for run in record()["runs"]] == [120, 120]
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
    check = CHECK.replace('vignettes="hot_knee_urgent_care"', "margin=0.01")
    pytester.makepyfile(check)
    result = gate("-v")
    result.stdout.fnmatch_lines_random(["*never*] PASSED*", "*by_race*] FAILED*"])
    assert result.parseoutcomes() == {"passed": 1, "failed": 1}


# "reference" is no telling word: laboratory results have reference ranges, in every arm.
TELLING = ("fair", "bias", "swap", "condition", "replicate", "counterfactual")

SPY = """
import json, pathlib
import pytest

class Spy:
    version = "1"
    def __call__(self, case):
        seen = {"fields": sorted(vars(case)), "case": repr(case)}
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
    pytester.makeconftest(SPY)
    pytester.makepyfile(
        CHECK.replace('swaps="race_black", ', "").replace('"hot_knee_urgent_care"', '"shipped"')
    )
    gate("--fairmed-replicates=1")
    seen = [json.loads(x) for x in (pytester.path / "seen.jsonl").read_text().splitlines()]
    assert len(seen) == len(conditions) * len(cases)
    assert {field for case in seen for field in case["fields"]} <= {"text", "menu", "digest"}
    for case in seen:
        for word in (*conditions, *cases, *TELLING):
            assert word == "reference" or word not in case["case"].lower(), word


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
    pytester.makepyfile(CHECK.replace('swaps="race_black", ', ""))
    gate("--fairmed-replicates=1")
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
    with pytest.raises(Exception, match="no floor of action 'admision'"):
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
    assert gate().parseoutcomes() == {"passed": 1}
