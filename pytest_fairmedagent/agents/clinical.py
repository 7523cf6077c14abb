"""The six-stage clinical agent: five model calls in fixed order, and results from the menu."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_fairmedagent.agents import parsing, prompts
from pytest_fairmedagent.agents.base import Ask
from pytest_fairmedagent.agents.fields import Field, FieldError, schema_of
from pytest_fairmedagent.domain import Case, Trajectory
from pytest_fairmedagent.models.base import Message, Reply

REPAIRS = 1  # one further try for a reply that is not valid, then the stage is missing


@dataclass
class _Progress:
    """What one trajectory has so far."""

    messages: list[Message]
    outputs: dict[str, dict[str, object]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    replies: list[Reply] = field(default_factory=list)
    repairs: int = 0


class ClinicalAgent:
    """triage, order, (results), reassess, prescribe, document: one growing conversation.

    A stage whose reply is not valid after one repair is missing with its reason, and the
    trajectory ends there: later stages would answer for a case that never was.
    """

    def configuration(self) -> Mapping[str, object]:
        return {
            "agent": "six-stage",
            "scaffold": prompts.SCAFFOLD,
            "prompts": prompts.digest(),
            "parser": parsing.VERSION,
            "repairs": REPAIRS,
        }

    def run(self, case: Case, ask: Ask) -> Trajectory:
        menu = case.menu
        progress = _Progress([{"role": "system", "content": prompts.system(menu)}])
        for stage in prompts.STAGES:
            fields = prompts.fields_of(stage, menu)
            question = prompts.step(stage, fields)
            if stage.name == "triage":
                question = f"{case.text}\n\n{question}"
            elif stage.name == "reassess":
                ordered: Any = progress.outputs["order"]["orders"]
                question = f"{prompts.results(menu, ordered)}\n\n{question}"
            progress.messages.append({"role": "user", "content": question})
            if not _decide(progress, stage.name, fields, stage.max_tokens, ask):
                break
        for stage in prompts.STAGES:
            if stage.name not in progress.outputs and stage.name not in progress.missing:
                progress.missing[stage.name] = "not reached"
        return Trajectory(
            outputs=progress.outputs,
            missing=progress.missing,
            calls=len(progress.replies),
            repairs=progress.repairs,
            input_tokens=sum(reply.input_tokens for reply in progress.replies),
            output_tokens=sum(reply.output_tokens for reply in progress.replies),
            response_ids=tuple(r.response_id for r in progress.replies if r.response_id),
        )


def _decide(
    progress: _Progress, stage: str, fields: Sequence[Field], max_tokens: int, ask: Ask
) -> bool:
    """Ask for one decision, with repairs. Returns whether a valid one came."""
    schema = schema_of(fields)
    extra: list[Message] = []
    for attempt in range(REPAIRS + 1):
        reply = ask(stage, attempt, (*progress.messages, *extra), schema, max_tokens)
        progress.replies.append(reply)
        progress.repairs += attempt > 0
        try:
            output = parsing.read_reply(reply, fields)
        except FieldError as error:
            progress.missing[stage] = str(error)
            extra = [
                {"role": "assistant", "content": reply.text or "(empty)"},
                {"role": "user", "content": prompts.REPAIR.format(reason=error)},
            ]
            continue
        progress.missing.pop(stage, None)
        progress.outputs[stage] = output
        # Later stages see the decision, not its spelling: white space must not carry over.
        told = json.dumps(output, separators=(",", ":"))
        progress.messages.append({"role": "assistant", "content": told})
        return True
    return False
