"""What an agent is: it is shown a case, may ask a model, and ends with a trajectory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from pytest_fairmedagent.domain import Case, Trajectory
from pytest_fairmedagent.models.base import Message, Reply, Schema


class Ask(Protocol):
    """Asks the model under test once. The runner behind it stores, seeds and retries."""

    def __call__(
        self,
        stage: str,
        attempt: int,
        messages: tuple[Message, ...],
        schema: Schema,
        max_tokens: int,
    ) -> Reply: ...


class Agent(Protocol):
    """The system under test.

    It sees the case and nothing else: not which condition it is, nor that anything is compared.
    """

    def configuration(self) -> Mapping[str, object]:
        """Return what identifies the agent: prompts, scaffold, parser, or its own version."""

    def run(self, case: Case, ask: Ask) -> Trajectory:
        """Return what the agent did. ModelError passes through; the agent's own faults do not."""
