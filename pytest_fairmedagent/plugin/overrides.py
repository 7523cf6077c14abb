"""Which values of the plan an option has replaced: what a record tells as deviations."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_fairmedagent.plugin.registry import Registry

# Settings that change what is registered. Those that only choose what of it is run are told by
# the count of contrasts that were not.
_OF_THE_PLAN = ("replicates", "margin", "alpha", "vignettes", "strict")


def overrides(registry: Registry) -> list[str]:
    """Return a line for every option, ini key or variable that beats a value of the plan file."""
    found = []
    for name in _OF_THE_PLAN:
        given, planned = getattr(registry.settings, name), getattr(registry.registered.file, name)
        if given is not None and given != planned:
            found.append(f"{name} is {given!r} by option; the plan file has {planned!r}")
    if registry.settings.swaps_file is not None:
        found.append("the catalogue of swaps is a file of the user's, not the shipped one")
    return found
