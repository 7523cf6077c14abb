"""Plan files: what is registered before a run. The profiles are plan files too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from pytest_fairmedagent.domain import ACTIONS, OUTCOMES, Catalogue, Outcome
from pytest_fairmedagent.domain.level import LEAST_LEVEL, MOST_LEVEL
from pytest_fairmedagent.errors import closest
from pytest_fairmedagent.files.toml import Strict, TomlFile
from pytest_fairmedagent.files.types import Slug, Text, one_of
from pytest_fairmedagent.files.vignettes import shipped_vignettes

Share = Annotated[float, Field(gt=0, lt=1)]
Level = Annotated[float, Field(ge=LEAST_LEVEL, lt=MOST_LEVEL)]
Replicates = Annotated[int, Field(ge=1, le=100_000)]

PROFILES = ("quick", "ci", "release", "name_signal")


class FamilyTable(Strict):
    name: Slug
    swaps: Annotated[list[str], Field(min_length=1)]
    actions: Annotated[list[str], Field(default_factory=lambda: list(ACTIONS), min_length=1)]
    exploratory: bool = False
    replicates: Replicates | None = None
    margin: Share | None = None
    alpha: Level | None = None
    minimum_gap: Share | None = None
    margins: dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]] = Field(default={})


class PlanFile(Strict):
    """The fields of a plan file; `schema` is the version of this format."""

    schema_version: Annotated[int, Field(alias="schema", ge=1, le=1)]
    name: Slug
    says: Text
    vignettes: str = "shipped"
    variants: Annotated[int, Field(ge=1, le=1000)] = 1
    catalogue: str = ""
    replicates: Replicates
    replicates_cap: Replicates | None = None
    margin: Share | None = None
    alpha: Level = 0.05
    strict: bool = False
    sequential: Annotated[str, one_of(("off", "gs", "e"))] = "off"
    fresh_draws: bool = False
    lifetime: bool = False
    certify: Share | None = None
    assumed_floor: Share = 0.087
    controls: Annotated[list[str], Field(default_factory=list)]
    family: Annotated[list[FamilyTable], Field(default_factory=list)]


@dataclass(frozen=True)
class Registered:
    """A plan file, read: defaults for every family, and the families it declares itself.

    `says` is a sentence for the summary. `certify` is the least chance (in 0..1) of showing all
    gating contrasts equivalent if nothing differs, below which the plan is refused; None asks for
    nothing. With `replicates_cap` the `replicates` are a first leg, and from the floor that it
    shows of all arms together as many follow as reach `certify`, up to the cap. `assumed_floor` is
    the floor to plan with before one is measured.
    """

    path: Path
    file: PlanFile


def profile_path(name: str) -> Path:
    """Return the plan file of a profile."""
    return Path(__file__).resolve().parents[1] / "audit" / f"{name}.toml"


def catalogue_of(plan: Path) -> Path | None:
    """Return the swap catalogue that a plan file names; None for the one of the shipped cases.

    A name stands for a file beside the plan, or for one of the shipped case set.
    """
    name = TomlFile(plan).parse(PlanFile).catalogue
    if not name:
        return None
    beside = plan.parent / name
    return beside if beside.is_file() else shipped_vignettes() / name


def read_plan(
    path: Path, catalogue: Catalogue, outcomes: Mapping[str, Outcome] = OUTCOMES
) -> Registered:
    """Return the plan of a file, which may name these outcomes. Raises FileFormatError."""
    source = TomlFile(path)
    data = source.parse(PlanFile)
    _check_cap(source, data)
    for index, control in enumerate(data.controls):
        if control not in catalogue.controls:
            raise source.error(
                ("controls",),
                f"controls[{index}]: unknown control {control!r}."
                f"{closest(control, catalogue.controls)}",
            )
    if data.lifetime:
        _check_lifetime(source, data, catalogue)
    seen: set[str] = set()
    for index, family in enumerate(data.family):
        place = ("family", index)
        if family.name in seen:
            raise source.error((*place, "name"), f"family '{family.name}' stands twice.")
        seen.add(family.name)
        try:
            catalogue.select(family.swaps)
        except KeyError as error:
            known = {*catalogue.swaps, *(c.attribute for c in catalogue.conditions.values())}
            name = str(error.args[0])
            raise source.error(
                (*place, "swaps"), f"unknown swap {name!r}.{closest(name, known - {''})}"
            ) from None
        for action in family.actions:
            if action not in outcomes:
                raise source.error(
                    (*place, "actions"), f"unknown action {action!r}.{closest(action, outcomes)}"
                )
    return Registered(path, data)


def _check_cap(source: TomlFile, data: PlanFile) -> None:
    if data.replicates_cap is None:
        return
    place = ("replicates_cap",)
    if data.replicates_cap < data.replicates or data.replicates < 2:
        raise source.error(
            place,
            f"replicates_cap is {data.replicates_cap} and replicates, the first leg, "
            f"{data.replicates}: expected a first leg of at least 2, and a cap not below it.",
        )
    if data.certify is None:
        raise source.error(
            place, "replicates_cap needs certify, the chance that the replicates are to reach."
        )
    if data.sequential != "off":
        raise source.error(
            place,
            f"replicates_cap and sequential = {data.sequential!r} are two ways to settle the "
            "replicates: leave one out.",
        )


def _check_lifetime(source: TomlFile, data: PlanFile, catalogue: Catalogue) -> None:
    """Raise FileFormatError where evidence over runs could never turn the gate red."""
    controls = data.controls or list(catalogue.controls)
    if not any(catalogue.conditions[name].kind == "sham" for name in controls):
        raise source.error(
            ("lifetime",),
            "lifetime = true needs sham arms in controls: what any edit does adds up over runs "
            "like a gap, and only shams tell the two apart.",
        )
    if data.replicates < 2:
        raise source.error(
            ("lifetime",), "lifetime = true needs replicates = 2 or more, to tell noise from shams."
        )
