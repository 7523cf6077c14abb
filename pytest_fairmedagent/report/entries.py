"""The entries of arms and contrasts, alike in the records of runs and of analyses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pytest_fairmedagent.analysis.floors import ArmFloors
from pytest_fairmedagent.relations.invariance import Comparison
from pytest_fairmedagent.relations.measured import Measured
from pytest_fairmedagent.relations.needs import at_look
from pytest_fairmedagent.stats import Floor, PooledFloor
from pytest_fairmedagent.verdict import Apart, Verdict


def of_run(record: Mapping[str, Any], part: str, run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the entries of a part of a record that are of one of its runs.

    Two runs may have one configuration: folders whose fixtures name the same version of an agent.
    """
    number, digest = run.get("number"), run["config_digest"]
    return [e for e in record[part] if e["config_digest"] == digest and e.get("run") == number]


def arm_entry(
    arm: ArmFloors,
    *,
    model: str,
    config_digest: str,
    file: str | None = None,
    block: str | None = None,
) -> dict[str, Any]:
    """Return the floors of one arm as records of runs and of analyses have them."""
    return {
        "file": file,
        "model": model,
        "block": block,
        "condition": arm.condition,
        "config_digest": config_digest,
        **sizes(arm.vignettes, arm.counts[0].clusters if arm.counts else ()),
        "trajectories": arm.n_trajectories,
        "incomplete": arm.n_incomplete,
        "pooled": {
            **_floor(arm.pooled),
            "interval_percentile": _ends(arm.percentile_pooled),
            **{f"vote{size}": rate for size, rate in arm.votes_pooled.items()},
        },
        "actions": {
            action: {
                **_floor(arm.floors[index]),
                "interval_percentile": _ends(arm.percentile[index]),
                **{f"vote{size}": rates[index] for size, rates in arm.votes.items()},
                "rate": arm.rate(index),
                "normalised": arm.normalised[index],
                "missing": sum(arm.counts[index].missing),
            }
            for index, action in enumerate(arm.actions)
        },
    }


def _floor(floor: Floor | PooledFloor) -> dict[str, Any]:
    low, high = floor.interval()
    return {
        "disagreements": floor.disagreements,
        "pairs": floor.pairs,
        "floor": floor.rate,
        "interval": [low, high],
    }


def _ends(interval: tuple[float, float]) -> list[float] | None:
    """Return the ends of an interval; None where there was nothing to resample."""
    return None if math.isnan(interval[0]) else list(interval)


def contrast_entry(
    verdict: Verdict,
    *,
    config_digest: str,
    reference: str = "reference",
    file: str | None = None,
    block: str | None = None,
) -> dict[str, Any]:
    """Return a contrast as records of runs and of analyses have it."""
    family, exploratory = verdict.family, not verdict.family.gating
    comparison, needed = _rates(verdict.comparison), verdict.needs
    return {
        "file": file,
        "block": block,
        "reference": reference,
        **comparison_entry(comparison),
        "interval": list(verdict.evidence.interval),
        "p": verdict.evidence.p,
        "look": verdict.look,
        "noise": _noise(comparison, verdict),
        "margin": family.margin,
        "p_adjusted": None if exploratory else verdict.p_adjusted,
        "q": verdict.p_adjusted if exploratory else None,
        "smallest_detectable_gap": verdict.detectable,
        "gap_sought": verdict.gap_sought,
        "replicates_to_find": None if needed is None else needed.find,
        "replicates_to_rule_out": None if needed is None else needed.rule_out,
        "family": family.name,
        "family_size": family.size,
        "alpha": family.alpha,
        "flags": list(verdict.flags),
        "config_digest": config_digest,
        "verdict": verdict.status,
        "reasons": list(verdict.reasons),
        "headline": verdict.headline,
        "post_hoc": verdict.post_hoc,
        "stands": verdict.stands,
    }


def apart_entry(apart: Apart, *, config_digest: str) -> dict[str, Any]:
    """Return what was explored on confounded vignettes, as records of runs have it."""
    return {
        **comparison_entry(_rates(apart.comparison)),
        **confounded_entry(apart, config_digest=config_digest),
    }


def confounded_entry(apart: Apart, *, config_digest: str) -> dict[str, Any]:
    """Return why a comparison stands apart, whatever the kind of its outcome."""
    return {
        "label": "CONFOUNDED",
        "family": apart.family,
        "q": apart.q,
        "direction": apart.direction,
        "opposite": None if apart.opposite is None else asdict(apart.opposite),
        "opposed": apart.opposed,
        "entries": [asdict(entry) for entry in apart.confounded.entries],
        "config_digest": config_digest,
    }


def _rates(comparison: Measured) -> Comparison:
    """Return a comparison of rates; one of scores or sets has an entry of another form."""
    if not isinstance(comparison, Comparison):
        raise TypeError(f"{comparison.contrast.action} is no action: see report/outcomes.py")
    return comparison


def comparison_entry(comparison: Comparison) -> dict[str, Any]:
    """Return what was measured of a condition against its reference, without a verdict."""
    test = comparison.test
    return {
        "condition": comparison.contrast.swap,
        "action": comparison.contrast.action,
        "vignette": comparison.contrast.vignette,
        "target": "these vignettes",
        **sizes(comparison.swap.vignettes, comparison.swap.clusters),
        "pairs": test.n_pairs,
        "b": test.b,
        "c": test.c,
        "flip_rate": test.flip_rate,
        "floor": comparison.floor,
        "gap": test.gap,
        "interval": list(test.interval()),
        "p": test.p,
        "p_attainable": test.p_attainable,
        "excess": comparison.excess.mean if comparison.measured else None,
        "deterministic": comparison.deterministic,
        "missing": sum(comparison.swap.missing) + sum(comparison.reference.missing),
        "cases": case_entries(comparison),
    }


def sizes(vignettes: Sequence[str], clusters: Sequence[str]) -> dict[str, int]:
    """Return how many vignettes there are, and in how many variants where they have some."""
    n_vignettes = len(set(clusters or vignettes))
    several = n_vignettes < len(vignettes)
    return {"vignettes": n_vignettes, **({"variants": len(vignettes)} if several else {})}


def case_entries(comparison: Comparison) -> list[dict[str, Any]]:
    """Return positives and answers of both arms, per vignette, as they were counted."""
    swap, reference = comparison.swap, comparison.reference
    return [
        {"vignette": vignette, "swap": [k, m], "reference": [j, n]}
        for vignette, k, m, j, n in zip(
            swap.vignettes, swap.k, swap.n, reference.k, reference.n, strict=True
        )
    ]


def _noise(comparison: Comparison, verdict: Verdict) -> float | None:
    """Return half the width of the band of gaps that the floor lets chance bring about, in 0..1.

    It is the smallest gap that names the action by the family's rule, as plans have it: a gap of
    this size is found with power .5.
    """
    if not comparison.measured or not comparison.test.weight:
        return None
    return comparison.detectable(at_look(verdict.rule, verdict.family.alpha), 0.5)
