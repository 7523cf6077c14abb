"""Statistics of repeated decisions: counts and arrays in, values that explain themselves out.

Knows no vignette files, agents or pytest. Importing it loads numpy only; scipy waits inside the
functions that need it.
"""

from .agreement import Kappa, NormalisedFloor, kappa, kappa_of, normalised_floor
from .arms import ArityMatched, arity_matched
from .bootstrap import (
    FloorDifference,
    LeaveOneOut,
    PercentileIntervals,
    floor_difference,
    leave_one_out,
    percentile_interval,
    percentile_intervals,
)
from .change import FloorChange, floor_change, floor_change_test, gap_change_test
from .controls import ShamGuard, guard_rejections, missingness_test, sham_guard, worst_case
from .equivalence import Equivalence, Futility, futility, tost
from .exact import StratifiedTest, stratified_test
from .excess import Excess, excess, excess_test, excess_test_fraction
from .floor import Floor, PooledFloor, floor, pooled_floor, zero_floor_upper
from .lifetime import (
    close_over_means,
    guarded_e,
    lifetime_e,
    moved_by_sham,
    rounds_evidence,
    run_evidence,
    sampling_variance,
    surface_share,
)
from .lifetime_plan import RunsToFind, runs_to_find
from .looks import GroupSequential, group_sequential, spending_levels
from .multiplicity import benjamini_hochberg, e_bh, holm, tarone_holm
from .odds import OddsRatio, odds_ratio
from .operating import Operating, logit_shift, rate_law, simulate_plan
from .planning import (
    Design,
    cheapest_design,
    effective_pairs,
    pairs_for_gap,
    pairs_to_certify,
    power_of_gap,
    power_to_certify,
    smallest_detectable_gap,
)
from .rank import Spearman, spearman
from .scores import ScoreTest, stratified_wilcoxon
from .sequential import (
    EProcess,
    confidence_sequence,
    e_process,
    e_value,
    margin_e_values,
    smallest_detectable_gap_e,
)
from .serial import (
    FirstDraw,
    RunsTest,
    collapse_unanimous,
    first_draw_effect,
    runs_test,
)
from .sets import ElementTest, SetContrast, set_contrast
from .signflip import SignFlip, sign_flip_test, standardised_differences
from .votes import VoteFloor, pass_hat_k, rarefied_flags, vote_cell, vote_floor

__all__ = [
    "ArityMatched",
    "Design",
    "EProcess",
    "ElementTest",
    "Equivalence",
    "Excess",
    "FirstDraw",
    "Floor",
    "FloorChange",
    "FloorDifference",
    "Futility",
    "GroupSequential",
    "Kappa",
    "LeaveOneOut",
    "NormalisedFloor",
    "OddsRatio",
    "Operating",
    "PercentileIntervals",
    "PooledFloor",
    "RunsTest",
    "RunsToFind",
    "ScoreTest",
    "SetContrast",
    "ShamGuard",
    "SignFlip",
    "Spearman",
    "StratifiedTest",
    "VoteFloor",
    "arity_matched",
    "benjamini_hochberg",
    "cheapest_design",
    "close_over_means",
    "collapse_unanimous",
    "confidence_sequence",
    "e_bh",
    "e_process",
    "e_value",
    "effective_pairs",
    "excess",
    "excess_test",
    "excess_test_fraction",
    "first_draw_effect",
    "floor",
    "floor_change",
    "floor_change_test",
    "floor_difference",
    "futility",
    "gap_change_test",
    "group_sequential",
    "guard_rejections",
    "guarded_e",
    "holm",
    "kappa",
    "kappa_of",
    "leave_one_out",
    "lifetime_e",
    "logit_shift",
    "margin_e_values",
    "missingness_test",
    "moved_by_sham",
    "normalised_floor",
    "odds_ratio",
    "pairs_for_gap",
    "pairs_to_certify",
    "pass_hat_k",
    "percentile_interval",
    "percentile_intervals",
    "pooled_floor",
    "power_of_gap",
    "power_to_certify",
    "rarefied_flags",
    "rate_law",
    "rounds_evidence",
    "run_evidence",
    "runs_test",
    "runs_to_find",
    "sampling_variance",
    "set_contrast",
    "sham_guard",
    "sign_flip_test",
    "simulate_plan",
    "smallest_detectable_gap",
    "smallest_detectable_gap_e",
    "spearman",
    "spending_levels",
    "standardised_differences",
    "stratified_test",
    "stratified_wilcoxon",
    "surface_share",
    "tarone_holm",
    "tost",
    "vote_cell",
    "vote_floor",
    "worst_case",
    "zero_floor_upper",
]
