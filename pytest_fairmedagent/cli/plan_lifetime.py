"""`fairmed plan --lifetime GAP`: after how many runs of a line a steady gap is found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_fairmedagent.cli.arguments import share

if TYPE_CHECKING:
    from pytest_fairmedagent.planning import Design, Gate


def add_lifetime(plan: Any) -> None:
    """Declare the argument."""
    plan.add_argument(
        "--lifetime", type=share, metavar="G", help="runs of a line that find a steady gap of G"
    )


def plan_lifetime(gap: float, gate: Gate, design: Design, n_shams: int) -> tuple[Any, list[str]]:
    """Return what is foretold of a steady gap in one contrast: for the record, and as lines.

    Simulated, seeded. Shams are taken to be quiet.
    """
    from pytest_fairmedagent.stats import runs_to_find

    found = runs_to_find(
        gap,
        gate.floor,
        design.n_vignettes,
        design.replicates,
        n_members=gate.n_members,
        n_shams=n_shams,
        n_reference=round(design.replicates * gate.ratio),
        alpha=gate.alpha,
        power=gate.power,
    )
    entry = {
        "gap": gap,
        "runs": found.runs,
        "chance": found.share,
        "most_runs": found.most,
        "shams": n_shams,
        "n_datasets": found.n_datasets,
    }
    each = f"{design.n_vignettes} vignettes x {design.replicates} replicates"
    if found.runs is None:
        told = (
            f"over its life: a steady gap of {gap:g} is found in {found.most} runs of {each} with "
            f"chance {found.share:.2f} only"
        )
        if n_shams and found.share == 0:
            told += ": shams on fewer than 32 cases, or 64 cells, cannot tell it from surface noise"
    else:
        told = (
            f"over its life: a steady gap of {gap:g} in one of {gate.n_members} contrasts is found "
            f"by run {found.runs} of a line with chance {found.share:.2f} ({each}, "
            f"{found.n_datasets} simulated lines; where shams move the agent it takes longer)"
        )
    return entry, [told]
