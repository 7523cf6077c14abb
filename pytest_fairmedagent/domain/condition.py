"""Conditions (one descriptor line each), and how a vignette is rendered under one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pytest_fairmedagent.domain.pronouns import with_pronouns
from pytest_fairmedagent.domain.vignette import PATIENT, Order, Vignette

KINDS = ("reference", "swap", "identical", "sham")
PATIENT_LINE = "\nPatient: "  # what the descriptor's line begins with, at the end of a case


@dataclass(frozen=True)
class Condition:
    """One way of describing the patient.

    `kind` is `reference`, `swap` (compared with the reference), `identical` (the reference text
    rendered afresh: a check of the plumbing) or `sham` (an edit that must not matter: it measures
    how much any edit of the line moves the agent). `attribute` names the group of a swap, such as
    `race_ethnicity`.

    `drawn` holds the descriptors of a condition that differs from case to case, as names do. A case
    has the one at its own place, which is the same place in every condition, so that what stands
    there can be matched. `descriptor` is then the first of them. `changes` are the slots of the
    line that a condition sets otherwise than the reference. `reason` says why words that the linter
    does not know are right.
    """

    id: str
    descriptor: str
    kind: str = "swap"
    attribute: str = ""
    drawn: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    reason: str = ""

    def descriptor_in(self, vignette: Vignette) -> str:
        """Return the descriptor of this condition in a case; variants of a case share it."""
        own = dict(vignette.descriptors)
        if self.id in own:
            return own[self.id]
        if not self.drawn:
            return self.descriptor
        number = int.from_bytes(hashlib.sha256(vignette.base.encode()).digest()[:8], "big")
        return self.drawn[number % len(self.drawn)]


@dataclass(frozen=True)
class Case:
    """What an agent is shown: text and menu, and nothing that tells which condition it is."""

    text: str
    menu: tuple[Order, ...]

    def result(self, order_id: str) -> str:
        """Return the result of one order. Raises KeyError for an id that is not on the menu."""
        for order in self.menu:
            if order.id == order_id:
                return order.result
        raise KeyError(order_id)

    @cached_property
    def digest(self) -> str:
        """Hex SHA-256 of text and menu; equal for two conditions that render alike."""
        content = [self.text, [[o.id, o.name, o.result] for o in self.menu]]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()


@dataclass(frozen=True)
class Catalogue:
    """The conditions that can be named, in one order. Exactly one is the reference."""

    conditions: Mapping[str, Condition]

    @property
    def reference(self) -> Condition:
        return next(c for c in self.conditions.values() if c.kind == "reference")

    @property
    def swaps(self) -> tuple[str, ...]:
        return tuple(c.id for c in self.conditions.values() if c.kind == "swap")

    @property
    def controls(self) -> tuple[str, ...]:
        return tuple(c.id for c in self.conditions.values() if c.kind in ("identical", "sham"))

    def select(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the swap ids that the names (ids or attributes) stand for, in catalogue order.

        Raises KeyError with the first name that is neither.
        """
        chosen: set[str] = set()
        for name in names:
            hits = [s for s in self.swaps if name in (s, self.conditions[s].attribute)]
            if not hits:
                raise KeyError(name)
            chosen.update(hits)
        return tuple(s for s in self.swaps if s in chosen)


def render(vignette: Vignette, condition: Condition) -> Case:
    """Return the case: the frozen narrative, then the one descriptor line.

    The line stands last, so that all arms of a vignette share the longest possible prefix: a
    prompt cache then treats them alike. A narrative with a `{patient}` slot has the descriptor
    there, and no line; the full stop that ends it is left out where the sentence goes on. Slots of
    pronouns (`{they}`, `{their}`) say what the descriptor says of the sex.
    """
    descriptor = condition.descriptor_in(vignette)
    before, slot, after = vignette.narrative.strip().partition(f"{{{PATIENT}}}")
    if not slot:
        text = f"{before}{PATIENT_LINE}{descriptor}"
    elif condition.id not in dict(vignette.descriptors) and after.split("\n", 1)[0].strip():
        # The line's full stop would stand in the middle of a sentence, or beside its own.
        text = f"{before}{descriptor.removesuffix('.')}{after}"
    else:
        text = f"{before}{descriptor}{after}"
    return Case(text=with_pronouns(text, descriptor), menu=vignette.menu)
