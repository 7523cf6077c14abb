"""Pure values: cases, conditions, trajectories, outcomes, plans and the replicate table."""

from pytest_fairmedagent.domain.condition import KINDS, Case, Catalogue, Condition, render
from pytest_fairmedagent.domain.outcome import ACTIONS, Outcome
from pytest_fairmedagent.domain.plan import Arm, Contrast, Family, Plan
from pytest_fairmedagent.domain.table import Counts, ReplicateTable
from pytest_fairmedagent.domain.trajectory import Trajectory, Trial
from pytest_fairmedagent.domain.vignette import DIFFICULTIES, DOMAINS, Order, Vignette

__all__ = [
    "ACTIONS",
    "DIFFICULTIES",
    "DOMAINS",
    "KINDS",
    "Arm",
    "Case",
    "Catalogue",
    "Condition",
    "Contrast",
    "Counts",
    "Family",
    "Order",
    "Outcome",
    "Plan",
    "ReplicateTable",
    "Trajectory",
    "Trial",
    "Vignette",
    "render",
]
