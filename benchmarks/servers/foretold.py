"""How each trial ends on a server with faults, told without a server: its seeds decide it all."""

from __future__ import annotations

import math
from collections.abc import Mapping

from benchmarks.servers.faults import CONTENT, INFRASTRUCTURE, FaultOf
from pytest_fairmedagent.agents.clinical import ClinicalAgent
from pytest_fairmedagent.domain import Case, Trajectory, Trial
from pytest_fairmedagent.errors import ModelError
from pytest_fairmedagent.models.base import Message, Reply, Request, Schema
from pytest_fairmedagent.models.simulated import SimulatedModel
from pytest_fairmedagent.running.schedule import seed_of
from pytest_fairmedagent.running.store import Draw


def foretell(
    places: Mapping[Trial, Draw],
    cases: Mapping[tuple[str, str], Case],
    model: SimulatedModel,
    fault_of: FaultOf,
    *,
    seed: int,
) -> dict[Trial, Trajectory]:
    """Return the trajectory of every trial; `missing` of one lost to the server is the kind only.

    `seed` is the run's. A fault that passes after some tries changes nothing.
    """
    ends = {}
    for trial, place in places.items():
        try:
            ask = _Foretold(model, fault_of, seed, place)
            ends[trial] = ClinicalAgent().run(cases[trial.vignette, trial.condition], ask)
        except ModelError as error:
            ends[trial] = Trajectory({}, {"trial": error.kind}, infrastructure=True)
    return ends


class _Foretold:
    """Asks the truth where the runner would ask the server."""

    def __init__(
        self, model: SimulatedModel, fault_of: FaultOf, run_seed: int, place: Draw
    ) -> None:
        self._model, self._fault_of = model, fault_of
        self._run_seed, self._place = run_seed, place

    def __call__(
        self,
        stage: str,
        attempt: int,
        messages: tuple[Message, ...],
        schema: Schema,
        max_tokens: int,
    ) -> Reply:
        seed = seed_of(self._run_seed, self._place, stage, attempt)
        fault = self._fault_of(seed)
        if fault and fault.name in INFRASTRUCTURE and fault.tries == math.inf:
            raise ModelError("", kind=INFRASTRUCTURE[fault.name])
        reply = self._model.chat(Request(stage, messages, schema, seed, max_tokens), 0)
        changed = CONTENT.get(fault.name) if fault else None
        return Reply(changed(reply.text)) if changed else reply
