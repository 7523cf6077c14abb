"""What an agent is: it is shown a case, may ask a model, and ends with a trajectory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from pytest_fairmedagent.domain import Case, Trajectory
from pytest_fairmedagent.models.base import Message, Reply, Schema

T = TypeVar("T")


class Ask(Protocol):
    """Asks the model under test once. The runner behind it stores, seeds and retries.

    `replicate` counts the draws of this case, from 0. It says nothing about the condition.
    """

    @property
    def replicate(self) -> int: ...

    def __call__(
        self,
        stage: str,
        attempt: int,
        messages: tuple[Message, ...],
        schema: Schema,
        max_tokens: int,
    ) -> Reply: ...

    def patiently(self, call: Callable[[], T], limit_s: float | None = None) -> T:
        """Return what a call to a server of the agent's own returns.

        It is tried again for transient ModelErrors, by the same rule as calls of the model, and
        given up after `limit_s` seconds.
        """


class Agent(Protocol):
    """The system under test.

    It sees the case and nothing else: not which condition it is, nor that anything is compared.
    """

    @property
    def calls_per_trial(self) -> int | None:
        """Model calls of a trial without repairs; None where the agent asks in its own way."""

    def configuration(self) -> Mapping[str, object]:
        """Return what identifies the agent: prompts, scaffold, parser, or its own version."""

    def run(self, case: Case, ask: Ask) -> Trajectory:
        """Return what the agent did. ModelError passes through; the agent's own faults do not."""
