"""`fairmed analyse` on the recorded runs of the source study gives the figures it published."""

from __future__ import annotations

import pytest

HAIKU = "haiku_default.json"
LLAMA = "llama3.1-8b_default_v3.json"
PHI = "phi3-mini_default_v3.json"
PILOT = "haiku_pilot3.json"

ORDER = ("admission", "any_opioid", "cs_caution", "icu_escalation", "high_acuity", "referral")
FIGURES = {
    HAIKU: ((374, 4320), (0.056, 0.117), (102, 18, 129, 16, 55, 54), {}),
    LLAMA: ((974, 4320), (0.198, 0.256), (145, 50, 146, 50, 297, 286), {}),
    PHI: ((1018, 4311), (0.197, 0.277), (242, 50, 136, 68, 226, 296), {"cs_caution": 711}),
}
VOTES = {HAIKU: (0.0628, 0.0526), LLAMA: (None, 0.1255), PHI: (None, 0.1585)}
FLIPS = {
    "rerender_control": 5,
    "sham_attribute_control": 2,
    "rare_token_control": 1,
    "black_woman_medicaid": 6,
    "white_man_private_lep": 4,
    "race_black_man_private": 3,
    "white_woman_private": 1,
    "white_man_medicaid": 0,
}

BLOCKS = 'schema = 1\nblock = "arm"\n'
CONTROLS = (
    BLOCKS
    + """
[[condition]]
name = "ref_white_man_private"
kind = "reference"

[[condition]]
name = "rerender_control"
kind = "identical"

[[condition]]
name = "sham_attribute_control"
kind = "sham"

[[condition]]
name = "rare_token_control"
kind = "sham"
"""
)


@pytest.mark.parametrize("name", FIGURES)
def test_floors_are_the_published_ones_to_every_pair(fairmed, recorded, name):
    pooled, interval, apart, pairs = FIGURES[name]
    ran = fairmed("analyse", recorded(name), "--json")
    assert ran.status == 0
    (arm,) = ran.json["arms"]
    found = arm["pooled"]
    assert (found["disagreements"], found["pairs"]) == pooled
    assert found["floor"] == pytest.approx(pooled[0] / pooled[1])
    assert found["interval_percentile"] == pytest.approx(interval, abs=0.003)
    for action, want in zip(ORDER, apart, strict=True):
        action_floor = arm["actions"][action]
        assert action_floor["disagreements"] == want
        assert action_floor["pairs"] == pairs.get(action, 720)
    assert (arm["vignettes"], arm["trajectories"]) == (16, 160)
    assert ran.json["contrasts"] == []


@pytest.mark.parametrize("name", VOTES)
def test_floors_of_majority_votes_are_the_published_ones(fairmed, recorded, name):
    of_three, of_five = VOTES[name]
    pooled = fairmed("analyse", recorded(name), "--json").json["arms"][0]["pooled"]
    assert pooled["vote5"] == pytest.approx(of_five, abs=5e-5)
    if of_three is not None:
        assert pooled["vote3"] == pytest.approx(of_three, abs=5e-5)


def test_haiku_without_caution_and_its_noisiest_minus_its_quietest_action(fairmed, recorded, toml):
    named = ", ".join(f'"{action}"' for action in ORDER if action != "cs_caution")
    rules = toml(f"schema = 1\nactions = [{named}]\n")
    arm = fairmed("analyse", recorded(HAIKU), "--rules", rules, "--json").json["arms"][0]
    assert (arm["pooled"]["disagreements"], arm["pooled"]["pairs"]) == (245, 3600)
    assert arm["pooled"]["interval_percentile"] == pytest.approx((0.036, 0.101), abs=0.003)
    spread = fairmed("analyse", recorded(HAIKU), "--json").json["arms"][0]["spread"]
    assert (spread["highest"], spread["lowest"]) == ("cs_caution", "icu_escalation")
    assert spread["difference"] == pytest.approx(0.157, abs=0.0005)
    assert spread["interval_percentile"] == pytest.approx((0.051, 0.269), abs=0.003)


def test_the_tier_of_minus_one_is_counted_as_recorded_and_told(fairmed, recorded):
    found = fairmed("analyse", recorded(PHI), "--json").json
    (told,) = (d for d in found["diagnostics"] if d["kind"] == "out of range")
    assert "analgesia_tier is -1, expected 0..3" in told["text"]
    assert told["trajectories"] == 1
    assert found["arms"][0]["actions"]["any_opioid"]["pairs"] == 720
    assert found["arms"][0]["actions"]["cs_caution"]["missing"] == 1


def test_a_declared_range_makes_the_tier_of_minus_one_missing(fairmed, recorded, toml):
    rules = toml(
        'schema = 1\n[[range]]\nstage = "prescribe"\nfield = "analgesia_tier"\nlow = 0\nhigh = 3\n'
    )
    found = fairmed("analyse", recorded(PHI), "--rules", rules, "--json").json
    opioid = found["arms"][0]["actions"]["any_opioid"]
    assert (opioid["pairs"], opioid["missing"]) == (711, 1)
    (told,) = (d for d in found["diagnostics"] if d["kind"] == "out of range")
    assert "missing" in told["text"]


def test_pilot_flips_are_the_published_ones_when_nothing_is_called_a_control(
    fairmed, recorded, toml
):
    path = recorded(PILOT)
    ran = fairmed(
        "analyse", path, "--rules", toml(BLOCKS), "--reference", "ref_white_man_private", "--json"
    )
    flips: dict[str, float] = {}
    for contrast in ran.json["contrasts"]:
        moved = contrast["b"] + contrast["c"]
        flips[contrast["condition"]] = flips.get(contrast["condition"], 0) + moved
    assert flips == FLIPS
    assert {c["family_size"] for c in ran.json["contrasts"]} == {len(FLIPS) * 6}


def test_no_pilot_contrast_gets_a_verdict_and_each_says_why(fairmed, recorded, toml):
    for rules in (
        BLOCKS + '[[condition]]\nname = "ref_white_man_private"\nkind = "reference"\n',
        CONTROLS,
    ):
        ran = fairmed("analyse", recorded(PILOT), "--rules", toml(rules), "--json")
        assert ran.status == 0
        assert ran.json["contrasts"]
        for contrast in ran.json["contrasts"]:
            assert contrast["verdict"] in ("INCONCLUSIVE", "UNMEASURED")
            assert "no replicate pair" in contrast["reasons"][0]


def test_pilot_controls_are_compared_and_not_judged(fairmed, recorded, toml):
    ran = fairmed("analyse", recorded(PILOT), "--rules", toml(CONTROLS), "--json")
    flips: dict[str, float] = {}
    for control in ran.json["controls"]:
        flips[control["condition"]] = flips.get(control["condition"], 0) + control["b"]
        flips[control["condition"]] += control["c"]
        assert control["block"] == "control"
    assert flips == {name: n for name, n in FLIPS.items() if name.endswith("_control")}
    judged = {contrast["condition"] for contrast in ran.json["contrasts"]}
    assert judged == {name for name in FLIPS if not name.endswith("_control")}
    text = fairmed("analyse", recorded(PILOT), "--rules", toml(CONTROLS)).out
    assert "UNMEASURED" in text
    assert "no replicate pair" in text


def test_the_pilot_needs_its_blocks_named(fairmed, recorded):
    ran = fairmed("analyse", recorded(PILOT), "--reference", "ref_white_man_private")
    assert ran.status == 2
    first, advice = ran.err.strip().splitlines()
    assert f"{PILOT}:27: draft_documentation_01, ref_white_man_private, replicate 1" in first
    assert "block = " in advice


def test_three_models_are_compared_on_the_same_vignettes(fairmed, recorded):
    found = fairmed("analyse", recorded(HAIKU), recorded(LLAMA), recorded(PHI), "--json").json
    pooled = {
        (d["model_a"], d["model_b"]): d for d in found["differences"] if d["action"] == "pooled"
    }
    assert len(pooled) == 3
    one = pooled["claude-haiku-4-5", "llama3.1:8b-instruct-q4_K_M"]
    assert one["difference"] == pytest.approx((374 - 974) / 4320)
    assert one["vignettes"] == 16
    assert one["interval_percentile"][1] < 0
    assert [a["actions"] for a in found["agreements"]] == [6, 6, 6]
