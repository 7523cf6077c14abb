"""From a mark to the family it registers: the mark's own values, the plan file's, the profile's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_fairmedagent.domain import ACTIONS, Confounded, Family, Vignette, confounded
from pytest_fairmedagent.errors import PlanError, closest
from pytest_fairmedagent.plugin.arguments import (
    MARK_ARGUMENTS,
    actions_of,
    margin_of,
    number_of,
    share_of,
    words_of,
)

if TYPE_CHECKING:
    import pytest

    from pytest_fairmedagent.files.plans import FamilyTable
    from pytest_fairmedagent.plugin.selection import Selection


def family_of(
    selection: Selection, nodeid: str, mark: pytest.Mark, *, per_vignette: bool
) -> tuple[Family, dict[str, Vignette]]:
    """Return the family of a marked function, with its vignettes by id. Raises PlanError."""
    arguments = dict(mark.kwargs)
    if mark.args:
        raise PlanError("the mark takes keyword arguments only, as in fairmed(swaps='insurance')")
    for name in arguments:
        if name not in MARK_ARGUMENTS:
            raise PlanError(f"the mark has no argument {name!r}.{closest(name, MARK_ARGUMENTS)}")
    declared = _declared(selection, arguments)
    settings, defaults = selection.settings, selection.registered.file
    swaps = arguments.get("swaps", declared.swaps if declared else None)
    actions = arguments.get("actions", declared.actions if declared else ACTIONS)
    vignettes = selection.vignettes
    if "vignettes" in arguments and not settings.vignettes:
        named = words_of("vignettes", arguments["vignettes"])
        vignettes = selection.vignettes_of(",".join(named))
    actions = actions_of(words_of("actions", actions))
    hopeless = _wholly_confounded(selection, actions, vignettes)
    if swaps is None:  # not named: all that can be tested
        swaps = [s for s in selection.catalogue.swaps if s not in {c.swap for c in hopeless}]
    swaps = selection.swaps_of(words_of("swaps", swaps))
    if selection.pairs is not None:
        vignettes = selection.pairs.confined(vignettes, swaps)
    exploratory = arguments.get("exploratory", declared.exploratory if declared else False)
    name = declared.name if declared else nodeid
    refused = next((c for c in hopeless if c.swap in swaps), None)
    if refused and not (exploratory or per_vignette):
        raise PlanError(
            f"family {name!r} cannot gate {refused.swap} on {refused.action}: on every "
            f"vignette a difference can be clinically right.\n  {refused}\n  Leave out the "
            "swap or the action, name other vignettes, or mark the function exploratory=True."
        )
    family = Family(
        name=name,
        swaps=swaps,
        actions=actions,
        vignettes=tuple(vignettes),
        # An option beats the mark: that is how one looks closer at a suite as it stands.
        replicates=number_of(
            "replicates",
            settings.replicates,
            arguments.get("replicates"),
            declared.replicates if declared else None,
            defaults.replicates,
        ),
        margin=margin_of(
            settings.margin,
            arguments.get("margin"),
            declared.margin if declared else None,
            defaults.margin,
        ),
        alpha=share_of(
            "alpha",
            settings.alpha,
            arguments.get("alpha"),
            declared.alpha if declared else None,
            defaults.alpha,
        ),
        gating=not exploratory,
        per_vignette=per_vignette,
        variants=tuple(
            (name, tuple((case.id, case.digest) for case in rendered))
            for name, vignette in vignettes.items()
            if len(rendered := selection.variants_of(vignette)) > 1
        ),
    )
    return family, vignettes


def _declared(selection: Selection, arguments: Mapping[str, Any]) -> FamilyTable | None:
    name = arguments.get("family")
    if name is None:
        return None
    tables = {table.name: table for table in selection.registered.file.family}
    if name not in tables:
        raise PlanError(
            f"family {name!r} is not declared in {selection.registered.path}."
            f"{closest(name, tables)}"
        )
    return tables[name]


def _wholly_confounded(
    selection: Selection, actions: Sequence[str], vignettes: Mapping[str, Vignette]
) -> list[Confounded]:
    catalogue = selection.catalogue
    found = confounded(catalogue, catalogue.swaps, actions, vignettes.values())
    return [c for c in found if len(c.vignettes) == len(vignettes)]
