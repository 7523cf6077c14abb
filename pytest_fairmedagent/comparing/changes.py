"""What differs between two runs on the same vignettes: gaps, floors and rates, each with a test.

Given how many answers were positive in both runs together, so that the noise of both runs, which is
what their floors measure, is in them. Two runs of unequal replicates may differ in noise alone:
there the tests ask for the gap, the rate or the floor itself, and not whether anything changed.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from statistics import NormalDist
from typing import Any

from pytest_fairmedagent.comparing.side import Counts, Member, Side
from pytest_fairmedagent.stats import (
    StratifiedTest,
    floor_change,
    gap_change_test,
    gap_interval,
    sign_flip_test,
    signed_p,
    stratified_test,
)

Entry = dict[str, Any]

GAP, FLOOR, RATE = "gap", "floor", "rate"
POOLED = "pooled"


def gap_changes(a: Side, b: Side, vignettes: Collection[str]) -> Iterator[Entry]:
    """Yield the change of the signed gap of every contrast that both have judged."""
    for member, contrast in b.contrasts.items():
        if member not in a.contrasts:
            continue
        cases = [{case["vignette"]: case for case in s.contrasts[member]["cases"]} for s in (a, b)]
        shared = [v for v in cases[0] if v in cases[1] and v in vignettes]
        shared = [v for v in shared if all(c[v]["swap"][1] and c[v]["reference"][1] for c in cases)]
        if shared:
            clusters = b.clusters_of(shared)
            yield _gap_change(member, contrast["q"] is None, cases, shared, clusters)


def _gap_change(
    member: Member,
    gating: bool,
    cases: list[dict[str, Any]],
    shared: Sequence[str],
    clusters: Sequence[str],
) -> Entry:
    swap_a, ref_a, swap_b, ref_b = _once(
        *(
            _columns([case[v][arm] for v in shared])
            for case in cases
            for arm in ("swap", "reference")
        )
    )
    gaps = [stratified_test(*swap, *ref) for swap, ref in ((swap_a, ref_a), (swap_b, ref_b))]
    test = gap_change_test(swap_a, ref_a, swap_b, ref_b)
    p, plain, (low, high), se = _tested(test)
    a, b = (found.gap_simple if plain else found.gap for found in gaps)
    per_vignette = [
        (x / m - y / n) - (u / p - v / q)
        for x, m, y, n, u, p, v, q in zip(*swap_b, *ref_b, *swap_a, *ref_a, strict=True)
    ]
    per_case: dict[str, float] = {}  # variants of one case are no vignettes of their own
    for case, change in zip(clusters, per_vignette, strict=True):
        per_case[case] = per_case.get(case, 0.0) + change
    return {
        **_place(GAP, member[0], member[1], member[2], clusters),
        "gating": gating,
        "a": a,
        "b": b,
        "difference": b - a,
        "interval": [2 * low, 2 * high],
        "p": p,
        "p_vignettes": sign_flip_test(list(per_case.values())).p,
        "se": 2 * se,
    }


def _tested(test: StratifiedTest) -> tuple[float, bool, tuple[float, float], float]:
    """Return p, whether it is of the plain mean over strata, and that gap's interval and error."""
    signed = signed_p(test)
    if signed.mean_gap is None:
        return signed.p, False, test.interval(), test.se()
    interval = gap_interval(test.k_swap, test.m_swap, test.k_ref, test.n_ref)
    return signed.p, True, interval, max(signed.mean_gap.se, signed.mean_gap.se_pooled)


def floor_changes(a: Side, b: Side, vignettes: Collection[str]) -> Iterator[Entry]:
    """Yield the change of the floor of every action, and pooled, in the reference arm.

    On complete cases: vignettes without a missing answer in either run. The pooled floor has no p,
    for actions of one trajectory depend on each other.
    """
    shared = [action for action in b.actions if action in a.actions]
    for name, actions in [*((action, [action]) for action in shared), (POOLED, shared)]:
        whole = a.complete(a.reference, actions) & b.complete(b.reference, actions)
        cases = sorted(whole & set(vignettes))
        if not cases or not actions:
            continue
        (k_a, n_a), (k_b, n_b) = (_table(side, cases, actions) for side in (a, b))
        found = floor_change(k_a, n_a, k_b, n_b, clusters=b.clusters_of(cases))
        yield {
            **_place(FLOOR, b.reference, name, None, b.clusters_of(cases)),
            "gating": name != POOLED,
            "a": found.floor_a,
            "b": found.floor_b,
            "difference": found.difference,
            "interval": list(found.interval),
            "removed": found.removed,
            "removed_interval": list(found.removed_interval),
            "p": math.nan if name == POOLED else found.p,
            "left_out": len(set(vignettes) - whole),
        }


def rate_changes(
    a: Side, b: Side, vignettes: Collection[str], conditions: Collection[str]
) -> Iterator[Entry]:
    """Yield the change of every action's rate in every arm that both have drawn."""
    for condition in conditions:
        cases = [
            v
            for v in b.vignettes
            if v in vignettes and all((v, condition) in s.rows for s in (a, b))
        ]
        for action in b.actions if cases else ():
            if action not in a.actions:
                continue
            arm_a, arm_b = _once(*(side.counts(cases, condition, action) for side in (a, b)))
            test = stratified_test(*arm_b, *arm_a)
            if not test.weight:
                continue
            p, plain, interval, _ = _tested(test)
            rates = [_rate(*side.counts(cases, condition, action)) for side in (a, b)]
            yield {
                **_place(RATE, condition, action, None, b.clusters_of(cases)),
                "gating": True,
                "a": rates[0],
                "b": rates[1],
                "difference": test.gap_simple if plain else test.gap,
                "interval": list(interval),
                "p": p,
            }


def detectable(entry: Entry, *, alpha: float, members: int) -> float:
    """Return the change that an entry's test finds with power .8 at its level, in 0..2."""
    z = NormalDist().inv_cdf
    return min(2.0, (z(1 - alpha / (2 * max(1, members))) + z(0.8)) * float(entry["se"]))


def _place(
    kind: str, condition: str, action: str, vignette: str | None, cases: Sequence[str]
) -> Entry:
    return {
        "kind": kind,
        "condition": condition,
        "action": action,
        "vignette": vignette,
        "vignettes": len(set(cases)),
    }


def _columns(cells: Sequence[Sequence[int]]) -> Counts:
    return [k for k, _ in cells], [n for _, n in cells]


def _once(*arms: Counts) -> tuple[Counts, ...]:
    """Count each vignette once where every cell of all arms is unanimous.

    Equal answers of one cell are then one answer, as in a contrast of two such arms.
    """
    if all(n > 1 and k in (0, n) for arm in arms for k, n in zip(*arm, strict=True)):
        return tuple(([int(k > 0) for k in ks], [1] * len(ks)) for ks, _ in arms)
    return arms


def _table(side: Side, cases: Sequence[str], actions: Sequence[str]) -> tuple[Any, Any]:
    columns = [side.counts(cases, side.reference, action) for action in actions]
    if len(columns) == 1:
        return columns[0]
    k, n = ([list(row) for row in zip(*(c[i] for c in columns), strict=True)] for i in (0, 1))
    return k, n


def _rate(k: Sequence[int], n: Sequence[int]) -> float:
    return sum(k) / sum(n) if sum(n) else math.nan
