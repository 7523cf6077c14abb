"""What a session has registered: the families of its marked functions, and what each item tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest

from pytest_fairmedagent.domain import (
    Confounded,
    Contrast,
    Family,
    Plan,
    Relation,
    Vignette,
    confounded,
)
from pytest_fairmedagent.errors import PlanError
from pytest_fairmedagent.plugin.arguments import MARK_ARGUMENTS
from pytest_fairmedagent.plugin.families import family_of
from pytest_fairmedagent.plugin.selection import Selection, learn

__all__ = ["MARK_ARGUMENTS", "Registration", "Registry"]


@dataclass(frozen=True)
class Registration:
    """One marked function: its family, the names it has parametrised, a test of its own if any."""

    family: Family
    names: tuple[str, ...]
    relation: Relation | None = None


class Registry(Selection):
    """The selection of a session, and the marked functions that are registered on it."""

    def __init__(self, config: pytest.Config) -> None:
        super().__init__(config)
        self._learned: set[ModuleType] = set()
        self.families: dict[str, Family] = {}
        self.cases: dict[str, Vignette] = {}  # of all families
        self.registrations: dict[str, Registration] = {}

    def gates(self, nodeid: str) -> bool:
        """Return whether a marked function may fail: all may but those of exploratory families."""
        registration = self.registrations.get(nodeid)
        return registration is None or registration.family.gating

    def plan(self) -> Plan:
        """Return the plan of every family that was registered, with the controls."""
        controls = self.registered.file.controls or list(self.catalogue.controls)
        kinds = {name: self.catalogue.conditions[name].kind for name in controls}
        identical = tuple(name for name in controls if kinds[name] == "identical")
        return Plan(
            families=tuple(self.families[name] for name in sorted(self.families)),
            reference=self.catalogue.reference.id,
            identical=identical,
            shams=tuple(name for name in controls if kinds[name] == "sham"),
            sequential=self._sequential,
            first_leg=self._first_leg,
            certify=self.registered.file.certify if self._first_leg else None,
            confounded=self._confounded(),
            pooled=bool(identical),
            outcomes=tuple(
                (o.id, o.kind, o.digest)
                for o in self.outcomes.values()
                if o.digest and any(o.id in family.actions for family in self.families.values())
            ),
        )

    @property
    def _sequential(self) -> str:
        return self.settings.sequential or self.registered.file.sequential

    @property
    def _first_leg(self) -> int:
        """The replicates after which the plan settles how many follow; 0 where it does not.

        Replicates that an option gives are drawn whatever is seen, and looks stop by themselves.
        """
        file = self.registered.file
        fixed = self.settings.replicates is not None or self._sequential != "off"
        most = max((family.replicates for family in self.families.values()), default=0)
        if file.replicates_cap is None or fixed or most <= file.replicates:
            return 0
        return file.replicates

    def _confounded(self) -> tuple[Confounded, ...]:
        """Return what the case sets say can rightly differ, for all that is registered."""
        families = self.families.values()
        swaps = dict.fromkeys(swap for family in families for swap in family.swaps)
        actions = dict.fromkeys(action for family in families for action in family.actions)
        return tuple(confounded(self.catalogue, swaps, actions, self.cases.values()))

    def register(
        self,
        nodeid: str,
        mark: pytest.Mark,
        names: Sequence[str],
        *,
        module: ModuleType | None = None,
        floors_only: bool = False,
    ) -> Registration:
        """Register a marked function that parametrises `names`. Raises PlanError.

        Its `module` may hold outcomes of the user's own.
        `floors_only` tells that it asks for no contrast.
        """
        if module is not None and module not in self._learned:
            self._learned.add(module)  # a module of a thousand functions is looked through once
            learn(self.outcomes, vars(module).values())
        family, vignettes = family_of(
            self, nodeid, mark, per_vignette="vignette" in names, floors_only=floors_only
        )
        for vignette in (v for case in vignettes.values() for v in self.variants_of(case)):
            known_case = self.cases.setdefault(vignette.id, vignette)
            if known_case.digest != vignette.digest:
                raise PlanError(f"two vignettes have the id {vignette.id!r}. Rename one of them.")
        known = self.families.setdefault(family.name, family)
        if known != family:
            raise PlanError(
                f"family {family.name!r} is registered twice, with different vignettes, replicates "
                "or parametrisation. Give the two functions the same, or families of their own."
            )
        registration = Registration(family, tuple(names), mark.kwargs.get("relation"))
        self.registrations[nodeid] = registration
        return registration

    def contrasts(self, nodeid: str, params: Mapping[str, Any]) -> tuple[Contrast, ...]:
        """Return what one item tests. `params` are the values it was parametrised with.

        Values that its family does not register test nothing, and neither does an item that was
        marked without being a function of its own: both end with an error of theirs when they run.
        """
        if nodeid not in self.registrations:
            return ()
        family = self.registrations[nodeid].family
        swaps, actions = self.selected(family)
        if not family.swaps:  # the reference with itself: its floor is asked for, and nothing else
            swaps = (self.catalogue.reference.id,)
        elif "contrast" in params:
            swaps = tuple(swap for swap in family.swaps if swap == params["contrast"])
        if "action" in params:
            actions = tuple(action for action in family.actions if action == params["action"])
        vignettes: tuple[str | None, ...] = (None,)
        if family.per_vignette:
            vignettes = tuple(v for v in family.vignettes if v == params.get("vignette"))
        return tuple(
            Contrast(family.name, swap, action, vignette)
            for vignette in vignettes
            for swap in swaps
            for action in actions
        )
