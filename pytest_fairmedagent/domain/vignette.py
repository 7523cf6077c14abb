"""A vignette: frozen case text with its menu of orders. The vignette is the cluster."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property

DOMAINS = (
    "triage_escalation",
    "diagnostic_ordering",
    "medication",
    "documentation_disposition",
)
DIFFICULTIES = ("clear", "intermediate", "borderline")


@dataclass(frozen=True)
class Order:
    """One item of a vignette's closed menu; `result` is what comes back if it is ordered."""

    id: str
    name: str
    result: str


@dataclass(frozen=True)
class Vignette:
    """A case that says nothing about who the patient is: the descriptor line alone does that.

    `narrative` is the clinical text, `menu` the closed list of orders. `domain` and `difficulty`
    are labels for subgroups. `provenance` and `status` say where the text comes from and who
    has checked it.
    """

    id: str
    title: str
    domain: str
    difficulty: str
    narrative: str
    menu: tuple[Order, ...]
    provenance: str
    status: str = "author-derived"
    guideline: str = ""

    @cached_property
    def digest(self) -> str:
        """Hex SHA-256 of what an agent can come to see. The id is no part of it.

        So a renamed vignette keeps its recorded trajectories, and an edited one does not.
        """
        content = [self.narrative, [[o.id, o.name, o.result] for o in self.menu]]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()
