"""Parts of a run record that say what was found: contrasts, outcomes, floors, subgroups."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from pytest_fairmedagent.files.record_parts import (
    Amount,
    Count,
    Counted,
    Ends,
    Gap,
    Part,
    Rate,
    Status,
)

_POST_HOC = "registered after its draws had been judged, so it gates nothing"


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
    variants: Count = Field(default=0, description="cases drawn, where vignettes have several")
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
    run: Count | None = Field(default=None, description="number of its run")
    target: str | None = None
    p_attainable: Rate = None
    deterministic: bool | None = Field(default=None, description="every cell is unanimous")


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
    file: str | None = None
    block: str | None = None
    look: Count | None = Field(default=None, description="replicates it was judged at")
    gap_sought: float | None = None
    replicates_to_find: float | None = Field(
        default=None, description="that find it in one action with power .8; null where none do"
    )
    replicates_to_rule_out: float | None = Field(
        default=None, description="that show it inside the margin with power .8, if nothing differs"
    )
    pairs_to_find: float | None = Field(default=None, description="of older records")
    post_hoc: bool = Field(default=False, description=_POST_HOC)
    stands: str = Field(default="", description="the earlier look whose verdict it is")


class SwapPart(Part):
    """A swap over all its registered outcomes together: does it change any of them anywhere?

    `p` is of "no outcome of any vignette changes", `p_adjusted` over the swaps of the family.
    """

    condition: str
    reference: str
    vignette: str | None
    outcomes: list[str] = Field(description="that were tested together")
    named: list[str] = Field(description="those that differ by themselves")
    family: str
    family_size: Count = Field(description="registered swaps")
    alpha: float
    p: Rate
    p_adjusted: Rate
    verdict: Status
    reasons: list[str] = Field(default=[], description="why it is not what this look says alone")
    flags: list[str]
    headline: str
    config_digest: str
    run: Count | None = Field(default=None, description="number of its run")
    look: Count | None = Field(default=None, description="replicates it was judged at")
    file: str | None = None
    block: str | None = None
    post_hoc: bool = Field(default=False, description=_POST_HOC)
    stands: str = Field(default="", description="the earlier look whose verdict it is")


class ControlPart(ComparisonPart):
    kind: Literal["identical", "sham"]


class ConfoundedPart(MeasuredPart):
    """What was seen on vignettes where a difference can be clinically right. No verdict."""

    family: str
    q: Rate
    label: str | None = None
    direction: Literal["more", "fewer", "either"] = Field(
        default="either", description="in which it can be right"
    )
    opposite: dict[str, Any] | None = Field(
        default=None, description="the test against that direction; None where there is none"
    )
    opposed: bool = Field(default=False, description="that test found it: a DISPARITY")
    entries: list[dict[str, Any]] = Field(default=[], description="of the confounding registry")


class InUnitsPart(Part):
    """A condition against a reference on an ordinal, score or set outcome, in `unit`."""

    kind: Literal["ordinal", "score", "set"]
    unit: str
    condition: str
    vignette: str | None
    vignettes: Count
    variants: Count = Field(default=0, description="cases drawn, where vignettes have several")
    missing: Count
    gap: float | None
    interval: Ends
    floor: float | None
    floor_is: str
    estimand: str = Field(default="", description="what gap, interval, p and floor are of")
    p: Rate
    config_digest: str
    run: Count | None = Field(default=None, description="number of its run")
    answers: list[int] = Field(default=[], description="under the swap, under the reference")
    members: list[dict[str, Any]] = Field(default=[], description="of a set, each with its gap")


class ConfoundedOutcomePart(InUnitsPart):
    """What was seen of such an outcome where a difference can be clinically right. No verdict."""

    action: str = Field(description="the outcome's id")
    family: str
    q: Rate
    label: str | None = None
    direction: Literal["more", "fewer", "either"] = Field(
        default="either", description="in which it can be right"
    )
    opposite: dict[str, Any] | None = Field(
        default=None, description="the test against that direction; None where there is none"
    )
    opposed: bool = Field(default=False, description="that test found it: a DISPARITY")
    entries: list[dict[str, Any]] = Field(default=[], description="of the confounding registry")


class OutcomePart(InUnitsPart):
    """A contrast of an ordinal, score or set outcome; gap, floor and margin are in `unit`."""

    outcome: str
    reference: str
    margin: float | None
    p_adjusted: Rate
    q: Rate
    family: str
    family_size: Count
    alpha: float
    verdict: Status
    reasons: list[str]
    flags: list[str]
    headline: str
    look: Count | None = Field(default=None, description="replicates it was judged at")
    smallest_detectable_gap: float | None = None
    post_hoc: bool = Field(default=False, description=_POST_HOC)
    stands: str = Field(default="", description="the earlier look whose verdict it is")
    against_reference_set: dict[str, Any] | None = None


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
    run: Count | None = Field(default=None, description="number of its run")
    disagreements: Count | None = None
    vignettes: Count | None = None
    missing: Count | None = None


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
    run: Count | None = Field(default=None, description="number of its run")
    family: str | None = None
    family_size: Count | None = None
    reasons: list[str] = Field(default=[])
    post_hoc: bool = Field(default=False, description=_POST_HOC)


class GuardPart(Part):
    guard: str
    condition: str
    action: str
    p: Rate
    p_adjusted: Rate
    rejects: bool
    run: Count | None = Field(default=None, description="number of its run")
    config_digest: str | None = None


class SubgroupPart(Part):
    """What was found in one domain or difficulty: described, never tested."""

    by: Literal["domain", "difficulty"]
    group: str
    vignettes: Count
    floors: dict[str, dict[str, float | None]]
    gaps: list[dict[str, Any]]
    config_digest: str
    run: Count | None = Field(default=None, description="number of its run")
    left_out: list[str] = Field(default=[], description="what has no floor or gap here")
