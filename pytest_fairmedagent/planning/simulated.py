"""A design tried out on simulated agents, by the rule as it decides."""

from __future__ import annotations

from pytest_fairmedagent.errors import PlanError
from pytest_fairmedagent.planning.designs import Design
from pytest_fairmedagent.planning.gate import Aim, Gate
from pytest_fairmedagent.relations.certify import KINDS
from pytest_fairmedagent.stats import Operating, simulate_plan


def simulated(design: Design, gate: Gate, aim: Aim, *, n_datasets: int, seed: int = 0) -> Operating:
    """Return how often simulated swaps of a design are found, or contrasts shown equivalent.

    For one swap with its actions at its share of the family's level, which what is inherited never
    falls short of. With a margin nothing differs. Raises PlanError for a floor or gap that no agent
    can have.
    """
    try:
        return simulate_plan(
            gate.floor,
            design.n_vignettes,
            design.replicates,
            gap=aim.gap or 0.0,
            margin=aim.margin,
            alpha=gate.alpha,
            n_members=gate.n_members,
            n_actions=gate.n_actions,
            every=aim.every,
            ratio=1 if gate.sequential == "e" else round(gate.ratio),
            rule=KINDS[gate.sequential],
            n_datasets=n_datasets,
            rng=seed,
        )
    except ValueError as error:
        raise PlanError(f"--simulate: no agent can be like that: {error}") from error
