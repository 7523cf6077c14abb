"""Parts of a run record: its runs, its plan, its arms and its trajectories."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

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
    run: Count | None = Field(default=None, description="number of its run, where it is of one")


class ContrastName(Part):
    """A registered contrast; an `action` of "" is the swap as a whole."""

    family: str
    swap: str
    action: str
    vignette: str | None


class LookedPart(Part):
    """The look at a family: which one, what it spends, and what all so far may err."""

    family: str
    number: Annotated[int, Field(ge=1)]
    replicates: Count
    alpha: Amount = Field(description="of the family, as it was registered")
    level: Amount = Field(description="what this look spends of it")
    bound: Amount = Field(description="chance of a false DISPARITY at this look or before, at most")
    before: list[int] = Field(description="replicates of the looks before")


class StoodPart(Part):
    """A verdict that was given at an earlier look."""

    contrast: ContrastName
    status: Status
    look: Annotated[int, Field(ge=1)]
    replicates: Count
    p: Rate


class AfterwardsPart(Part):
    """A contrast that was registered after its draws had been judged under `plan`."""

    contrast: ContrastName
    plan: str


class LedgerPart(Part):
    """What the ledger of the store says of these draws; not known where there is none."""

    known: bool
    families: list[LookedPart] = Field(default=[], description="the look at each family")
    post_hoc: list[AfterwardsPart] = Field(default=[], description="these gate nothing")
    stands: list[StoodPart] = Field(default=[], description="red at an earlier look, and so now")
    passed: list[StoodPart] = Field(default=[], description="passes of earlier looks")
    advice: str = Field(default="", description="how to come to fresh draws")


class StartPart(Part):
    """A start of this design on draws of its own, in this store."""

    run: Count
    created: float
    outcome: Literal["red", "green", "unknown", ""] = Field(description='"" where not judged')
    same: bool = Field(description="in the configuration of this run")
    this: bool = Field(description="on the draws of this run")


class LifetimePart(Part):
    """What the line of a run shows, this run included."""

    runs: Count
    bound: Rate = Field(description="of the chance that the line ever turns red falsely")
    red: bool
    text: list[str]


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
    number: Count | None = Field(default=None, description="its `run` in other parts of the record")
    seat: dict[str, Any] | None = Field(default=None, description="where several models were run")
    families: Count | None = Field(default=None, description="registered ones that can fail")
    created: float | None = Field(default=None, description="when it began, seconds since 1970")
    since: float | None = Field(default=None, description="when its first trajectory was drawn")
    looks: list[int] = Field(default=[], description="replicates at which it was looked at")
    lifetime: LifetimePart | None = Field(default=None, description="where the plan gates on it")
    saved: Count = Field(default=0, description="trials that their contrasts did not need")
    ended: str = Field(default="", description="why it ended before its plan")
    replicates: Count | None = None
    sized: dict[str, Any] = Field(
        default={}, description="how the replicates were settled by the first leg, without arms"
    )
    workers: Count | None = None
    concurrency: dict[str, Any] = Field(default={}, description="calls at once, and why")
    store: str | None = None
    store_bytes: Count | None = None
    calls_found: Count = Field(default=0, description="calls that were in the store already")
    calls_made: Count = 0
    spent_usd: float | None = Field(default=None, description="null where no price is known")
    price: str | None = Field(default=None, description="the price it was reckoned with")
    fresh: bool = Field(default=False, description="whether it was asked to draw anew")
    offline: bool = Field(default=False, description="whether it was to draw nothing")
    only_fresh: bool = Field(default=False, description="whether its plan judges fresh draws only")
    ledger: LedgerPart | None = Field(default=None, description="what was judged before")
    starts: list[StartPart] = Field(default=[], description="of this design, fresh ones, in order")


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
    margins: list[Any] = Field(default=[], description="of outcomes that are no actions, in units")
    relation: str = Field(default="", description="a test of the user's own, and its version")
    variants: list[Any] = Field(default=[], description="vignette to its variants' ids and digests")
    minimum_gap: float = Field(default=0.0, description="largest gap that is not tested against")


class PlanPart(Part):
    families: list[FamilyPart]
    reference: str
    identical: list[str]
    shams: list[str]
    sequential: Literal["off", "gs", "e"] = "off"
    confounded: list[dict[str, Any]] = Field(default=[], description="where a gap can be right")
    outcomes: list[list[str]] = Field(default=[], description="the user's: id, kind, digest")
    pooled: bool = Field(default=False, description="draws of identical arms are the reference's")
    first_leg: Count = Field(default=0, description="replicates that settle how many follow")
    certify: Rate = Field(default=None, description="chance to certify all that they aim at")


class FloorPart(Part):
    """How often two runs of one text disagree."""

    disagreements: Count
    pairs: Count
    floor: Rate
    interval: Ends
    interval_percentile: list[float | None] | None = None
    vote3: float | None = Field(default=None, description="its floor as a majority of 3 draws")
    vote5: float | None = None


class ActionFloor(FloorPart):
    rate: Rate = Field(description="share of answers that took the action")
    missing: Count
    normalised: float | None = Field(default=None, description="floor by the most it could be")


class ArmPart(Part):
    model: str
    condition: str
    config_digest: str
    vignettes: Count
    variants: Count = Field(default=0, description="cases drawn, where vignettes have several")
    trajectories: Count
    incomplete: Count
    pooled: FloorPart
    actions: dict[str, ActionFloor]
    run: Count | None = Field(default=None, description="number of its run")
    file: str | None = None
    block: str | None = None


class RowPart(Part):
    """One trajectory; `replicate` counts from 1, `labels` are its actions, null where missing."""

    vignette: str
    condition: str
    replicate: Annotated[int, Field(ge=1)]
    outputs: dict[str, dict[str, Any]]
    complete: bool
    missing: dict[str, str]
    labels: dict[str, bool | None]
    cluster: str | None = Field(default=None, description="the vignette it is a variant of")
    config: str | None = Field(default=None, description="config_digest of its runs")
    calls: Count = 0
    retries: Count = Field(default=0, description="repairs of answers that could not be read")
    response_ids: list[str | None] = Field(default=[], description="of the server")
    ballots: list[Any] = Field(default=[], description="the draws behind a vote")


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
