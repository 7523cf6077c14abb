"""Variants of one case are no independent cases: the case is the cluster of every statistic."""

from math import sqrt

import numpy as np
import pytest

from pytest_fairmedagent.analysis.floors import arm_floors
from pytest_fairmedagent.domain import (
    Contrast,
    Family,
    Plan,
    ReplicateTable,
    Trajectory,
)
from pytest_fairmedagent.relations.evidence import E, evidence
from pytest_fairmedagent.relations.invariance import compare
from pytest_fairmedagent.relations.joint import surface_of
from pytest_fairmedagent.relations.measured import measure
from pytest_fairmedagent.stats import (
    excess,
    floor,
    percentile_intervals,
    pooled_floor,
    sham_guard,
    stratified_test,
)
from pytest_fairmedagent.verdict import judge

pytestmark = pytest.mark.slow

CASES, VARIANTS, REPLICATES = 16, 5, 6
CLUSTERS = [f"case_{case}" for case in range(CASES) for _ in range(VARIANTS)]
ROWS = CASES * VARIANTS
N = np.full(ROWS, REPLICATES)


def shared(values):
    """One value of each case for all its variants."""
    return np.repeat(values, VARIANTS)


def beyond(share, n):
    """Three standard errors of a simulated share."""
    return 3 * sqrt(share * (1 - share) / n)


def test_the_sham_guard_keeps_its_level_when_variants_move_together_and_not_without_clusters():
    # Every edit, the swap as the shams, moves a case's logit at random, and all its variants alike:
    # no descriptor matters, so the guard may let a gap pass in 5 % of runs and not more.
    rng, n_runs = np.random.default_rng(5), 300
    passes = {"clustered": 0, "as if independent": 0}
    for _ in range(n_runs):
        base = rng.normal(0, 1.5, CASES)
        arms = []
        for scale in (1.0, 1.0, 1.0, 0.0):  # swap, two shams, reference
            logit = shared(base + scale * rng.normal(0, 0.9, CASES))
            arms.append(rng.binomial(REPLICATES, 1 / (1 + np.exp(-logit))))
        swap, *shams, reference = arms
        counted = (swap, N, reference, N, [(sham, N) for sham in shams])
        passes["clustered"] += sham_guard(*counted, clusters=CLUSTERS).passes
        passes["as if independent"] += sham_guard(*counted).passes
    assert passes["clustered"] / n_runs <= 0.05 + beyond(0.05, n_runs)
    assert passes["as if independent"] / n_runs > 0.10


def test_the_floor_interval_covers_when_variants_share_p_and_not_without_clusters():
    rng, n_runs = np.random.default_rng(7), 500
    truth = 2 * (0.5 - (0.25 + 0.25 / (2 * 0.4 + 1)))  # E 2p(1-p) of Beta(.4, .4)
    covered = {"clustered": 0, "as if independent": 0}
    for _ in range(n_runs):
        k = rng.binomial(REPLICATES, shared(rng.beta(0.4, 0.4, CASES)))
        for name, clusters in (("clustered", CLUSTERS), ("as if independent", None)):
            low, high = floor(k, N, clusters=clusters).interval()
            covered[name] += low <= truth <= high
    assert covered["clustered"] / n_runs >= 0.95 - beyond(0.95, n_runs)
    assert covered["as if independent"] / n_runs < 0.85


def test_the_zero_rule_knows_that_variants_of_a_coin_are_coins():
    # All rows unanimous: 16 cases of 5 variants bound the floor less sharply than 80 cases.
    none, n = np.zeros(ROWS, dtype=int), np.full(ROWS, 3)
    one_variant = floor(none[:CASES], n[:CASES]).interval()[1]
    clustered = floor(none, n, clusters=CLUSTERS).interval()[1]
    assert floor(none, n).interval()[1] < clustered < one_variant


def test_clusters_of_one_change_nothing():
    rng = np.random.default_rng(3)
    k, j, s = (rng.binomial(6, rng.beta(0.5, 0.5, 12)) for _ in range(3))
    n, own = np.full(12, 6), list("abcdefghijkl")
    assert floor(k, n, clusters=own).interval() == floor(k, n).interval()
    pair = np.stack((k, j), axis=1), np.stack((n, n), axis=1)
    assert pooled_floor(*pair, clusters=own).interval() == pooled_floor(*pair).interval()
    assert percentile_intervals(k, n, clusters=own).pooled == percentile_intervals(k, n).pooled
    with_own = sham_guard(k, n, j, n, [(s, n)], clusters=own)
    without = sham_guard(k, n, j, n, [(s, n)])
    assert with_own.statistic == pytest.approx(without.statistic)
    assert with_own.tau2 == pytest.approx(excess(s, n, j, n).mean if without.tau2 else 0)
    assert (with_own.quantile, with_own.n_vignettes) == (without.quantile, 12)


def test_labels_of_clusters_must_be_as_many_as_rows():
    with pytest.raises(ValueError, match="clusters: expected 2 labels, one per row, got 1"):
        floor([1, 2], [3, 3], clusters=["a"])


def table_of(cells):
    """A table of cells {condition: [labels of a vignette, ...]}, five variants of each case.

    Where the label is yes the patient is referred, is scored 10 and gets an ECG.
    """
    rows, clusters = {}, {}
    for condition, vignettes in cells.items():
        for index, labels in enumerate(vignettes):
            case, variant = divmod(index, VARIANTS)
            name = f"case_{case}" if not variant else f"case_{case}-v{variant + 1}"
            if variant:
                clusters[name] = f"case_{case}"
            rows[name, condition] = [
                Trajectory(
                    {
                        "triage": {"urgency_score": 10.0 * x},
                        "order": {"orders": ["ecg"] * int(x)},
                        "actions": {"referral": bool(x)},
                    },
                    {},
                )
                for x in labels
            ]
    return ReplicateTable(rows, "digest", clusters=clusters)


def names_of(table):
    return tuple(dict.fromkeys(vignette for vignette, _ in table.rows))


def test_a_deterministic_agent_counts_each_case_once_however_many_variants_it_has():
    # One case of 6 flips, in all of its 5 variants: one discordant pair, not five.
    cells = {
        "reference": [[0, 0, 0]] * 30,
        "swap": [[1, 1, 1]] * 5 + [[0, 0, 0]] * 25,
    }
    table = table_of(cells)
    found = compare(table, Contrast("f", "swap", "referral"), names_of(table), "reference")
    assert found.deterministic
    assert (found.test.b, found.test.c, found.test.n_strata) == (1, 0, 6)
    assert found.test.p == stratified_test([1], [1], [0], [1]).p


def test_replicates_of_variants_are_strata_of_their_own():
    rng = np.random.default_rng(1)
    cells = {c: rng.random((20, 4)) < 0.5 for c in ("reference", "swap")}
    table = table_of(cells)
    found = compare(table, Contrast("f", "swap", "referral"), names_of(table), "reference")
    assert found.test.n_strata == 20
    assert set(found.swap.clusters) == {f"case_{i}" for i in range(4)}
    assert found.swap.firsts == [0, 5, 10, 15]


def test_floors_of_arms_and_of_the_run_are_those_of_cases():
    rng = np.random.default_rng(2)
    cells = {
        c: rng.random((ROWS, 4)) < shared(rng.beta(0.5, 0.5, CASES))[:, None]
        for c in ("reference", "swap")
    }
    table = table_of(cells)
    names = names_of(table)
    family = Family("f", ("swap",), ("referral",), names, 4)
    judgement = judge(table, Plan((family,), "reference"), list(family.members))
    arm = arm_floors(table, names, "reference", ("referral",))
    k, n = [sum(row) for row in cells["reference"]], [4] * ROWS
    expected = floor(k, n, clusters=CLUSTERS).interval()
    assert judgement.floors.outcomes[0].interval() == expected
    assert arm.floors[0].interval() == expected
    assert arm.percentile[0] == percentile_of_cases(k)
    assert judgement.verdicts[0].comparison.floor_reference.interval() == expected


def percentile_of_cases(k):
    [found] = percentile_intervals(
        k, [4] * ROWS, n_resamples=5000, rng=42, clusters=CLUSTERS
    ).outcomes
    return found


def test_one_case_in_many_variants_has_no_variance_over_cases():
    # The guard can ask for the sign alone then, as for one vignette, and a floor covers anything.
    k = np.array([6, 6, 6, 6, 5])
    n = np.full(5, 6)
    guard = sham_guard(k, n, k * 0, n, [(k * 0 + 1, n)], clusters=["a"] * 5)
    assert (guard.n_vignettes, guard.passes, guard.same_sign) == (1, False, True)
    assert floor(k, n, clusters=["a"] * 5).interval() == (0, 1)


@pytest.mark.parametrize("outcome", ["urgency_score", "orders"])
def test_scores_and_sets_of_a_deterministic_agent_count_each_case_once(outcome):
    cells = {"reference": [[0, 0, 0]] * 30, "swap": [[1, 1, 1]] * 5 + [[0, 0, 0]] * 25}
    table = table_of(cells)
    found = measure(table, Contrast("f", "swap", outcome), names_of(table), "reference")
    assert found.deterministic
    assert found.p == 1  # one case that moved decides nothing, in however many variants


@pytest.mark.parametrize("outcome", ["urgency_score", "orders"])
def test_the_sham_guard_of_scores_and_sets_counts_cases(outcome):
    rng = np.random.default_rng(4)
    cells = {c: rng.integers(0, 2, (30, 4)).tolist() for c in ("reference", "swap", "sham")}
    table = table_of(cells)
    found = measure(table, Contrast("f", "swap", outcome), names_of(table), "reference")
    assert surface_of(table, [found], "reference", ["sham"]).noise.n_cases == 6


def test_an_e_process_sees_each_case_of_a_deterministic_agent_once():
    cells = {"reference": [[0, 0, 0]] * 30, "swap": [[1, 1, 1]] * 10 + [[0, 0, 0]] * 20}
    table = table_of(cells)
    names = names_of(table)
    family = Family("f", ("swap",), ("referral",), names, 3)
    contrast = Contrast("f", "swap", "referral")
    comparison = measure(table, contrast, names, "reference")
    shown = evidence(table, comparison, family, Plan((family,), "reference", sequential=E))
    assert (sum(shown.b), sum(shown.c), sum(shown.z)) == (2, 0, 4)
