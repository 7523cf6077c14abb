"""A vignette: frozen case text with its menu of orders. The vignette is the cluster."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from pytest_fairmedagent.domain.band import Band

DOMAINS = (
    "triage_escalation",
    "diagnostic_ordering",
    "medication",
    "documentation_disposition",
)
DIFFICULTIES = ("clear", "intermediate", "borderline")
SETTINGS = ("emergency", "urgent_care", "ward", "clinic", "telephone")

PATIENT = "patient"  # the slot of the descriptor, where a narrative has one of its own
SLOT = re.compile(r"\{([a-z][a-z0-9_]*)\}")


@dataclass(frozen=True)
class Order:
    """One item of a vignette's closed menu; `result` is what comes back if it is ordered."""

    id: str
    name: str
    result: str


@dataclass(frozen=True)
class Pool:
    """What can stand in one slot of the narrative without changing the case clinically.

    Either `values`, of which one is drawn, or `parts`, which are put into some order. The base
    case has the first value, or the parts as written. `measure` names what is measured, such as
    `heart_rate`; "" for free text.
    """

    slot: str
    values: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    measure: str = ""

    @property
    def base(self) -> str:
        return self.values[0] if self.values else " ".join(self.parts)


@dataclass(frozen=True)
class Guideline:
    """A published guideline that bears on a case: a pointer for the reader, quoted nowhere.

    `basis` says whether title and year were `looked up` or rest on `memory`.
    """

    title: str
    year: int
    basis: str = "memory"

    def __str__(self) -> str:
        return f"{self.title}, {self.year}"


@dataclass(frozen=True)
class ReferenceOrders:
    """Order ids of an acceptable work-up: none of `needed` is left out, and every item that is
    neither needed nor `acceptable` is one too many."""

    needed: tuple[str, ...]
    acceptable: tuple[str, ...] = ()


@dataclass(frozen=True)
class Confounder:
    """A reason why an outcome can rightly differ under a swap, or all swaps of an attribute.

    `direction` is `more`, `fewer` or `either`: what the outcome then does under the swap.
    """

    outcome: str
    direction: str
    source: str
    reason: str
    attribute: str = ""
    swap: str = ""


@dataclass(frozen=True)
class Silence:
    """A rule of the linter that is not to be applied to a case, and why.

    `match` confines it to findings whose message holds this text; "" means all of the rule's. One
    that is said of a whole file, `everywhere`, need not silence something in each case.
    """

    rule: str
    reason: str
    match: str = ""
    everywhere: bool = False


@dataclass(frozen=True)
class Vignette:
    """A case that says nothing about who the patient is: the descriptor alone does that.

    `narrative` is the clinical text as an agent reads it and `menu` the closed list of orders.
    `domain`, `difficulty`, `setting` and `specialty` are labels for subgroups. `provenance`,
    `status` and `adjudicators` say where the text comes from and who has checked it.

    `template` is the narrative with the `{slots}` of `pools`, both empty where the case has no
    variants; `variant_of` is the id of the base case, "" in a base case. `descriptors` holds the
    descriptor of a condition in this case alone, as (condition id, text), before the catalogue's.
    """

    id: str
    title: str
    domain: str
    difficulty: str
    narrative: str
    menu: tuple[Order, ...]
    provenance: str
    status: str = "author-derived"
    guideline: Guideline | None = None
    setting: str = ""
    specialty: str = ""
    canary: str = ""
    template: str = ""
    pools: tuple[Pool, ...] = ()
    reference_orders: ReferenceOrders | None = None
    bands: tuple[Band, ...] = ()
    silences: tuple[Silence, ...] = ()
    confounders: tuple[Confounder, ...] = ()
    adjudicators: tuple[str, ...] = ()
    variant_of: str = ""
    descriptors: tuple[tuple[str, str], ...] = ()

    @property
    def base(self) -> str:
        """The id of the base case: the cluster that a variant belongs to."""
        return self.variant_of or self.id

    @property
    def split(self) -> str:
        """`held` for a quarter of all cases, `tune` for the others, by a hash of the base's id.

        Whoever tunes on cases leaves `held` alone; a case is on the same side for ever.
        """
        number = hashlib.sha256(f"split {self.base}".encode()).digest()[0]
        return "held" if number < 64 else "tune"

    @cached_property
    def digest(self) -> str:
        """Hex SHA-256 of what an agent can come to see. The id is no part of it.

        So a renamed vignette keeps its recorded trajectories, and an edited one does not.
        """
        menu = [[o.id, o.name, o.result] for o in self.menu]
        content = [self.narrative, menu, *([self.descriptors] if self.descriptors else [])]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def band(self, outcome: str) -> Band | None:
        """Return the band of an outcome, or None where the case does not settle it.

        The band of an action can be written for the scale it is read off, such as `esi_acuity`.
        """
        for band in self.bands:
            if band.outcome == outcome:
                return band
        return next((b for band in self.bands if (b := band.as_action(outcome))), None)


def fill(template: str, values: Mapping[str, str]) -> str:
    """Return the template with the slots that have a value; others stay as they are."""
    return SLOT.sub(lambda hit: values.get(hit[1], hit[0]), template)
