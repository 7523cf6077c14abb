"""Pure values: cases, conditions, trajectories, outcomes, plans and the replicate table."""

from pytest_fairmedagent.domain.band import Adjudicator, Band
from pytest_fairmedagent.domain.condition import KINDS, Case, Catalogue, Condition, render
from pytest_fairmedagent.domain.confounding import Confounded, confounded
from pytest_fairmedagent.domain.outcome import ACTIONS, OUTCOMES, Outcome
from pytest_fairmedagent.domain.plan import Arm, Contrast, Family, Plan
from pytest_fairmedagent.domain.table import Counts, ReplicateTable
from pytest_fairmedagent.domain.trajectory import Trajectory, Trial
from pytest_fairmedagent.domain.variants import n_variants, variants
from pytest_fairmedagent.domain.vignette import (
    DIFFICULTIES,
    DOMAINS,
    SETTINGS,
    Confounder,
    Guideline,
    Order,
    Pool,
    ReferenceOrders,
    Silence,
    Vignette,
)

__all__ = [
    "ACTIONS",
    "DIFFICULTIES",
    "DOMAINS",
    "KINDS",
    "OUTCOMES",
    "SETTINGS",
    "Adjudicator",
    "Arm",
    "Band",
    "Case",
    "Catalogue",
    "Condition",
    "Confounded",
    "Confounder",
    "Contrast",
    "Counts",
    "Family",
    "Guideline",
    "Order",
    "Outcome",
    "Plan",
    "Pool",
    "ReferenceOrders",
    "ReplicateTable",
    "Silence",
    "Trajectory",
    "Trial",
    "Vignette",
    "confounded",
    "n_variants",
    "render",
    "variants",
]
