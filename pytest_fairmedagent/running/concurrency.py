"""How a run asks its servers: how many calls at once, and whether beside other runs."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_fairmedagent.agents.base import Agent
from pytest_fairmedagent.errors import PlanError, StoreError
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
        processes: that share the number, those of xdist.
        start: the name of the run that its processes have in common.
        share: ask a server of this machine even while another run does.
    """

    measure: bool = False
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
    offline: bool,
    n_trials: int,
    on_note: Callable[[str], None],
) -> Measured | None:
    """Set the `workers` of an open model to the measured number, and return its measurement.

    None where nothing is to be measured, or the model runs in this process, which has its cores and
    no server to ask. What was measured is kept with the configuration, so a later start takes it
    and goes on with the same series; of the processes of one start the first measures, and the
    others wait for it.
    """
    if not how.measure or not getattr(model, "endpoints", ()):
        return None
    if agent.calls_per_trial is None:
        raise PlanError(
            "--fairmed-concurrency is 'auto', but the agent under test asks in its own way, so "
            "there is nothing that could be measured\n  give a number: --fairmed-concurrency=4"
        )
    key = digest_of({k: v for k, v in configuration.items() if k != "workers"})
    with alone(store.path / LOCK, lambda: on_note("another process measures the server")):
        kept = store.concurrency(key, fresh)
        if kept is not None:
            found = _read(kept)
        elif offline:
            raise StoreError(
                f"--fairmed-offline: --fairmed-concurrency is 'auto', and {store.path} holds no "
                "measurement for this configuration.\n  Give the number that the run had."
            )
        else:
            on_note("measures how many calls to have under way")
            found = measure(model, most_calls=n_trials * agent.calls_per_trial // SHARE)
            store.keep_concurrency(key, fresh, json.dumps(found.as_record()))
    model.workers = max(1, found.workers // how.processes)
    return found


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
