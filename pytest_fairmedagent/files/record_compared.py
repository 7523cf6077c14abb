"""Parts of a run record that set runs beside each other: a panel, a baseline."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from pytest_fairmedagent.files.record_parts import (
    Count,
    Ends,
    Part,
    Rate,
)


class SeatPart(Part):
    """One model under one decoding; `run` is its number among the runs, null where none came."""

    id: str
    model: str
    decoding: str
    run: int | None
    fault: str | None


class DifferencePart(Part):
    """What differs between two runs on the same vignettes; `kind` is gap, floor or rate."""

    kind: Literal["gap", "floor", "rate"]
    condition: str
    action: str
    vignette: str | None
    vignettes: Count
    a: float | None
    b: float | None
    difference: float | None
    interval: Ends
    p: Rate
    p_vignettes: Rate = Field(default=None, description="of a gap, over vignettes like these")
    left_out: Count = Field(default=0, description="vignettes with a missing answer, of a floor")
    removed: float | None = Field(default=None, description="share of floor a that is gone in b")
    removed_interval: Ends | None = None
    q: Rate = None


class PairPart(DifferencePart):
    """The same, with the names of the two runs."""

    of: Annotated[list[str], Field(min_length=2, max_length=2)]


class PanelPart(Part):
    """Several models or decodings side by side; `seats` inside a row are by id."""

    seats: list[SeatPart]
    floors: list[dict[str, Any]]
    contrasts: list[dict[str, Any]]
    outcomes: list[dict[str, Any]] = Field(default=[], description="in units, not compared")
    left_out: list[str] = Field(default=[], description="what stands in none of these tables")
    notes: list[str] = Field(default=[], description="why a run may hold fewer draws than its plan")
    differences: list[PairPart]
    agreement: list[dict[str, Any]]


class ChangePart(DifferencePart):
    """The same, from a baseline to this run, with what is claimed."""

    gating: bool = True
    p_adjusted: Rate
    change: Literal["worse", "better", "more", "fewer", "open"]
    detectable: float | None


class ComparedPart(Part):
    """A run and its counterpart in a baseline."""

    run: int
    of: int
    a: str
    b: str
    alpha: Rate
    same_plan: bool
    levels: dict[str, float] = Field(default={}, description="error rates of gaps, floors, rates")
    registered: dict[str, Count] = Field(default={}, description="tests of each kind")
    vignettes: Count | None = None
    differs: list[str]
    configuration: list[str]
    notes: list[str]
    changes: list[ChangePart]
    counts: dict[str, Count]


class BaselinePart(Part):
    file: str
    created: str
    runs: list[ComparedPart]
