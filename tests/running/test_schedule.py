"""Keys, draws, seeds and the order of trials."""

from collections import Counter

import pytest

from pytest_fairmedagent.domain import Arm, Vignette
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.running.schedule import draws_of, rounds, seed_of
from pytest_fairmedagent.testing import blank_vignettes

CATALOGUE = read_swaps()
CASES = blank_vignettes(5)
CONDITIONS = ("reference", "rerender", "race_black", "sham_left_handed")
ARMS = [Arm(v, c, 4) for v in CASES for c in CONDITIONS]


def places(arms=ARMS, cases=CASES, configuration="config"):
    return draws_of(arms, cases, CATALOGUE, configuration)


def test_k_replicates_are_k_draws():
    found = places()
    assert len(found) == len({(d.key, d.draw) for d in found.values()}) == 5 * 4 * 4


def test_the_identical_arm_has_the_references_content_and_none_of_its_draws():
    found = places()
    keys = {c: {d.key for t, d in found.items() if t.condition == c} for c in CONDITIONS}
    assert keys["reference"] == keys["rerender"]
    assert keys["reference"].isdisjoint(keys["race_black"])
    draws = {c: {(d.key, d.draw) for t, d in found.items() if t.condition == c} for c in CONDITIONS}
    assert draws["reference"].isdisjoint(draws["rerender"])


def test_the_draws_of_an_arm_do_not_depend_on_which_others_run():
    alone = places([Arm("case_00", "rerender", 4)])
    assert alone.items() <= places().items()


def test_more_replicates_keep_the_draws_there_are():
    more = places([Arm(a.vignette, a.condition, 10) for a in ARMS])
    assert places().items() <= more.items()


def test_a_renamed_vignette_keeps_its_key_and_an_edited_one_does_not():
    case = CASES["case_00"]
    arms = [Arm("case_00", "reference", 1)]

    def key(**changes):
        changed = Vignette(**{**vars(case), **changes})
        return [d.key for d in places(arms, {"case_00": changed}).values()]

    vars(case).pop("digest", None)
    assert key() == key(id="renamed", title="Another title")
    assert key() != key(narrative="Edited.")


def test_another_configuration_changes_every_key():
    keys = {d.key for d in places().values()}
    assert keys.isdisjoint(d.key for d in places(configuration="other").values())


@pytest.mark.parametrize("by_vignette", [True, False])
def test_every_round_holds_every_arm_once(by_vignette):
    draws = list(places().values())
    order = [d for block in rounds(draws, seed=1, by_vignette=by_vignette) for d in block]
    assert Counter(order) == Counter(draws)
    for r in range(4):
        part = order[r * 20 : (r + 1) * 20]
        assert {d.trial.replicate for d in part} == {r}


@pytest.mark.parametrize("by_vignette", [True, False])
def test_the_order_is_the_seeds_alone(by_vignette):
    draws = list(places().values())
    first = rounds(draws, seed=1, by_vignette=by_vignette)
    assert rounds(draws[::-1], seed=1, by_vignette=by_vignette) == first
    assert rounds(draws, seed=2, by_vignette=by_vignette) != first


def test_blocks_by_vignette_hold_one_narrative_and_all_arms():
    for block in rounds(list(places().values()), seed=3, by_vignette=True):
        assert len({d.trial.vignette for d in block}) == 1
        assert {d.trial.condition for d in block} == set(CONDITIONS)


def test_no_condition_is_favoured_with_a_place_in_the_round():
    draws = list(
        draws_of([Arm(a.vignette, a.condition, 200) for a in ARMS], CASES, CATALOGUE, "c").values()
    )
    first = Counter(block[0].trial.condition for block in rounds(draws, seed=5, by_vignette=True))
    # 1,000 blocks and four conditions: 250 each, standard deviation 13.7; five of them are allowed.
    assert all(abs(first[c] - 250) < 69 for c in CONDITIONS), first


def test_every_call_has_a_seed_of_its_own():
    seeds = [
        seed_of(1, draw, stage, attempt)
        for draw in places().values()
        for stage in ("triage", "order")
        for attempt in (0, 1)
    ]
    assert len(set(seeds)) == len(seeds) == 320
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert seed_of(1, next(iter(places().values())), "triage", 0) == seeds[0]
