"""What a run is drawn in: the configuration of its open model, or offline that of a stored run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pytest_fairmedagent.agents.base import Agent
from pytest_fairmedagent.agents.rehearsal import prepare
from pytest_fairmedagent.domain import Catalogue, Plan, Vignette
from pytest_fairmedagent.errors import StoreError
from pytest_fairmedagent.models.base import ChatModel
from pytest_fairmedagent.running import retries
from pytest_fairmedagent.running.concurrency import Concurrency, kept, settle
from pytest_fairmedagent.running.info import digest_of
from pytest_fairmedagent.running.ladder import Measured
from pytest_fairmedagent.running.runs import Told
from pytest_fairmedagent.running.store import Store

PROTOCOL_VERSION = "1"  # of rendering, seeds and keys: another version draws other trials


@dataclass(frozen=True)
class Opened:
    """A configuration, the measurement of its concurrency if there was one, and what to tell.

    `crowded` tells that the processes of the run have to take turns.
    """

    configuration: Mapping[str, object]
    measured: Measured | None
    notes: tuple[str, ...] = ()
    crowded: bool = False

    @property
    def digest(self) -> str:
        return digest_of(self.configuration)

    @property
    def workers(self) -> int:
        """Requests under way at once, of all processes together."""
        return int(str(self.configuration["workers"]))


def opened(
    model: ChatModel,
    agent: Agent,
    store: Store,
    how: Concurrency,
    plan: Plan,
    vignettes: Mapping[str, Vignette],
    catalogue: Catalogue,
    *,
    fresh: str,
    most_calls: Callable[[], int],
    on_note: Callable[[str], None],
) -> Opened:
    """Open a model, see whether the plan fits it, and return the configuration."""
    total = how.total or model.workers

    def describe() -> dict[str, object]:
        own = {**model.configuration(), **agent.configuration()}
        return {"protocol": PROTOCOL_VERSION, "retry_policy": retries.POLICY, **own}

    model.open()
    prepare(model, agent, plan, vignettes, catalogue)
    measured = settle(
        how, model, agent, store, describe(), fresh=fresh, most_calls=most_calls, on_note=on_note
    )
    if measured is not None:
        total = measured.workers
    # Of all processes of a start together, so that a run is the same run under xdist.
    return Opened({**describe(), "workers": total}, measured, crowded=_crowded(how, model, total))


def _crowded(how: Concurrency, model: ChatModel, total: int) -> bool:
    """Whether there are more processes than requests may be under way."""
    return how.processes > 1 and how.processes * model.workers > total


def remembered(
    model: ChatModel,
    agent: Agent,
    store: Store,
    how: Concurrency,
    plan: Plan,
    *,
    seed: int | None,
) -> Opened:
    """Return the configuration in which a run of the store was drawn; nothing is opened or asked.

    Weights and version are what the server said then. The run must agree in all that is known
    without a server: the model's name, what is sent of the decoding, the agent, the number of
    requests under way. Of several the newest finished run of the plan is taken, else the newest.
    Raises StoreError where there is none.
    """
    known: dict[str, object] = {
        "protocol": PROTOCOL_VERSION,
        "retry_policy": retries.POLICY,
        **getattr(model, "known", dict)(),
        **agent.configuration(),
    }
    if not how.measure:
        known["workers"] = how.total or model.workers
    runs = store.told(model.name, plan=plan.digest, seed=seed)
    for run in runs:
        if _differing(run, known) == []:
            day = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(run.created))
            note = f"offline: no server was asked; the configuration is that of run {run.id}, {day}"
            measured = kept(store, run.fields) if how.measure else None
            return Opened(run.fields, measured, (note,))
    what = f"--fairmed-offline: {store.path} holds no run of {model.name}"
    if runs:
        differing = ", ".join(_differing(runs[0], known))
        what += f" in this configuration: run {runs[0].id}, the last, has {differing}"
    raise StoreError(f"{what}.\n  Run without --fairmed-offline to draw the trials.")


def _differing(run: Told, known: Mapping[str, object]) -> list[str]:
    """Return what of a run's configuration is not as it is now, in words."""
    before, absent = run.fields, "(absent)"
    found: list[str] = []
    for name, now in known.items():
        then = before.get(name, absent)
        if isinstance(then, Mapping) and isinstance(now, Mapping):
            parts = [key for key in now if then.get(key, absent) != now[key]]
            found += [f"{name} {key}={then.get(key, absent)}, not {now[key]}" for key in parts]
        elif then != now:
            found.append(f"{name} {then}, not {now}")
    return found
