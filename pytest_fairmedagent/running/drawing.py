"""Drawing a plan: the run in the store, legs of whole rounds, and the table that comes of them.

A leg ends where something is decided: at a planned look, or after every round where a budget
limits the run. Arms are equally long at every such point, so whatever is decided there, no contrast
is left with half a pair.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_fairmedagent.agents.base import Agent
from pytest_fairmedagent.agents.rehearsal import prepare
from pytest_fairmedagent.domain import (
    Case,
    Catalogue,
    Contrast,
    Plan,
    ReplicateTable,
    Trajectory,
    Vignette,
    render,
)
from pytest_fairmedagent.domain.variants import clusters_of
from pytest_fairmedagent.errors import PlanError, StoreError
from pytest_fairmedagent.models.base import ChatModel
from pytest_fairmedagent.running import retries
from pytest_fairmedagent.running.budget import LEAST_ROUNDS, Budget, Estimate, Spent, spent_by
from pytest_fairmedagent.running.concurrency import Concurrency, settle, shared
from pytest_fairmedagent.running.endpoints import held
from pytest_fairmedagent.running.info import RunInfo, digest_of, missing_reasons
from pytest_fairmedagent.running.sampler import Progress, Sampler
from pytest_fairmedagent.running.schedule import draws_of, rounds
from pytest_fairmedagent.running.store import Draw, Run, Store

PROTOCOL_VERSION = "1"  # of rendering, seeds and keys: another version draws other trials

OnProgress = Callable[[Progress], None]

# Given the table so far and the contrasts that were going on: those that still do.
Undecided = Callable[[ReplicateTable, frozenset[Contrast]], frozenset[Contrast]]


@dataclass
class Drawing:
    """One start of a plan on a model. `draw` fills `table` and `info`, also when it is cut short.

    Args:
        looks: replicates, rising, after which `undecided` is asked which contrasts go on; none
            for a plan of fixed size.
        others: as in `Study`.
    """

    plan: Plan
    vignettes: Mapping[str, Vignette]
    catalogue: Catalogue
    agent: Agent
    model: ChatModel
    store: Store
    seed: int | None = None
    fresh: str = ""
    offline: bool = False
    only_fresh: bool = False
    concurrency: Concurrency = field(default_factory=Concurrency)
    budget: Budget = field(default_factory=Budget)
    estimate: Estimate = field(default_factory=lambda: Estimate(calls=0))
    looks: Sequence[int] = ()
    undecided: Undecided = lambda table, contrasts: contrasts
    table: ReplicateTable | None = field(default=None, init=False)
    info: RunInfo | None = field(default=None, init=False)

    def draw(self, contrasts: Iterable[Contrast], on_progress: OnProgress) -> None:
        """Draw what the contrasts need and is not in the store yet, and tabulate it."""
        self._start = time.monotonic()
        self._calls_before = self.store.calls_found, self.store.calls_made
        self._present = frozenset(contrasts)
        waiting = Progress(total=0)

        def say(note: str) -> None:
            waiting.note = note
            on_progress(waiting)

        with held(
            getattr(self.model, "endpoints", ()),
            start=self.concurrency.start,
            share=self.concurrency.share,
            on_wait=lambda holder: say(f"waits for the server: {holder} asks it"),
        ) as self._sharing:
            self._draw(on_progress, say)

    def _draw(self, on_progress: OnProgress, say: Callable[[str], None]) -> None:
        self.model.open()
        prepare(self.model, self.agent, self.plan, self.vignettes, self.catalogue)
        self._measured = settle(
            self.concurrency,
            self.model,
            self.agent,
            self.store,
            self._describe(),
            fresh=self.fresh,
            offline=self.offline,
            n_trials=sum(arm.replicates for arm in self.plan.arms(self._present)),
            on_note=say,
        )
        self._configuration = self._describe()
        self._digest = digest_of(self._configuration)
        arms = self.plan.arms(self._present)
        self._places = draws_of(arms, self.vignettes, self.catalogue, self._digest)
        self._run = self._begin()
        stored = self.store.load(self._run, self._places.values())
        self._check(stored)
        self._done, self._stored = set(stored), frozenset(stored)
        self._progress = Progress(total=len(self._places), price=self.budget.price)
        self._progress.done = self._progress.from_before = len(self._done)
        self._ended = ""
        self._looked: list[int] = []
        self._asked: set[Draw] = set()  # the trials of the legs so far
        self._reached, self._over = 0, False
        self._progress.usd_before = self.budget.usd([*self._spent(), self._warm_up]) or 0.0
        try:
            self._draw_legs(on_progress)
        finally:
            if self._asked or self._over:
                self._tabulate()
        assert self.info is not None  # noqa: S101 - it was tabulated
        if self.info.complete:
            self.store.finish(self._run)

    def _describe(self) -> dict[str, object]:
        return {
            "protocol": PROTOCOL_VERSION,
            "retry_policy": retries.POLICY,
            "workers": self.model.workers,
            **self.model.configuration(),
            **self.agent.configuration(),
        }

    def _begin(self) -> Run:
        return self.store.begin(
            plan=self.plan.digest,
            design=self.plan.design_digest,
            replicates=self.plan.replicates,
            configuration=self._digest,
            fields=self._configuration,
            model=self.model.name,
            seed=self.seed,
            default_seed=self._default_seed(),
            fresh=self.fresh,
            draws=self._places.values(),
        )

    def _default_seed(self) -> int:
        """Return the seed of a new series: the model's own where it has one, else chance.

        Chance, because a fresh run with the seeds of the last one would repeat its answers.
        """
        own = getattr(self.model, "default_seed", None)
        return int(own) if own is not None else time.time_ns() % 2**31

    def _check(self, stored: Mapping[Draw, tuple[Trajectory, int, float]]) -> None:
        """Raise where old draws may not be used, or new ones not be drawn."""
        run = self._run
        if self.only_fresh:
            old = sum(origin != run.id for _, origin, _ in stored.values())
            if old or run.finished is not None:
                many = f"{old} of them belong to an earlier run"
                why = many if old else "this run was judged before"
                raise PlanError(
                    f"this plan judges fresh draws only, and {why}.\n  Use --fairmed-fresh."
                )

    # Legs

    def _draw_legs(self, on_progress: OnProgress) -> None:
        sampler = Sampler(
            agent=self.agent,
            model=self.model,
            store=self.store,
            run=self._run,
            cases=self._cases(),
            progress=self._progress,
            on_progress=on_progress,
        )
        by_vignette = bool(self._configuration.get("prompt_cache"))
        going = self._present
        for upto in self._ends():
            wanted = {(arm.vignette, arm.condition) for arm in self.plan.arms(going)}
            leg = [
                place
                for trial, place in self._places.items()
                if self._reached <= trial.replicate < upto
                and (trial.vignette, trial.condition) in wanted
            ]
            if self._stops_before(leg):
                return
            self._asked |= set(leg)
            blocks = rounds(leg, seed=self._run.seed, by_vignette=by_vignette)
            sampler.sample(blocks, self._done)
            self._done |= set(leg)
            self._reached = upto
            if upto in self.looks and upto < self.plan.replicates:
                going = self._look(going, upto)
            if not going:
                break
        self._over = True

    def _stops_before(self, leg: Sequence[Draw]) -> bool:
        """Whether the budget ends before this leg. Raises where nothing could be judged then."""
        new = [place for place in leg if place not in self._done]
        if new and self.offline:
            first = new[0].trial
            raise StoreError(
                f"--fairmed-offline: {len(new)} of {len(leg)} trials are not in {self.store.path}, "
                f"the first being {first.vignette}, {first.condition}, replicate "
                f"{first.replicate + 1}.\n  Run without --fairmed-offline to draw them."
            )
        if not self.budget:
            return False
        spent = self._spent()
        # A run that could not end its second round would be paid for and say nothing.
        rounds_ahead = LEAST_ROUNDS if not self._reached and self.plan.replicates > 1 else 1
        self._ended = self.budget.refusal(
            spent, rounds_ahead * len(new), self.estimate, beside=self._warm_up
        )
        if self._ended and self._reached < LEAST_ROUNDS:
            raise PlanError(
                f"{self._ended}. With fewer than {LEAST_ROUNDS} whole rounds there is no floor and "
                "no verdict.\n  Raise the limit, or select fewer vignettes or swaps."
            )
        return bool(self._ended)

    def _ends(self) -> list[int]:
        """Return the replicates at which a leg ends, rising; the last is the plan's."""
        most = self.plan.replicates
        ends = range(1, most + 1) if self.budget else (*self.looks, most)
        return sorted({end for end in ends if end <= most})

    def _look(self, going: frozenset[Contrast], replicates: int) -> frozenset[Contrast]:
        """Return the contrasts that go on.

        The answer that was given first is the answer: the processes of one start, and later ones
        that draw again what was missing, must not leave arms of different length.
        """
        self._looked.append(replicates)
        table = ReplicateTable(self._rows()[0], self._digest, clusters=self._clusters)
        on = self.undecided(table, going)
        kept = self.store.keep_look(self._run, replicates, sorted(on))
        return frozenset(contrast for contrast in going if contrast in kept)

    def _spent(self) -> list[Spent]:
        """Return what each trial of this run has cost so far; those of earlier runs are paid."""
        found = self.store.load(self._run, self._places.values(), failed=True)
        own = [trajectory for trajectory, origin, _ in found.values() if origin == self._run.id]
        return spent_by(own)

    @property
    def _warm_up(self) -> Spent:
        """What the measurement of the concurrency has cost; the first run of a series paid it."""
        found = self._measured
        if found is None or self._run.id != self._run.series:
            return Spent()
        return Spent(found.calls, found.input_tokens, found.output_tokens)

    # The table

    def _cases(self) -> dict[tuple[str, str], Case]:
        pairs = {(trial.vignette, trial.condition) for trial in self._places}
        return {(v, c): render(self.vignettes[v], self.catalogue.conditions[c]) for v, c in pairs}

    @property
    def _clusters(self) -> dict[str, str]:
        return clusters_of(self.vignettes)

    def _rows(
        self,
    ) -> tuple[dict[tuple[str, str], list[Trajectory]], dict[Draw, tuple[Trajectory, int, float]]]:
        found = self.store.load(self._run, self._places.values(), failed=True)
        rows: dict[tuple[str, str], list[Trajectory]] = {}
        for trial in sorted(self._places, key=lambda t: (t.vignette, t.condition, t.replicate)):
            row = rows.setdefault((trial.vignette, trial.condition), [])
            if self._places[trial] in found and self._places[trial] in self._asked:
                row.append(found[self._places[trial]][0])
        return rows, found

    def _tabulate(self) -> None:
        rows, found = self._rows()
        numbers: dict[tuple[str, str], list[int]] = {}
        for trial in sorted(self._places, key=lambda t: t.replicate):
            if self._places[trial] in found and self._places[trial] in self._asked:
                numbers.setdefault((trial.vignette, trial.condition), []).append(trial.replicate)
        self.table = ReplicateTable(rows, self._digest, numbers=numbers, clusters=self._clusters)
        trajectories = [trajectory for row in rows.values() for trajectory in row]
        run, progress = self._run, self._progress
        earlier = len(self._stored & self._asked)  # a sequential run may need less than is there
        if self._ended:  # it will be judged as it is, so more draws later are draws after a look
            self.store.note_look(run, self._reached)
        self.info = RunInfo(
            id=run.id,
            model=self.model.name,
            toy=self.model.toy,
            configuration=self._configuration,
            config_digest=self._digest,
            seed=run.seed,
            created=run.created,
            drawn=max(0, len(trajectories) - earlier),
            earlier=earlier,
            since=min((finished for _, _, finished in found.values()), default=None),
            registered=run.registered_before_draws,
            earlier_looks=run.earlier_looks,
            calls=sum(t.calls for t in trajectories) + self._warm_up.calls,
            repairs=sum(t.repairs for t in trajectories),
            retries=progress.retries,
            input_tokens=sum(t.input_tokens for t in trajectories) + self._warm_up.input_tokens,
            output_tokens=sum(t.output_tokens for t in trajectories) + self._warm_up.output_tokens,
            missing=missing_reasons(rows),
            elapsed_s=time.monotonic() - self._start,
            workers=self.model.workers,
            store_bytes=self.store.size,
            calls_found=self.store.calls_found - self._calls_before[0],
            calls_made=self.store.calls_made - self._calls_before[1],
            store=str(self.store.path),
            complete=self._over
            and len(trajectories) == len(self._asked)
            and not any(t.infrastructure for t in trajectories),
            looks=tuple(self._looked),
            saved=len(self._places) - len(self._asked) if self._over else 0,
            ended=self._ended,
            replicates=self._reached if self._ended else self.plan.replicates,
            spent_usd=self.budget.usd([*self._spent(), self._warm_up]),
            price=str(self.budget.price or ""),
            concurrency=shared(self._measured, progress.throttle, self._sharing),
        )
