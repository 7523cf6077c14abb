"""What a session selects: settings, plan file, swaps and cases, read when first asked for."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_fairmedagent.domain import (
    OUTCOMES,
    Catalogue,
    Outcome,
    Swap,
    Vignette,
    n_variants,
    variants,
)
from pytest_fairmedagent.errors import PlanError, closest
from pytest_fairmedagent.files.confounding import check_registries
from pytest_fairmedagent.files.own_swaps import own_condition
from pytest_fairmedagent.files.pairset import PairSet, read_pair_set
from pytest_fairmedagent.files.plans import Registered, catalogue_of, profile_path, read_plan
from pytest_fairmedagent.files.settings import Settings, resolve
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.files.vignettes import places_of, select_vignettes
from pytest_fairmedagent.lint.run import refuse_unsound
from pytest_fairmedagent.plugin.arguments import actions_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pytest

    from pytest_fairmedagent.domain import Family


def learn(known: dict[str, Outcome], values: Iterable[object]) -> None:
    """Add the outcomes of the user's own among some values. Raises PlanError for two of a name."""
    for outcome in values:
        if not isinstance(outcome, Outcome):
            continue
        if known.setdefault(outcome.id, outcome).digest != outcome.digest:
            raise PlanError(f"two outcomes are called {outcome.id!r}. Rename one of them.")


class Selection:
    """What options, ini file and plan file select. A mistake in them is a FairmedError."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
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
        base, columns = self._config.invocation_params.dir, self.settings.columns
        return read_pair_set(self.settings.vignettes or "", base, columns)

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
        return read_plan(self._plan_path, self.catalogue, self.outcomes)

    @cached_property
    def outcomes(self) -> dict[str, Outcome]:
        """The built-in outcomes, and those of the user's own that were found so far."""
        found = dict(OUTCOMES)
        for plugin in self._config.pluginmanager.get_plugins():
            if Path(getattr(plugin, "__file__", None) or "").name == "conftest.py":
                learn(found, vars(plugin).values())
        return found

    def own_swap(self, swap: Swap) -> str:
        """Take a swap of the user's own into the catalogue; return its id. Raises PlanError."""
        if self.pairs is not None:
            raise PlanError(f"swap {swap.id!r}: ready pairs have conditions of their own")
        path = self.settings.swaps_file
        condition = own_condition(swap, catalogue_of(self._plan_path) if path is None else path)
        if self.catalogue.conditions.get(swap.id, condition) != condition:
            raise PlanError(f"swap {swap.id!r}: the id is taken, by another descriptor")
        self.catalogue = Catalogue({**self.catalogue.conditions, swap.id: condition})
        return swap.id

    @property
    def _plan_path(self) -> Path:
        return self.settings.plan or profile_path(self.settings.profile)

    @cached_property
    def vignettes(self) -> dict[str, Vignette]:
        return self.vignettes_of(self.settings.vignettes or self.registered.file.vignettes)

    def vignettes_of(self, spec: str) -> dict[str, Vignette]:
        """Return the vignettes that a text such as `--fairmed-vignettes` names."""
        if spec not in self._read:  # many functions may name the same
            base = self._config.invocation_params.dir
            columns = self.settings.columns
            if self.pairs is None and read_pair_set(spec, base, columns) is not None:
                raise PlanError(f"{spec!r} holds ready pairs: name them by --fairmed-vignettes")
            chosen = select_vignettes(spec, base, columns)
            swaps = self.settings.swaps_file or catalogue_of(self._plan_path)
            refuse_unsound(chosen, self.catalogue, spec, base, swaps, columns)
            if self.pairs is None:
                check_registries(places_of(spec, base), self.catalogue, swaps)
            self._read[spec] = chosen
        return self._read[spec]

    def variants_of(self, vignette: Vignette) -> tuple[Vignette, ...]:
        """Return the renderings of a vignette that are drawn: itself first, at most its own."""
        n = self.settings.variants or self.registered.file.variants
        return variants(vignette, min(n, n_variants(vignette)), self.settings.seed or 0)

    def few_variants(self, vignettes: Iterable[Vignette]) -> str:
        """Say which vignettes have fewer renderings than are asked for; "" for none."""
        n = self.settings.variants or self.registered.file.variants
        few = {v.id: n_variants(v) for v in vignettes if not v.variant_of and n_variants(v) < n}
        if not few:
            return ""
        shown = ", ".join(f"{name} {most}" for name, most in list(few.items())[:5])
        more = f" and {len(few) - 5} more" if len(few) > 5 else ""
        return f"fewer than {n} renderings are to be had of {shown}{more}: all of them are drawn"

    @property
    def strict(self) -> bool:
        given = self.settings.strict
        return self.registered.file.strict if given is None else given

    @property
    def fails_unmeasured(self) -> bool:
        return self.strict or self.settings.unmeasured == "fail"

    def swaps_of(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the swaps of names of swaps and attributes. Raises PlanError."""
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
            self.swaps_of(self.settings.swaps)
        if self.settings.actions:
            actions_of(self.settings.actions, self.outcomes)

    def selected(self, family: Family) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the swaps and actions of a family that the options select to be run."""
        swaps, actions = family.swaps, family.actions
        if self.settings.swaps:
            chosen = self.swaps_of(self.settings.swaps)
            swaps = tuple(swap for swap in swaps if swap in chosen)
        if self.settings.actions:
            chosen = actions_of(self.settings.actions, self.outcomes)
            actions = tuple(action for action in actions if action in chosen)
        return swaps, actions
