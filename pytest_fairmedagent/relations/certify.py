"""What a plan can certify: the chance that all contrasts of a family come out EQUIVALENT.

"All inside the margin" is one claim. If one gap is at the margin or beyond it, the chance to make
it is at most the family's alpha, however many contrasts there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pytest_fairmedagent.domain import BINARY, Contrast, Family, Plan, ReplicateTable
from pytest_fairmedagent.errors import PlanError
from pytest_fairmedagent.relations.evidence import GS, OFF, E
from pytest_fairmedagent.stats import (
    chance_to_certify_all,
    replicates_to_certify_all,
)

KINDS = {OFF: "fixed", GS: "obrien_fleming", E: "e_process"}  # how `stats.planning` calls them
_ENOUGH = 100_000  # replicates; what needs more needs another plan


@dataclass(frozen=True)
class Certification:
    """Whether a family can be shown equivalent as a whole, if nothing differs.

    `chance` is in 0..1. `needed` are the replicates at which it reaches the target; inf where no
    number is enough.
    """

    family: str
    chance: float
    replicates: int
    needed: float


@dataclass(frozen=True)
class Sized:
    """The replicates that a plan settles by its first leg.

    `floors` are those of all arms together, in 0..1 by action: no arm is told from another, so
    nothing that is to be tested has been seen. `replicates` certify everything with `chance`, if
    nothing differs; None where not even `cap` of them reach `target`, and `needed` (None: no number
    does) would. `able` of `contrasts` reach the target each for itself at the cap.
    """

    first_leg: int
    cap: int
    target: float
    floors: tuple[tuple[str, float], ...]
    replicates: int | None
    chance: float
    needed: int | None
    able: int
    contrasts: int

    def record(self) -> dict[str, Any]:
        """Return it as plain values for a run record."""
        return {**asdict(self), "floors": dict(self.floors)}

    def refusal(self) -> str:
        """Return why nothing further is drawn; "" where the plan goes on."""
        if self.replicates is not None:
            return ""
        action, floor = max(self.floors, key=lambda pair: pair[1])
        needs = "no number is enough" if self.needed is None else f"needs {self.needed}"
        return (
            f"all {self.contrasts} contrasts cannot be certified at a floor of {floor:.2f} "
            f"({action}) within {self.cap} replicates: {needs}; {self.able} of {self.contrasts} "
            f"could.\n  After {self.first_leg} replicates of every arm, told apart by nothing, no "
            f"more was drawn. Raise replicates_cap, add vignettes, widen the margin, or give "
            "--fairmed-replicates to draw so many whatever comes of it."
        )


def ratio_of(plan: Plan) -> float:
    """Return the draws of the reference, pooled ones with it, for each of a swap's."""
    return 1.0 + len(plan.identical) * plan.pooled


def certification(plan: Plan, family: Family, *, floor: float, target: float) -> Certification:
    """Return the chance that all contrasts of a family come out EQUIVALENT at this floor.

    At the family's replicates, which are the most of a plan that settles them by its first leg.
    """
    units = [
        _Unit([floor] * len(sizes), sizes, len(family.swaps)) for sizes in _sizes(plan, family)
    ]
    margin = family.margin
    if not margin or not units:
        return Certification(family.name, 0.0, family.replicates, math.inf)
    chance = _chance(units, family, margin, family.replicates, ratio_of(plan), measured=False)
    needed = math.inf
    if chance < target:
        needed = _needed(units, family, margin, target, ratio_of(plan), measured=False)
    return Certification(family.name, chance, family.replicates, needed)


def sized(table: ReplicateTable, plan: Plan) -> Sized:
    """Return the replicates that certify every gating family, by the floors of the first leg.

    Of several families the one that needs most decides. Raises PlanError where none of them has a
    margin.
    """
    target, ratio = plan.certify or 0.8, ratio_of(plan)
    floors: dict[str, float] = {}
    replicates, chance, able, contrasts = plan.first_leg, 1.0, 0, 0
    needed: float = plan.first_leg
    for family in plan.families:
        if not certifiable(plan, family):
            continue
        units = list(_measured(table, plan, family, floors))
        margin = family.margin or 0.0
        family_needs = _needed(units, family, margin, target, ratio, measured=True)
        needed = max(needed, family_needs)
        at = int(min(max(needed, plan.first_leg), family.replicates))
        replicates = max(replicates, at)
        chance *= _chance(units, family, margin, at, ratio, measured=True)
        contrasts += family.size
        able += sum(
            len(family.swaps)
            * (_chance([one], family, margin, family.replicates, ratio, measured=True) >= target)
            for one in _alone(units)
        )
    if not contrasts:
        raise PlanError(
            "a plan with replicates_cap certifies what has a margin, and no gating family has one\n"
            "  Give a margin, or leave replicates_cap out."
        )
    return Sized(
        first_leg=plan.first_leg,
        cap=plan.replicates,
        target=target,
        floors=tuple(sorted(floors.items())),
        replicates=replicates if needed <= plan.replicates else None,
        chance=chance,
        needed=None if math.isinf(needed) else int(needed),
        able=able,
        contrasts=contrasts,
    )


def certifiable(plan: Plan, family: Family) -> bool:
    """Return whether a family's contrasts are to be certified: gating actions with a margin."""
    return bool(
        family.gating
        and family.size
        and family.margin
        and not family.relation
        and any(plan.kind_of(action) == BINARY for action in family.actions)
    )


@dataclass(frozen=True)
class _Unit:
    """Contrasts that share trajectories: floors and vignettes by action, and the swaps."""

    floors: Sequence[float]
    sizes: Sequence[float]
    n_swaps: int


def _alone(units: Sequence[_Unit]) -> Iterator[_Unit]:
    for unit in units:
        for floor, size in zip(unit.floors, unit.sizes, strict=True):
            yield _Unit([floor], [size], 1)


def _groups(plan: Plan, family: Family) -> Iterator[list[tuple[str, list[Contrast]]]]:
    """Yield, for each pool of vignettes, the actions with their contrasts."""
    for vignette in family.vignettes if family.per_vignette else (None,):
        yield [
            (action, [Contrast(family.name, swap, action, vignette) for swap in family.swaps])
            for action in family.actions
            if plan.kind_of(action) == BINARY
        ]


def _sizes(plan: Plan, family: Family) -> Iterator[list[float]]:
    for group in _groups(plan, family):
        yield [min((float(len(plan.judged(c))) for c in cs), default=0.0) for _, cs in group]


def _measured(
    table: ReplicateTable, plan: Plan, family: Family, floors: dict[str, float]
) -> Iterator[_Unit]:
    """Yield the units with the floors of all arms together; note them in `floors`, the largest."""
    for group in _groups(plan, family):
        unit_floors, sizes = [], []
        for action, contrasts in group:
            vignettes = min((plan.judged(c) for c in contrasts), key=len)
            floor, answered = _blind(table, plan, family, action, vignettes)
            floors[action] = max(floors.get(action, 0.0), floor)
            unit_floors.append(floor)
            sizes.append(len(vignettes) * answered)
        yield _Unit(unit_floors, sizes, len(family.swaps))


def _blind(
    table: ReplicateTable, plan: Plan, family: Family, action: str, vignettes: Sequence[str]
) -> tuple[float, float]:
    """Return the floor of all arms' runs of a vignette as if they were one, and the answered share.

    Where a swap does move an action, that counts as noise here: the plan is cautious then, and it
    cannot tell which way anything went.
    """
    k = np.zeros(len(vignettes))
    n, missing = k.copy(), 0.0
    for condition in (plan.reference, *plan.identical, *family.swaps):
        if table.has(vignettes, condition):
            counts = table.counts(vignettes, condition, action)
            k, n = k + np.asarray(counts.k), n + np.asarray(counts.n)
            missing += float(np.sum(counts.missing))
    several = n > 1
    if not several.any():
        return 0.5, 1.0
    share = 2 * k[several] * (n - k)[several] / (n * (n - 1))[several]
    return min(0.5, float(share.mean())), float(n.sum() / (n.sum() + missing))


def _chance(
    units: Sequence[_Unit],
    family: Family,
    margin: float,
    replicates: float,
    ratio: float,
    *,
    measured: bool,
) -> float:
    found = 1.0
    for unit in units:
        found *= chance_to_certify_all(
            margin,
            unit.floors,
            unit.sizes,
            replicates,
            n_swaps=unit.n_swaps,
            alpha=family.alpha,
            ratio=ratio,
            measured=measured,
        )
    return found


def _needed(
    units: Sequence[_Unit],
    family: Family,
    margin: float,
    target: float,
    ratio: float,
    *,
    measured: bool,
) -> float:
    """Return the replicates at which all units together reach the target."""
    each = target ** (1 / max(1, len(units)))
    return max(
        (
            replicates_to_certify_all(
                margin,
                unit.floors,
                unit.sizes,
                n_swaps=unit.n_swaps,
                alpha=family.alpha,
                power=each,
                ratio=ratio,
                measured=measured,
                most=_ENOUGH,
            )
            for unit in units
        ),
        default=math.inf,
    )
