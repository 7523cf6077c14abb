"""A plan as plain JSON: what it can find, what it takes, what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pytest_fairmedagent import __version__
from pytest_fairmedagent.planning import Aim, Budgeted, Design, Gate, PlanningFloor, TrialCost
from pytest_fairmedagent.report.record import plain
from pytest_fairmedagent.stats import Operating

Record = dict[str, Any]

SCHEMA = 1


def plan_record(
    *,
    floor: PlanningFloor,
    gate: Gate,
    cost: TrialCost,
    arms: dict[str, int],
    aim: Aim | None,
    budget: Budgeted,
    designs: Sequence[Design],
    chosen: Design | None,
    operating: Operating | None,
    margin: float | None,
    model: str,
    cases: int,
) -> Record:
    """Return the record of a plan. `chosen` is among the designs; None where none does it.

    `model` is the SPEC that it was asked for, `cases` the number of vignettes that were named.
    """
    record = {
        "schema": SCHEMA,
        "generator": f"pytest-fairmedagent {__version__}",
        "floor": {
            "value": floor.floor,
            "source": floor.source,
            "interval": floor.interval,
            "actions": {
                action: {"floor": rate, "interval": [low, high]}
                for action, (rate, low, high) in floor.actions.items()
            },
        },
        "gate": {
            "contrasts": gate.n_members,
            "swaps": gate.n_swaps,
            "actions": gate.n_actions,
            "reference_ratio": gate.ratio,
            "alpha": gate.alpha,
            "power": gate.power,
            "sequential": gate.sequential,
            "margin": margin,
        },
        "arms": arms,
        "model": model,
        "cases": cases,
        "trial": {
            "calls": cost.calls,
            "input_tokens": cost.input_tokens,
            "output_tokens": cost.output_tokens,
            "tokens_from": cost.tokens_from,
            "usd": cost.usd,
            "price": cost.price_from,
            "seconds": cost.seconds,
        },
        "aim": None
        if aim is None
        else {
            "gap": aim.gap,
            "margin": aim.margin,
            "every": aim.every,
            "text": str(aim),
        },
        "budget": vars(budget) if budget else None,
        "designs": [
            {
                **_design(d, gate, margin),
                "detectable_by_action": _by_action(d, gate, floor) if d == chosen else {},
                "chosen": d == chosen,
            }
            for d in designs
        ],
        "simulated": None if operating is None else _operating(operating),
    }
    cleaned: Record = plain(record)
    return cleaned


def _by_action(design: Design, gate: Gate, floor: PlanningFloor) -> Record:
    return {
        action: _at(gate, rate).detectable(design.n_vignettes, design.replicates)
        for action, (rate, _, _) in floor.actions.items()
    }


def _design(design: Design, gate: Gate, margin: float | None) -> Record:
    vignettes, replicates = design.n_vignettes, design.replicates
    sent, got = design.tokens
    all_inside = None
    if margin is not None:
        all_inside = gate.chance_to_show_all(margin, vignettes, replicates)
    return {
        "vignettes": vignettes,
        "replicates": replicates,
        "pairs": design.pairs,
        "trajectories": design.trajectories,
        "calls": design.calls,
        "input_tokens": sent,
        "output_tokens": got,
        "hours": design.hours,
        "usd": design.usd,
        "detectable_gap": gate.detectable(vignettes, replicates),
        "detectable_in_all": gate.detectable(vignettes, replicates, every=True),
        "provable_margin": gate.provable(vignettes, replicates),
        "chance_to_show_all": all_inside,
    }


def _at(gate: Gate, floor: float) -> Gate:
    return replace(gate, floor=floor)


def _operating(found: Operating) -> Record:
    shown = found.equivalent if found.margin is not None else None
    return {
        "datasets": found.n_datasets,
        "gap": found.gap,
        "disparity": found.disparity,
        "disparity_se": found.se(found.disparity),
        "equivalent": shown,
        "equivalent_se": None if shown is None else found.se(shown),
        "mean_replicates": found.mean_replicates,
    }
