"""The runs of the session's plan: each model is opened once, each agent sampled once with it."""

from __future__ import annotations

import time
import uuid
from functools import cached_property, partial
from typing import Any

import pytest

from pytest_fairmedagent.agents.base import Agent
from pytest_fairmedagent.agents.user import as_agent, load_agent
from pytest_fairmedagent.domain import Contrast
from pytest_fairmedagent.errors import FairmedError, PlanError
from pytest_fairmedagent.files.run_record import read_run_record
from pytest_fairmedagent.models.base import ChatModel
from pytest_fairmedagent.plugin.assertions import skip_as
from pytest_fairmedagent.plugin.certifiable import refuse_uncertifiable
from pytest_fairmedagent.plugin.costs import budget, estimate
from pytest_fairmedagent.plugin.items import SEAT, agent_seen_by, params_of, paused_timeout, told
from pytest_fairmedagent.plugin.models import Models
from pytest_fairmedagent.plugin.parametrise import function_id
from pytest_fairmedagent.plugin.progress import ProgressLine
from pytest_fairmedagent.plugin.registry import Registry
from pytest_fairmedagent.plugin.seats import Seat, seats_of
from pytest_fairmedagent.plugin.session import SAMPLING_S, marked
from pytest_fairmedagent.running.budget import Budget
from pytest_fairmedagent.running.concurrency import Concurrency
from pytest_fairmedagent.running.replay import open_recording
from pytest_fairmedagent.running.store import Store
from pytest_fairmedagent.study import Study
from pytest_fairmedagent.verdict import UNMEASURED
from pytest_fairmedagent.verdict.lifetime import kept

Place = tuple[Seat, str]  # of a study: its seat, and where its agent fixture is


class AuditRun:
    """What the items of a session share: the selected contrasts and a study for each agent.

    Items that see another `fairmed_agent` fixture are sampled apart, for they test another agent,
    and so are those of another seat: each has a configuration, floors and families of its own.
    """

    def __init__(self, config: pytest.Config, registry: Registry) -> None:
        self._config = config
        self._registry = registry
        self._items: list[pytest.Item] = []
        self._studies: dict[Place, Study] = {}
        self._faults: dict[Place, tuple[str, BaseException]] = {}
        self.elapsed_s = 0.0
        # The processes of xdist belong to one start, and their id of it is the same.
        worker = getattr(config, "workerinput", {})
        self._processes = int(worker.get("workercount", 1))
        self._models = Models(registry, self._processes)
        self._start = str(worker.get("testrunuid") or uuid.uuid4().hex)

    def select(self, items: list[pytest.Item]) -> None:
        """Take over what is selected. Nothing is called: this happens during collection."""
        self._items = marked(items)

    @property
    def selected(self) -> list[pytest.Item]:
        return self._items

    @property
    def studies(self) -> dict[Place, Study]:
        """The studies that were sampled, by their seat and the place of their agent fixture."""
        return self._studies

    @property
    def faults(self) -> dict[Seat, str]:
        """The first line of what kept a seat from being sampled, by seat."""
        return {seat: _first_line(error) for (seat, _), (_, error) in self._faults.items()}

    @cached_property
    def seats(self) -> tuple[Seat, ...]:
        """Every model under every decoding; one where the options name one. Raises PlanError."""
        settings = self._registry.settings
        return seats_of(settings.models, settings.decodings)

    def seat(self, item: pytest.Item) -> Seat:
        """Return the seat that an item tests."""
        seat: Seat = params_of(item).get(SEAT, self.seats[0])
        return seat

    def model(self, seat: Seat) -> ChatModel | None:
        """Return the model of a seat, not opened yet; None for a recorded run."""
        made = self._models.of(seat)
        return None if made is None else made.model

    @cached_property
    def baseline(self) -> dict[str, Any]:
        """The record to compare with. Raises FileFormatError; PlanError where none was named."""
        path = self._registry.settings.baseline
        if path is None:
            raise PlanError(
                "there is no baseline to compare with: expected --fairmed-baseline=RECORD.json, a "
                "run record that --fairmed-report wrote"
            )
        return read_run_record(path)

    @cached_property
    def store(self) -> Store:
        settings = self._registry.settings
        return Store(settings.store, keep_raw=settings.keep_raw)

    def default_agent(self) -> Any:
        """Return what `fairmed_agent` is where nobody overrides it."""
        spec = self._registry.settings.agent
        return load_agent(spec) if spec else self.clinical_agent()

    def clinical_agent(self) -> Agent:
        """Return the six-stage agent that the settings ask for. Raises PlanError."""
        from pytest_fairmedagent.agents.build import clinical_agent

        settings = self._registry.settings
        asked = settings.scaffold != "direct" or settings.exposure
        if settings.agent and asked:
            raise PlanError(
                f"--fairmed-agent is {settings.agent!r}, and --fairmed-scaffold and "
                "--fairmed-exposure belong to the six-stage agent: give one or the other"
            )
        return clinical_agent(settings.scaffold, exposure=settings.exposure or None)

    def contrasts(self, item: pytest.Item) -> tuple[Contrast, ...]:
        """Return what an item tests."""
        return self._registry.contrasts(function_id(item), params_of(item))

    def study(self, item: pytest.Item, agent: Any) -> Study:
        """Return the sampled study of an item; sample it now if this is its first item.

        Where sampling failed, the item that met the fault has its error, and tries again when it is
        rerun: were it skipped like the others then, a rerun would turn the run green.
        """
        place = self.seat(item), agent_seen_by(item)
        first, fault = self._faults.get(place, (item.nodeid, None))
        if first != item.nodeid:
            line = _first_line(fault)
            message = f"UNMEASURED: no model answers came, see the error of {first}: {line}"
            skip_as(UNMEASURED, message)
        if place not in self._studies or fault is not None:
            try:
                self._studies[place] = self._sample(item, place, agent)
            except Exception as error:
                self._faults[place] = (item.nodeid, error)
                if isinstance(error, FairmedError):
                    raise told(error) from None
                raise
            self._faults.pop(place, None)
        return self._studies[place]

    def _sample(self, item: pytest.Item, place: Place, agent: Any) -> Study:
        registry, settings = self._registry, self._registry.settings
        seat, agent_place = place
        plan = registry.plan()
        file = registry.registered.file
        refuse_uncertifiable(plan, floor=file.assumed_floor, target=file.certify)
        recording, of_start = None, f"{self._start} {agent_place}"
        if seat.spec.backend == "recorded":
            whole = open_recording(seat.spec.name, self._config.invocation_params.dir)
            recording = whole.of(lambda: as_agent(agent, start=of_start).configuration())
        study = Study(
            plan=plan,
            vignettes=registry.cases,
            catalogue=registry.catalogue,
            outcomes=registry.outcomes,
            agent=None if recording else as_agent(agent, start=of_start),
            model=self.model(seat),
            store=None if recording else self.store,
            recording=recording,
            seed=settings.seed,
            fresh=self._start if settings.fresh else "",
            offline=settings.offline,
            only_fresh=file.fresh_draws,
            payload=partial(kept, plan),
        )
        made = self._models.of(seat)
        study.concurrency = Concurrency(
            measure=settings.concurrency == "auto",
            total=None if made is None else made.total,
            processes=self._processes,
            start=self._start,
            share=settings.share_server,
        )
        study.budget = budget(settings, seat.spec)
        if study.agent is not None:
            cases, limited = registry.cases.values(), bool(study.budget)
            study.estimate = estimate(study.agent, cases, registry.catalogue, limited=limited)
            if study.agent.calls_per_trial is None:
                study.budget = Budget()  # what the agent pays for, and to whom, nobody knows here
        self._studies[place] = study  # there for the summary even when it is interrupted
        contrasts = [
            contrast
            for other in self._items
            if (self.seat(other), agent_seen_by(other)) == place
            for contrast in self.contrasts(other)
        ]
        start = time.monotonic()
        try:
            with paused_timeout(item), ProgressLine(self._config, study) as line:
                study.sample(contrasts, line.show)
        finally:
            elapsed = time.monotonic() - start
            item.stash[SAMPLING_S] = elapsed
            self.elapsed_s += elapsed
        self._refuse_one_configuration(place, study)
        return study

    def _refuse_one_configuration(self, place: Place, study: Study) -> None:
        """Raise PlanError where another seat drew in the same configuration: they share draws."""
        for (seat, agent_place), other in self._studies.items():
            if other is study or seat == place[0] or agent_place != place[1]:
                continue
            if other.info and study.info and other.info.config_digest == study.info.config_digest:
                del self._studies[place]
                raise PlanError(
                    f"{place[0]} and {seat} are one configuration, "
                    f"{study.info.config_digest[:12]}: what they draw is one series, and its floor "
                    "is one floor.\n  Leave one of them out. Two recordings of one configuration "
                    "are compared by `fairmed compare`."
                )

    def close(self) -> None:
        """Let go of model and store, if they were opened."""
        self._models.close()
        if "store" in self.__dict__:
            self.store.close()


def _first_line(error: BaseException | None) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
