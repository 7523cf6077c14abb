"""Between the ledger and the judgement: what a start registers, and what it is told of before.

What may be claimed is decided in `verdict.looks`; here entries are written and read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_fairmedagent.domain import Catalogue, Contrast, Plan, Vignette, render
from pytest_fairmedagent.running.ledger import (
    LOOK,
    PLAN,
    START,
    VERDICT,
    Entry,
    Given,
    Place,
    given_of,
)
from pytest_fairmedagent.running.store import Store
from pytest_fairmedagent.verdict import DISPARITY, RelationVerdict, Verdict
from pytest_fairmedagent.verdict.looks import (
    FRESH,
    Claim,
    Earlier,
    History,
    Keys,
    Look,
    Registered,
    Said,
    claim_of,
    earlier,
    looks_now,
    registered,
)

ADVICE_OFFLINE = f"{FRESH}, without --fairmed-offline"


@dataclass(frozen=True)
class Start:
    """One start of a design on draws of its own; `created` in seconds since the epoch.

    `outcome` is "red" (a DISPARITY was given), "green" (verdicts, and none of them is), "unknown"
    (judged before there was a ledger), or "" where nothing has been judged yet. `same` tells that
    it tested the configuration of this run, `this` that its draws are those of this run.
    """

    run: int
    created: float
    outcome: str
    same: bool
    this: bool


def registration(plan: Plan, keys: Keys) -> dict[str, Any]:
    """Return what the ledger keeps of a plan: its families in words, all terms, all draws."""
    known = registered(plan, keys)
    families = [
        {
            "name": family.name,
            "swaps": list(family.swaps),
            "actions": list(family.actions),
            "vignettes": len(family.vignettes),
            "replicates": family.replicates,
            "alpha": family.alpha,
            "margin": family.margin,
            "minimum_gap": getattr(family, "minimum_gap", 0.0),
            "size": family.size,
            "gating": family.gating,
        }
        for family in plan.families
    ]
    return {
        "plan": plan.digest,
        "sequential": plan.sequential,
        "families": families,
        "terms": sorted(known.terms),
        "draws": sorted(known.draws),
    }


def cases_digest(plan: Plan, vignettes: Mapping[str, Vignette], catalogue: Catalogue) -> str:
    """Hex SHA-256 of every text that the whole plan sends, whatever it is sent to."""
    texts = sorted(
        f"{arm.vignette}|{arm.condition}|{render(vignettes[arm.vignette], known).digest}"
        for arm in plan.arms(member for family in plan.families for member in family.members)
        if arm.vignette in vignettes and (known := catalogue.conditions.get(arm.condition))
    )
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


@dataclass(frozen=True)
class Book:
    """The ledger as one run sees it: its place in it, its plan, the keys of the plan's draws.

    A store that was closed meanwhile is opened for the while: no verdict is given unseen.
    """

    store: Store
    place: Place
    plan: Plan
    keys: Keys
    offline: bool = False

    def earlier(self, present: Collection[Contrast], *, ended_at: int | None = None) -> Earlier:
        """Return what bears on judging `present`. Nothing is noted by asking."""
        with self.store.reopened() as store:
            history = history_of(store.entries(series=self.place.series))
        advice = ADVICE_OFFLINE if self.offline else FRESH
        return earlier(self.plan, present, self.keys, history, ended_at=ended_at, advice=advice)

    def look(self, present: Collection[Contrast], *, ended_at: int | None = None) -> Earlier:
        """Note that `present` is looked at, and return what was said before.

        Noted first, so that of two runs that look at once each sees the other.
        """
        contents = {}
        for name, look in looks_now(self.plan, present, self.keys, ended_at=ended_at).items():
            terms = sorted(look.terms)
            content = {
                "family": name,
                "at": list(look.at),
                "terms": terms,
                "draws": sorted(look.draws),
                "plan": look.under.plan,
            }
            digest = hashlib.sha256("".join(terms).encode()).hexdigest()[:16]
            contents[f"{name}|{look.at[0]}|{look.at[1]}|{digest}"] = content
        with self.store.reopened() as store:
            store.note_all(LOOK, self.place, contents)
        return self.earlier(present, ended_at=ended_at)

    def give(self, verdicts: Iterable[Given]) -> None:
        """Keep verdicts that are given; what later looks ask for is filled in."""
        with self.store.reopened() as store:
            store.give(self.place, [self._whole(given) for given in verdicts])

    def _whole(self, given: Given) -> Given:
        contrast = Contrast(given.family, given.swap, given.action, given.vignette)
        claim: Claim = claim_of(self.plan, contrast, self.keys)
        draws = tuple(sorted(claim.draws)) if given.status == DISPARITY else ()
        return replace(given, terms=claim.terms, draws=draws, rule=self.plan.sequential)

    def starts(self) -> tuple[Start, ...]:
        """Return every start of this design on draws of its own, in order, this one included."""
        with self.store.reopened() as store:
            return starts_of(store.entries(design=self.place.design), self.place)


def given_by(verdict: Verdict | RelationVerdict, payload: Mapping[str, Any]) -> Given:
    """Return a verdict as the ledger keeps it."""
    contrast, family = verdict.contrast, verdict.family
    looked = verdict.looked
    margin = family.margin_of(contrast.action)
    return Given(
        contrast.family,
        contrast.swap,
        contrast.action,
        contrast.vignette,
        verdict.status,
        verdict.p_adjusted,
        1 if looked is None else looked.number,
        family.replicates if looked is None else looked.replicates,
        family.alpha if looked is None else looked.alpha,
        family.alpha,
        margin,
        family.size,
        family.gating,
        verdict.post_hoc,
        payload,
    )


def history_of(entries: Iterable[Entry]) -> History:
    """Return the history of a series from its entries, which are in their order."""
    plans: dict[tuple[int, str], Registered] = {}
    order: list[Registered] = []
    looks: list[Look] = []
    said: list[Said] = []
    for entry in entries:
        content, run = entry.content, entry.place.run
        if entry.kind == PLAN:
            plan = Registered(
                content["plan"], frozenset(content["terms"]), frozenset(content["draws"])
            )
            plans[run, plan.plan] = plan
            order.append(plan)
        elif entry.kind == LOOK:
            looks.append(_look(entry, plans))
        elif entry.kind == VERDICT:
            given = given_of(entry)
            if given.gating and not given.post_hoc:
                said.append(_said(given))
    return History(tuple(order), tuple(looks), tuple(said))


def _look(entry: Entry, plans: Mapping[tuple[int, str], Registered]) -> Look:
    content = entry.content
    replicates, rule = content["at"]
    digest = content.get("plan", "")
    under = plans.get((entry.place.run, digest), Registered(digest, frozenset(), frozenset()))
    return Look(
        under,
        (int(replicates), str(rule)),
        frozenset(content.get("terms", ())),
        frozenset(content.get("draws", ())),
        entry.place.design,
    )


def _said(given: Given) -> Said:
    at = (given.replicates, given.rule)
    return Said(
        given.status, given.action, given.terms, frozenset(given.draws), at, given.look, given.p
    )


def starts_of(entries: Sequence[Entry], place: Place) -> tuple[Start, ...]:
    """Return the starts among the entries of one design, one for each series, in order."""
    first: dict[int, Entry] = {}
    outcomes: dict[int, str] = {}
    for entry in entries:
        series, content = entry.place.series, entry.content
        if entry.kind == START:
            first.setdefault(series, entry)
        elif entry.kind == LOOK and content.get("older"):
            outcomes.setdefault(series, "unknown")
        elif entry.kind == VERDICT:
            red = content["status"] == DISPARITY and content["gating"]
            if red and not content["post_hoc"]:
                outcomes[series] = "red"
            elif outcomes.get(series) != "red":
                outcomes[series] = "green"
    return tuple(
        Start(
            entry.place.run,
            entry.created,
            outcomes.get(series, ""),
            entry.place.configuration == place.configuration,
            series == place.series,
        )
        for series, entry in first.items()
    )
