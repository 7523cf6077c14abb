"""Judging a family by a relation of the user's own in place of the built-in test."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_fairmedagent.domain import Contrast, Family, Labels, Plan, Relation, ReplicateTable
from pytest_fairmedagent.errors import OwnCodeError
from pytest_fairmedagent.relations.guards import MOST_MISSING, Guards
from pytest_fairmedagent.relations.words import p_value
from pytest_fairmedagent.stats import benjamini_hochberg, holm
from pytest_fairmedagent.verdict.result import DISPARITY, INCONCLUSIVE, UNMEASURED

if TYPE_CHECKING:
    from pytest_fairmedagent.verdict.looks import Looked

DESCRIPTIVE = "DESCRIPTIVE"


@dataclass(frozen=True)
class RelationVerdict:
    """What a relation of the user's own has come to on one contrast.

    `p` is what it returned, and `p_adjusted` Holm's in the family (or the q-value of an exploratory
    one); both None where it has no error rate. Then `holds` tells where it held, and the verdict is
    DESCRIPTIVE: shown, never a failure. Nothing but p-values can be a DISPARITY, and nothing is
    shown to be equivalent here.
    """

    status: str
    contrast: Contrast
    family: Family
    relation: str
    p: float | None = None
    p_adjusted: float | None = None
    holds: tuple[tuple[str, bool], ...] = ()
    reasons: tuple[str, ...] = ()
    looked: Looked | None = None
    post_hoc: bool = False

    @property
    def headline(self) -> str:
        """The verdict in one line that stands alone."""
        contrast = self.contrast
        what = f"{self.status} {contrast.action}, {contrast.swap} vs reference: {self.relation}"
        if self.p is not None and self.p_adjusted is not None:
            method = "Holm" if self.family.gating else "BH, exploratory"
            what += (
                f" returned p={p_value(self.p)}, adjusted {p_value(self.p_adjusted)} ({method}, "
                f"family of {self.family.size})"
            )
        elif self.holds:
            broken = [vignette for vignette, held in self.holds if not held]
            n = len(self.holds)
            what += f" holds on {n - len(broken)} of {n} vignettes"
            what += f", not on {', '.join(broken[:3])}" if broken else ""
            what += "; it has no error rate, so it decides nothing"
        return what + (f": {'; '.join(self.reasons)}" if self.reasons else "")

    def __str__(self) -> str:
        return self.headline


def judge_relation(
    table: ReplicateTable,
    plan: Plan,
    family: Family,
    relation: Relation,
    present: Iterable[Contrast],
    guards: Guards,
) -> tuple[RelationVerdict, ...]:
    """Return the verdicts of a family that a relation tests; members not present count with p = 1.

    Raises OwnCodeError for a relation that fails, or returns neither a p-value nor a bool for each
    vignette.
    """
    wanted = set(present)
    found = [
        _one(table, plan, family, relation, contrast, guards)
        for contrast in family.members
        if contrast in wanted
    ]
    adjust = holm if family.gating else benjamini_hochberg
    tested = [verdict for verdict in found if verdict.p is not None]
    if not tested:
        return tuple(found)
    adjusted = adjust([float(v.p or 0.0) for v in tested], n_members=family.size)
    of = {verdict.contrast: float(p) for verdict, p in zip(tested, adjusted, strict=True)}
    return tuple(_decided(v, of[v.contrast]) if v.contrast in of else v for v in found)


def _decided(verdict: RelationVerdict, p: float) -> RelationVerdict:
    if p <= verdict.family.alpha:
        return replace(verdict, status=DISPARITY, p_adjusted=p)
    return replace(
        verdict, p_adjusted=p, reasons=("no difference was shown, nor that there is none",)
    )


def _one(
    table: ReplicateTable,
    plan: Plan,
    family: Family,
    relation: Relation,
    contrast: Contrast,
    guards: Guards,
) -> RelationVerdict:
    vignettes = plan.judged(contrast)
    verdict = RelationVerdict(INCONCLUSIVE, contrast, family, relation.id)
    reasons = guards.against(contrast.swap, plan.reference, contrast.action)
    if len(vignettes) < len(family.cases) and plan.confounding(contrast) is not None:
        verdict = replace(verdict, reasons=("confounded vignettes are left out",))
    tables: list[Labels] = []
    for condition in (contrast.swap, plan.reference):
        cells = {v: list(table.labels(v, condition, contrast.action)) for v in vignettes}
        drawn = sum(map(len, cells.values()))
        missing = sum(cell.count(None) for cell in cells.values())
        if drawn < family.replicates * len(vignettes):
            reasons.append(
                f"{condition} has {drawn} of {family.replicates * len(vignettes)} trials"
            )
        elif missing > MOST_MISSING * drawn:
            reasons.append(
                f"{100 * missing / drawn:.0f} % of the answers of {condition} are missing"
            )
        tables.append(cells)
    if reasons:
        return replace(verdict, status=UNMEASURED, reasons=tuple(reasons))
    value = _called(relation, *tables)
    if isinstance(value, Mapping):
        return replace(verdict, status=DESCRIPTIVE, holds=tuple(sorted(value.items())))
    return replace(verdict, p=float(value))


def _called(relation: Relation, swap: Labels, reference: Labels) -> float | Mapping[str, bool]:
    try:
        value = relation(swap, reference)
    except Exception as error:
        raise OwnCodeError(
            f"relation {relation.id!r} failed: {type(error).__name__}: {error}"
        ) from error
    if isinstance(value, Mapping) and value.keys() == swap.keys():
        held = {vignette: bool(holds) for vignette, holds in value.items()}
        if all(holds in (True, False) for holds in value.values()):
            return held
    elif not isinstance(value, (bool, str, Mapping)):
        try:
            p = float(value)
        except (TypeError, ValueError):
            p = math.nan
        if 0 <= p <= 1:
            return p
    raise OwnCodeError(
        f"relation {relation.id!r} returned {value!r}, expected a p-value in 0..1, or True or "
        "False for each vignette"
    )
