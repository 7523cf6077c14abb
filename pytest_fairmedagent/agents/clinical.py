"""The six-stage clinical agent: five model calls in fixed order, and results from the menu."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_fairmedagent.agents import parsing, prompts
from pytest_fairmedagent.agents.base import Ask
from pytest_fairmedagent.agents.dialogue import Dialogue, check_stages, split_case
from pytest_fairmedagent.agents.fields import Field, FieldError, check_fields, schema_of
from pytest_fairmedagent.agents.held import Held
from pytest_fairmedagent.agents.scaffolds import NAMES, scaffold_of
from pytest_fairmedagent.domain import Case, Trajectory
from pytest_fairmedagent.errors import PlanError, closest
from pytest_fairmedagent.models.base import OVER_WINDOW, Message, Reply

REPAIRS = 1  # one further try for a reply that is not valid, then the stage is missing


@dataclass
class _Progress:
    """What one trajectory has so far."""

    outputs: dict[str, dict[str, object]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    replies: list[Reply] = field(default_factory=list)
    repairs: int = 0


class ClinicalAgent:
    """triage, order, (results), reassess, prescribe, document: one growing conversation.

    A stage whose reply is not valid after one repair is missing with its reason, and the
    trajectory ends there: later stages would answer for a case that never was. A case without a
    menu has no `order` stage and four calls.

    Args:
        scaffold: `direct`, `reasoned` or `panel`; for votes see `clinical_agent`.
        exposure: stages whose prompt carries the descriptor; the others see the conversation
            without it. None for all.
        held: recorded outputs of one stage, taken over without a call.

    Raises PlanError for an unknown name, and where no call at all would carry the descriptor.
    """

    def __init__(
        self,
        scaffold: str = "direct",
        *,
        exposure: Collection[str] | None = None,
        held: Held | None = None,
    ) -> None:
        if scaffold not in NAMES:
            raise PlanError(f"unknown scaffold {scaffold!r}.{closest(scaffold, NAMES)}")
        self._scaffold = scaffold_of(scaffold)
        self._exposure = check_stages(exposure)
        self._held = held
        if held is not None and self._exposure == (check_stages([held.stage])):
            raise PlanError(
                f"only '{held.stage}' carries the descriptor and it is held, so no call would see "
                "it: expose a further stage"
            )

    @property
    def calls_per_trial(self) -> int:
        """Model calls of a trial that needs no repair."""
        return len(prompts.STAGES) - (self._held is not None)

    def configuration(self) -> Mapping[str, object]:
        return {
            "agent": "six-stage",
            "scaffold": self._scaffold.name,
            "scaffold_version": self._scaffold.version,
            "prompts": prompts.digest(self._scaffold),
            "exposure": list(self._exposure),
            "held": "nothing" if self._held is None else f"{self._held.stage} {self._held.digest}",
            "parser": parsing.VERSION,
            "repairs": REPAIRS,
        }

    def run(self, case: Case, ask: Ask) -> Trajectory:
        menu, held = case.menu, self._held
        split = split_case(case, whole=len(self._exposure) == len(prompts.STAGES))
        stages = prompts.stages_of(menu)
        talk = Dialogue(prompts.system(menu, self._scaffold), split, self._exposed(stages))
        progress = _Progress()
        for stage in stages:
            fields = prompts.fields_of(stage, menu, self._scaffold)
            question = prompts.step(stage, fields)
            if stage.name == "reassess" and menu:
                ordered: Any = progress.outputs["order"]["orders"]
                question = f"{prompts.results(menu, ordered)}\n\n{question}"
            talk.ask(stage.name, question)
            if held is not None and held.stage == stage.name:
                decision = tuple(f for f in fields if f not in self._scaffold.texts)
                output = _taken_over(held.output(split.narrative, ask.replicate), decision)
                progress.outputs[stage.name] = output
            else:
                most = stage.max_tokens + self._scaffold.more_tokens
                if not _decide(progress, stage.name, talk.messages, fields, most, ask):
                    break
            # Later stages see the decision, not its spelling: white space must not carry over, nor
            # what was said on the way to it.
            told = json.dumps(progress.outputs[stage.name], separators=(",", ":"))
            talk.answer(told)
        for stage in stages:
            if stage.name not in progress.outputs and stage.name not in progress.missing:
                progress.missing[stage.name] = "not reached"
        return Trajectory(
            outputs=progress.outputs,
            missing=progress.missing,
            calls=len(progress.replies),
            repairs=progress.repairs,
            input_tokens=sum(reply.input_tokens for reply in progress.replies),
            output_tokens=sum(reply.output_tokens for reply in progress.replies),
            cache_read_tokens=sum(reply.cache_read_tokens for reply in progress.replies),
            cache_write_tokens=sum(reply.cache_write_tokens for reply in progress.replies),
            response_ids=tuple(r.response_id for r in progress.replies if r.response_id),
        )

    def _exposed(self, stages: Sequence[prompts.Stage]) -> tuple[str, ...]:
        """Return the stages of a case that carry the descriptor. Raises PlanError for none."""
        exposed = tuple(stage.name for stage in stages if stage.name in self._exposure)
        if not exposed:
            raise PlanError(
                "a case has no menu, so no 'order' stage, and no other stage carries the "
                "descriptor.\n  Expose a further stage, or give the case a menu."
            )
        return exposed


def _taken_over(recorded: Mapping[str, object], fields: Sequence[Field]) -> dict[str, object]:
    try:
        return check_fields(recorded, fields)
    except FieldError as error:
        raise PlanError(f"a held output is not valid here: {error}") from None


def _decide(
    progress: _Progress,
    stage: str,
    messages: tuple[Message, ...],
    fields: Sequence[Field],
    max_tokens: int,
    ask: Ask,
) -> bool:
    """Ask for one decision, with repairs. Returns whether a valid one came."""
    schema = schema_of(fields)
    extra: tuple[Message, ...] = ()
    for attempt in range(REPAIRS + 1):
        reply = ask(stage, attempt, (*messages, *extra), schema, max_tokens)
        progress.replies.append(reply)
        progress.repairs += attempt > 0
        try:
            output = parsing.read_reply(reply, fields)
        except FieldError as error:
            progress.missing[stage] = str(error)
            if reply.finish == OVER_WINDOW:
                break  # asking again makes the prompt longer still
            extra = (
                {"role": "assistant", "content": parsing.sendable(reply.text)},
                {"role": "user", "content": prompts.REPAIR.format(reason=error)},
            )
            continue
        progress.missing.pop(stage, None)
        progress.outputs[stage] = output
        return True
    return False
