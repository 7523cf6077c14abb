"""What a plan may come to at its longest, found by running the agent against no model at all."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from pytest_fairmedagent.agents.base import Agent
from pytest_fairmedagent.domain import Case, Catalogue, Plan, Vignette, render
from pytest_fairmedagent.models.base import (
    ChatModel,
    Message,
    Planned,
    Reply,
    Request,
    Schema,
    Windowed,
)

T = TypeVar("T")

CHARACTERS_PER_TOKEN = 4  # of English, as models are measured to write it
# Real words, since a back end may have them counted: a row of one letter has far fewer tokens.
_WORDS = "the pain began in the morning and got worse while the patient walked upstairs; "


def prepare(
    model: ChatModel,
    agent: Agent,
    plan: Plan,
    vignettes: Mapping[str, Vignette],
    catalogue: Catalogue,
) -> None:
    """Have a back end that knows its window look whether every request of the plan fits.

    The whole plan and not what is selected of it, so that `-k` does not change the window, and with
    it the configuration. An agent that asks in its own way cannot be rehearsed: running it may
    reach servers of its own. Raises ModelError that names the case which does not fit.
    """
    if not isinstance(model, Windowed) or agent.calls_per_trial is None:
        return
    arms = plan.arms(member for family in plan.families for member in family.members)
    planned = []
    for arm in sorted(arms, key=lambda arm: (arm.vignette, arm.condition)):
        case = render(vignettes[arm.vignette], catalogue.conditions[arm.condition])
        where = f"{arm.vignette}, {arm.condition}"
        planned += [Planned(f"{where}, stage {r.stage}", r) for r in rehearse(agent, case)]
    if planned:
        model.prepare(planned)


def rehearse(agent: Agent, case: Case) -> list[Request]:
    """Return every request that the agent makes for a case, if all answers are as long as can be.

    Once with each first answer of a stage cut at its limit, so that a repair follows, which makes
    the longest prompts; and once with valid answers only, for agents that do not repair.
    """
    requests: list[Request] = []
    for broken in (True, False):
        asker = _Rehearsal(case, broken)
        agent.run(case, asker)
        requests += asker.requests
    return requests


def expected_tokens(agent: Agent, case: Case) -> tuple[int, int] | None:
    """Return about how many tokens a trial sends and gets back, if no reply needs a repair.

    None for an agent that asks in its own way. An estimate from the length of the texts: models
    count differently, and answers are taken at their longest.
    """
    if agent.calls_per_trial is None:
        return None
    asker = _Rehearsal(case, broken=False)
    agent.run(case, asker)
    sent = sum(len(m["content"]) for request in asker.requests for m in request.messages)
    return sent // CHARACTERS_PER_TOKEN, asker.answered // CHARACTERS_PER_TOKEN


@dataclass
class _Rehearsal:
    """Answers in place of a model: the longest reply that a schema allows, or the longest prose."""

    case: Case
    broken: bool
    requests: list[Request] = field(default_factory=list)
    replicate: int = 0
    answered: int = 0  # characters

    def __call__(
        self,
        stage: str,
        attempt: int,
        messages: tuple[Message, ...],
        schema: Schema,
        max_tokens: int,
    ) -> Reply:
        self.requests.append(Request(stage, messages, schema, 0, max_tokens))
        if self.broken and attempt == 0:
            return Reply(_prose(CHARACTERS_PER_TOKEN * max_tokens), finish="length")
        told = {order.id: len(f"{order.id}{order.name}{order.result}") for order in self.case.menu}
        text = json.dumps(_longest(schema, told))
        self.answered += len(text)
        return Reply(text)

    def patiently(self, call: Callable[[], T], limit_s: float | None = None) -> T:
        raise NotImplementedError("internal: an agent with servers of its own was rehearsed")


def _longest(schema: Schema, told: Mapping[str, int]) -> object:
    """Return a value of the schema that makes the longest prompts after it.

    `told` is how many characters an id brings into the conversation, its result counted.
    """
    if "enum" in schema:
        return max(schema["enum"], key=lambda value: told.get(value, len(str(value))))
    kind = schema.get("type")
    if kind == "object":
        return {name: _longest(inner, told) for name, inner in schema["properties"].items()}
    if kind == "array":
        ids = sorted(
            schema["items"].get("enum", ()),
            key=lambda value: told.get(value, len(str(value))),
            reverse=True,
        )
        return ids[: schema.get("maxItems", len(ids))]
    if kind == "string":
        return _prose(schema.get("maxLength", 0))
    if kind in ("integer", "number"):
        return schema.get("maximum", 0)
    return False


def _prose(length: int) -> str:
    return (_WORDS * (length // len(_WORDS) + 1))[:length]
