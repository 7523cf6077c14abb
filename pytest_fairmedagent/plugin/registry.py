"""What a session has registered: settings, cases, swaps, families, and what each item tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_fairmedagent.domain import (
    ACTIONS,
    Catalogue,
    Confounded,
    Contrast,
    Family,
    Plan,
    Vignette,
    confounded,
)
from pytest_fairmedagent.errors import PlanError, closest
from pytest_fairmedagent.files.pairset import PairSet, read_pair_set
from pytest_fairmedagent.files.plans import Registered, catalogue_of, profile_path, read_plan
from pytest_fairmedagent.files.settings import Settings, resolve
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.files.vignettes import select_vignettes
from pytest_fairmedagent.lint.run import refuse_unsound

if TYPE_CHECKING:
    from pytest_fairmedagent.files.plans import FamilyTable

MARK_ARGUMENTS = (
    "swaps",
    "actions",
    "vignettes",
    "replicates",
    "margin",
    "alpha",
    "family",
    "exploratory",
)


@dataclass(frozen=True)
class Registration:
    """One marked function: its family, and the names it has parametrised."""

    family: Family
    names: tuple[str, ...]


class Registry:
    """Reads what the session needs when it is first asked for, and registers marked functions."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.families: dict[str, Family] = {}
        self.cases: dict[str, Vignette] = {}  # of all families
        self.registrations: dict[str, Registration] = {}
        self._read: dict[str, dict[str, Vignette]] = {}  # vignettes by what names them

    @cached_property
    def settings(self) -> Settings:
        return resolve(
            lambda name: self._config.getoption(f"fairmed_{name}", None),
            lambda name: self._config.getini(f"fairmed_{name}"),
            root=self._config.invocation_params.dir,
        )

    @cached_property
    def pairs(self) -> PairSet | None:
        """The ready pairs that the settings name; None where they name cases."""
        return read_pair_set(self.settings.vignettes or "", self._config.invocation_params.dir)

    @cached_property
    def catalogue(self) -> Catalogue:
        if self.pairs is None:
            named = self.settings.swaps_file
            return read_swaps(named if named is not None else catalogue_of(self._plan_path))
        if self.settings.swaps_file is not None:
            raise PlanError(
                f"--fairmed-swaps names {self.settings.swaps_file.name}, and ready pairs have "
                "conditions of their own. Leave it out."
            )
        return self.pairs.catalogue

    @cached_property
    def registered(self) -> Registered:
        settings = self.settings
        if self.pairs is not None and settings.plan is None:
            return self.pairs.registered(read_plan(profile_path(settings.profile), read_swaps()))
        return read_plan(self._plan_path, self.catalogue)

    @property
    def _plan_path(self) -> Path:
        return self.settings.plan or profile_path(self.settings.profile)

    @cached_property
    def vignettes(self) -> dict[str, Vignette]:
        return self._vignettes(self.settings.vignettes or self.registered.file.vignettes)

    def _vignettes(self, spec: str) -> dict[str, Vignette]:
        if spec not in self._read:  # many functions may name the same
            base = self._config.invocation_params.dir
            if self.pairs is None and read_pair_set(spec, base) is not None:
                raise PlanError(f"{spec!r} holds ready pairs: name them by --fairmed-vignettes")
            chosen = select_vignettes(spec, base)
            swaps = self.settings.swaps_file or catalogue_of(self._plan_path)
            refuse_unsound(chosen, self.catalogue, spec, base, swaps)
            self._read[spec] = chosen
        return self._read[spec]

    @property
    def strict(self) -> bool:
        given = self.settings.strict
        return self.registered.file.strict if given is None else given

    @property
    def fails_unmeasured(self) -> bool:
        return self.strict or self.settings.unmeasured == "fail"

    def gates(self, nodeid: str) -> bool:
        """Return whether a marked function may fail: all may but those of exploratory families."""
        registration = self.registrations.get(nodeid)
        return registration is None or registration.family.gating

    def plan(self) -> Plan:
        """Return the plan of every family that was registered, with the controls."""
        controls = self.registered.file.controls or list(self.catalogue.controls)
        kinds = {name: self.catalogue.conditions[name].kind for name in controls}
        return Plan(
            families=tuple(self.families[name] for name in sorted(self.families)),
            reference=self.catalogue.reference.id,
            identical=tuple(name for name in controls if kinds[name] == "identical"),
            shams=tuple(name for name in controls if kinds[name] == "sham"),
            sequential=self.settings.sequential or self.registered.file.sequential,
            confounded=self._confounded(),
        )

    def _confounded(self) -> tuple[Confounded, ...]:
        """Return what the case sets say can rightly differ, for all that is registered."""
        families = self.families.values()
        swaps = dict.fromkeys(swap for family in families for swap in family.swaps)
        actions = dict.fromkeys(action for family in families for action in family.actions)
        return tuple(confounded(self.catalogue, swaps, actions, self.cases.values()))

    def register(self, nodeid: str, mark: pytest.Mark, names: Sequence[str]) -> Registration:
        """Register a marked function that parametrises `names`. Raises PlanError."""
        arguments = dict(mark.kwargs)
        if mark.args:
            raise PlanError(
                "the mark takes keyword arguments only, as in fairmed(swaps='insurance')"
            )
        for name in arguments:
            if name not in MARK_ARGUMENTS:
                raise PlanError(
                    f"the mark has no argument {name!r}.{closest(name, MARK_ARGUMENTS)}"
                )
        declared = self._declared(arguments)
        family = self._family(nodeid, arguments, declared, per_vignette="vignette" in names)
        known = self.families.setdefault(family.name, family)
        if known != family:
            raise PlanError(
                f"family {family.name!r} is registered twice, with different vignettes, replicates "
                "or parametrisation. Give the two functions the same, or families of their own."
            )
        registration = Registration(family, tuple(names))
        self.registrations[nodeid] = registration
        return registration

    def _declared(self, arguments: dict[str, Any]) -> FamilyTable | None:
        name = arguments.get("family")
        if name is None:
            return None
        tables = {table.name: table for table in self.registered.file.family}
        if name not in tables:
            raise PlanError(
                f"family {name!r} is not declared in {self.registered.path}.{closest(name, tables)}"
            )
        return tables[name]

    def _family(
        self,
        nodeid: str,
        arguments: dict[str, Any],
        declared: FamilyTable | None,
        *,
        per_vignette: bool,
    ) -> Family:
        settings, defaults = self.settings, self.registered.file
        swaps = arguments.get("swaps", declared.swaps if declared else None)
        actions = arguments.get("actions", declared.actions if declared else ACTIONS)
        vignettes = self.vignettes
        if "vignettes" in arguments and not settings.vignettes:
            vignettes = self._vignettes(",".join(_words("vignettes", arguments["vignettes"])))
        actions = _actions(_words("actions", actions))
        hopeless = self._wholly_confounded(actions, vignettes)
        if swaps is None:  # not named: all that can be tested
            swaps = [s for s in self.catalogue.swaps if s not in {c.swap for c in hopeless}]
        swaps = self._swaps(_words("swaps", swaps))
        if self.pairs is not None:
            vignettes = self.pairs.confined(vignettes, swaps)
        for vignette in vignettes.values():
            known = self.cases.setdefault(vignette.id, vignette)
            if known.digest != vignette.digest:
                raise PlanError(f"two vignettes have the id {vignette.id!r}. Rename one of them.")
        exploratory = arguments.get("exploratory", declared.exploratory if declared else False)
        name = declared.name if declared else nodeid
        refused = next((c for c in hopeless if c.swap in swaps), None)
        if refused and not (exploratory or per_vignette):
            raise PlanError(
                f"family {name!r} cannot gate {refused.swap} on {refused.action}: on every "
                f"vignette a difference can be clinically right.\n  {refused}\n  Leave out the swap or the "
                "action, name other vignettes, or mark the function exploratory=True."
            )
        return Family(
            name=name,
            swaps=swaps,
            actions=actions,
            vignettes=tuple(vignettes),
            # An option beats the mark: that is how one looks closer at a suite as it stands.
            replicates=_number(
                "replicates",
                settings.replicates,
                arguments.get("replicates"),
                declared.replicates if declared else None,
                defaults.replicates,
            ),
            margin=_margin(
                settings.margin,
                arguments.get("margin"),
                declared.margin if declared else None,
                defaults.margin,
            ),
            alpha=_share(
                "alpha",
                settings.alpha,
                arguments.get("alpha"),
                declared.alpha if declared else None,
                defaults.alpha,
            ),
            gating=not exploratory,
            per_vignette=per_vignette,
        )

    def _wholly_confounded(
        self, actions: Sequence[str], vignettes: Mapping[str, Vignette]
    ) -> list[Confounded]:
        found = confounded(self.catalogue, self.catalogue.swaps, actions, vignettes.values())
        return [c for c in found if len(c.vignettes) == len(vignettes)]

    def _swaps(self, names: Sequence[str]) -> tuple[str, ...]:
        try:
            return self.catalogue.select(names)
        except KeyError as error:
            name = str(error.args[0])
            attributes = {c.attribute for c in self.catalogue.conditions.values() if c.attribute}
            raise PlanError(
                f"unknown swap {name!r}.{closest(name, {*self.catalogue.swaps, *attributes})}"
            ) from None

    def check_selection(self) -> None:
        """Read catalogue, plan and vignettes; raise FairmedError for what is wrong with them.

        Once and at the start, for a file that an option names is no test's fault.
        """
        assert self.vignettes  # noqa: S101 - reads all three
        if self.settings.swaps:
            self._swaps(self.settings.swaps)
        if self.settings.actions:
            _actions(self.settings.actions)

    def selected(self, family: Family) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the swaps and actions of a family that the options select to be run."""
        swaps, actions = family.swaps, family.actions
        if self.settings.swaps:
            chosen = self._swaps(self.settings.swaps)
            swaps = tuple(swap for swap in swaps if swap in chosen)
        if self.settings.actions:
            chosen = _actions(self.settings.actions)
            actions = tuple(action for action in actions if action in chosen)
        return swaps, actions

    def contrasts(self, nodeid: str, params: Mapping[str, Any]) -> tuple[Contrast, ...]:
        """Return what one item tests. `params` are the values it was parametrised with.

        Values that its family does not register test nothing, and neither does an item that was
        marked without being a function of its own: both end with an error of theirs when they run.
        """
        if nodeid not in self.registrations:
            return ()
        family = self.registrations[nodeid].family
        swaps, actions = self.selected(family)
        if "contrast" in params:
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


def _words(name: str, given: object) -> list[str]:
    words = [given] if isinstance(given, str) else list(given) if _is_words(given) else None  # type: ignore[call-overload]
    if not words:
        raise PlanError(f"{name} is {given!r}, expected a name or a list of names")
    return words


def _is_words(given: object) -> bool:
    if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
        return False
    return all(isinstance(word, str) for word in given)


def _actions(names: Sequence[str]) -> tuple[str, ...]:
    for name in names:
        if name not in ACTIONS:
            raise PlanError(f"unknown action {name!r}.{closest(name, ACTIONS)}")
    return tuple(action for action in ACTIONS if action in names)


def _number(name: str, *candidates: object) -> int:
    number = next(c for c in candidates if c is not None)
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= 100_000:
        raise PlanError(f"{name} is {number!r}, expected a whole number from 1 to 100000")
    return number


def _share(name: str, *candidates: object) -> float:
    share = next(c for c in candidates if c is not None)
    if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 < share < 1:
        raise PlanError(f"{name} is {share!r}, expected a number above 0 and below 1")
    return float(share)


def _margin(*candidates: object) -> float | None:
    if all(c is None for c in candidates):
        return None
    return _share("margin", *candidates)
