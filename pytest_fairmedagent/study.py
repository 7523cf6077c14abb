"""The study: plan, run, tabulate, judge. The one object that plugin, CLI and notebooks hold."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pytest_fairmedagent.agents.base import Agent
from pytest_fairmedagent.domain import (
    Case,
    Catalogue,
    Contrast,
    Family,
    Plan,
    ReplicateTable,
    Trajectory,
    Trial,
    Vignette,
    render,
)
from pytest_fairmedagent.errors import PlanError, StoreError
from pytest_fairmedagent.models.base import ChatModel
from pytest_fairmedagent.running import retries
from pytest_fairmedagent.running.sampler import Progress, Sampler
from pytest_fairmedagent.running.schedule import draws_of, rounds
from pytest_fairmedagent.running.store import Draw, Run, Store
from pytest_fairmedagent.stats import pairs_to_certify, power_to_certify
from pytest_fairmedagent.verdict import Judgement, judge

PROTOCOL_VERSION = "1"  # of rendering, seeds and keys: another version draws other trials
CALLS_PER_TRIAL = 5


class Recording(Protocol):
    """Trajectories that were recorded elsewhere."""

    @property
    def path(self) -> object: ...

    def configuration(self) -> Mapping[str, object]: ...

    def trajectory(self, trial: Trial) -> Trajectory: ...


@dataclass(frozen=True)
class RunInfo:
    """What is to be known of a run beside its trajectories.

    `drawn` trials are of this start, `earlier` of starts before it, the oldest of `since` (seconds
    since the epoch, as `created`). `registered` tells that the plan was fixed before the first
    trial.
    """

    id: int | None
    model: str
    toy: bool
    configuration: Mapping[str, object]
    config_digest: str
    seed: int | None
    created: float | None
    drawn: int
    earlier: int
    since: float | None
    registered: bool
    earlier_looks: tuple[int, ...]
    calls: int
    repairs: int
    retries: int
    input_tokens: int
    output_tokens: int
    missing: Mapping[str, Mapping[str, int]]
    elapsed_s: float
    workers: int
    store: str
    complete: bool


def digest_of(configuration: Mapping[str, object]) -> str:
    """Hex SHA-256 of a configuration."""
    return hashlib.sha256(json.dumps(configuration, sort_keys=True).encode()).hexdigest()


@dataclass
class Study:
    """A plan, what it is run on, and what came of it.

    Args:
        plan: what is registered.
        vignettes: at least those that the plan's families name, by id.
        catalogue: at least the conditions that the plan names.
        agent, model, store: the system under test and where its trajectories are kept; or
        recording: trajectories that were drawn elsewhere, and no store.
        seed: of schedule and draws; None lets the store choose one at the start of a series.
        fresh: begin a new series, whatever is in the store; the name is shared by the processes
            that work on it together.
        offline: a missing trial is an error, never a call.
        only_fresh: refuse draws of another run, and a run that was finished by an earlier start.
    """

    plan: Plan
    vignettes: Mapping[str, Vignette]
    catalogue: Catalogue
    agent: Agent | None = None
    model: ChatModel | None = None
    store: Store | None = None
    recording: Recording | None = None
    seed: int | None = None
    fresh: str = ""
    offline: bool = False
    only_fresh: bool = False
    table: ReplicateTable | None = field(default=None, init=False)
    info: RunInfo | None = field(default=None, init=False)
    _judgement: Judgement | None = field(default=None, init=False)
    _present: set[Contrast] = field(default_factory=set, init=False)

    def trials(self, contrasts: Iterable[Contrast]) -> list[Trial]:
        """Return every trial that the contrasts need."""
        return [
            Trial(arm.vignette, arm.condition, replicate)
            for arm in self.plan.arms(contrasts)
            for replicate in range(arm.replicates)
        ]

    def sample(
        self,
        contrasts: Iterable[Contrast],
        on_progress: Callable[[Progress], None] = lambda progress: None,
    ) -> None:
        """Draw what the contrasts need and is not in the store yet, and tabulate it.

        Raises ModelError when the model is missing or lost, StoreError for a trial that is missing
        where none may be drawn. Whatever was drawn until then is in the store, and `table` holds it
        after an interruption too.
        """
        self._present = set(contrasts)
        self._judgement = None
        if self.recording is not None:
            self._replay(self.recording)
        else:
            self._draw(on_progress)

    def judge(self) -> Judgement:
        """Return the verdicts of the contrasts that were sampled, computed once."""
        if self.table is None or self.info is None:
            raise PlanError("the study has not been sampled: call sample(contrasts) first")
        if self._judgement is None:
            looks = self.info.earlier_looks
            self._judgement = judge(self.table, self.plan, self._present, earlier_looks=looks)
        return self._judgement

    def rows(self) -> list[dict[str, object]]:
        """Return the trajectories in the shape of a record file, in a fixed order."""
        if self.table is None:
            return []
        return [
            {
                "vignette": vignette,
                "condition": condition,
                "replicate": index + 1,
                "outputs": trajectory.outputs,
                "complete": trajectory.complete,
                "missing": trajectory.missing,
                "calls": trajectory.calls,
                "retries": trajectory.repairs,
                "response_ids": list(trajectory.response_ids),
            }
            for (vignette, condition), row in sorted(self.table.rows.items())
            for index, trajectory in enumerate(row)
        ]

    # Drawing

    def _draw(self, on_progress: Callable[[Progress], None]) -> None:
        if self.agent is None or self.model is None or self.store is None:
            raise PlanError("a study needs an agent, a model and a store, or a recording")
        start = time.monotonic()
        self.model.open()
        configuration = {
            "protocol": PROTOCOL_VERSION,
            "retry_policy": retries.POLICY,
            "workers": self.model.workers,
            **self.model.configuration(),
            **self.agent.configuration(),
        }
        digest = digest_of(configuration)
        arms = self.plan.arms(self._present)
        places = draws_of(arms, self.vignettes, self.catalogue, digest)
        run = self.store.begin(
            plan=self.plan.digest,
            design=self.plan.design_digest,
            replicates=max((family.replicates for family in self.plan.families), default=0),
            configuration=digest,
            fields=configuration,
            model=self.model.name,
            seed=self.seed,
            default_seed=self._default_seed(),
            fresh=self.fresh,
            draws=places.values(),
        )
        stored = self.store.load(run, places.values())
        done = set(stored)
        if self.only_fresh:
            _refuse_old(run, [origin for _, origin, _ in stored.values()])
        if self.offline and len(done) < len(places):
            first = next(trial for trial, place in places.items() if place not in done)
            raise StoreError(
                f"--fairmed-offline: {len(places) - len(done)} of {len(places)} trials are not in "
                f"{self.store.path}, the first being {first.vignette}, {first.condition}, "
                f"replicate {first.replicate + 1}.\n  Run without --fairmed-offline to draw them."
            )
        sampler = Sampler(
            agent=self.agent,
            model=self.model,
            store=self.store,
            run=run,
            cases=self._cases(places),
            on_progress=on_progress,
        )
        by_vignette = bool(self.model.configuration().get("prompt_cache"))
        blocks = rounds(list(places.values()), seed=run.seed, by_vignette=by_vignette)
        progress = Progress(total=len(places), from_before=len(done), done=len(done))
        try:
            progress = sampler.sample(blocks, done)
        finally:
            progress = getattr(sampler, "progress", progress)
            elapsed = time.monotonic() - start
            self._tabulate(run, places, progress, configuration, digest, elapsed)
        if self.info is not None and self.info.complete:
            self.store.finish(run)

    def _default_seed(self) -> int:
        """Return the seed of a new series: the model's own where it has one, else chance.

        Chance, because a fresh run with the seeds of the last one would repeat its answers.
        """
        own = getattr(self.model, "default_seed", None)
        return int(own) if own is not None else time.time_ns() % 2**31

    def _cases(self, places: Iterable[Trial]) -> dict[tuple[str, str], Case]:
        pairs = {(trial.vignette, trial.condition) for trial in places}
        return {(v, c): render(self.vignettes[v], self.catalogue.conditions[c]) for v, c in pairs}

    def _tabulate(
        self,
        run: Run,
        places: Mapping[Trial, Draw],
        progress: Progress,
        configuration: Mapping[str, object],
        digest: str,
        elapsed_s: float,
    ) -> None:
        assert self.store is not None  # noqa: S101 - for the type checker
        assert self.model is not None  # noqa: S101 - for the type checker
        found = self.store.load(run, places.values(), failed=True)
        rows: dict[tuple[str, str], list[Trajectory]] = {}
        for trial in sorted(places, key=lambda t: (t.vignette, t.condition, t.replicate)):
            row = rows.setdefault((trial.vignette, trial.condition), [])
            if places[trial] in found:
                row.append(found[places[trial]][0])
        self.table = ReplicateTable(rows, digest)
        times = [finished for _, _, finished in found.values()]
        trajectories = [trajectory for trajectory, _, _ in found.values()]
        self.info = RunInfo(
            id=run.id,
            model=self.model.name,
            toy=self.model.toy,
            configuration=configuration,
            config_digest=digest,
            seed=run.seed,
            created=run.created,
            drawn=max(0, len(found) - progress.from_before),
            earlier=progress.from_before,
            since=min(times, default=None),
            registered=run.registered_before_draws,
            earlier_looks=run.earlier_looks,
            calls=sum(t.calls for t in trajectories),
            repairs=sum(t.repairs for t in trajectories),
            retries=progress.retries,
            input_tokens=sum(t.input_tokens for t in trajectories),
            output_tokens=sum(t.output_tokens for t in trajectories),
            missing=_missing(rows),
            elapsed_s=elapsed_s,
            workers=self.model.workers,
            store=str(self.store.path),
            complete=len(found) == len(places) and not any(t.infrastructure for t in trajectories),
        )

    # Replaying

    def _replay(self, recording: Recording) -> None:
        start = time.monotonic()
        rows: dict[tuple[str, str], list[Trajectory]] = {}
        for trial in sorted(
            self.trials(self._present), key=lambda t: (t.vignette, t.condition, t.replicate)
        ):
            row = rows.setdefault((trial.vignette, trial.condition), [])
            row.append(recording.trajectory(trial))
        configuration = recording.configuration()
        digest = digest_of(configuration)
        self.table = ReplicateTable(rows, digest)
        trajectories = [trajectory for row in rows.values() for trajectory in row]
        self.info = RunInfo(
            id=None,
            model=f"recorded/{recording.path}",
            toy=bool(configuration.get("toy", False)),
            configuration=configuration,
            config_digest=digest,
            seed=None,
            created=None,
            drawn=0,
            earlier=len(trajectories),
            since=getattr(recording, "since", None),
            registered=False,
            earlier_looks=(),
            calls=sum(t.calls for t in trajectories),
            repairs=sum(t.repairs for t in trajectories),
            retries=0,
            input_tokens=0,
            output_tokens=0,
            missing=_missing(rows),
            elapsed_s=time.monotonic() - start,
            workers=0,
            store=str(recording.path),
            complete=True,
        )


def _refuse_old(run: Run, origins: Iterable[int]) -> None:
    """Raise PlanError where trials belong to another run or the run has been judged before."""
    old = sum(origin != run.id for origin in origins)
    if old or run.finished is not None:
        why = f"{old} of them belong to an earlier run" if old else "this run was judged before"
        raise PlanError(f"this plan judges fresh draws only, and {why}.\n  Use --fairmed-fresh.")


def _missing(
    rows: Mapping[tuple[str, str], Iterable[Trajectory]],
) -> dict[str, dict[str, int]]:
    """Count the reasons of incomplete trajectories, per condition."""
    found: dict[str, dict[str, int]] = {}
    for (_, condition), row in rows.items():
        for trajectory in row:
            if trajectory.complete:
                continue
            stage, reason = next(
                (s, r) for s, r in trajectory.missing.items() if r != "not reached"
            )
            reasons = found.setdefault(condition, {})
            if trajectory.infrastructure:  # its words differ from call to call, its kind does not
                reason = reason.split(": ")[0]
            name = f"{stage}: {reason}"
            reasons[name] = reasons.get(name, 0) + 1
    return found


@dataclass(frozen=True)
class Certification:
    """Whether a family can be shown equivalent as a whole, if nothing differs.

    `chance` (in 0..1) counts contrasts as independent, which is the cautious side of not knowing
    how they hang together. `pairs_needed` is per contrast; inf where no number is enough.
    """

    family: str
    chance: float
    pairs: int
    pairs_needed: float


def certification(family: Family, *, floor: float, target: float) -> Certification:
    """Return the chance that all contrasts of a family come out EQUIVALENT at this floor."""
    margin = family.margin or 0.0
    pairs = family.replicates * (1 if family.per_vignette else len(family.vignettes))
    if not margin:
        return Certification(family.name, 0.0, pairs, math.inf)
    each = power_to_certify(margin, floor, pairs, alpha=family.alpha)
    needed = pairs_to_certify(
        margin, floor, alpha=family.alpha, power=target ** (1 / max(1, family.size))
    )
    return Certification(family.name, each**family.size, pairs, needed)
