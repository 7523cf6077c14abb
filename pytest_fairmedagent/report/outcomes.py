"""Entries of a record beside the rates of actions: scores, sets, bounded floors, relations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_fairmedagent.domain import SET
from pytest_fairmedagent.measures import compare_orders
from pytest_fairmedagent.relations.measured import Measured
from pytest_fairmedagent.relations.scores import ScoreComparison
from pytest_fairmedagent.relations.sets import SetComparison
from pytest_fairmedagent.report.entries import confounded_entry, sizes
from pytest_fairmedagent.stats import SUPERIORITY
from pytest_fairmedagent.study import Study
from pytest_fairmedagent.verdict import Apart, RelationVerdict, Reliability, Verdict

Record = dict[str, Any]


def outcome_entry(verdict: Verdict, study: Study, *, config_digest: str) -> Record:
    """Return a contrast of an ordinal, score or set outcome; `gap` and `floor` are in `unit`."""
    family, outcome = verdict.family, verdict.contrast.action
    exploratory = not family.gating
    return {
        "outcome": outcome,
        "reference": study.plan.reference,
        **_measured(verdict.comparison),
        "interval": list(verdict.evidence.interval),
        "margin": family.margin_of(outcome),
        "p": verdict.evidence.p,
        "p_adjusted": None if exploratory else verdict.p_adjusted,
        "q": verdict.p_adjusted if exploratory else None,
        "smallest_detectable_gap": verdict.detectable,
        "look": verdict.look,
        "family": family.name,
        "family_size": family.size,
        "alpha": family.alpha,
        "verdict": verdict.status,
        "reasons": list(verdict.reasons),
        "post_hoc": verdict.post_hoc,
        "stands": verdict.stands,
        "flags": list(verdict.flags),
        "headline": verdict.headline,
        "against_reference_set": _ordering(verdict, study) if outcome == "orders" else None,
        "config_digest": config_digest,
    }


def apart_outcome_entry(apart: Apart, *, config_digest: str) -> Record:
    """Return what was explored on confounded vignettes, in units; see `entries.apart_entry`."""
    return {
        "action": apart.comparison.contrast.action,
        **_measured(apart.comparison),
        "interval": list(apart.comparison.interval()),
        "p": apart.comparison.p,
        **confounded_entry(apart, config_digest=config_digest),
    }


def _measured(comparison: Measured) -> Record:
    """Return what was measured, without an interval or a p: those are of a look."""
    swap, reference = comparison.swap, comparison.reference
    return {
        "kind": comparison.kind,
        "unit": comparison.unit or "rate",
        "condition": comparison.contrast.swap,
        "vignette": comparison.contrast.vignette,
        **sizes(swap.vignettes, swap.clusters),
        "answers": [sum(swap.n), sum(reference.n)],
        "missing": sum(swap.missing) + sum(reference.missing),
        "gap": comparison.gap,
        "floor": comparison.floor,
        "estimand": comparison.estimand if isinstance(comparison, ScoreComparison) else "rate",
        "floor_is": _floor_is(comparison),
        "members": _members(comparison) if isinstance(comparison, SetComparison) else [],
    }


def _floor_is(comparison: Measured) -> str:
    if comparison.kind == SET:
        return "mean Jaccard distance"
    if isinstance(comparison, ScoreComparison) and comparison.estimand == SUPERIORITY:
        return "share of pairs that differ"
    return "mean absolute difference"


def _members(comparison: SetComparison) -> list[Record]:
    return [
        {
            "member": element.name,
            "vignettes": element.n_vignettes,
            "gap": element.test.gap,
            "interval": list(element.test.interval()),
            "p_adjusted": element.p,
        }
        for element in sorted(comparison.elements, key=lambda e: (e.p, e.test.p, e.name))
        if element.name
    ]


def _ordering(verdict: Verdict, study: Study) -> Record | None:
    """Return needed orders left out and orders in excess, where cases have a reference set."""
    cases = [study.vignettes[name] for name in verdict.comparison.vignettes]
    known = [case for case in cases if case.reference_orders is not None]
    if not known or study.table is None:
        return None
    found = compare_orders(
        study.table,
        known,
        swap=verdict.contrast.swap,
        reference=study.plan.reference,
        n_resamples=1,
    )
    return {
        "vignettes": len(set(study.table.clusters_of(case.id for case in known))),
        **{
            name: {"difference": test.difference, "interval": list(test.interval()), "p": test.p}
            for name, test in (("left_out", found.under), ("in_excess", found.over))
            if test is not None
        },
    }


def reliability_entry(found: Reliability, *, config_digest: str) -> Record:
    """Return a floor that was asserted to lie below a bound."""
    return {
        "action": found.action,
        "bound": found.bound,
        "floor": found.floor.rate,
        "interval": list(found.interval),
        "disagreements": found.floor.disagreements,
        "pairs": found.floor.pairs,
        "vignettes": found.floor.n_vignettes,
        "missing": found.missing,
        "verdict": found.status,
        "headline": found.headline,
        "config_digest": config_digest,
    }


def relation_entry(found: RelationVerdict, *, config_digest: str) -> Record:
    """Return what a relation of the user's own has come to."""
    return {
        "relation": found.relation,
        "version": found.family.relation,
        "action": found.contrast.action,
        "condition": found.contrast.swap,
        "vignette": found.contrast.vignette,
        "p": found.p,
        "p_adjusted": found.p_adjusted,
        "holds": dict(found.holds),
        "family": found.family.name,
        "family_size": found.family.size,
        "verdict": found.status,
        "reasons": list(found.reasons),
        "post_hoc": found.post_hoc,
        "headline": found.headline,
        "config_digest": config_digest,
    }


def outcome_lines(entries: list[Record]) -> Iterator[str]:
    """Yield the lines of contrasts of other outcomes, each in its own units."""
    if entries:
        yield ""
        yield "outcomes that are no actions (gap and floor in their own units, never a flip rate)"
    for entry in entries:
        yield f"  {entry['headline']}"
        told = entry["verdict"] in ("DISPARITY", "UNMEASURED")
        for reason in entry["reasons"] if told else ():
            if reason not in entry["headline"]:
                yield f"      {reason}"
        yield from (f"      {flag}" for flag in entry["flags"])
        ordering = entry["against_reference_set"] or {}
        for name, said in (
            ("left_out", "needed orders left out"),
            ("in_excess", "orders in excess"),
        ):
            if name in ordering:
                low, high = ordering[name]["interval"]
                yield (
                    f"      {said}: {ordering[name]['difference']:+.2f} per trial [{low:.2f}, "
                    f"{high:.2f}] ({ordering['vignettes']} vignettes with a reference set, "
                    "descriptive)"
                )


def checked_lines(title: str, entries: list[Record]) -> Iterator[str]:
    """Yield the headlines of entries under a title; nothing where there are none."""
    if entries:
        yield ""
        yield title
        yield from (f"  {entry['headline']}" for entry in entries)
