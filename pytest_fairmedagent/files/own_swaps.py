"""A swap that a mark gives as a value, made into a condition of the catalogue's line."""

from __future__ import annotations

import re
from pathlib import Path

from pytest_fairmedagent.domain import Condition, Swap
from pytest_fairmedagent.errors import PlanError, closest
from pytest_fairmedagent.files.swaps import SwapsFile
from pytest_fairmedagent.files.toml import TomlFile
from pytest_fairmedagent.files.vignettes import shipped_vignettes


def own_condition(swap: Swap, path: Path | None) -> Condition:
    """Return the condition of a user's swap, by the line of the catalogue in `path`.

    Held to what an entry of that file is held to. Raises PlanError.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]{1,47}", swap.id):
        raise PlanError(
            f"swap id {swap.id!r}: expected 2 to 48 lower-case letters, digits and '_', starting "
            "with a letter"
        )
    attribute, slots = swap.attribute or swap.id, dict(swap.slots)
    if swap.line is not None:
        if slots or not swap.line.strip():
            raise PlanError(f"swap {swap.id!r} has a line of its own: give it text, and no slots")
        return Condition(swap.id, swap.line.strip(), "swap", attribute)
    data = TomlFile(path or shipped_vignettes() / "swaps.toml").parse(SwapsFile)
    for slot, value in slots.items():
        if slot not in data.reference:
            raise PlanError(
                f"swap {swap.id!r}: {slot!r} is no slot of the line.{closest(slot, data.reference)}"
            )
        if not isinstance(value, str) or not value.strip() or value == data.reference[slot]:
            raise PlanError(
                f"swap {swap.id!r}: slot {slot!r} is {value!r}, expected text that differs from "
                f"the reference's {data.reference[slot]!r}"
            )
    if not slots or any(table.slot in data.reference for table in data.roster):
        raise PlanError(
            f"swap {swap.id!r} changes no slot, or the line draws names from rosters.\n  Give "
            f"values of slots ({', '.join(data.reference)}) or a line=... of its own."
        )
    descriptor = data.line.format(**{**data.reference, **slots})
    return Condition(swap.id, descriptor, "swap", attribute, changes=tuple(slots))
