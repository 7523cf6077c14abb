"""An agent that decides by majority: k trajectories of another, and what most of them did."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median_low

from pytest_fairmedagent.agents.base import Ask, T
from pytest_fairmedagent.agents.clinical import ClinicalAgent
from pytest_fairmedagent.domain import Case, Trajectory
from pytest_fairmedagent.models.base import Message, Reply, Schema

RULE = "1"  # of counting; part of the configuration


@dataclass(frozen=True)
class VotingAgent:
    """Runs an agent `votes` times for one trial and returns the majority, field by field.

    It is a configuration of its own, with a floor that is measured like any other's. The ballots
    have seeds of their own; their calls are kept under `1/triage`, `2/triage` and so on, their
    decisions in the trajectory's `ballots`.
    """

    agent: ClinicalAgent
    votes: int

    @property
    def calls_per_trial(self) -> int:
        return self.votes * self.agent.calls_per_trial

    def configuration(self) -> Mapping[str, object]:
        return {**self.agent.configuration(), "votes": self.votes, "vote_rule": RULE}

    def run(self, case: Case, ask: Ask) -> Trajectory:
        ballots = [self.agent.run(case, _Ballot(ask, i + 1)) for i in range(self.votes)]
        outputs, missing = count_votes(ballots)
        return Trajectory(
            outputs=outputs,
            missing=missing,
            calls=sum(ballot.calls for ballot in ballots),
            repairs=sum(ballot.repairs for ballot in ballots),
            input_tokens=sum(ballot.input_tokens for ballot in ballots),
            output_tokens=sum(ballot.output_tokens for ballot in ballots),
            cache_read_tokens=sum(ballot.cache_read_tokens for ballot in ballots),
            cache_write_tokens=sum(ballot.cache_write_tokens for ballot in ballots),
            response_ids=tuple(r for ballot in ballots for r in ballot.response_ids),
            ballots=tuple(ballot.outputs for ballot in ballots),
        )


@dataclass(frozen=True)
class _Ballot:
    """Asks for one ballot: the number in the stage's name makes its seeds and records its own."""

    ask: Ask
    number: int

    @property
    def replicate(self) -> int:
        return self.ask.replicate

    def __call__(
        self,
        stage: str,
        attempt: int,
        messages: tuple[Message, ...],
        schema: Schema,
        max_tokens: int,
    ) -> Reply:
        return self.ask(f"{self.number}/{stage}", attempt, messages, schema, max_tokens)

    def patiently(self, call: Callable[[], T], limit_s: float | None = None) -> T:
        return self.ask.patiently(call, limit_s)


def count_votes(
    ballots: Sequence[Trajectory],
) -> tuple[dict[str, dict[str, object]], dict[str, str]]:
    """Return the majority's outputs by stage, and why a stage has none.

    Each field by itself: yes or no by majority, numbers by the median, of a list every element that
    most ballots have. A stage needs valid answers on more than half of the ballots. Of an even
    number of them the last is not counted, whatever it says: so nothing ties, and no value is
    favoured.
    """
    outputs: dict[str, dict[str, object]] = {}
    missing: dict[str, str] = {}
    stages = dict.fromkeys(stage for b in ballots for stage in (*b.outputs, *b.missing))
    for stage in stages:
        valid = [ballot.outputs[stage] for ballot in ballots if stage in ballot.outputs]
        if 2 * len(valid) <= len(ballots):
            reasons = [ballot.missing[stage] for ballot in ballots if stage in ballot.missing]
            told = next((r for r in reasons if r != "not reached"), "not reached")
            missing[stage] = told if told == "not reached" else f"no majority: {told}"
            continue
        counted = valid[: len(valid) - 1 + len(valid) % 2]
        outputs[stage] = {name: _majority([b[name] for b in counted]) for name in counted[0]}
    return outputs, missing


def _majority(values: Sequence[object]) -> object:
    first = values[0]
    if isinstance(first, list):
        elements = dict.fromkeys(e for value in values if isinstance(value, list) for e in value)
        return sorted(e for e in elements if 2 * sum(e in _list(v) for v in values) > len(values))
    # Of an odd number of booleans the median is the majority.
    return median_low(values)  # type: ignore[type-var]


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
