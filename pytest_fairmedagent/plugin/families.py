"""From a mark to the family it registers: the mark's own values, the plan file's, the profile's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_fairmedagent.domain import (
    ACTIONS,
    BINARY,
    Confounded,
    Family,
    Outcome,
    Relation,
    Swap,
    Vignette,
    confounded,
)
from pytest_fairmedagent.errors import PlanError, closest
from pytest_fairmedagent.files.vignettes import is_selector, narrowed
from pytest_fairmedagent.plugin.arguments import (
    MARK_ARGUMENTS,
    actions_of,
    level_of,
    margin_of,
    margins_of,
    minimum_gap_of,
    number_of,
    words_of,
)
from pytest_fairmedagent.plugin.selection import learn

if TYPE_CHECKING:
    import pytest

    from pytest_fairmedagent.files.plans import FamilyTable
    from pytest_fairmedagent.plugin.selection import Selection


def family_of(
    selection: Selection,
    nodeid: str,
    mark: pytest.Mark,
    *,
    per_vignette: bool,
    floors_only: bool = False,
) -> tuple[Family, dict[str, Vignette]]:
    """Return the family of a marked function, with its vignettes by id. Raises PlanError.

    A function that asks for `floors_only` and names no swaps has no contrasts.
    """
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
    if "vignettes" in arguments:
        named = words_of("vignettes", arguments["vignettes"])
        words = [word for text in named for word in text.split(",")]
        if all(is_selector(word) for word in words):  # of whatever cases the run has
            vignettes = narrowed(vignettes, words)
        elif not settings.vignettes:
            vignettes = selection.vignettes_of(",".join(named))
    actions = actions_of(words_of("actions", _named(selection, actions)), selection.outcomes)
    hopeless = _wholly_confounded(selection, actions, vignettes)
    floors_only = floors_only and "swaps" not in arguments and declared is None
    if swaps is None:  # not named: all that can be tested
        swaps = [s for s in selection.catalogue.swaps if s not in {c.swap for c in hopeless}]
    swaps = () if floors_only else _swaps(selection, swaps)
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
            defaults.replicates_cap or defaults.replicates,
        ),
        margin=margin_of(
            settings.margin,
            arguments.get("margin"),
            declared.margin if declared else None,
            defaults.margin,
        ),
        alpha=level_of(
            settings.alpha,
            arguments.get("alpha"),
            declared.alpha if declared else None,
            defaults.alpha,
        ),
        gating=not exploratory,
        per_vignette=per_vignette,
        margins=margins_of(
            actions,
            selection.outcomes,
            arguments.get("margins"),
            declared.margins if declared else None,
        ),
        relation=_relation(arguments),
        minimum_gap=minimum_gap_of(
            arguments.get("minimum_gap"), declared.minimum_gap if declared else None
        ),
        variants=tuple(
            (name, tuple((case.id, case.digest) for case in rendered))
            for name, vignette in vignettes.items()
            if len(rendered := selection.variants_of(vignette)) > 1
        ),
    )
    _check_rule(selection, family)
    return family, vignettes


def _named(selection: Selection, given: Any) -> Any:
    """Return names where outcomes of the user's own are given as values."""
    values = [given] if isinstance(given, Outcome) else given
    if not isinstance(values, (list, tuple)):
        return values
    learn(selection.outcomes, values)
    return [value.id if isinstance(value, Outcome) else value for value in values]


def _swaps(selection: Selection, given: Any) -> tuple[str, ...]:
    values = [given] if isinstance(given, Swap) else given
    if isinstance(values, (list, tuple)):
        values = [selection.own_swap(v) if isinstance(v, Swap) else v for v in values]
    return selection.swaps_of(words_of("swaps", values))


def _relation(arguments: Mapping[str, Any]) -> str:
    relation = arguments.get("relation")
    if relation is None:
        return ""
    if not isinstance(relation, Relation):
        raise PlanError(
            f"relation is {relation!r}, expected a function with @relation of pytest_fairmedagent"
        )
    return relation.stamp


def _check_rule(selection: Selection, family: Family) -> None:
    """Refuse what has no valid test under the plan's sequential rule, or could not be certified."""
    rule = selection.settings.sequential or selection.registered.file.sequential
    further = [a for a in family.actions if selection.outcomes[a].kind != BINARY]
    certify = family.gating and selection.registered.file.certify is not None
    if certify and (further or family.relation):
        raise PlanError(
            "this plan refuses what it cannot certify, and that is planned for actions only, not "
            f"for {further[0] if further else family.relation}.\n  Mark the function "
            "exploratory=True, or judge it by another plan."
        )
    if family.minimum_gap and (further or rule == "e" or family.relation):
        what = further[0] if further else family.relation or "looks after every round"
        raise PlanError(
            f"minimum_gap is {family.minimum_gap:g}, a gap of action rates that is tested at "
            f"planned looks, and this family has {what}.\n  Leave out one of the two."
        )
    if rule != "off" and family.relation:
        raise PlanError(f"a relation of one's own is looked at once, and this plan is {rule!r}")
    if rule == "e" and further:
        raise PlanError(
            f"{further[0]} is of kind {selection.outcomes[further[0]].kind!r}, and looks after "
            "every round (sequential 'e') are for actions.\n  Use --fairmed-sequential=gs or off."
        )


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
