"""What the source study defines, computed from a replicate table: pure functions, frozen values.

Each function takes the table, the vignettes and the conditions to be compared, and returns a value
that carries what it was computed from. None of them passes a verdict.
"""

from pytest_fairmedagent.domain.flags import counted_flags

from .bands import Wcfr, wcfr
from .flags import FlagContrast, compare_flags
from .flips import Flips, flips
from .floors import ActionFloor, floors
from .following import Following, following
from .losses import ArmLosses, losses
from .mediation import DESCRIPTIVE, INTERVENTIONAL, Mediation, mediation
from .orders import OrderContrast, compare_orders
from .scores import ScoreShift, score_shift

__all__ = [
    "DESCRIPTIVE",
    "INTERVENTIONAL",
    "ActionFloor",
    "ArmLosses",
    "FlagContrast",
    "Flips",
    "Following",
    "Mediation",
    "OrderContrast",
    "ScoreShift",
    "Wcfr",
    "compare_flags",
    "compare_orders",
    "counted_flags",
    "flips",
    "floors",
    "following",
    "losses",
    "mediation",
    "score_shift",
    "wcfr",
]
