"""Which arms of a file meet, in which family, and which have nothing to meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pytest_fairmedagent.analysis.tabulate import RecordedSet
from pytest_fairmedagent.domain import Family
from pytest_fairmedagent.files.rules import Rules

UNDECLARED = "declared by no plan"
UNREGISTERED = "in no family of the plan"


@dataclass(frozen=True)
class Declared:
    """What the contrasts are judged by: families of a plan file, or a margin and a level.

    `families` is None without a plan: then every swap x action of a file is one family, which
    nobody registered. `replicates` of a plan is the default of its families.
    """

    families: tuple[Family, ...] | None
    margin: float | None = None
    alpha: float = 0.05
    replicates: int = 1

    @property
    def registered(self) -> bool:
        return self.families is not None


@dataclass(frozen=True)
class Remark:
    """Something of how the file was judged that a reader should know."""

    kind: str
    block: str | None
    condition: str | None
    text: str


@dataclass(frozen=True)
class Group:
    """Swaps of one set that share their vignettes with the reference: judged in one go."""

    drawn: RecordedSet
    vignettes: tuple[str, ...]
    swaps: tuple[str, ...]
    controls: tuple[str, ...]

    @property
    def label(self) -> str:
        return f"block {self.drawn.block}, configuration {self.drawn.config_digest[:12]}"


@dataclass(frozen=True)
class Stray:
    """A swap that has no reference to be compared with, and why."""

    drawn: RecordedSet
    swap: str
    reason: str


def sort_arms(
    sets: Sequence[RecordedSet],
    reference: str,
    rules: Rules,
    groups: list[Group],
    strays: list[Stray],
    remarks: list[Remark],
) -> None:
    """Sort the arms of one block into groups and strays."""
    block = sets[0].block
    conditions = list(dict.fromkeys(c for s in sets for c in s.table.conditions))
    if len(conditions) < 2:
        return
    if reference not in conditions:
        text = f"no trajectory of the reference '{reference}': floors only"
        remarks.append(Remark("no reference", block, None, text))
        return
    homes = [s for s in sets if reference in s.table.conditions]
    for drawn in sets:
        kinds = {c: rules.kinds.get(c, "swap") for c in drawn.table.conditions}
        swaps = [c for c in kinds if kinds[c] not in ("identical", "sham") and c != reference]
        if drawn not in homes:
            reason = _other_configuration(drawn, homes[0], reference)
            strays += [Stray(drawn, swap, reason) for swap in swaps]
            continue
        base = drawn.vignettes(reference)
        shared: dict[tuple[str, ...], list[str]] = {}
        for condition in (c for c in kinds if c != reference):
            has = set(drawn.vignettes(condition))
            common = tuple(v for v in base if v in has)
            if condition in swaps and common:
                shared.setdefault(common, []).append(condition)
            elif condition in swaps:
                strays.append(Stray(drawn, condition, "no vignette was drawn in both arms"))
            if len(common) < len(base) or len(common) < len(has):
                text = (
                    f"{len(common)} vignettes are in both arms, of {len(base)} of the reference "
                    f"and {len(has)} of '{condition}': the others are left out of the comparison"
                )
                remarks.append(Remark("vignettes", block, condition, text))
        named = [c for c in kinds if kinds[c] in ("identical", "sham") and c != reference]
        for vignettes, found in shared.items() or [(base, list[str]())]:
            covering = [c for c in named if drawn.table.has(vignettes, c)]
            for control in (c for c in named if c not in covering):
                text = f"'{control}' does not cover the vignettes of {', '.join(found)}: not used"
                remarks.append(Remark("control not used", block, control, text))
            if found or covering:
                groups.append(Group(drawn, vignettes, tuple(found), tuple(covering)))


def _other_configuration(drawn: RecordedSet, home: RecordedSet, reference: str) -> str:
    here, there = drawn.configuration, home.configuration
    differing = sorted(k for k in {*here, *there} if here.get(k) != there.get(k))
    told = ", ".join(f"{k} {here.get(k)!r} against {there.get(k)!r}" for k in differing)
    return (
        f"drawn in another configuration than '{reference}' ({told}): a floor of one says nothing "
        "of the other"
    )


def families_of(
    declared: Declared,
    groups: Sequence[Group],
    strays: Sequence[Stray],
    actions: tuple[str, ...],
) -> tuple[Family, ...]:
    """Return the families as they are registered, before they are fitted to a group."""
    drawn = dict.fromkeys(
        [swap for group in groups for swap in group.swaps] + [stray.swap for stray in strays]
    )
    if declared.families is None:
        return (Family(UNDECLARED, tuple(drawn), actions, (), 1, declared.margin, declared.alpha),)
    registered = {swap for family in declared.families for swap in family.swaps}
    rest = tuple(swap for swap in drawn if swap not in registered)
    other = Family(
        UNREGISTERED, rest, actions, (), declared.replicates, alpha=declared.alpha, gating=False
    )
    return (*declared.families, other) if rest else declared.families


def fitted_to(family: Family, group: Group, groups: Sequence[Group]) -> Family:
    """Return the family as one group sees it.

    Its size counts the members of all blocks of the file: those of other groups are absent here,
    and absent members enter Holm with p = 1, so no block is judged more boldly than the whole.
    """
    own = tuple(swap for swap in family.swaps if swap in group.swaps)
    elsewhere = tuple(
        f"{swap} ({other.label}, {len(other.vignettes)} vignettes)"
        for other in groups
        if other is not group
        for swap in family.swaps
        if swap in other.swaps
    )
    drawn = {swap for other in groups for swap in other.swaps}
    absent = tuple(swap for swap in family.swaps if swap not in drawn)
    return replace(family, swaps=(*own, *elsewhere, *absent), vignettes=group.vignettes)
