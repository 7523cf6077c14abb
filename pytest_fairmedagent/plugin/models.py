"""The models of a session: one for each seat, shared by its studies, and shared out under xdist."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_fairmedagent.models.base import ChatModel
from pytest_fairmedagent.models.specs import open_model
from pytest_fairmedagent.plugin.registry import Registry
from pytest_fairmedagent.plugin.seats import Seat
from pytest_fairmedagent.running.concurrency import part


@dataclass(frozen=True)
class SeatModel:
    """The model of a seat, not opened yet, and how many requests all processes have under way."""

    model: ChatModel
    total: int


class Models:
    """Makes each seat's model when it is first asked for. `processes` are those of xdist."""

    def __init__(self, registry: Registry, processes: int) -> None:
        self._registry = registry
        self._processes = processes
        self._made: dict[Seat, SeatModel | None] = {}

    def of(self, seat: Seat) -> SeatModel | None:
        """Return the model of a seat; None for a recorded run. Raises PlanError, ModelError."""
        if seat not in self._made:
            self._made[seat] = None if seat.spec.backend == "recorded" else self._make(seat)
        return self._made[seat]

    def close(self) -> None:
        """Let go of what the models took when they were opened."""
        for made in self._made.values():
            if made is not None:
                made.model.close()

    def _make(self, seat: Seat) -> SeatModel:
        settings = self._registry.settings
        told = None if settings.concurrency == "auto" else settings.concurrency
        if seat.spec.backend == "simulated":
            model = self._simulated(seat, told or 1)  # an agent of one's own may be a slow service
        else:
            model = open_model(
                seat.spec,
                decoding=seat.decoding,
                base_url=settings.base_url,
                base_url_trusted=settings.base_url_trusted,
                workers=told,
            )
        total = model.workers
        model.workers = part(total, self._processes, model)
        return SeatModel(model, total)

    def _simulated(self, seat: Seat, workers: int) -> ChatModel:
        from pytest_fairmedagent.models.simulated import SimulatedModel, parse_truth

        catalogue = self._registry.catalogue
        return SimulatedModel(
            seat.model,
            parse_truth(seat.spec.options, catalogue),
            catalogue,
            workers=workers,
            cases=self._registry.cases,
            decoding=seat.decoding,
        )
