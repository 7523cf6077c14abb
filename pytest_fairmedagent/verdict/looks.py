"""Looks: what was said of the same draws before, and what may be claimed of them now.

A plan that did not plan its looks may be looked at again with more replicates, and then spends a
level of its own: look i is judged at alpha / 2^(i-1), so all looks together err in at most 2 alpha,
whatever made somebody look again. A DISPARITY that was given stands. Another plan on draws that
were judged before is no second test of them: it was made with their verdicts in view, so nothing
is claimed by it. STATISTICS section 7.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_fairmedagent.domain import Contrast, Family, Plan
from pytest_fairmedagent.relations.words import p_value
from pytest_fairmedagent.verdict.relation import RelationVerdict
from pytest_fairmedagent.verdict.result import CLEARED, DECIDED, DISPARITY, INCONCLUSIVE, Verdict
from pytest_fairmedagent.verdict.swaps import SwapVerdict

HALVED = 20  # looks, each at half the level of the one before

FRESH = "the same command with --fairmed-fresh"

Spot = tuple[int, str]  # replicates, and the rule of how often they are looked at
Keys = Mapping[tuple[str, str], str]  # (vignette, condition) -> key of its draws


@dataclass(frozen=True)
class Claim:
    """What a contrast would claim, and by which test, but for the number of replicates.

    `draws` are the keys of the swap's draws. Two claims with equal `terms` are one: the same draws
    and controls, tested alike in a family of the same size, level and margins.
    """

    action: str
    draws: frozenset[str]
    terms: str


@dataclass(frozen=True)
class Registered:
    """A plan by its digest, the terms of all it registers, and the draws of its swaps."""

    plan: str
    terms: frozenset[str]
    draws: frozenset[str]


@dataclass(frozen=True)
class Look:
    """A judgement of one family: under which plan, at which spot, of which claims and draws.

    Of one older than the ledger only `design` and spot are known.
    """

    under: Registered
    at: Spot
    terms: frozenset[str] = frozenset()
    draws: frozenset[str] = frozenset()
    design: str = ""


@dataclass(frozen=True)
class Said:
    """A verdict that gated, as it was given. `draws` are known of a DISPARITY only."""

    status: str
    action: str
    terms: str
    draws: frozenset[str]
    at: Spot
    look: int
    p: float | None


@dataclass(frozen=True)
class History:
    """What happened to a series of draws so far, each in its order, this look included."""

    registered: tuple[Registered, ...] = ()
    looks: tuple[Look, ...] = ()
    said: tuple[Said, ...] = ()


@dataclass(frozen=True)
class Looked:
    """The look at a family: its number from 1, and the `level` that it spends of `alpha`.

    `bound` (in 0..1) is the chance that this look or one before it shows a DISPARITY if nothing
    differs, at most. `before` are the replicates of the looks before.
    """

    family: str
    number: int
    replicates: int
    alpha: float
    level: float
    bound: float
    before: tuple[int, ...]


@dataclass(frozen=True)
class Stood:
    """A verdict of an earlier look at a contrast: at which look and replicates, with which p."""

    contrast: Contrast
    status: str
    look: int
    replicates: int
    p: float | None

    def __str__(self) -> str:
        p = "" if self.p is None else f", p={p_value(self.p)}"
        return f"{self.status} at R={self.replicates} (look {self.look}{p})"


@dataclass(frozen=True)
class Afterwards:
    """A contrast that was registered after its draws had been judged, under the plan named."""

    contrast: Contrast
    plan: str


@dataclass(frozen=True)
class Earlier:
    """What a ledger knows that bears on a judgement. `known` is False where there is no ledger.

    `stands` and `passed` are earlier verdicts that were red, and that were passes. `advice` is how
    to come to fresh draws from here.
    """

    known: bool = False
    families: tuple[Looked, ...] = ()
    post_hoc: tuple[Afterwards, ...] = ()
    stands: tuple[Stood, ...] = ()
    passed: tuple[Stood, ...] = ()
    advice: str = FRESH

    def of(self, family: str) -> Looked | None:
        """Return the look at a family; None where nothing is known of it."""
        return next((looked for looked in self.families if looked.family == family), None)


NOTHING = Earlier()


@dataclass(frozen=True)
class Ruling:
    """What looks make of a status: the status, why it is another one, and what is to be flagged."""

    status: str
    reason: str = ""
    flags: tuple[str, ...] = ()
    post_hoc: bool = False

    @property
    def stands(self) -> bool:
        """Whether the status is that of an earlier look, and not of this one."""
        return self.status == DISPARITY and bool(self.reason)


def with_wholes(contrasts: Iterable[Contrast]) -> list[Contrast]:
    """Return contrasts, and with each swap's first the swap as a whole: its `action` is ""."""
    found: dict[Contrast, None] = {}
    for contrast in contrasts:
        found[replace(contrast, action="")] = None
        found[contrast] = None
    return list(found)


def spot(plan: Plan, family: Family, ended_at: int | None) -> Spot:
    """Return where a family is looked at. Planned looks are one spot: they pay for themselves."""
    if plan.sequential != "off" or ended_at is None:
        return family.replicates, plan.sequential
    return min(ended_at, family.replicates), plan.sequential


def claim_of(plan: Plan, contrast: Contrast, keys: Keys) -> Claim:
    """Return what a contrast of a plan would claim. `keys` may lack what is not drawn."""
    family = plan.family(contrast.family)
    cases = plan.judged(contrast)

    def of(condition: str) -> list[str]:
        return [keys[case, condition] for case in cases if (case, condition) in keys]

    own = {name: digest for name, _, digest in plan.outcomes}
    draws = of(contrast.swap)
    terms = {
        "draws": [draws, *(of(condition) for condition in (plan.reference, *plan.controls))],
        "controls": [plan.identical, plan.shams, plan.pooled],
        "outcome": [contrast.action, own.get(contrast.action, "")],
        "family": [family.size, len(family.swaps), sorted(family.actions), family.relation],
        "rule": [family.alpha, family.gating, family.minimum_gap],
        "margin": family.margin_of(contrast.action),
    }
    text = json.dumps(terms, sort_keys=True)
    return Claim(contrast.action, frozenset(draws), hashlib.sha256(text.encode()).hexdigest()[:16])


def registered(plan: Plan, keys: Keys) -> Registered:
    """Return a plan as later looks at its draws will ask for it."""
    claims = [
        claim_of(plan, contrast, keys)
        for family in plan.families
        for contrast in with_wholes(family.members)
    ]
    draws = frozenset(key for claim in claims for key in claim.draws)
    return Registered(plan.digest, frozenset(claim.terms for claim in claims), draws)


def looks_now(
    plan: Plan, present: Iterable[Contrast], keys: Keys, *, ended_at: int | None = None
) -> dict[str, Look]:
    """Return the looks that judging `present` takes, by family."""
    under, wanted = registered(plan, keys), set(present)
    found = {}
    for family in plan.families:
        members = [member for member in family.members if member in wanted]
        claims = [claim_of(plan, contrast, keys) for contrast in with_wholes(members)]
        if claims:
            found[family.name] = Look(
                under,
                spot(plan, family, ended_at),
                frozenset(claim.terms for claim in claims),
                frozenset(key for claim in claims for key in claim.draws),
                plan.design_digest,
            )
    return found


def earlier(
    plan: Plan,
    present: Iterable[Contrast],
    keys: Keys,
    history: History,
    *,
    ended_at: int | None = None,
    advice: str = FRESH,
) -> Earlier:
    """Return what the history of a series has to say on judging `present` now."""
    wanted = set(present)
    families, post_hoc = [], []
    stands, passed = [], []
    for family in plan.families:
        members = with_wholes(member for member in family.members if member in wanted)
        if not members:
            continue
        here = spot(plan, family, ended_at)
        claims = {member: claim_of(plan, member, keys) for member in members}
        late = {m: plan_of for m in members if (plan_of := _judged_under(claims[m], history))}
        post_hoc += [Afterwards(member, plan_of) for member, plan_of in late.items()]
        own = [claim for member, claim in claims.items() if member not in late]
        families.append(_looked(plan, family, here, own, history))
        for member, claim in claims.items():
            red = [s for s in history.said if s.status == DISPARITY and _same_draws(claim, s)]
            good = [
                s
                for s in history.said
                if s.status in CLEARED and s.terms == claim.terms and s.at != here
            ]
            stands += [_stood(member, red[0])] if red and family.gating else []
            passed += [_stood(member, good[-1])] if good else []
    return Earlier(True, tuple(families), tuple(post_hoc), tuple(stands), tuple(passed), advice)


def _judged_under(claim: Claim, history: History) -> str:
    """Return the plan under which the draws of a claim were judged that it was not part of.

    "" for none, and for a claim of the plan that was registered first for these draws, or that
    looked at them first: its verdict is the one that was announced.
    """
    looks = [look for look in history.looks if look.draws & claim.draws]
    others = [look.under.plan for look in looks if claim.terms not in look.under.terms]
    if not others:
        return ""
    first = [plan for plan in history.registered if plan.draws & claim.draws][:1]
    announced = any(claim.terms in plan.terms for plan in (*first, looks[0].under))
    return "" if announced else others[0]


def _looked(
    plan: Plan, family: Family, here: Spot, claims: Sequence[Claim], history: History
) -> Looked:
    """Return the number and level of a look: by the spots at which these claims were judged."""
    terms = {claim.terms for claim in claims}
    spots: dict[Spot, None] = {}
    for look in history.looks:
        older = not look.terms and look.design == plan.design_digest
        # With one replicate there is no floor, so nothing can be claimed and nothing is spent.
        if (older or terms & look.terms) and (look.at[0] > 1 or family.relation):
            spots[look.at] = None
    spots[here] = None
    before = list(spots)[: list(spots).index(here)]
    number = len(before) + 1
    spent = family.gating and number > 1  # an exploratory family has no level to spend
    return Looked(
        family.name,
        number,
        here[0],
        family.alpha,
        spends(family.alpha, number) if spent else family.alpha,
        bound_after(family.alpha, number) if spent else family.alpha,
        tuple(dict.fromkeys(replicates for replicates, _ in before)),
    )


def spends(alpha: float, number: int) -> float:
    """Return what look `number` (from 1) spends of `alpha`: each half of the one before.

    From HALVED on less by less, for a level that a number can no longer hold ends in an error: with
    k looks since then, 1 / (k (k + 1)) of what halving would have left for all of them together.
    """
    if number <= HALVED:
        return float(alpha / 2 ** (number - 1))
    k = number - HALVED
    return float(alpha / 2 ** (HALVED - 1) / (k * (k + 1)))


def bound_after(alpha: float, number: int) -> float:
    """Return what the looks up to `number` spend together: less than 2 alpha, however many."""
    if number <= HALVED:
        return alpha * (2 - 2.0 ** (1 - number))
    return alpha * (2 - 2.0 ** (1 - HALVED) / (number - HALVED + 1))


def _same_draws(claim: Claim, said: Said) -> bool:
    """Whether a verdict was given on this action and most of its draws are among the claim's.

    A case more or less makes no other question of it; one case of many does.
    """
    return claim.action == said.action and 2 * len(claim.draws & said.draws) > len(said.draws)


def _stood(contrast: Contrast, said: Said) -> Stood:
    return Stood(contrast, said.status, said.look, said.at[0], said.p)


def together(parts: Sequence[Earlier]) -> Earlier:
    """Return what bears on the whole of which each part was judged by itself.

    The latest look at a family counts for all of it, and what is said of a contrast in any part.
    """
    latest: dict[str, Looked] = {}
    for looked in (looked for part in parts for looked in part.families):
        found = latest.setdefault(looked.family, looked)
        if looked.number > found.number:
            latest[looked.family] = looked
    return Earlier(
        all(part.known for part in parts),
        tuple(latest.values()),
        tuple(dict.fromkeys(late for part in parts for late in part.post_hoc)),
        tuple(dict.fromkeys(stood for part in parts for stood in part.stands)),
        tuple(dict.fromkeys(stood for part in parts for stood in part.passed)),
    )


def earlier_of(data: Mapping[str, Any]) -> Earlier:
    """Return what a record has kept of it. Raises KeyError and TypeError for what is none."""

    def stood(entry: Mapping[str, Any]) -> Stood:
        return Stood(**{**entry, "contrast": Contrast(**entry["contrast"])})

    return Earlier(
        data["known"],
        tuple(Looked(**{**one, "before": tuple(one["before"])}) for one in data["families"]),
        tuple(Afterwards(Contrast(**one["contrast"]), one["plan"]) for one in data["post_hoc"]),
        tuple(map(stood, data["stands"])),
        tuple(map(stood, data["passed"])),
        data["advice"],
    )


def at_level(family: Family, before: Earlier) -> Family:
    """Return a family that spends what its look may spend."""
    looked = before.of(family.name)
    return family if looked is None else replace(family, alpha=looked.level)


def rule(status: str, family: Family, contrast: Contrast, before: Earlier) -> Ruling:
    """Return what a verdict comes to, with what was said of the same draws before."""
    late = next((a for a in before.post_hoc if a.contrast == contrast), None)
    red = next((s for s in before.stands if s.contrast == contrast), None)
    passed = next((s for s in before.passed if s.contrast == contrast), None)
    if red is not None and family.gating and (status != DISPARITY or late is not None):
        reason = f"{red} stands: neither more data nor another plan takes it back"
        if late is None:
            reason += f"; at this look it would be {status}"
        return Ruling(DISPARITY, reason)
    if late is not None:
        why = (
            f"these draws were judged before, under plan {late.plan[:12]}, which has no such "
            "contrast in a family of this size, level and margin"
        )
        if status not in DECIDED or not family.gating:
            return Ruling(status, flags=(f"post hoc: {why}",), post_hoc=True)
        return Ruling(
            INCONCLUSIVE,
            f"post hoc: it would be {status}, but {why}. To claim it, draw anew: {before.advice}",
            post_hoc=True,
        )
    if passed is not None and status not in DECIDED:
        flag = f"{passed} is not upheld: a pass is shown on all draws or not at all"
        return Ruling(status, flags=(flag,))
    return Ruling(status)


def minded(verdict: Verdict, before: Earlier) -> Verdict:
    """Return a verdict as it may be given, with what was said of the same draws before."""
    found = rule(verdict.status, verdict.family, verdict.contrast, before)
    return replace(
        verdict,
        status=found.status,
        reasons=(found.reason,) if found.reason else verdict.reasons,
        flags=(*verdict.flags, *found.flags),
        looked=before.of(verdict.family.name),
        post_hoc=found.post_hoc,
        stands=found.reason if found.stands else "",
    )


def minded_swap(whole: SwapVerdict, before: Earlier) -> SwapVerdict:
    """The same for a swap as a whole."""
    found = rule(whole.status, whole.family, whole.contrast, before)
    return replace(
        whole,
        status=found.status,
        reasons=(found.reason,) if found.reason else whole.reasons,
        notes=(*whole.notes, *found.flags),
        post_hoc=found.post_hoc,
        stands=found.reason if found.stands else "",
    )


def minded_relation(verdict: RelationVerdict, before: Earlier) -> RelationVerdict:
    """The same for a test of the user's own, which has its flags among its reasons."""
    found = rule(verdict.status, verdict.family, verdict.contrast, before)
    kept = (found.reason,) if found.reason else verdict.reasons
    return replace(
        verdict,
        status=found.status,
        reasons=(*kept, *found.flags),
        looked=before.of(verdict.family.name),
        post_hoc=found.post_hoc,
    )
