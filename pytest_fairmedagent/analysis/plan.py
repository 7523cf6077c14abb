"""A plan file, read for trajectories that are there already."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pytest_fairmedagent.analysis.groups import Declared
from pytest_fairmedagent.domain import Catalogue, Condition, Family
from pytest_fairmedagent.errors import closest
from pytest_fairmedagent.files.plans import PlanFile
from pytest_fairmedagent.files.rules import Rules
from pytest_fairmedagent.files.swaps import RESERVED, read_swaps
from pytest_fairmedagent.files.toml import TomlFile


def declared_by(path: Path, rules: Rules, conditions: Iterable[str]) -> Declared:
    """Return the families of a plan file. Raises FileFormatError with file and line.

    Swaps may be named that the records do not hold: they are registered, so they count. They have
    to be conditions of the records, of the rules, or of the catalogue.
    """
    source = TomlFile(path)
    data = source.parse(PlanFile)
    catalogue = _catalogue(rules, conditions)
    families: list[Family] = []
    for index, table in enumerate(data.family):
        place = ("family", index)
        if table.name in [family.name for family in families]:
            raise source.error((*place, "name"), f"family '{table.name}' stands twice.")
        try:
            swaps = catalogue.select(table.swaps)
        except KeyError as error:
            name = str(error.args[0])
            attributes = {c.attribute for c in catalogue.conditions.values() if c.attribute}
            raise source.error(
                (*place, "swaps"),
                f"unknown swap {name!r}.{closest(name, {*catalogue.swaps, *attributes})}",
            ) from None
        for action in table.actions:
            if action not in rules.actions:
                raise source.error(
                    (*place, "actions"),
                    f"unknown action {action!r}.{closest(action, rules.actions)}",
                )
        families.append(
            Family(
                table.name,
                swaps,
                tuple(a for a in rules.actions if a in table.actions),
                (),
                table.replicates or data.replicates,
                data.margin if table.margin is None else table.margin,
                data.alpha if table.alpha is None else table.alpha,
                gating=not table.exploratory,
                minimum_gap=table.minimum_gap or 0.0,
            )
        )
    if not families:
        raise source.error((), "declares no [[family]], so there is nothing to judge by. Add one.")
    return Declared(tuple(families), data.margin, data.alpha, data.replicates)


def _catalogue(rules: Rules, conditions: Iterable[str]) -> Catalogue:
    """Return every condition that a plan may name, as the rules call them."""
    shipped = read_swaps().conditions
    names = dict.fromkeys([*shipped, *rules.names.values(), *rules.kinds, *conditions])
    return Catalogue(
        {
            name: Condition(
                name,
                "",
                RESERVED if name == RESERVED else rules.kinds.get(name, "swap"),
                rules.attributes.get(name, ""),
            )
            for name in names
        }
    )
