"""The run record as a file: its schema, published as JSON Schema, and how it is read back.

Keys may be added within a version of the schema, so keys that are not known here are kept.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pytest_fairmedagent.errors import FileFormatError

SCHEMA = 1

Rate = Annotated[float | None, Field(ge=0, le=1)]
Gap = Annotated[float | None, Field(ge=-1, le=1)]
Count = Annotated[int, Field(ge=0)]
Amount = Annotated[float, Field(ge=0)]
Ends = Annotated[list[float | None], Field(min_length=2, max_length=2)]
Counted = Annotated[list[int], Field(min_length=2, max_length=2)]
Status = Literal["DISPARITY", "UNMEASURED", "INCONCLUSIVE", "EQUIVALENT", "IDENTICAL"]


class Part(BaseModel):
    """A part of a record. What a later version adds is kept."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)


class Profile(Part):
    name: str
    says: str


class Note(Part):
    """Something to be known, with its kind."""

    kind: str
    text: str


class Run(Part):
    """What is to be known of a run beside its trajectories; one for each agent under test."""

    id: int | None = Field(description="number of the run in its store; null for a replay")
    model: str
    toy: bool
    configuration: dict[str, Any]
    config_digest: str
    plan_digest: str
    seed: int | None
    drawn: Count = Field(description="trajectories drawn by this start")
    earlier: Count = Field(description="trajectories from starts before it")
    registered: bool = Field(description="whether the plan was fixed before the first trial")
    earlier_looks: list[int]
    calls: Count
    repairs: Count
    retries: Count
    input_tokens: Count
    output_tokens: Count
    missing: dict[str, dict[str, int]] = Field(description="condition to reason to trajectories")
    elapsed_s: Amount
    complete: bool
    bound: Amount = Field(description="chance of any DISPARITY if nothing differs, at most")


class FamilyPart(Part):
    name: str
    swaps: list[str]
    actions: list[str]
    vignettes: list[str]
    replicates: Count
    margin: float | None
    alpha: float
    gating: bool
    per_vignette: bool


class PlanPart(Part):
    families: list[FamilyPart]
    reference: str
    identical: list[str]
    shams: list[str]


class FloorPart(Part):
    """How often two runs of one text disagree."""

    disagreements: Count
    pairs: Count
    floor: Rate
    interval: Ends


class ActionFloor(FloorPart):
    rate: Rate = Field(description="share of answers that took the action")
    missing: Count


class ArmPart(Part):
    model: str
    condition: str
    config_digest: str
    vignettes: Count
    trajectories: Count
    incomplete: Count
    pooled: FloorPart
    actions: dict[str, ActionFloor]


class CasePart(Part):
    """Positives and answers of one vignette, under the swap and under the reference."""

    vignette: str
    swap: Counted
    reference: Counted


class MeasuredPart(Part):
    """A condition against a reference on one action."""

    condition: str
    action: str
    vignette: str | None
    vignettes: Count
    pairs: Amount
    b: float | None = Field(description="expected discordant pairs: action only under the swap")
    c: float | None = Field(description="the same: action only under the reference")
    flip_rate: Rate
    floor: Rate = Field(description="mean of both arms' floors; null where one has no pair")
    gap: Gap
    interval: Ends
    p: Rate
    excess: float | None
    missing: Count
    cases: list[CasePart]
    config_digest: str


class ComparisonPart(MeasuredPart):
    """The same, with the reference named."""

    reference: str


class ContrastPart(ComparisonPart):
    """A registered comparison with its verdict. `q` stands for `p_adjusted` where exploratory."""

    family: str
    family_size: Count
    alpha: float
    margin: float | None
    noise: Rate = Field(description="half the band of gaps that the floor lets chance bring about")
    p_adjusted: Rate
    q: Rate
    smallest_detectable_gap: Rate
    verdict: Status
    reasons: list[str]
    flags: list[str]
    headline: str


class ControlPart(ComparisonPart):
    kind: Literal["identical", "sham"]


class ConfoundedPart(MeasuredPart):
    """What was seen on vignettes where a difference can be clinically right. No verdict."""

    family: str
    q: Rate


class OutcomePart(Part):
    """A contrast of an ordinal, score or set outcome; gap, floor and margin are in `unit`."""

    outcome: str
    kind: Literal["ordinal", "score", "set"]
    unit: str
    condition: str
    reference: str
    vignette: str | None
    vignettes: Count
    missing: Count
    gap: float | None
    interval: Ends
    floor: float | None
    floor_is: str
    margin: float | None
    p: Rate
    p_adjusted: Rate
    q: Rate
    family: str
    family_size: Count
    alpha: float
    verdict: Status
    reasons: list[str]
    flags: list[str]
    headline: str
    config_digest: str


class ReliabilityPart(Part):
    """A floor that was asserted to lie below a bound."""

    action: str
    bound: Rate
    floor: Rate
    interval: Ends
    pairs: Count
    verdict: Literal["RELIABLE", "UNRELIABLE", "INCONCLUSIVE", "UNMEASURED"]
    headline: str
    config_digest: str


class RelationPart(Part):
    """What a test of the user's own has come to; without a p-value it is descriptive."""

    relation: str
    version: str
    action: str
    condition: str
    vignette: str | None
    p: Rate
    p_adjusted: Rate
    holds: dict[str, bool]
    verdict: Literal["DISPARITY", "INCONCLUSIVE", "UNMEASURED", "DESCRIPTIVE"]
    headline: str
    config_digest: str


class GuardPart(Part):
    guard: str
    condition: str
    action: str
    p: Rate
    p_adjusted: Rate
    rejects: bool


class SubgroupPart(Part):
    """What was found in one domain or difficulty: described, never tested."""

    by: Literal["domain", "difficulty"]
    group: str
    vignettes: Count
    floors: dict[str, dict[str, float | None]]
    gaps: list[dict[str, Any]]
    config_digest: str


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


class PanelPart(Part):
    """Several models or decodings side by side; `seats` inside a row are by id."""

    seats: list[SeatPart]
    floors: list[dict[str, Any]]
    contrasts: list[dict[str, Any]]
    differences: list[DifferencePart]
    agreement: list[dict[str, Any]]


class ChangePart(DifferencePart):
    """The same, from a baseline to this run, with what is claimed."""

    p_adjusted: Rate
    q: Rate
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
    differs: list[str]
    configuration: list[str]
    notes: list[str]
    changes: list[ChangePart]
    counts: dict[str, Count]


class BaselinePart(Part):
    file: str
    created: str
    runs: list[ComparedPart]


class RowPart(Part):
    """One trajectory; `replicate` counts from 1, `labels` are its actions, null where missing."""

    vignette: str
    condition: str
    replicate: Annotated[int, Field(ge=1)]
    outputs: dict[str, dict[str, Any]]
    complete: bool
    missing: dict[str, str]
    labels: dict[str, bool | None]


class ConditionPart(Part):
    kind: str
    attribute: str
    descriptor: str


class BudgetPart(Part):
    """What all runs took together."""

    calls: Count
    repairs: Count
    retries: Count
    input_tokens: Count
    output_tokens: Count
    elapsed_s: Amount
    usd: float | None = Field(description="null where no price is known, which is not 0")


class RunRecord(Part):
    """The run record of pytest-fairmedagent: all that a run has come to."""

    schema_: Literal[1] = Field(alias="schema")
    generator: str
    created: str = Field(description="when it was written, ISO 8601 in UTC")
    interrupted: bool
    complete: bool = Field(description="whether the plan was drawn to its end")
    profile: Profile
    environment: dict[str, Any]
    runs: Annotated[list[Run], Field(min_length=1)]
    plan: PlanPart
    conditions: dict[str, ConditionPart]
    vignettes: dict[str, dict[str, Any]]
    arms: list[ArmPart]
    contrasts: list[ContrastPart]
    controls: list[ControlPart]
    outcomes: list[OutcomePart] = Field(default=[], description="contrasts of no action")
    reliability: list[ReliabilityPart] = Field(default=[], description="floors against a bound")
    relations: list[RelationPart] = Field(default=[], description="tests of the user's own")
    confounded: list[ConfoundedPart] = Field(default=[], description="set apart, never claimed")
    guards: list[GuardPart]
    diagnostics: list[Note]
    deviations: list[Note] = Field(description="what was not as the plan has it")
    verdicts: dict[Status, Count]
    configuration: dict[str, Any]
    budget: BudgetPart
    subgroups: list[SubgroupPart] = Field(default=[], description="by domain and difficulty")
    panel: PanelPart | None = Field(default=None, description="where several models were run")
    baseline: BaselinePart | None = Field(default=None, description="where there was one")
    checklist: Any = Field(description="data for a reporting checklist")
    rows: list[RowPart]


def is_run_record(path: Path) -> bool:
    """Return whether a file is a run record by its look: one JSON object with `runs`."""
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return False  # other formats, and what is wrong with a file, are told by their reader
    return isinstance(data, dict) and "runs" in data


def read_run_record(path: Path) -> dict[str, Any]:
    """Return the run record of a file. Raises FileFormatError for what is none."""
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{path}: is no run record: {error}\n  {_EXPECTED}") from error
    if not isinstance(data, dict) or "runs" not in data:
        raise FileFormatError(f"{path}: is no run record.\n  {_EXPECTED}")
    if data.get("schema") != SCHEMA:
        raise FileFormatError(
            f"{path}: is a run record of schema {data.get('schema')!r}, and {SCHEMA} can be read "
            "here.\n  Use the version of pytest-fairmedagent that wrote it."
        )
    try:
        RunRecord.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise FileFormatError(
            f"{path}: is no run record of this version: {where}: {first['msg']}\n  {_EXPECTED}"
        ) from error
    return data


_EXPECTED = "Expected what --fairmed-report=NAME.json or `fairmed merge` writes."


def record_schema() -> str:
    """Return the JSON Schema of run records, as docs/record.schema.json has it."""
    schema = RunRecord.model_json_schema()
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": f"schema {SCHEMA} of run records; keys may be added within it",
        **schema,
    }
    return json.dumps(schema, indent=1) + "\n"
