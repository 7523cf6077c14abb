"""Drawing a plan: the run in the store, its legs, and the table that comes of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_fairmedagent.agents.base import Agent
from pytest_fairmedagent.domain import (
    Arm,
    Catalogue,
    Contrast,
    Plan,
    ReplicateTable,
    Trajectory,
    Vignette,
    render,
)
from pytest_fairmedagent.domain.variants import clusters_of
from pytest_fairmedagent.errors import PlanError
from pytest_fairmedagent.models.base import ChatModel
from pytest_fairmedagent.running.budget import LEAST_ROUNDS, Budget, Estimate, Spent, too_little
from pytest_fairmedagent.running.concurrency import Concurrency, shared
from pytest_fairmedagent.running.drawn import Drawn
from pytest_fairmedagent.running.endpoints import Turns, held
from pytest_fairmedagent.running.info import RunInfo, missing_reasons
from pytest_fairmedagent.running.legs import Legs, Undecided
from pytest_fairmedagent.running.looking import Book, cases_digest, registration
from pytest_fairmedagent.running.opening import Opened, opened, remembered
from pytest_fairmedagent.running.sampler import Progress, Sampler
from pytest_fairmedagent.running.schedule import draws_of, keys_of
from pytest_fairmedagent.running.store import Draw, Run, Store
from pytest_fairmedagent.verdict.looks import NOTHING, Earlier

OnProgress = Callable[[Progress], None]


@dataclass
class Drawing:
    """One start of a plan on a model. `draw` fills `table` and `info`, also when it is cut short.

    Args:
        looks: replicates, rising, after which `undecided` is asked which contrasts go on; none
            for a plan of fixed size.
        others: as in `Study`.

    `book` is the run's place in the ledger, `earlier` what that said when drawing began.
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
    book: Book | None = field(default=None, init=False)
    earlier: Earlier = field(default=NOTHING, init=False)
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
            () if self.offline else self._servers,
            start=self.concurrency.start,
            share=self.concurrency.share,
            on_wait=lambda holder: say(f"waits for the server: {holder} asks it"),
        ) as self._sharing:
            self._draw(on_progress, say)

    def _draw(self, on_progress: OnProgress, say: Callable[[str], None]) -> None:
        arms = self.plan.arms(self._present)
        self._opened = self._open(arms, say)
        digest = self._opened.digest
        places = draws_of(arms, self.vignettes, self.catalogue, digest)
        run = self._begin(places.values())
        self.book = self._register(run)
        self.earlier = self.book.earlier(self._present)
        # Offline nothing is drawn again, so what was lost then is missing now as it was then.
        stored = self.store.load(run, places.values(), failed=self.offline)
        if self.only_fresh:
            _refuse_old(run, stored)
        self._stored = frozenset(stored)
        self._drawn = Drawn(self.store, run, places, digest, clusters_of(self.vignettes))
        self._legs = Legs(
            plan=self.plan,
            drawn=self._drawn,
            done=set(stored),
            budget=self.budget,
            estimate=self.estimate,
            beside=self._warm_up,
            looks=self.looks,
            undecided=self.undecided,
            offline=self.offline,
            by_vignette=bool(self._opened.configuration.get("prompt_cache")),
        )
        self._progress = Progress(total=len(places), price=self.budget.price)
        self._progress.done = self._progress.from_before = len(stored)
        self._progress.usd_before = self._usd or 0.0
        try:
            self._legs.draw(self._present, self._sampler(on_progress))
        finally:
            if self._legs.asked or self._legs.over:
                self._tabulate()
        assert self.info is not None  # noqa: S101 - it was tabulated
        if self.info.complete:
            self.store.finish(run)

    def _open(self, arms: Sequence[Arm], say: Callable[[str], None]) -> Opened:
        asked = (self.model, self.agent, self.store, self.concurrency, self.plan)
        if self.offline:
            return remembered(*asked, seed=self.seed)
        return opened(
            *asked,
            self.vignettes,
            self.catalogue,
            fresh=self.fresh,
            most_calls=lambda: self._most_calls(arms),
            on_note=say,
        )

    def _most_calls(self, arms: Sequence[Arm]) -> int:
        """Return how many calls the run may take. Raises PlanError where nothing could be judged.

        Asked before the concurrency is measured, which would be paid for in vain.
        """
        n_trials = len(arms) * min(LEAST_ROUNDS, self.plan.replicates)
        refusal = self.budget.refusal([], n_trials, self.estimate)
        if refusal:
            raise too_little(refusal)
        most = sum(arm.replicates for arm in arms) * (self.agent.calls_per_trial or 0)
        return min(most, self.budget.max_calls or most)

    def _begin(self, draws: Iterable[Draw]) -> Run:
        # Chance, because a fresh run with the seeds of the last one would repeat its answers.
        own = getattr(self.model, "default_seed", None)
        return self.store.begin(
            plan=self.plan.digest,
            design=self.plan.design_digest,
            replicates=self.plan.replicates,
            configuration=self._opened.digest,
            fields=self._opened.configuration,
            model=self.model.name,
            seed=self.seed,
            default_seed=int(own) if own is not None else time.time_ns() % 2**31,
            fresh=self.fresh,
            draws=draws,
        )

    def _register(self, run: Run) -> Book:
        """Return the run's place in the ledger, with all that its plan registers noted there."""
        plan, asked = self.plan, (self.vignettes, self.catalogue)
        arms = plan.arms(member for family in plan.families for member in family.members)
        keys = keys_of(arms, *asked, self._opened.digest)
        place = self.store.register(
            run,
            design=plan.design_digest,
            configuration=self._opened.digest,
            cases=cases_digest(plan, *asked),
            plan=registration(plan, keys),
            start={
                "plan": plan.digest,
                "replicates": plan.replicates,
                "model": self.model.name,
                "seed": run.seed,
            },
            fresh=bool(self.fresh),
        )
        return Book(self.store, place, plan, keys, self.offline)

    @property
    def _servers(self) -> list[str]:
        return [*getattr(self.model, "endpoints", ()), *getattr(self.agent, "endpoints", ())]

    def _sampler(self, on_progress: OnProgress) -> Sampler:
        servers, opened = self._servers, self._opened
        pairs = {(trial.vignette, trial.condition) for trial in self._drawn.places}
        vignettes, conditions = self.vignettes, self.catalogue.conditions
        return Sampler(
            agent=self.agent,
            model=self.model,
            store=self.store,
            run=self._drawn.run,
            cases={(v, c): render(vignettes[v], conditions[c]) for v, c in pairs},
            progress=self._progress,
            on_progress=on_progress,
            turns=Turns(servers, opened.workers) if servers and opened.crowded else None,
        )

    @property
    def _warm_up(self) -> Spent:
        """What the measurement of the concurrency has cost; the first run of a series paid it."""
        found, run = self._opened.measured, self._drawn.run
        if found is None or run.id != run.series:
            return Spent()
        return Spent(found.calls, found.input_tokens, found.output_tokens)

    @property
    def _usd(self) -> float | None:
        """What this run has cost so far, in US dollars; None where no price is known."""
        return self.budget.usd([*self._drawn.spent(), self._warm_up])

    def _tabulate(self) -> None:
        legs, progress, run = self._legs, self._progress, self._drawn.run
        self.table = self._drawn.table(legs.asked)
        rows = self.table.rows
        trajectories = [trajectory for row in rows.values() for trajectory in row]
        times = [finished for _, _, finished in self._drawn.found().values()]
        earlier = len(self._stored & legs.asked)  # a sequential run may need less than is there
        if legs.ended:  # it will be judged as it is, so more draws later are draws after a look
            self.store.note_look(run, legs.reached)
        how = shared(self._opened.measured, progress.throttle, self._sharing)
        how["notes"] += self._opened.notes
        self.info = RunInfo(
            id=run.id,
            model=self.model.name,
            toy=self.model.toy,
            configuration=self._opened.configuration,
            config_digest=self._opened.digest,
            seed=run.seed,
            created=run.created,
            drawn=max(0, len(trajectories) - earlier),
            earlier=earlier,
            since=min(times, default=None),
            registered=run.registered_before_draws,
            earlier_looks=run.earlier_looks,
            calls=sum(t.calls for t in trajectories) + self._warm_up.calls,
            repairs=sum(t.repairs for t in trajectories),
            retries=progress.retries,
            input_tokens=sum(t.input_tokens for t in trajectories) + self._warm_up.input_tokens,
            output_tokens=sum(t.output_tokens for t in trajectories) + self._warm_up.output_tokens,
            missing=missing_reasons(rows),
            elapsed_s=time.monotonic() - self._start,
            workers=self._opened.workers,
            store_bytes=self.store.size,
            calls_found=self.store.calls_found - self._calls_before[0],
            calls_made=self.store.calls_made - self._calls_before[1],
            store=str(self.store.path),
            complete=legs.over
            and len(trajectories) == len(legs.asked)
            and not any(t.infrastructure for t in trajectories),
            looks=tuple(legs.looked),
            saved=len(self._drawn.places) - len(legs.asked) if legs.over else 0,
            ended=legs.ended,
            replicates=legs.reached if legs.ended else self.plan.replicates,
            spent_usd=self._usd,
            price=str(self.budget.price or ""),
            concurrency=how,
            fresh=bool(self.fresh),
        )


def _refuse_old(run: Run, stored: Mapping[Draw, tuple[Trajectory, int, float]]) -> None:
    """Raise PlanError where draws of another start would be judged."""
    old = sum(origin != run.id for _, origin, _ in stored.values())
    if old or run.finished is not None:
        many = f"{old} of them belong to an earlier run"
        why = many if old else "this run was judged before"
        raise PlanError(f"this plan judges fresh draws only, and {why}.\n  Use --fairmed-fresh.")
