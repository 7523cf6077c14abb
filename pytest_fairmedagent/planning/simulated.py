"""A design tried out on simulated agents, where formulas are rough or there are none."""

from __future__ import annotations

from pytest_fairmedagent.errors import PlanError
from pytest_fairmedagent.planning.designs import Design
from pytest_fairmedagent.planning.gate import Aim, Gate
from pytest_fairmedagent.relations.evidence import GS, OFF, E, looks_of
from pytest_fairmedagent.stats import Operating, simulate_plan

_RULES = {OFF: "fixed", GS: "obrien_fleming", E: "e_process"}


def simulated(design: Design, gate: Gate, aim: Aim, *, n_datasets: int, seed: int = 0) -> Operating:
    """Return how often simulated contrasts of a design find the gap, or are shown equivalent.

    For one contrast at its share of the family's level (Bonferroni, which Holm never falls short
    of). With a margin nothing differs. Raises PlanError for a floor or gap that no agent can have.
    """
    looks = looks_of(GS, design.replicates) if gate.sequential == GS else None
    try:
        return simulate_plan(
            gate.floor,
            design.n_vignettes,
            design.replicates,
            gap=aim.gap or 0.0,
            margin=aim.margin,
            alpha=gate.alpha,
            n_members=gate.n_members,
            rule=_RULES[gate.sequential],
            looks=looks,
            n_datasets=n_datasets,
            rng=seed,
        )
    except ValueError as error:
        raise PlanError(f"--simulate: no agent can be like that: {error}") from error
