"""`fairmed plan`: its designs do what it says, its numbers add up, and budgets are kept."""

import math
from dataclasses import replace

import pytest

from pytest_fairmedagent import planning
from pytest_fairmedagent.domain import Trajectory
from pytest_fairmedagent.planning import (
    Aim,
    Budgeted,
    Design,
    Gate,
    cheapest,
    designs_for,
    in_budget,
    simulated,
    trial_cost,
)
from pytest_fairmedagent.running.budget import Budget, Estimate, spent_by
from pytest_fairmedagent.stats import effective_pairs, power_of_gap

MODEL = "claude-sonnet-4-5"
PRICES = """\
schema = 1
[[price]]
model = "openai/house-model"
input = 2.0
output = 10.0
source = "the house"
read = 2026-01-02
"""


@pytest.fixture(scope="module")
def cost():
    from pytest_fairmedagent.files.swaps import read_swaps
    from pytest_fairmedagent.testing import blank_vignettes

    return trial_cost(blank_vignettes(2).values(), read_swaps(), seconds=2.0)


def chosen(plan):
    (found,) = (design for design in plan["designs"] if design["chosen"])
    return found


@pytest.mark.parametrize("gap", [0.05, 0.1, 0.2])
def test_the_design_for_a_gap_is_the_cheapest_there_is(cost, gap):
    gate = Gate(0.087, n_members=18, n_actions=6, ratio=2)
    found = designs_for(Aim(gap=gap), gate, cost, n_arms=5, most_vignettes=1000)
    assert cheapest(found).trajectories == min(design.trajectories for design in found)
    rule = {"n_members": 18, "n_actions": 6, "ratio": 2}
    for design in found[::6]:
        v, r = design.n_vignettes, design.replicates
        chances = [
            power_of_gap(gap, 0.087, effective_pairs(n, r, 2 * r), n_vignettes=n, **rule)
            for n in (v - 1, v)
        ]
        assert chances[0] < 0.8 <= chances[1]


def test_showing_all_asks_each_contrast_for_its_share_of_the_power(cost):
    gate = Gate(0.087, n_members=18, n_actions=6)
    found = designs_for(Aim(margin=0.05), gate, cost, n_arms=4, most_vignettes=64)
    assert found
    for design in found:
        chance = gate.chance_to_show_all(0.05, design.n_vignettes, design.replicates)
        assert chance >= 0.8
        assert gate.provable(design.n_vignettes, design.replicates) <= 0.05


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("sequential", ["off", "gs", "e"])
def test_a_planned_gap_is_found_about_as_often_as_planned_when_simulated(cost, sequential, every):
    gate = Gate(0.12, n_members=18, n_actions=6, ratio=2, sequential=sequential)
    aim = Aim(gap=0.1 if every else 0.2, every=every)
    [design] = designs_for(aim, gate, cost, n_arms=2, most_vignettes=60, replicates=6)
    said = gate.chance_to_find(aim.gap, design.n_vignettes, 6, every=every)
    assert said >= 0.8
    operating = simulated(design, gate, aim, n_datasets=200, seed=7)
    # The promise is good to .03 (benchmarks/results/power_truth.md), and 200 runs to 3.5 se.
    assert operating.disparity == pytest.approx(said, abs=0.03 + 3.5 * operating.se(said))
    if sequential != "off":
        assert operating.mean_replicates < 6


def test_a_plan_whose_simulation_falls_short_says_so(fairmed, cost, monkeypatch):
    design = ("--floor", 0.12, "--vignettes", 10, "--replicates", 10, "--swaps", 1)
    enough = fairmed("plan", *design, "--sequential", "e")
    assert "falls short" not in enough.out
    unlucky = replace(
        simulated(Design(10, 10, 2, cost), Gate(0.12, n_members=6), Aim(gap=0.2), n_datasets=50),
        disparity=0.6,
    )
    monkeypatch.setattr(planning, "simulated", lambda *a, **k: unlucky)
    short = fairmed("plan", *design, "--sequential", "e")
    assert "The simulation falls short of power 0.8" in short.out


def test_a_planned_margin_is_shown_about_as_often_as_planned_when_simulated(cost):
    gate = Gate(0.12, n_members=18, n_actions=6, ratio=2)
    [design] = designs_for(Aim(margin=0.15), gate, cost, n_arms=2, most_vignettes=40, replicates=4)
    said = gate.chance_to_show_all(0.15, design.n_vignettes, 4)
    operating = simulated(design, gate, Aim(margin=0.15), n_datasets=200, seed=7)
    assert operating.equivalent == pytest.approx(said, abs=0.03 + 3.5 * operating.se(said))


def test_every_number_follows_from_the_design_and_the_trial(fairmed):
    ran = fairmed("plan", "--gap", 0.1, "--model", MODEL, "--seconds-per-trial", 3, "--json")
    plan, design = ran.json, chosen(ran.json)
    trial, n = plan["trial"], design["trajectories"]
    assert ran.status == 0
    assert plan["arms"] == {"swaps": 3, "controls": 3}
    assert n == design["vignettes"] * design["replicates"] * 7
    assert design["calls"] == n * 5 == n * trial["calls"]
    assert design["input_tokens"] == pytest.approx(n * trial["input_tokens"])
    assert design["hours"] == pytest.approx(n * 3 / 3600)
    assert design["usd"] == pytest.approx(n * trial["usd"])
    price = 3 * round(trial["input_tokens"]) + 15 * round(trial["output_tokens"])
    assert trial["usd"] == pytest.approx(price / 1e6)
    assert design["detectable_gap"] <= 0.1


def test_a_budget_and_the_gap_that_it_finds_are_each_others_inverse(fairmed):
    budget = chosen(fairmed("plan", "--max-calls", 9000, "--json").json)
    assert budget["calls"] <= 9000
    asked = fairmed(
        "plan",
        "--gap",
        budget["detectable_gap"] + 1e-9,
        "--replicates",
        budget["replicates"],
        "--json",
    )
    assert chosen(asked.json)["vignettes"] == budget["vignettes"]


def test_a_budget_of_calls_is_one_that_the_run_itself_would_not_end_early(cost):
    # The run refuses a round whose calls could break the limit if each needed a repair.
    budget = Budgeted(max_calls=2000)
    for design in in_budget(budget, cost, n_arms=4, most_vignettes=12):
        n_trials = design.n_vignettes * design.n_arms
        trial = Trajectory({}, calls=int(cost.calls))
        run, estimate = Budget(max_calls=2000), Estimate(int(cost.most_calls))
        for rounds in range(design.replicates):
            spent = spent_by([trial] * (n_trials * rounds))
            assert not run.refusal(spent, n_trials, estimate)
        assert run.refusal(spent_by([trial] * (n_trials * design.replicates)), n_trials, estimate)


def test_the_narrowest_of_several_limits_holds(cost):
    hours = Budgeted(hours=1.0)
    both = Budgeted(hours=1.0, max_calls=600)
    assert both.rounds(20, cost) < hours.rounds(20, cost) == 90


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--max-usd", 5), "--max-usd needs a price"),
        (("--hours", 5), "--hours needs the time of a trial"),
        (("--max-calls", 20), "does not buy 3 replicates of one vignette in 7 arms"),
        (("--gap", 0.1, "--swaps", "race_blak"), "unknown swap 'race_blak'. Did you mean"),
        (("--gap", 0.1, "--actions", "admision"), "'admision' is not known. Did you mean"),
        (("--gap", 0.1, "--upper"), "--upper needs --record"),
        (("--gap", 0.1, "--plot", "plan.gif"), "expected a name ending in .svg or .png"),
        (("--margin", 0.1, "--sequential", "e"), "--margin has no formula with --sequential=e"),
    ],
)
def test_what_cannot_be_planned_is_refused_with_its_reason(fairmed, arguments, said):
    ran = fairmed("plan", *arguments)
    assert ran.status == 2
    assert said in ran.err


def test_an_aim_that_no_design_reaches_within_its_limits_is_status_1(fairmed):
    ran = fairmed("plan", "--gap", 0.05, "--max-calls", 300)
    assert ran.status == 1
    assert "Nothing was found that could find a signed gap of 0.05" in ran.out


def test_a_price_table_of_ones_own_and_a_named_model(fairmed, toml):
    path = toml(PRICES, "prices.toml")
    plan = fairmed("plan", "--model", "openai/house-model", "--prices", path, "--json").json
    assert plan["trial"]["price"] == "openai/house-model: the house, read 2026-01-02"
    unknown = fairmed("plan", "--model", "openai/house-model", "--json").json
    assert unknown["trial"]["usd"] is None
    assert chosen(unknown)["usd"] is None
    assert chosen(fairmed("plan", "--model", "embedded", "--json").json)["usd"] == 0


def test_a_measured_floor_is_that_of_the_least_stable_action(fairmed, record, make):
    rows = make.arm("reference", [2, 5, 8, 5], 10) + make.arm("race_black", [2, 5, 8, 5], 10)
    path = record(rows, "own.json", reference="reference")
    analysed = fairmed("analyse", path, "--json").json
    (arm,) = (arm for arm in analysed["arms"] if arm["condition"] == "reference")
    floors = {name: entry["floor"] for name, entry in arm["actions"].items()}
    plan = fairmed("plan", "--gap", 0.1, "--record", path, "--json").json
    assert plan["floor"]["value"] == pytest.approx(max(floors.values()))
    assert plan["floor"]["source"].startswith("admission, the least stable of 6, measured in own")
    design = chosen(plan)
    assert design["detectable_by_action"]["admission"] == pytest.approx(design["detectable_gap"])
    upper = fairmed("plan", "--gap", 0.1, "--record", path, "--upper", "--json").json
    assert upper["floor"]["value"] == pytest.approx(arm["actions"]["admission"]["interval"][1])
    assert chosen(upper)["pairs"] > chosen(plan)["pairs"]


def test_a_floor_of_zero_is_planned_with_its_upper_end(fairmed, record, make):
    path = record(make.arm("reference", [0, 10, 0, 10], 10), "own.json", reference="reference")
    floor = fairmed("plan", "--gap", 0.1, "--record", path, "--json").json["floor"]
    assert floor["source"].startswith("upper end of")
    assert 0 < floor["value"] == floor["interval"][1]


def test_the_table_fits_80_columns_and_names_the_next_command(fairmed):
    ran = fairmed(
        "plan", "--margin", 0.01, "--model", MODEL, "--seconds-per-trial", 40, "--vignettes", 5000
    )
    assert max(map(len, ran.out.splitlines())) <= 80
    assert f"next: pytest --fairmed-model={MODEL} --fairmed-vignettes=..." in ran.out
    assert sum(line.startswith("* ") for line in ran.out.splitlines()) == 1


def test_a_simulation_says_how_often_it_was_tried(fairmed):
    ran = fairmed("plan", "--gap", 0.3, "--simulate", 40, "--actions", 1, "--json")
    found = ran.json["simulated"]
    assert found["datasets"] == 40
    assert found["disparity_se"] == pytest.approx(
        math.sqrt(found["disparity"] * (1 - found["disparity"]) / 40)
    )


def test_the_same_plan_gives_the_same_plot(fairmed, tmp_path):
    pytest.importorskip("matplotlib")
    pictures = []
    for name in ("a.svg", "b.svg"):
        assert fairmed("plan", "--gap", 0.1, "--plot", tmp_path / name).status == 0
        pictures.append((tmp_path / name).read_bytes())
    assert pictures[0] == pictures[1]
    assert b"smallest gap that is found in one action" in pictures[0]


def test_more_vignettes_win_where_the_trajectories_are_as_many(cost):
    few, many = Design(5, 8, 2, cost), Design(10, 4, 2, cost)
    assert cheapest([few, many]) is many
