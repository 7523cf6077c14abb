"""Holding a stage at what was recorded: later stages then cannot differ through it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from pytest_fairmedagent.domain import ReplicateTable, Vignette
from pytest_fairmedagent.errors import PlanError


@dataclass(frozen=True)
class Held:
    """Outputs of one stage that an agent takes over instead of asking for them.

    `outputs` maps a narrative (an agent knows a case by nothing else) to the stage's recorded
    outputs. Replicate r takes the r-th, counted round, so that with equal replicates every arm
    holds the same values equally often. `source` is the digest of the configuration in which they
    were recorded.
    """

    stage: str
    outputs: Mapping[str, tuple[Mapping[str, object], ...]]
    source: str

    def output(self, narrative: str, replicate: int) -> Mapping[str, object]:
        """Return what a replicate holds. Raises PlanError for a case without a recorded value."""
        found = self.outputs.get(narrative)
        if not found:
            raise PlanError(
                f"the stage '{self.stage}' is held, and nothing was recorded for the case that "
                f"begins {narrative[:40]!r}.\n  Give hold() a table and vignettes that have it."
            )
        return found[replicate % len(found)]

    @cached_property
    def digest(self) -> str:
        """Hex SHA-256 of the stage and all its values."""
        return hashlib.sha256(json.dumps([self.stage, self.outputs]).encode()).hexdigest()


def hold(
    table: ReplicateTable,
    vignettes: Iterable[Vignette],
    *,
    reference: str = "reference",
    stage: str = "order",
) -> Held:
    """Return what the reference arm did at a stage, vignette by vignette, to be held there.

    Replicates without a valid output of the stage are left out. Raises PlanError for a vignette
    without any.
    """
    outputs = {}
    for vignette in vignettes:
        row = table.rows.get((vignette.id, reference), ())
        found = tuple(t.outputs[stage] for t in row if stage in t.outputs)
        if not found:
            raise PlanError(
                f"the table has no output of '{stage}' for {vignette.id} under {reference}, so "
                "there is nothing to hold"
            )
        outputs[vignette.narrative.strip()] = found
    return Held(stage, outputs, table.configuration)
