"""Statistics of repeated decisions: counts and arrays in, values that explain themselves out.

Knows no vignette files, agents or pytest. Importing it loads numpy only; scipy waits inside the
functions that need it.
"""

from .against_shams import ShamSwapTest, swap_against_shams
from .agreement import Kappa, NormalisedFloor, kappa, kappa_of, normalised_floor
from .arms import ArityMatched, arity_matched
from .balance import CellBalance, SignedP, imbalance_of_cells, signed_p
from .bootstrap import (
    FloorDifference,
    LeaveOneOut,
    PercentileIntervals,
    floor_difference,
    leave_one_out,
    percentile_interval,
    percentile_intervals,
)
from .certifying import (
    chance_to_certify_all,
    pairs_to_certify,
    power_to_certify,
    provable_margin,
    replicates_to_certify_all,
)
from .change import FloorChange, floor_change, floor_change_test, gap_change_test
from .controls import ShamGuard, guard_rejections, missingness_test, sham_guard, worst_case
from .copies import MOST_DRAWS, ArmRepeats, FieldRepeats, repeats_between, repeats_of_fields
from .equivalence import Equivalence, Futility, futility, tost
from .exact import StratifiedTest, stratified_test
from .excess import Excess, excess, excess_test, excess_test_fraction
from .floor import Floor, PooledFloor, floor, pooled_floor, zero_floor_upper
from .identical import identical_bound
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
from .mean_gap import MeanGapTest, gap_interval, mean_gap_test
from .minimum_gap import minimum_gap_p, power_of_minimum_gap
from .multiplicity import benjamini_hochberg, e_bh, holm, inherited, tarone_holm
from .odds import OddsRatio, odds_ratio
from .omnibus import SwapTest, swap_test
from .operating import Operating, logit_shift, rate_law, simulate_plan
from .planning import (
    effective_pairs,
    pairs_for_gap,
    power_of_gap,
    replicates_of,
    smallest_detectable_gap,
)
from .rank import Spearman, spearman
from .scores import ESTIMANDS, MEAN, SUPERIORITY, ScoreTest, score_test, stratum_gaps
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
from .sight import gap_in_sight, replicates_to_find, replicates_to_rule_out
from .signflip import SignFlip, sign_flip_test, standardised_differences
from .surface import SurfaceNoise, surface_noise
from .votes import VoteFloor, pass_hat_k, rarefied_flags, vote_cell, vote_floor

__all__ = [
    "ESTIMANDS",
    "MEAN",
    "MOST_DRAWS",
    "SUPERIORITY",
    "ArityMatched",
    "ArmRepeats",
    "CellBalance",
    "EProcess",
    "ElementTest",
    "Equivalence",
    "Excess",
    "FieldRepeats",
    "FirstDraw",
    "Floor",
    "FloorChange",
    "FloorDifference",
    "Futility",
    "GroupSequential",
    "Kappa",
    "LeaveOneOut",
    "MeanGapTest",
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
    "ShamSwapTest",
    "SignFlip",
    "SignedP",
    "Spearman",
    "StratifiedTest",
    "SurfaceNoise",
    "SwapTest",
    "VoteFloor",
    "arity_matched",
    "benjamini_hochberg",
    "chance_to_certify_all",
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
    "gap_in_sight",
    "gap_interval",
    "group_sequential",
    "guard_rejections",
    "guarded_e",
    "holm",
    "identical_bound",
    "imbalance_of_cells",
    "inherited",
    "kappa",
    "kappa_of",
    "leave_one_out",
    "lifetime_e",
    "logit_shift",
    "margin_e_values",
    "mean_gap_test",
    "minimum_gap_p",
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
    "power_of_minimum_gap",
    "power_to_certify",
    "provable_margin",
    "rarefied_flags",
    "rate_law",
    "repeats_between",
    "repeats_of_fields",
    "replicates_of",
    "replicates_to_certify_all",
    "replicates_to_find",
    "replicates_to_rule_out",
    "rounds_evidence",
    "run_evidence",
    "runs_test",
    "runs_to_find",
    "sampling_variance",
    "score_test",
    "set_contrast",
    "sham_guard",
    "sign_flip_test",
    "signed_p",
    "simulate_plan",
    "smallest_detectable_gap",
    "smallest_detectable_gap_e",
    "spearman",
    "spending_levels",
    "standardised_differences",
    "stratified_test",
    "stratum_gaps",
    "surface_noise",
    "surface_share",
    "swap_against_shams",
    "swap_test",
    "tarone_holm",
    "tost",
    "vote_cell",
    "vote_floor",
    "worst_case",
    "zero_floor_upper",
]
