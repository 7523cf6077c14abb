"""Hypothesis strategies for tests of your own: cases, conditions, trajectories, replicate tables.

Every value is valid by construction, so nothing is filtered away and a failing example shrinks to
the shortest case, the fewest replicates and the answer "no". Sizes are (fewest, most).
"""

from pytest_fairmedagent.strategies.cases import cases, catalogues, conditions, menus, vignettes
from pytest_fairmedagent.strategies.runs import counts, replicate_tables, trajectories

__all__ = [
    "cases",
    "catalogues",
    "conditions",
    "counts",
    "menus",
    "replicate_tables",
    "trajectories",
    "vignettes",
]
