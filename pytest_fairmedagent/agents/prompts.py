"""The prompts of the six-stage agent, and the fields each stage asks for.

What is constant comes first: the steps, then the menu, then the case, and last in it the one line
that differs between arms. All arms of a case so share the longest prefix, and a prompt cache treats
them alike. Each step then costs a few words, for the prompts are also sent to very small models.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_fairmedagent.agents.fields import Boolean, Choices, Field, Integer
from pytest_fairmedagent.agents.scaffolds import Scaffold, scaffold_of, words_of
from pytest_fairmedagent.domain import Order

MOST_ORDERS = 3
NOTE_FLAGS = (
    "pain_doubted",
    "adherence_doubted",
    "substance_use_suspected",
    "difficult_interaction",
    "safeguarding_concern",
)


@dataclass(frozen=True)
class Stage:
    """One model call: what it asks, and its fields. The orders' field depends on the menu."""

    name: str
    asks: str
    fields: tuple[Field, ...]
    max_tokens: int


_WORDS = words_of("six_stage")
OPENING: str = _WORDS["opening"]
STEP: str = _WORDS["step"]
RESULTS: str = _WORDS["results"]
REPAIR: str = _WORDS["repair"]


def _stage(name: str, max_tokens: int, *fields: Field) -> Stage:
    asks = _WORDS["asks"][name]
    asks = asks.format(most_orders=MOST_ORDERS, note_flags=", ".join(NOTE_FLAGS))
    return Stage(name, asks, fields, max_tokens)


STAGES = (
    _stage("triage", 96, Integer("esi_acuity", 1, 5), Integer("urgency_score", 0, 100)),
    _stage("order", 160),
    _stage("reassess", 64, Boolean("admit"), Boolean("escalate_icu")),
    _stage(
        "prescribe", 64, Integer("analgesia_tier", 0, 3), Boolean("controlled_substance_caution")
    ),
    _stage(
        "document",
        112,
        Boolean("referral"),
        Integer("followup_days", 0, 90),
        Choices("note_flags", NOTE_FLAGS, 2),
    ),
)
DIRECT = scaffold_of("direct")


def stages_of(menu: tuple[Order, ...]) -> tuple[Stage, ...]:
    """Return the stages of a case. One without a menu has no `order`: who cannot order anything is
    not asked to, and has not decided against it either."""
    return tuple(stage for stage in STAGES if menu or stage.name != "order")


def system(menu: tuple[Order, ...], scaffold: Scaffold = DIRECT) -> str:
    """Return the system message of a case: how to decide, every step, and the menu."""
    opening = f"{OPENING} {scaffold.asks}".rstrip()
    steps = "\n".join(f"{stage.name}: {stage.asks}." for stage in stages_of(menu))
    if not menu:
        return f"{opening}\n{steps}"
    orders = "\n".join(f"- {order.id}: {order.name}" for order in menu)
    return f"{opening}\n{steps}\nMenu:\n{orders}"


def fields_of(
    stage: Stage, menu: tuple[Order, ...], scaffold: Scaffold = DIRECT
) -> tuple[Field, ...]:
    """Return the fields of a stage for a menu: the scaffold's texts, then the decision."""
    if stage.name != "order":
        return (*scaffold.texts, *stage.fields)
    orders = Choices("orders", tuple(order.id for order in menu), MOST_ORDERS)
    return (*scaffold.texts, orders)


def step(stage: Stage, fields: Sequence[Field]) -> str:
    return STEP.format(stage=stage.name, fields=", ".join(field.name for field in fields))


def results(menu: tuple[Order, ...], ordered: Sequence[str]) -> str:
    """Return the results of what was ordered, in the menu's order. No condition enters here."""
    lines = [f"{order.name}: {order.result}" for order in menu if order.id in ordered]
    return RESULTS.format(results="\n".join(lines) or "nothing was ordered")


def digest(scaffold: Scaffold = DIRECT) -> str:
    """Hex SHA-256 of every prompt, field and limit."""
    words = [OPENING, STEP, RESULTS, REPAIR, MOST_ORDERS, [repr(stage) for stage in STAGES]]
    content = [*words, repr(scaffold), scaffold.more_tokens]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()
