"""How a run asks its servers: how many calls at once, and whether beside other runs."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_fairmedagent.agents.base import Agent
from pytest_fairmedagent.errors import PlanError
from pytest_fairmedagent.models.base import ChatModel
from pytest_fairmedagent.running.info import digest_of
from pytest_fairmedagent.running.ladder import Measured, Rung, measure
from pytest_fairmedagent.running.locks import alone
from pytest_fairmedagent.running.store import Store
from pytest_fairmedagent.running.throttle import Throttle

LOCK = "concurrency.lock"
SHARE = 10  # a measurement takes at most one in so many of the plan's calls


@dataclass(frozen=True)
class Concurrency:
    """How a run shares its servers.

    Args:
        measure: choose by measurement how many calls are under way at once.
        total: so many in all processes together; None for the `workers` of the model.
        processes: that share the number, those of xdist.
        start: the name of the run that its processes have in common.
        share: ask a server of this machine even while another run does.
    """

    measure: bool = False
    total: int | None = None
    processes: int = 1
    start: str = field(default_factory=lambda: uuid.uuid4().hex)
    share: bool = False


def settle(
    how: Concurrency,
    model: ChatModel,
    agent: Agent,
    store: Store,
    configuration: Mapping[str, object],
    *,
    fresh: str,
    most_calls: Callable[[], int],
    on_note: Callable[[str], None],
) -> Measured | None:
    """Set the `workers` of an open model to this process' part of the measured number, and return
    the measurement.

    None where nothing is to be measured, or the model runs on this machine, which has its cores and
    no server to ask. What was measured is kept with the configuration, so a later start takes it
    and goes on with the same series; of the processes of one start the first measures, and the
    others wait for it. `most_calls` tells how many calls the run may take, or raises where they
    would be too few for it.
    """
    if not how.measure:
        return None
    if agent.calls_per_trial is None:
        raise PlanError(
            "--fairmed-concurrency is 'auto', but the agent under test asks in its own way, so "
            "there is nothing that could be measured\n  give a number: --fairmed-concurrency=4"
        )
    if not getattr(model, "endpoints", ()):
        return None
    key = _key(configuration)
    with alone(store.path / LOCK, lambda: on_note("another process measures the server")):
        text = store.concurrency(key, fresh)
        if text is not None:
            found = _read(text)
        else:
            most = most_calls() // SHARE
            on_note("measures how many calls to have under way")
            found = measure(model, most_calls=most)
            store.keep_concurrency(key, fresh, json.dumps(found.as_record()))
    model.workers = part(found.workers, how.processes, model)
    return found


def part(total: int, processes: int, model: ChatModel) -> int:
    """Return how many of the requests under way are those of one process of several.

    One at least, and one for each server that the model asks, as far as the number goes.
    """
    return max(1, total // processes, min(total, len(getattr(model, "endpoints", ()))))


def kept(store: Store, configuration: Mapping[str, object]) -> Measured | None:
    """Return the measurement of a configuration that was come to before, None where none was."""
    text = store.concurrency(_key(configuration), "")
    return None if text is None else _read(text)


def _key(configuration: Mapping[str, object]) -> str:
    return digest_of({k: v for k, v in configuration.items() if k != "workers"})


def _read(text: str) -> Measured:
    fields = json.loads(text)
    rungs = (Rung(r["under_way"], r["calls"], r["elapsed_s"], r["fault"]) for r in fields["rungs"])
    return Measured(**{**fields, "rungs": tuple(rungs)})


def shared(
    measured: Measured | None, throttle: Throttle | None, others: Sequence[str]
) -> dict[str, Any]:
    """Return what a run has to tell of its concurrency: the field of `RunInfo`."""
    notes = [f"measured: {measured}"] if measured else []
    notes += [note for note in (throttle.note() if throttle else "",) if note]
    notes += [f"the server was shared with another run: {other}" for other in others]
    return {
        "measured": measured.as_record() if measured else None,
        "lowest": throttle.lowest if throttle else None,
        "shared_with": list(others),
        "notes": notes,
    }
