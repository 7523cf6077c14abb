"""Majority votes: what counts, and the floor that the hypergeometric expectation foretells."""

import json
import math
from statistics import mean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_fairmedagent.agents.clinical import ClinicalAgent
from pytest_fairmedagent.agents.votes import VotingAgent, count_votes
from pytest_fairmedagent.domain import ACTIONS, ReplicateTable, Trajectory
from pytest_fairmedagent.models.simulated import SimulatedModel, Truth
from pytest_fairmedagent.stats import floor, vote_cell, vote_floor
from pytest_fairmedagent.testing import blank_vignettes


def ballots(*values, name="x"):
    return [
        Trajectory({}, {"s": "refusal"}) if value is None else Trajectory({"s": {name: value}})
        for value in values
    ]


def elected(*values):
    outputs, missing = count_votes(ballots(*values))
    return outputs["s"]["x"] if "s" in outputs else missing["s"]


@given(st.lists(st.booleans(), min_size=1, max_size=9).filter(lambda v: len(v) % 2))
def test_yes_or_no_goes_by_majority(values):
    assert elected(*values) is (2 * sum(values) > len(values))


@given(st.lists(st.integers(1, 5), min_size=1, max_size=9).filter(lambda v: len(v) % 2))
def test_numbers_go_by_the_median_so_that_any_threshold_goes_by_majority(values):
    result = elected(*values)
    assert result in values
    for cut in range(1, 5):
        assert (result <= cut) == (2 * sum(v <= cut for v in values) > len(values))


@given(st.lists(st.sets(st.sampled_from("abcd")), min_size=3, max_size=7))
def test_of_lists_every_element_stays_that_most_counted_ballots_have(values):
    counted = values[: len(values) - 1 + len(values) % 2]
    most = [e for e in "abcd" if 2 * sum(e in v for v in counted) > len(counted)]
    assert elected(*map(sorted, values)) == most


def test_of_an_even_number_of_valid_ballots_the_last_is_not_counted():
    assert elected(True, None, False, True, False) is True
    assert elected(False, None, True, False, True) is False
    assert elected(5, None, 1, 2, 1) == 2


def test_a_stage_without_valid_answers_on_most_ballots_is_missing_with_its_reason():
    assert elected(True, None, None) == "no majority: refusal"
    assert elected(None, None, None) == "no majority: refusal"


def test_a_stage_that_most_ballots_did_not_reach_names_where_they_ended():
    ended = Trajectory({"a": {"x": 1}}, {"b": "refusal", "c": "not reached"})
    whole = Trajectory({"a": {"x": 2}, "b": {"x": 2}, "c": {"x": 2}})
    outputs, missing = count_votes([ended, whole, ended])
    assert outputs == {"a": {"x": 1}}
    assert missing == {"b": "no majority: refusal", "c": "not reached"}


def test_ballots_are_drawn_with_seeds_of_their_own_and_recorded(ran):
    trajectory, requests = ran(VotingAgent(ClinicalAgent(), 3))
    assert len({request.seed for request in requests}) == 15
    assert [request.stage for request in requests][::5] == ["1/triage", "2/triage", "3/triage"]
    assert len(trajectory.ballots) == 3
    again, _ = count_votes([Trajectory(ballot) for ballot in trajectory.ballots])
    assert again == trajectory.outputs
    assert json.loads(json.dumps(vars(trajectory)))["ballots"] == list(trajectory.ballots)


VOTES, VIGNETTES, REPLICATES = 5, 12, 12


def table_of(agent, model, ran):
    cases = blank_vignettes(VIGNETTES)
    rows = {
        (name, "reference"): [
            ran(agent, model, vignette=case, replicate=r)[0] for r in range(REPLICATES)
        ]
        for name, case in cases.items()
    }
    return ReplicateTable(rows, "simulated")


def floor_cell(k):
    return k * (REPLICATES - k) / math.comb(REPLICATES, 2)


def foretold_cell(k):
    return float(vote_cell(k, REPLICATES, VOTES))


def spread(value_of, n, p):
    """Variance of value_of(k) for k binomial(n, p)."""
    weights = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    values = [value_of(k) for k in range(n + 1)]
    centre = sum(w * v for w, v in zip(weights, values, strict=True))
    return sum(w * (v - centre) ** 2 for w, v in zip(weights, values, strict=True))


def test_the_floor_of_a_vote_of_5_is_what_the_single_draws_foretell(ran, catalogue):
    truth = Truth(floor=0.25, seed=3)
    model = SimulatedModel("simulated", truth, catalogue)
    single = table_of(ClinicalAgent(), model, ran)
    voted = table_of(VotingAgent(ClinicalAgent(), VOTES), model, ran)
    names = tuple(blank_vignettes(VIGNETTES))
    foretold, measured, alone, variance = [], [], [], []
    for action in ACTIONS:
        one, five = (t.counts(names, "reference", action) for t in (single, voted))
        foretold.append(vote_floor(one.k, one.n, votes=VOTES).rate)
        measured.append(floor(five.k, five.n).rate)
        alone.append(floor(one.k, one.n).rate)
        for case in blank_vignettes(VIGNETTES).values():
            p = truth.probability(case.narrative, action, swapped=False)
            won = sum(math.comb(VOTES, k) * p**k * (1 - p) ** (VOTES - k) for k in range(3, 6))
            variance.append(spread(floor_cell, REPLICATES, won))
            variance.append(spread(foretold_cell, REPLICATES, p))
    # Both are unbiased for 2 P (1 - P) of the same cells, and cells are drawn apart.
    sd = math.sqrt(sum(variance)) / (VIGNETTES * len(ACTIONS))
    assert abs(mean(measured) - mean(foretold)) < 4 * sd
    assert mean(alone) - mean(measured) > 4 * sd, "the test could not have told them apart"


def test_an_even_number_of_ballots_makes_no_side_likelier():
    rng = np.random.default_rng(5)
    n = 4000
    wins = sum(elected(*rng.choice([True, False], 4).tolist(), None) for _ in range(n))
    assert abs(wins / n - 0.5) < 4 * math.sqrt(0.25 / n)


@pytest.mark.parametrize("votes", [3, 5])
def test_the_configuration_of_a_vote_is_that_of_its_agent_and_the_votes(votes):
    configuration = VotingAgent(ClinicalAgent(), votes).configuration()
    assert configuration == {**ClinicalAgent().configuration(), "votes": votes, "vote_rule": "1"}
