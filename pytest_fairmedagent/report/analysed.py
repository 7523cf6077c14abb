"""The record of an analysis of files, as plain JSON: the keys of a run's record, and more."""

from __future__ import annotations

from typing import Any

from pytest_fairmedagent import __version__
from pytest_fairmedagent.analysis import Analysis, ControlArm, FileAnalysis
from pytest_fairmedagent.analysis.models import BaseArm, Spread
from pytest_fairmedagent.report.record import (
    SCHEMA,
    arm_entry,
    comparison_entry,
    contrast_entry,
    plain,
)
from pytest_fairmedagent.report.wholes import whole_entry
from pytest_fairmedagent.verdict import SEVERITY


def analysis_record(analysis: Analysis) -> dict[str, Any]:
    """Return the record of an analysis."""
    files = analysis.files
    contrasts = [entry for file in files for entry in _contrasts(file)]
    statuses = [contrast["verdict"] for contrast in contrasts]
    record: dict[str, Any] = {
        "schema": SCHEMA,
        "generator": f"pytest-fairmedagent {__version__}",
        "files": [
            {
                "file": str(file.path),
                "model": file.model,
                "trajectories": file.n_rows,
                "reference": file.reference,
                "configurations": file.configurations,
                "declared": file.declared_configuration,
            }
            for file in files
        ],
        "actions": analysis.actions,
        "plan": analysis.plan,
        "seed": analysis.seed,
        "families": [family for file in files for family in _families(file)],
        "arms": [
            {
                **arm_entry(
                    arm.floors,
                    model=file.model,
                    config_digest=arm.config_digest,
                    file=str(file.path),
                    block=arm.block,
                ),
                "named": arm.named,
                "kind": arm.kind,
                "replicates": list(arm.floors.replicates),
                "resamples": arm.floors.n_resamples,
                "spread": _spread(arm.spread),
            }
            for file in files
            for arm in file.arms
        ],
        "swaps": [entry for file in files for entry in _wholes(file)],
        "contrasts": contrasts,
        "controls": [
            entry for file in files for arm in file.controls for entry in _control(file, arm)
        ],
        "diagnostics": [
            {
                "kind": found.kind,
                "file": str(file.path),
                "block": found.block,
                "condition": found.condition,
                "text": found.text,
                **found.numbers,
            }
            for file in files
            for found in file.diagnostics
        ],
        "differences": [
            {
                **_pair(found.a, found.b),
                "action": found.action,
                "floor_a": found.difference.rate_a,
                "floor_b": found.difference.rate_b,
                "difference": found.difference.difference,
                "interval_percentile": list(found.difference.interval),
                "vignettes": found.difference.n_vignettes,
            }
            for found in analysis.differences
        ],
        "agreements": [
            {
                **_pair(found.a, found.b),
                "spearman": found.spearman.rho,
                "p": found.spearman.p,
                "actions": found.spearman.n,
            }
            for found in analysis.agreements
        ],
        "verdicts": {status: statuses.count(status) for status in SEVERITY},
    }
    cleaned: dict[str, Any] = plain(record)
    return cleaned


def _spread(spread: Spread | None) -> dict[str, Any] | None:
    if spread is None:
        return None
    return {
        "highest": spread.highest,
        "lowest": spread.lowest,
        "difference": spread.difference.difference,
        "interval_percentile": list(spread.difference.interval),
    }


def _contrasts(file: FileAnalysis) -> list[dict[str, Any]]:
    return [
        {
            **contrast_entry(
                found.verdict,
                config_digest=found.config_digest,
                reference=found.reference,
                file=str(file.path),
                block=found.block,
            ),
            "registered": found.registered,
        }
        for found in file.contrasts
    ]


def _wholes(file: FileAnalysis) -> list[dict[str, Any]]:
    return [
        whole_entry(
            found.verdict,
            config_digest=found.config_digest,
            reference=found.reference,
            file=str(file.path),
            block=found.block,
        )
        for found in file.swaps
    ]


def _control(file: FileAnalysis, arm: ControlArm) -> list[dict[str, Any]]:
    return [
        {
            "file": str(file.path),
            "block": arm.block,
            "reference": arm.reference,
            "kind": arm.kind,
            **comparison_entry(comparison),
            "config_digest": arm.config_digest,
        }
        for comparison in arm.comparisons
    ]


def _families(file: FileAnalysis) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for contrast in file.contrasts:
        family = contrast.verdict.family
        entry = found.setdefault(
            family.name,
            {
                "file": str(file.path),
                "name": family.name,
                "size": family.size,
                "judged": 0,
                "alpha": family.alpha,
                "margin": family.margin,
                "gating": family.gating,
                "registered": contrast.registered,
            },
        )
        entry["judged"] += 1
    return list(found.values())


def _pair(a: BaseArm, b: BaseArm) -> dict[str, Any]:
    return {
        "file_a": a.file,
        "file_b": b.file,
        "model_a": a.model,
        "model_b": b.model,
        "block_a": a.block,
        "block_b": b.block,
        "condition_a": a.arm.condition,
        "condition_b": b.arm.condition,
    }
