"""The prompts of a stored trial, rendered afresh and proven to be those that were sent.

The store keeps digests of what was sent and not its text, so vignette and catalogue are needed. A
prompt is given only where its digest is the stored one: one that merely looks right is no evidence.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from pytest_fairmedagent.agents.build import agent_of
from pytest_fairmedagent.domain import Arm, Case, Catalogue, Vignette, render
from pytest_fairmedagent.models.base import Message, Reply, Request, Schema
from pytest_fairmedagent.running.archive import StoredCall, StoredRun, StoredTrial
from pytest_fairmedagent.running.schedule import draws_of

Messages = tuple[Message, ...]

T = TypeVar("T")


@dataclass(frozen=True)
class Prompts:
    """The messages of each call (stage, attempt) whose digest is the stored one.

    `case` is the case as it was shown, None where no vignette renders to the key of the trial.
    `note` says what could not be rendered and why; "" where nothing is left out.
    """

    case: Case | None
    messages: Mapping[tuple[str, int], Messages] = field(default_factory=dict)
    note: str = ""


def render_prompts(
    run: StoredRun,
    trial: StoredTrial,
    calls: Sequence[StoredCall],
    vignettes: Mapping[str, Vignette],
    catalogue: Catalogue,
) -> Prompts:
    """Return the prompts of a trial, as far as they can be proven."""
    name, condition = trial.trial.vignette, trial.trial.condition
    if condition not in catalogue.conditions:
        return Prompts(None, note=f"the catalogue has no condition '{condition}'. Give its --swaps")
    case = _case_of(run, trial, vignettes, catalogue)
    if case is None:
        return Prompts(
            None,
            note=f"no vignette renders to the key of this draw: '{name}' or the line of "
            f"'{condition}' is not here or was edited since. Give the files of then with "
            "--vignettes and --swaps",
        )
    agent = agent_of(run.fields)
    differing = [k for k, v in agent.configuration().items() if run.fields.get(k) != v]
    if differing:
        return Prompts(
            case,
            note="the agent was another than the six-stage one of this version (it differs in "
            f"{', '.join(differing)}), so of its prompts only the case is known",
        )
    reader = _Reader(calls, trial.trial.replicate)
    with contextlib.suppress(_Ended):
        agent.run(case, reader)
    left = [f"{c.stage} {c.attempt + 1}" for c in calls if _place(c) not in reader.proven]
    note = f"the digest of what was sent does not match for {', '.join(left)}" if left else ""
    return Prompts(case, reader.proven, note)


def _case_of(
    run: StoredRun,
    trial: StoredTrial,
    vignettes: Mapping[str, Vignette],
    catalogue: Catalogue,
) -> Case | None:
    """Return the case with the trial's key; its vignette may have got another name since."""
    condition = trial.trial.condition
    by_name = sorted(vignettes, key=lambda name: name != trial.trial.vignette)
    for name in by_name:
        places = draws_of([Arm(name, condition, 1)], vignettes, catalogue, run.configuration)
        if any(place.key == trial.key for place in places.values()):
            return render(vignettes[name], catalogue.conditions[condition])
    return None


class _Ended(Exception):
    """No further call of the trial was kept."""


class _Reader:
    """Answers an agent with the stored replies, and notes what it asks."""

    def __init__(self, calls: Sequence[StoredCall], replicate: int) -> None:
        self.replicate = replicate
        self._calls = {_place(call): call for call in calls}
        self.proven: dict[tuple[str, int], Messages] = {}

    def __call__(
        self, stage: str, attempt: int, messages: Messages, schema: Schema, max_tokens: int
    ) -> Reply:
        call = self._calls.get((stage, attempt))
        if call is None:
            raise _Ended
        request = Request(stage, messages, schema, call.seed, max_tokens)
        if request.digest == call.request:
            self.proven[stage, attempt] = messages
        return call.reply

    def patiently(self, call: Callable[[], T], limit_s: float | None = None) -> T:
        raise _Ended  # a call that is not the model's was not kept


def _place(call: StoredCall) -> tuple[str, int]:
    return call.stage, call.attempt
