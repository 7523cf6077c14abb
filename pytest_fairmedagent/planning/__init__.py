"""Planning a run before it is paid for: what it can see, what it takes, what a budget can buy.

The formulas are those of `stats.planning`, the rules of looking those that verdicts are made with.
"""

from pytest_fairmedagent.planning.designs import Budgeted, Design, cheapest, designs_for, in_budget
from pytest_fairmedagent.planning.floors import PlanningFloor, assumed, measured
from pytest_fairmedagent.planning.gate import Aim, Gate
from pytest_fairmedagent.planning.simulated import simulated
from pytest_fairmedagent.planning.trial import TrialCost, trial_cost

__all__ = [
    "Aim",
    "Budgeted",
    "Design",
    "Gate",
    "PlanningFloor",
    "TrialCost",
    "assumed",
    "cheapest",
    "designs_for",
    "in_budget",
    "measured",
    "simulated",
    "trial_cost",
]
