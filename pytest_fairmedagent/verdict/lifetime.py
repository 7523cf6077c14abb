"""What the ledger keeps of a contrast, so that its evidence can be added up over runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_fairmedagent.domain import Plan, ReplicateTable
from pytest_fairmedagent.relations.evidence import OFF
from pytest_fairmedagent.relations.invariance import Comparison
from pytest_fairmedagent.relations.scores import ScoreComparison
from pytest_fairmedagent.verdict.relation import RelationVerdict
from pytest_fairmedagent.verdict.result import UNMEASURED, Verdict

KEY = "lifetime"


def kept(plan: Plan, verdict: Verdict | RelationVerdict, table: ReplicateTable) -> dict[str, Any]:
    """Return the counts that one run adds to the life of a contrast, as plain JSON.

    Under `lifetime`: the `gap` (in the outcome's units), `floor` and p before adjustment; `k` of
    `m` answers of the swap and `j` of `n` of the reference for each case, as the run's own test
    counted them; `base` and `shams`, the answers of reference and shams for each case. A number
    stands for a list of equal ones. Scores, and plans that look before their end, have `b` and `c`,
    the pairs in order of arrival with a higher answer under the swap or the reference. Empty for
    sets and for relations of the user's own, and where the arms have no pair.
    """
    if isinstance(verdict, RelationVerdict) or not verdict.comparison.weight:
        return {}
    comparison = verdict.comparison
    if not isinstance(comparison, (Comparison, ScoreComparison)):
        return {}
    told: dict[str, Any] = {
        "gap": round(float(comparison.gap), 6),
        "floor": round(float(comparison.floor), 6) if comparison.measured else None,
        "p": float(f"{comparison.p:.6g}"),
        "measured": verdict.status != UNMEASURED,
    }
    seen = table.first(verdict.look)
    if isinstance(comparison, Comparison) and plan.sequential == OFF:
        test = comparison.test
        told |= {
            "k": _short(test.k_swap.tolist()),
            "m": _short(test.m_swap.tolist()),
            "j": _short(test.k_ref.tolist()),
            "n": _short(test.n_ref.tolist()),
            "cases": int(test.k_swap.size),
        }
    else:
        told |= _pairs(seen, verdict, plan.reference)
    if isinstance(comparison, Comparison):
        told |= _shams(seen, verdict, plan)
    return {KEY: told}


def _pairs(table: ReplicateTable, verdict: Verdict, reference: str) -> dict[str, int]:
    """Return the discordant pairs; replicate r of one arm is paired with r of the other."""
    comparison, contrast = verdict.comparison, verdict.contrast
    vignettes = comparison.vignettes
    if comparison.deterministic:  # equal answers of one case are one answer
        vignettes = tuple(vignettes[place] for place in comparison.swap.firsts)
    b = c = 0
    for vignette in vignettes:
        swap = table.labels(vignette, contrast.swap, contrast.action)
        base = table.labels(vignette, reference, contrast.action)
        pairs = list(zip(swap, base, strict=False))[: 1 if comparison.deterministic else None]
        for x, y in pairs:
            if x is not None and y is not None:
                b, c = b + (x > y), c + (x < y)
    return {"b": b, "c": c}


def _shams(table: ReplicateTable, verdict: Verdict, plan: Plan) -> dict[str, Any]:
    """Return the answers of the reference and of every sham; nothing where no sham was drawn."""
    vignettes, action = verdict.comparison.vignettes, verdict.contrast.action
    drawn = [sham for sham in plan.shams if table.has(vignettes, sham)]
    if not drawn:
        return {}
    arms = [table.counts(vignettes, name, action) for name in (plan.reference, *drawn)]
    base, *shams = [{"k": _short(arm.k), "n": _short(arm.n)} for arm in arms]
    told: dict[str, Any] = {"base": base, "shams": shams, "size": len(vignettes)}
    clusters = verdict.comparison.swap.clusters
    if len(set(clusters)) < len(clusters):
        seat = {name: place for place, name in enumerate(dict.fromkeys(clusters))}
        told["case"] = [seat[name] for name in clusters]
    return told


def _short(counts: Sequence[int]) -> list[int] | int:
    values = [int(count) for count in counts]
    return values[0] if len(set(values)) == 1 else values
