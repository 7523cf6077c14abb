"""Prompts and the window of an Ollama server, which answers 200 also when it has cut one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pytest_fairmedagent.agents.clinical import ClinicalAgent
from pytest_fairmedagent.errors import ModelError
from pytest_fairmedagent.models.base import OVER_WINDOW, Decoding, Planned, Reply, Request
from tests.models.conftest import Answer

pytest.importorskip("ollama")
from pytest_fairmedagent.models.ollama import OllamaModel

CHAT = "/api/chat"


def tokens(messages: list[dict[str, str]]) -> int:
    """As a server counts: four bytes a token, and a frame around each message."""
    return sum(len(message["content"]) // 4 + 5 for message in messages)


def drops_messages(messages: list[dict[str, str]], window: int) -> int:
    """What is left when whole messages go, from the front, but for system and last one."""
    system, rest = messages[:1], messages[1:]
    while tokens(system + rest) > window and len(rest) > 1:
        rest = rest[1:]
    return min(tokens(system + rest), window)


def keeps_half(messages: list[dict[str, str]], window: int) -> int:
    n = tokens(messages)
    return n if n <= window else window // 2


class Server:
    """Answers as Ollama does, with a window of its own if it does not obey."""

    def __init__(self, provider: Any, *, trained: int | None = 131_072) -> None:
        self.provider = provider
        self.obeys_truncate = True
        self.largest: int | None = None
        self.counts = True
        self.cut: Callable[[list[dict[str, str]], int], int] = keeps_half
        info = {"llama.context_length": trained} if trained else {}
        details = {"format": "gguf", "parameter_size": "8B", "quantization_level": "Q4_K_M"}
        provider.say("/api/show", {"details": details, "model_info": info})
        provider.say("/api/tags", {"models": [{"model": "m:latest", "digest": "abc"}]})
        provider.say("/api/version", {"version": "0.12.6"})
        provider.rule(CHAT, self.answer)

    def answer(self, body: Any) -> Answer:
        window = min(body["options"]["num_ctx"], self.largest or 10**9)
        n_prompt = tokens(body["messages"])
        if n_prompt > window and self.obeys_truncate and body["truncate"] is False:
            words = f"request ({n_prompt} tokens) exceeds the available context size ({window})"
            return Answer(json.dumps({"error": words}).encode(), 400)
        n_prompt = self.cut(body["messages"], window)
        said: dict[str, Any] = {
            "model": "m",
            "message": {"role": "assistant", "content": '{"esi_acuity": 2}'},
            "done": True,
            "done_reason": "stop",
            "eval_count": 12,
        }
        if self.counts:
            said["prompt_eval_count"] = n_prompt
        return Answer(json.dumps(said).encode())

    @property
    def windows(self) -> list[int]:
        return [body["options"]["num_ctx"] for body in self.provider.bodies(CHAT)]


def dialogue(n_messages: int, n_words: int, max_tokens: int = 90) -> Request:
    case = [{"role": "user", "content": "pain " * n_words}]
    turns = [{"role": r, "content": "yes " * 20} for r in ("assistant", "user")] * n_messages
    system = [{"role": "system", "content": "You triage. " * 20}]
    return Request("triage", (*system, *case, *turns), {"type": "object"}, 1, max_tokens)


def plan(*requests: Request) -> list[Planned]:
    return [Planned(f"case {i}, race_black, stage triage", r) for i, r in enumerate(requests)]


@pytest.fixture
def make(server: Any) -> Iterator[Callable[..., OllamaModel]]:
    models = []

    def make(**parameters: Any) -> OllamaModel:
        model = OllamaModel("m", decoding=Decoding(parameters), base_url=server.url)
        models.append(model)
        model.open()
        return model

    yield make
    for model in models:
        model.close()


@pytest.mark.parametrize(
    ("n_words", "window"), [(100, 8192), (4000, 8192), (6000, 16_384), (40_000, 131_072)]
)
def test_the_window_is_the_default_doubled_until_the_longest_prompt_of_the_plan_fits(
    server: Any, make: Callable[..., OllamaModel], n_words: int, window: int
) -> None:
    ollama = Server(server)
    model = make()
    model.prepare(plan(dialogue(1, 50), dialogue(2, n_words)))
    assert model.configuration()["context"] == window
    assert model.chat(dialogue(1, 50), 0).finish == "stop"
    assert ollama.windows[-1] == window


def test_a_plan_that_no_window_of_the_model_holds_is_refused_and_names_the_case(
    server: Any, make: Callable[..., OllamaModel]
) -> None:
    Server(server, trained=4096)
    model = make()
    before = len(server.bodies(CHAT))
    with pytest.raises(ModelError, match=r"case 1, race_black, stage triage has up to \d+ tokens"):
        model.prepare(plan(dialogue(1, 50), dialogue(2, 4000)))
    sent = server.bodies(CHAT)[before:]
    assert [len(body["messages"]) for body in sent] == [4]  # the short one alone, to be counted


def test_the_answers_of_all_stages_count_since_the_dialogue_grows(
    server: Any, make: Callable[..., OllamaModel]
) -> None:
    from pytest_fairmedagent.agents.rehearsal import rehearse
    from pytest_fairmedagent.domain import render
    from pytest_fairmedagent.files.swaps import read_swaps
    from pytest_fairmedagent.models.window import Ruler, size
    from pytest_fairmedagent.testing import blank_vignettes

    (vignette,) = blank_vignettes(1).values()
    requests = rehearse(ClinicalAgent(), render(vignette, read_swaps().conditions["race_black"]))
    last = max(requests, key=lambda request: size(request.messages))
    told = [m["content"] for m in last.messages]
    assert last.stage == "document"
    assert "urgency_score" in told[2]  # the first answer of all
    assert len(told[-2]) == 4 * last.max_tokens  # an answer cut at its limit, and asked for again
    assert last.messages[-2]["role"] == "assistant"
    Server(server)
    model = make(num_ctx=Ruler().need(requests[0]))  # enough for the first stage, not the last
    with pytest.raises(ModelError, match=r"blank_1, race_black, stage document has") as caught:
        model.prepare([Planned(f"blank_1, race_black, stage {r.stage}", r) for r in requests])
    assert "leave num_ctx out of --fairmed-decoding" in str(caught.value)


def test_the_servers_own_error_names_the_case_where_the_guess_was_too_low(
    server: Any, make: Callable[..., OllamaModel]
) -> None:
    ollama = Server(server)
    ollama.largest = 1024  # such as a proxy in front of a server with a window of its own
    model = make()
    refused = r"refuses the prompt of case 1, race_black, stage triage at num_ctx=8192: .* \(1024\)"
    with pytest.raises(ModelError, match=refused) as caught:
        model.prepare(plan(dialogue(1, 50), dialogue(2, 1000)))
    assert "the server does not obey num_ctx" in str(caught.value)


@pytest.mark.parametrize("cut", [drops_messages, keeps_half])
def test_a_server_that_cuts_without_a_word_is_found_out_before_the_first_draw(
    server: Any, make: Callable[..., OllamaModel], cut: Callable[..., int]
) -> None:
    ollama = Server(server)
    ollama.obeys_truncate, ollama.largest, ollama.cut = False, 1024, cut
    model = make()
    with pytest.raises(ModelError, match=r"read \d+ tokens of the prompt of case 1, race_black"):
        model.prepare(plan(dialogue(1, 50), dialogue(2, 1000)))


def test_a_server_that_cuts_the_shortest_prompt_too_is_found_out_by_too_few_tokens(
    server: Any, make: Callable[..., OllamaModel]
) -> None:
    ollama = Server(server)
    ollama.obeys_truncate, ollama.largest = False, 256
    model = make()
    with pytest.raises(ModelError, match=r"read 128 tokens of the prompt of case 0, race_black"):
        model.prepare(plan(dialogue(1, 1000), dialogue(2, 1000)))


@pytest.mark.parametrize("cut", [drops_messages, keeps_half])
def test_a_prompt_that_is_cut_later_is_no_answer_whatever_the_server_said_to_it(
    server: Any, make: Callable[..., OllamaModel], cut: Callable[..., int]
) -> None:
    ollama = Server(server)
    model = make()
    model.prepare(plan(dialogue(1, 50), dialogue(2, 1000)))
    whole = model.chat(dialogue(2, 1000), 0)
    ollama.obeys_truncate, ollama.largest, ollama.cut = False, 1024, cut
    reply = model.chat(dialogue(2, 1000), 0)
    assert (whole.finish, whole.text) == ("stop", '{"esi_acuity": 2}')
    assert (reply.finish, reply.text) == (OVER_WINDOW, "")
    assert 0 < reply.input_tokens < whole.input_tokens


@pytest.mark.parametrize(("n_prompt", "finish"), [(8102, "stop"), (8103, OVER_WINDOW)])
def test_a_prompt_that_leaves_no_room_for_the_answer_is_no_answer(
    server: Any,
    make: Callable[..., OllamaModel],
    request_: Request,
    n_prompt: int,
    finish: str,
) -> None:
    ollama = Server(server)
    model = make()
    ollama.cut = lambda messages, window: n_prompt
    assert model.chat(request_, 0).finish == finish


def test_a_prompt_that_can_not_fit_is_not_sent(
    server: Any, make: Callable[..., OllamaModel]
) -> None:
    Server(server)
    model = make()
    server.asked.clear()
    assert model.chat(dialogue(1, 6000), 0) == Reply("", OVER_WINDOW)
    assert server.asked == []


def test_a_server_that_counts_nothing_is_recorded_as_one(
    server: Any, make: Callable[..., OllamaModel]
) -> None:
    ollama = Server(server)
    model = make()
    model.prepare(plan(dialogue(1, 50), dialogue(2, 1000)))
    counted = model.configuration()["prompts_counted"]
    ollama.counts = False
    model.prepare(plan(dialogue(1, 50), dialogue(2, 1000)))
    assert (counted, model.configuration()["prompts_counted"]) == (True, False)
    assert model.chat(dialogue(2, 1000), 0).finish == "stop"


def test_a_trial_with_a_cut_prompt_is_missing_with_its_own_reason_and_is_not_asked_again(
    server: Any, make: Callable[..., OllamaModel], tmp_path: Any
) -> None:
    from pytest_fairmedagent.domain import ACTIONS, Family, Plan
    from pytest_fairmedagent.files.swaps import read_swaps
    from pytest_fairmedagent.running.store import Store
    from pytest_fairmedagent.study import Study
    from pytest_fairmedagent.testing import blank_vignettes

    ollama = Server(server)
    descriptor = read_swaps().conditions["race_black"].descriptor

    def cut_one_arm(messages: list[dict[str, str]], window: int) -> int:
        n_prompt = tokens(messages)
        return n_prompt // 2 if descriptor in str(messages) and len(messages) == 2 else n_prompt

    model = make()
    vignettes = blank_vignettes(2)
    family = Family("primary", ("race_black",), tuple(ACTIONS), tuple(vignettes), replicates=2)
    study = Study(
        Plan((family,), "reference", ()),
        vignettes,
        read_swaps(),
        ClinicalAgent(),
        model,
        Store(tmp_path),
        seed=1,
    )
    whole = model.prepare

    def prepare_and_then_cut(planned: list[Planned]) -> None:
        whole(planned)
        ollama.cut = cut_one_arm

    model.prepare = prepare_and_then_cut  # type: ignore[method-assign,assignment]
    study.sample(family.members)
    study.store.close()  # type: ignore[union-attr]
    assert study.info is not None
    reasons = study.info.missing
    assert reasons["race_black"] == {"triage: the prompt did not fit the window": 4}
    assert "the prompt did not fit the window" not in str(reasons.get("reference"))
    assert study.info.complete  # no fault to be drawn again: the same prompt would be cut again
    assert study.table is not None
    for vignette in vignettes:
        for trajectory in study.table.rows[vignette, "race_black"]:
            assert (trajectory.outputs, trajectory.calls) == ({}, 1)
