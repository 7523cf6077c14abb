"""Ready pairs as a run takes them: they bring their own conditions, and so their own families."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_fairmedagent.domain import ACTIONS, Catalogue, Condition, Vignette
from pytest_fairmedagent.errors import PlanError
from pytest_fairmedagent.files.foreign import PAIRS, Foreign, read_foreign
from pytest_fairmedagent.files.plans import FamilyTable, Registered
from pytest_fairmedagent.files.rows import SUFFIXES


@dataclass(frozen=True)
class PairSet:
    """The pairs of one or several files: their conditions, and which actions they are about."""

    catalogue: Catalogue
    outcomes: Mapping[str, tuple[str, ...]]

    def registered(self, profile: Registered) -> Registered:
        """Return a profile with one family per attribute in place of its own families.

        The control is the identical re-render: a pair has no line that a sham could edit.
        """
        swaps = [self.catalogue.conditions[name] for name in self.catalogue.swaps]
        families = [
            FamilyTable(
                name=attribute,
                swaps=[attribute],
                actions=list(self.outcomes.get(attribute) or ACTIONS),
            )
            for attribute in dict.fromkeys(swap.attribute for swap in swaps)
        ]
        changes = {"controls": list(self.catalogue.controls), "family": families}
        return replace(profile, file=profile.file.model_copy(update=changes))

    def confined(
        self, vignettes: Mapping[str, Vignette], swaps: Sequence[str]
    ) -> dict[str, Vignette]:
        """Return the vignettes that have an arm for every one of the swaps.

        Those with none of them are about something else. Raises PlanError for one that has some:
        two contrasts of a family would be on different cases.
        """
        chosen: dict[str, Vignette] = {}
        for name, vignette in vignettes.items():
            arms = dict(vignette.descriptors)
            lacking = [swap for swap in swaps if swap not in arms]
            if not lacking:
                chosen[name] = vignette
            elif len(lacking) < len(swaps):
                there = next(swap for swap in swaps if swap in arms)
                raise PlanError(
                    f"the pairs of '{name}' have '{there}' and lack '{lacking[0]}', so a family of "
                    "both would not be on the same cases.\n  Add the pair, or mark a function for "
                    f"each: fairmed(swaps='{there}')."
                )
        if not chosen:
            raise PlanError(f"no pair of the vignettes has the swap '{swaps[0]}'")
        return chosen


def read_pair_set(spec: str, base: Path, columns: str = "") -> PairSet | None:
    """Return the pairs that `--fairmed-vignettes` names, or None where it names none.

    Raises PlanError where it names cases too: those have a descriptor, and pairs have whole texts.
    """
    names = [name.strip() for name in spec.split(",") if name.strip()]
    paths = [base / name for name in names if Path(name).suffix.lower() in SUFFIXES]
    files = [
        found
        for path in paths
        if path.exists()
        if (found := read_foreign(path, columns)).kind == PAIRS
    ]
    if not files:
        return None
    if len(files) < len(names):
        raise PlanError(
            f"{spec!r} names ready pairs ({files[0].path.name}) and other cases. Pairs have "
            "conditions of their own; start a run for each."
        )
    return PairSet(_merged(files), {a: o for found in files for a, o in found.outcomes.items()})


def _merged(files: Sequence[Foreign]) -> Catalogue:
    """Return one catalogue of all files. Raises PlanError where an id has two attributes."""
    swaps: dict[str, Condition] = {}
    first: dict[str, Condition] = {}
    for found in files:
        assert found.catalogue is not None  # noqa: S101 - pairs have one
        for name, condition in found.catalogue.conditions.items():
            known = swaps.setdefault(name, condition) if condition.kind == "swap" else condition
            if known.attribute != condition.attribute:
                raise PlanError(
                    f"{found.path}: condition '{name}' belongs to '{condition.attribute}', and to "
                    f"'{known.attribute}' in another file. Give it one attribute."
                )
        first = first or dict(found.catalogue.conditions)
    others = {name: c for name, c in first.items() if c.kind != "swap"}
    reference = {name: c for name, c in others.items() if c.kind == "reference"}
    return Catalogue({**reference, **swaps, **others})
