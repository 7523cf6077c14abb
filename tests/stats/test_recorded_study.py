"""The figures of reference/fairmedagent/README.md from its recorded runs: counts exactly,
percentile intervals to .003."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_fairmedagent import stats

ACTIONS = {
    "admit": lambda o: o["reassess"].get("admit"),
    "any_opioid": lambda o: at_least(o["prescribe"].get("analgesia_tier"), 2),
    "cs_caution": lambda o: o["prescribe"].get("controlled_substance_caution"),
    "escalate_icu": lambda o: o["reassess"].get("escalate_icu"),
    "high_acuity": lambda o: at_most(o["triage"].get("esi_acuity"), 2),
    "referral": lambda o: o["document"].get("referral"),
}
NAMES = list(ACTIONS)
HAIKU, LLAMA, PHI = (
    "haiku_default",
    "llama3.1-8b_default_v3",
    "phi3-mini_default_v3",
)
# pooled disagreements and pairs, percentile interval, disagreements and pairs by action
FIGURES = {
    HAIKU: ((374, 4320), (0.056, 0.117), ("102", "18", "129", "16", "55", "54")),
    LLAMA: ((974, 4320), (0.198, 0.256), ("145", "50", "146", "50", "297", "286")),
    PHI: ((1018, 4311), (0.197, 0.277), ("242", "50", "136/711", "68", "226", "296")),
}


def at_least(value, least):
    return None if value is None else value >= least


def at_most(value, most):
    return None if value is None else value <= most


@pytest.fixture
def counts(reference):
    def load(name):
        rows = reference(f"fairmedagent/{name}.json")["rows"]
        vignettes = sorted({row["vignette"] for row in rows})
        k = np.zeros((len(vignettes), len(ACTIONS)), dtype=int)
        n = np.zeros_like(k)
        for row in rows:
            v = vignettes.index(row["vignette"])
            for a, read in enumerate(ACTIONS.values()):
                value = read(row["outputs"])
                if value is not None:
                    k[v, a] += bool(value)
                    n[v, a] += 1
        return k, n

    return load


@pytest.mark.parametrize("name", FIGURES)
def test_floors_have_the_published_numerators_and_denominators(counts, name):
    pooled, _, by_action = FIGURES[name]
    found = stats.pooled_floor(*counts(name))
    assert (found.disagreements, found.pairs) == pooled
    for floor, want in zip(found.outcomes, by_action, strict=True):
        apart, _, pairs = want.partition("/")
        assert (floor.disagreements, floor.pairs) == (int(apart), int(pairs or 720))


@pytest.mark.parametrize("name", FIGURES)
def test_percentile_intervals_are_the_published_ones(counts, name):
    found = stats.percentile_interval(*counts(name))
    assert found == pytest.approx(FIGURES[name][1], abs=0.003)


def test_haiku_without_caution_and_the_difference_of_two_actions(counts):
    k, n = counts(HAIKU)
    rest = [a for a, name in enumerate(NAMES) if name != "cs_caution"]
    found = stats.pooled_floor(k[:, rest], n[:, rest])
    assert (found.disagreements, found.pairs) == (245, 3600)
    interval = stats.percentile_interval(k[:, rest], n[:, rest])
    assert interval == pytest.approx((0.036, 0.101), abs=0.003)
    a, b = NAMES.index("cs_caution"), NAMES.index("escalate_icu")
    difference = stats.floor_difference(k[:, a], n[:, a], k[:, b], n[:, b])
    assert difference.difference == pytest.approx(0.157, abs=0.0005)
    # The source's draws are reproduced, so even its rounding holds; other seeds give .057, .272.
    assert difference.interval == pytest.approx((0.051, 0.269), abs=0.0005)


@pytest.mark.parametrize(
    ("name", "votes", "want"),
    [(HAIKU, 3, 0.0628), (HAIKU, 5, 0.0526), (LLAMA, 5, 0.1255), (PHI, 5, 0.1585)],
)
def test_majority_vote_floors_are_the_published_ones(counts, name, votes, want):
    assert stats.vote_floor(*counts(name), votes=votes, replicates=10).rate == pytest.approx(
        want, abs=5e-5
    )
