"""Pure values: cases, conditions, trajectories, outcomes, plans and the replicate table."""

from pytest_fairmedagent.domain.band import Adjudicator, Band
from pytest_fairmedagent.domain.condition import (
    KINDS,
    PATIENT_LINE,
    Case,
    Catalogue,
    Condition,
    render,
)
from pytest_fairmedagent.domain.confounding import EITHER, FEWER, MORE, Confounded, confounded
from pytest_fairmedagent.domain.counts import Counts, Readings
from pytest_fairmedagent.domain.outcome import (
    ACTIONS,
    BINARY,
    ORDINAL,
    OUTCOME_KINDS,
    OUTCOMES,
    SCORE,
    SET,
    Outcome,
)
from pytest_fairmedagent.domain.own import Labels, Relation, Swap
from pytest_fairmedagent.domain.plan import Arm, Contrast, Family, Plan
from pytest_fairmedagent.domain.table import ReplicateTable
from pytest_fairmedagent.domain.trajectory import Trajectory, Trial, frozen
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
    "BINARY",
    "DIFFICULTIES",
    "DOMAINS",
    "EITHER",
    "FEWER",
    "KINDS",
    "MORE",
    "ORDINAL",
    "OUTCOMES",
    "OUTCOME_KINDS",
    "PATIENT_LINE",
    "SCORE",
    "SET",
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
    "Labels",
    "Order",
    "Outcome",
    "Plan",
    "Pool",
    "Readings",
    "ReferenceOrders",
    "Relation",
    "ReplicateTable",
    "Silence",
    "Swap",
    "Trajectory",
    "Trial",
    "Vignette",
    "confounded",
    "frozen",
    "n_variants",
    "render",
    "variants",
]
