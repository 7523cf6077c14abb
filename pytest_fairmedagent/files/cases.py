"""One vignette file: its fields, and what must hold among them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from pydantic import Field

from pytest_fairmedagent.domain import DIFFICULTIES, DOMAINS, Order, Vignette
from pytest_fairmedagent.domain.band import ADJUDICATED, AUTHOR, Band
from pytest_fairmedagent.domain.pronouns import PRONOUN_SLOTS
from pytest_fairmedagent.domain.vignette import (
    PATIENT,
    SETTINGS,
    SLOT,
    Guideline,
    Pool,
    ReferenceOrders,
    Silence,
    fill,
)
from pytest_fairmedagent.errors import closest
from pytest_fairmedagent.files.bands import BASES, BandTable, band_of, check_adjudicators
from pytest_fairmedagent.files.confounding import confounders_of
from pytest_fairmedagent.files.contradictions import contradictions_of
from pytest_fairmedagent.files.toml import Strict, TomlFile
from pytest_fairmedagent.files.types import Slug, Text, one_of

STATUSES = (AUTHOR, ADJUDICATED)


class OrderTable(Strict):
    id: Slug
    name: Text
    result: Text


class PoolTable(Strict):
    """`values` of which one is drawn, or `parts` whose order is; the first way is the base."""

    slot: Slug
    values: Annotated[list[Text], Field(min_length=2, max_length=8)] | None = None
    parts: Annotated[list[Text], Field(min_length=2, max_length=6)] | None = None
    measure: Slug | None = None


class GuidelineTable(Strict):
    title: Text
    year: Annotated[int, Field(ge=1950, le=2100)]
    basis: Annotated[str, one_of(BASES)] = "memory"


class ReferenceOrdersTable(Strict):
    needed: list[str]
    acceptable: Annotated[list[str], Field(default_factory=list)]


class SilenceTable(Strict):
    rule: Text
    reason: Text
    match: str = ""


class VignetteFile(Strict):
    """The fields of a vignette file; `schema` is the version of this format."""

    schema_version: Annotated[int, Field(alias="schema", ge=1, le=1)]
    id: Slug
    title: Text
    domain: Annotated[str, one_of(DOMAINS)]
    difficulty: Annotated[str, one_of(DIFFICULTIES)]
    setting: Annotated[str, one_of(SETTINGS)] | None = None
    specialty: Slug | None = None
    status: Annotated[str, one_of(STATUSES)] = AUTHOR
    adjudicators: Annotated[list[str], Field(default_factory=list)]
    provenance: Text
    guideline: GuidelineTable | None = None
    canary: str = ""
    narrative: Text
    pool: Annotated[list[PoolTable], Field(default_factory=list)]
    menu: Annotated[list[OrderTable], Field(min_length=3, max_length=20)]
    reference_orders: ReferenceOrdersTable | None = None
    band: Annotated[list[BandTable], Field(default_factory=list)]
    silence: Annotated[list[SilenceTable], Field(default_factory=list)]


def read_vignette(path: Path) -> Vignette:
    """Return the vignette of one file. Raises FileFormatError with file and line.

    A claim of adjudication is held against the `adjudicators.toml` beside the file or one folder
    above it; the `confounding.toml` there says what can rightly differ in this case.
    """
    source = TomlFile(path)
    data = source.parse(VignetteFile)
    if re.search(r"^\s*Patient:", data.narrative, re.MULTILINE):
        raise source.error(
            ("narrative",),
            "a line of the narrative starts with 'Patient:'. That line is the descriptor's, which "
            "is added when the case is rendered. Reword it.",
        )
    pools = _pools(source, data)
    menu = _menu(source, data)
    if data.status == ADJUDICATED:
        check_adjudicators(source, ("status",), "status", data.adjudicators)
    elif data.adjudicators:
        raise source.error(
            ("adjudicators",), f"only the status '{ADJUDICATED}' names adjudicators."
        )
    return Vignette(
        id=data.id,
        title=data.title,
        domain=data.domain,
        difficulty=data.difficulty,
        narrative=fill(data.narrative, {pool.slot: pool.base for pool in pools}),
        menu=menu,
        provenance=data.provenance,
        status=data.status,
        guideline=Guideline(**data.guideline.model_dump()) if data.guideline else None,
        setting=data.setting or "",
        specialty=data.specialty or "",
        canary=data.canary,
        template=data.narrative if pools else "",
        pools=pools,
        reference_orders=_reference_orders(source, data),
        bands=_bands(source, data),
        silences=tuple(Silence(s.rule, s.reason, s.match) for s in data.silence),
        confounders=(*confounders_of(path, data.id), *contradictions_of(path, data.id)),
        adjudicators=tuple(data.adjudicators),
    )


def _menu(source: TomlFile, data: VignetteFile) -> tuple[Order, ...]:
    seen: set[str] = set()
    for index, order in enumerate(data.menu):
        if order.id in seen:
            raise source.error(
                ("menu", index, "id"), f"order id '{order.id}' stands twice. Rename one of them."
            )
        seen.add(order.id)
    return tuple(Order(o.id, o.name, o.result) for o in data.menu)


def _pools(source: TomlFile, data: VignetteFile) -> tuple[Pool, ...]:
    slots = SLOT.findall(data.narrative)
    if slots.count(PATIENT) > 1:
        raise source.error(
            ("narrative",),
            f"the narrative has {slots.count(PATIENT)} {{{PATIENT}}} slots, expected at most one. "
            "The descriptor stands once; say 'the patient' in the other places.",
        )
    for slot in slots:
        if slot != PATIENT and slot not in {*PRONOUN_SLOTS} | {pool.slot for pool in data.pool}:
            raise source.error(
                ("narrative",),
                f"slot {{{slot}}} of the narrative has no [[pool]]."
                f"{closest(slot, [p.slot for p in data.pool])}",
            )
    found: dict[str, Pool] = {}
    for index, pool in enumerate(data.pool):
        place = ("pool", index)
        if pool.slot in found:
            raise source.error((*place, "slot"), f"the pool '{pool.slot}' stands twice.")
        if pool.slot not in slots or pool.slot == PATIENT:
            raise source.error(
                (*place, "slot"),
                f"'{pool.slot}' is no slot of the narrative.{closest(pool.slot, set(slots))}",
            )
        if (pool.values is None) == (pool.parts is None):
            raise source.error(
                place,
                f"pool '{pool.slot}' needs 'values' (one is drawn) or 'parts' (their order is "
                "drawn), and one of the two only.",
            )
        given = pool.values or pool.parts or []
        twice = next((v for v in given if given.count(v) > 1), None)
        if twice is not None:
            raise source.error(place, f"pool '{pool.slot}' holds {twice!r} twice.")
        found[pool.slot] = Pool(
            pool.slot, tuple(pool.values or ()), tuple(pool.parts or ()), pool.measure or ""
        )
    return tuple(found.values())


def _reference_orders(source: TomlFile, data: VignetteFile) -> ReferenceOrders | None:
    given = data.reference_orders
    if given is None:
        return None
    ids = [order.id for order in data.menu]
    for key, named in (("needed", given.needed), ("acceptable", given.acceptable)):
        for name in named:
            if name not in ids:
                raise source.error(
                    ("reference_orders", key), f"{name!r} is not on the menu.{closest(name, ids)}"
                )
    both = [name for name in given.needed if name in given.acceptable]
    if both:
        raise source.error(
            ("reference_orders",), f"{both[0]!r} is both needed and acceptable. Remove one."
        )
    return ReferenceOrders(tuple(given.needed), tuple(given.acceptable))


def _bands(source: TomlFile, data: VignetteFile) -> tuple[Band, ...]:
    found: dict[str, Band] = {}
    for index, table in enumerate(data.band):
        band = band_of(source, ("band", index), table)
        if band.outcome in found:
            raise source.error(
                ("band", index, "outcome"), f"the band of '{band.outcome}' stands twice."
            )
        found[band.outcome] = band
    for outcome, band in found.items():
        for action, stated in found.items():
            derived = band.as_action(action)
            if derived and derived.accept != stated.accept:
                index = [table.outcome for table in data.band].index(action)
                raise source.error(
                    ("band", index),
                    f"the band of '{action}' contradicts that of '{outcome}', which it is read "
                    "from. Remove one of them.",
                )
    return tuple(found.values())
