"""The study: plan, run, tabulate, judge. The one object that plugin, CLI and notebooks hold."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from pytest_fairmedagent.agents.base import Agent
from pytest_fairmedagent.domain import (
    OUTCOMES,
    Catalogue,
    Contrast,
    Outcome,
    Plan,
    Relation,
    ReplicateTable,
    Trajectory,
    Trial,
    Vignette,
)
from pytest_fairmedagent.domain.flags import beyond
from pytest_fairmedagent.domain.variants import clusters_of
from pytest_fairmedagent.errors import PlanError
from pytest_fairmedagent.models.base import ChatModel
from pytest_fairmedagent.relations.certify import Sized, sized
from pytest_fairmedagent.running.budget import Budget, Estimate
from pytest_fairmedagent.running.concurrency import Concurrency
from pytest_fairmedagent.running.drawing import Drawing
from pytest_fairmedagent.running.info import RunInfo, digest_of, missing_reasons
from pytest_fairmedagent.running.ledger import Place
from pytest_fairmedagent.running.looking import Book, given_by
from pytest_fairmedagent.running.sampler import Progress
from pytest_fairmedagent.running.store import Store
from pytest_fairmedagent.verdict import (
    UNMEASURED,
    Judgement,
    RelationVerdict,
    Reliability,
    SwapVerdict,
    Verdict,
    judge,
    judge_relation,
    planned_looks,
    undecided,
)
from pytest_fairmedagent.verdict.looks import Earlier, at_level, minded_relation

NOTE_FLAGS = "note_flags"

Payload = Callable[[Verdict | RelationVerdict, ReplicateTable], Mapping[str, object]]


class Recording(Protocol):
    """Trajectories that were recorded elsewhere."""

    @property
    def path(self) -> object: ...

    def configuration(self) -> Mapping[str, object]: ...

    def trajectory(self, trial: Trial) -> Trajectory: ...


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
        concurrency: how the run shares its servers.
        budget: what the run may cost, and the price of its tokens.
        outcomes: every outcome that the plan names, by id; the user's own among them.
        estimate: what one trial takes, for the budget.
        payload: what the ledger keeps of a verdict beside the verdict; small, plain JSON.
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
    concurrency: Concurrency = field(default_factory=Concurrency)
    budget: Budget = field(default_factory=Budget)
    outcomes: Mapping[str, Outcome] = field(default_factory=lambda: OUTCOMES)
    estimate: Estimate = field(default_factory=lambda: Estimate(calls=0))
    payload: Payload = lambda verdict, table: {}
    table: ReplicateTable | None = field(default=None, init=False)
    info: RunInfo | None = field(default=None, init=False)
    asked_by: object = field(default=None, init=False)  # whoever works with it now
    reliability: list[Reliability] = field(default_factory=list, init=False)
    _sized: Sized | None = field(default=None, init=False)
    _relations: dict[str, tuple[RelationVerdict, ...]] = field(default_factory=dict, init=False)
    _judgement: Judgement | None = field(default=None, init=False)
    _present: set[Contrast] = field(default_factory=set, init=False)
    _book: Book | None = field(default=None, init=False)

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
        where none may be drawn, PlanError for a budget that is too small for a verdict. Whatever
        was drawn until then is in the store, and `table` holds it after an interruption too.
        """
        self._present = set(contrasts)
        self._judgement = self._sized = None
        self._relations = {}
        if self.recording is not None:
            if self.only_fresh:
                raise PlanError(
                    "this plan judges fresh draws only, and those of "
                    f"recorded/{self.recording.path} were drawn before.\n  Judge a recording by "
                    "another plan, such as --fairmed-profile=ci."
                )
            self._replay(self.recording)
        else:
            self._draw(on_progress)

    def judge(self) -> Judgement:
        """Return the verdicts of the contrasts that were sampled, computed once."""
        if self.table is None or self.info is None:
            raise PlanError("the study has not been sampled: call sample(contrasts) first")
        if self._judgement is None:
            earlier = self._look(self.info)
            self._judgement = judge(
                self.table,
                self.plan,
                self._present,
                earlier=earlier,
                ended_at=_ended_at(self.info),
                settled=self.info.sized.get("replicates"),
            )
            self._give([*self._judgement.swaps, *self._judgement.verdicts])
            starts = self.info.starts if self._book is None else self._book.starts()
            before = {r for looked in earlier.families for r in looked.before}
            self.info = replace(
                self.info,
                ledger=earlier,
                starts=starts,
                earlier_looks=tuple(sorted(before | set(self.info.earlier_looks))),
            )
        return self._judgement

    @property
    def place(self) -> Place | None:
        """Where its run stands in the ledger; None before it is drawn, and for a recording."""
        return None if self._book is None else self._book.place

    def _look(self, info: RunInfo) -> Earlier:
        """Return what was said of these draws before. A run that reached its end is looked at."""
        if self._book is None:
            return info.ledger
        ask = self._book.look if _settled(info) else self._book.earlier
        return ask(self._present, ended_at=_ended_at(info))

    def _give(self, verdicts: Iterable[Verdict | SwapVerdict | RelationVerdict]) -> None:
        """Have the ledger keep verdicts before anybody sees them.

        What an interrupted run leaves without an answer is no verdict: nothing can be seen in it.
        """
        if self._book is None or self.info is None or self.table is None:
            return
        given = [v for v in verdicts if _settled(self.info) or v.status != UNMEASURED]
        if given and not _settled(self.info):
            self._book.look({verdict.contrast for verdict in given})
        self._book.give(
            given_by(v, {} if isinstance(v, SwapVerdict) else self.payload(v, self.table))
            for v in given
        )

    def judge_relation(self, relation: Relation, family: str) -> tuple[RelationVerdict, ...]:
        """Return the verdicts of a family that a relation of the user's own tests, computed once.

        Raises OwnCodeError for a relation that fails or returns what it may not.
        """
        guards = self.judge().guards
        if family not in self._relations:
            assert self.table is not None  # noqa: S101 - it was judged
            assert self.info is not None  # noqa: S101 - the same
            earlier = self.info.ledger
            now = at_level(self.plan.family(family), earlier)
            found = judge_relation(self.table, self.plan, now, relation, self._present, guards)
            self._relations[family] = tuple(minded_relation(v, earlier) for v in found)
            self._give(self._relations[family])
        return self._relations[family]

    @property
    def relations(self) -> tuple[RelationVerdict, ...]:
        """What relations of the user's own have come to so far."""
        return tuple(verdict for found in self._relations.values() for verdict in found)

    def _read(self, table: ReplicateTable) -> ReplicateTable:
        """Return a table that reads every outcome of this study.

        One rule for all arms: a flag of the note that repeats the descriptor of any is none.
        """
        known = (self.catalogue.conditions.get(name) for name in table.conditions)
        said = [text for c in known if c for text in (c.descriptor, *c.drawn)]
        outcomes = dict(self.outcomes)
        if outcomes.get(NOTE_FLAGS) is OUTCOMES[NOTE_FLAGS]:
            outcomes[NOTE_FLAGS] = beyond(OUTCOMES[NOTE_FLAGS], said)
        return replace(table, outcomes=outcomes)

    def rows(self) -> list[dict[str, object]]:
        """Return the trajectories in the shape of a record file, in a fixed order."""
        if self.table is None:
            return []
        return [
            {
                "vignette": vignette,
                **_cluster(self.table, vignette),
                "condition": condition,
                "replicate": replicate + 1,
                "outputs": trajectory.outputs,
                "complete": trajectory.complete,
                "missing": trajectory.missing,
                "calls": trajectory.calls,
                "retries": trajectory.repairs,
                "response_ids": list(trajectory.response_ids),
                **({"ballots": list(trajectory.ballots)} if trajectory.ballots else {}),
            }
            for (vignette, condition), row in sorted(self.table.rows.items())
            for replicate, trajectory in zip(
                self.table.replicates(vignette, condition), row, strict=True
            )
        ]

    def _draw(self, on_progress: Callable[[Progress], None]) -> None:
        if self.agent is None or self.model is None or self.store is None:
            raise PlanError("a study needs an agent, a model and a store, or a recording")
        drawing = Drawing(
            plan=self.plan,
            vignettes=self.vignettes,
            catalogue=self.catalogue,
            agent=self.agent,
            model=self.model,
            store=self.store,
            seed=self.seed,
            fresh=self.fresh,
            offline=self.offline,
            only_fresh=self.only_fresh,
            concurrency=self.concurrency,
            budget=self.budget,
            estimate=self.estimate,
            looks=planned_looks(self.plan),
            undecided=lambda table, going: undecided(
                self._read(table), self.plan, going, earlier=drawing.earlier
            ),
            sizing=self._size if self.plan.first_leg else None,
        )
        try:
            drawing.draw(self._present, on_progress)
        finally:
            self.table = None if drawing.table is None else self._read(drawing.table)
            self.info, self._book = self._told(drawing.info), drawing.book

    def _size(self, table: ReplicateTable) -> int:
        """Return the replicates that the first leg calls for. Raises PlanError beyond the cap.

        The same rule on the same stored draws: all processes of a start, and later ones, agree.
        """
        self._sized = sized(self._read(table), self.plan)
        if self._sized.replicates is None:
            raise PlanError(self._sized.refusal())
        return self._sized.replicates

    def _told(self, info: RunInfo | None) -> RunInfo | None:
        if info is None or self._sized is None:
            return info
        return replace(info, sized=self._sized.record())

    def _replay(self, recording: Recording) -> None:
        start = time.monotonic()
        rows: dict[tuple[str, str], list[Trajectory]] = {}
        configuration = recording.configuration()
        digest = digest_of(configuration)
        going, reached = frozenset(self._present), 0
        planned, clusters = planned_looks(self.plan), clusters_of(self.vignettes)
        looks: list[int] = []
        most, first = self.plan.replicates, self.plan.first_leg
        ends = [*planned, most] if not first else [first]
        while ends:
            upto = ends.pop(0)
            for arm in sorted(self.plan.arms(going), key=lambda a: (a.vignette, a.condition)):
                row = rows.setdefault((arm.vignette, arm.condition), [])
                for replicate in range(reached, min(upto, arm.replicates)):
                    trial = Trial(arm.vignette, arm.condition, replicate)
                    row.append(recording.trajectory(trial))
            self.table = self._read(ReplicateTable(rows, digest, clusters=clusters))
            going, reached = undecided(self.table, self.plan, going), upto
            looks += [upto] * (upto in planned)
            if not going:
                break
            if upto == first and self._sized is None:
                most = self._size(self.table)
                ends = [most] * (most > first)
        trajectories = [trajectory for row in rows.values() for trajectory in row]
        info = RunInfo(
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
            input_tokens=sum(t.input_tokens for t in trajectories),
            output_tokens=sum(t.output_tokens for t in trajectories),
            missing=missing_reasons(rows),
            elapsed_s=time.monotonic() - start,
            workers=0,
            store=str(recording.path),
            complete=True,
            looks=tuple(looks),
            saved=sum(t.replicate < most for t in self.trials(self._present)) - len(trajectories),
            replicates=most if first else None,
        )
        self.info = self._told(info)


def _cluster(table: ReplicateTable, vignette: str) -> dict[str, str]:
    """Return the field of a row that names the case which its vignette is a variant of."""
    found = table.clusters.get(vignette)
    return {} if found is None else {"cluster": found}


def _settled(info: RunInfo) -> bool:
    """Whether a run is judged for good: at its end, or where a budget ended it."""
    return info.complete or bool(info.ended)


def _ended_at(info: RunInfo) -> int | None:
    return info.replicates if info.ended or info.sized else None
