"""A trajectory: what the agent did in one trial, stage by stage."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

Value = object  # bool, int, float, str or a list of these; validated where it enters


@dataclass(frozen=True)
class Trial:
    """One vignette under one condition, drawn once. `replicate` counts from 0 inside the arm."""

    vignette: str
    condition: str
    replicate: int


@dataclass(frozen=True)
class Trajectory:
    """The outputs of a trial, `{stage: {field: value}}`.

    `missing` maps a stage (or "trial") to the reason why it has no valid output: nothing that is
    missing is ever filled with a default. `infrastructure` tells that the reason lies with the
    server or the network, not with the agent, so that the trial may be drawn again on resume.
    `calls` counts model calls, `repairs` those among them that asked again for a valid reply.
    `ballots` are the outputs of the trajectories that an agent has voted over.
    """

    outputs: Mapping[str, Mapping[str, Value]]
    missing: Mapping[str, str] = field(default_factory=dict)
    calls: int = 0
    repairs: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    infrastructure: bool = False
    response_ids: tuple[str, ...] = ()
    ballots: tuple[Mapping[str, Mapping[str, Value]], ...] = ()

    @property
    def complete(self) -> bool:
        return not self.missing

    def get(self, stage: str, name: str) -> Value | None:
        """Return one output field, or None where the stage or field is missing."""
        return self.outputs.get(stage, {}).get(name)


def frozen(value: object) -> Hashable:
    """Return an output in a form that is equal, and has one hash, where outputs are equal."""
    if isinstance(value, (str, int, float)):  # nearly all are; a Mapping is slow to ask for
        return value
    if isinstance(value, Mapping):
        return frozenset((name, frozen(inner)) for name, inner in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(frozen(inner) for inner in value)
    return value if isinstance(value, Hashable) else repr(value)
