"""Blocks, configurations, plans and several files: what is compared with what."""

from __future__ import annotations

import json

import pytest

from pytest_fairmedagent.files.plans import profile_path

pytestmark = pytest.mark.slow

MIXED = [0, 1, 2, 5, 5, 8, 9, 10]
APART = [5, 6, 7, 10, 10, 10, 10, 10]
PLAN = """
schema = 1
name = "test"
says = "For a test."
replicates = 10
margin = 0.2

[[family]]
name = "primary"
swaps = ["race_black", "race_hispanic"]
actions = ["admission", "referral"]
"""


def with_key(rows, **keys):
    return [{**r, **keys} for r in rows]


def test_blocks_have_a_reference_of_their_own(fairmed, make, record):
    rows = with_key(make.arm("reference", MIXED, 10), block="one")
    rows += with_key(make.arm("race_black", MIXED, 10), block="one")
    rows += with_key(make.arm("reference", APART, 10), block=2)
    rows += with_key(make.arm("race_hispanic", APART, 10), block=2)
    path = record(rows)
    found = fairmed("analyse", path, "--json").json
    gaps = {
        (c["block"], c["condition"]): c["gap"]
        for c in found["contrasts"]
        if c["action"] == "admission"
    }
    assert gaps == {("one", "race_black"): 0, ("2", "race_hispanic"): 0}
    assert {c["family_size"] for c in found["contrasts"]} == {12}
    one = fairmed("analyse", path, "--block", "one", "--json").json
    assert {c["condition"] for c in one["contrasts"]} == {"race_black"}
    assert {c["family_size"] for c in one["contrasts"]} == {6}
    ran = fairmed("analyse", path, "--block", "on")
    assert ran.status == 2
    assert "no block 'on'. Did you mean 'one'?" in ran.err


def test_a_block_without_the_reference_has_floors_only_and_says_so(fairmed, make, record):
    rows = with_key(make.arm("reference", MIXED, 4), block="one")
    rows += with_key(make.arm("race_black", MIXED, 4), block="one")
    rows += with_key(make.arm("a", MIXED, 4), block="two")
    rows += with_key(make.arm("b", MIXED, 4), block="two")
    found = fairmed("analyse", record(rows), "--json").json
    assert {c["block"] for c in found["contrasts"]} == {"one"}
    (told,) = (d for d in found["diagnostics"] if d["kind"] == "no reference")
    assert told["block"] == "two"
    assert len(found["arms"]) == 4


def test_holm_counts_the_members_of_every_block(fairmed, make, record, toml):
    one = with_key(make.arm("reference", MIXED, 10) + make.arm("race_black", APART, 10), block="1")
    two = with_key(make.arm("reference", MIXED, 10) + make.arm("other", MIXED, 10), block="2")
    rules = toml('schema = 1\nactions = ["admission"]\n')
    alone = fairmed("analyse", record(one), "--rules", rules, "--json").contrast("admission")
    both = fairmed("analyse", record(one + two), "--rules", rules, "--json").contrast(
        "admission", "race_black"
    )
    assert both["p"] == alone["p"]
    assert alone["p_adjusted"] == pytest.approx(alone["p"])
    assert both["p_adjusted"] == pytest.approx(2 * both["p"])


def test_arms_of_two_configurations_never_meet(fairmed, make, record, toml):
    rows = with_key(make.arm("reference", MIXED, 10), config={"model": "m", "temperature": 1})
    rows += with_key(make.arm("race_black", APART, 10), config={"model": "m", "temperature": 0})
    rows += with_key(make.arm("race_hispanic", MIXED, 10), config={"model": "m", "temperature": 1})
    ran = fairmed(
        "analyse", record(rows), "--rules", toml('schema = 1\nactions = ["admission"]\n'), "--json"
    )
    apart = ran.contrast("admission", "race_black")
    assert apart["verdict"] == "UNMEASURED"
    assert "temperature 0 against 1" in apart["reasons"][0]
    assert apart["gap"] is None
    assert apart["family_size"] == 2
    same = ran.contrast("admission", "race_hispanic")
    assert same["verdict"] == "INCONCLUSIVE"
    assert same["family_size"] == 2
    assert same["config_digest"] != apart["config_digest"]
    assert ran.json["files"][0]["model"] == "m"


def test_a_digest_alone_tells_configurations_apart(fairmed, make, record):
    rows = with_key(make.arm("reference", MIXED, 4), config="abc")
    rows += with_key(make.arm("race_black", MIXED, 4), config="abd")
    found = fairmed("analyse", record(rows), "--json").json
    assert {c["verdict"] for c in found["contrasts"]} == {"UNMEASURED"}
    assert {a["config_digest"] for a in found["arms"]} == {"abc", "abd"}


def test_the_configuration_of_the_header_is_that_of_rows_without_one(fairmed, make, record):
    shared = {"model": "m", "seed": 1}
    rows = make.arm("reference", MIXED, 4) + with_key(
        make.arm("race_black", MIXED, 4), config=shared
    )
    found = fairmed("analyse", record(rows, configuration=shared), "--json").json
    assert {c["verdict"] for c in found["contrasts"]} == {"INCONCLUSIVE"}
    assert found["files"][0]["declared"]


def test_a_family_of_a_plan_counts_what_the_file_does_not_hold(fairmed, make, record, toml):
    path = record(make.arm("reference", MIXED, 10) + make.arm("race_black", APART, 10))
    ran = fairmed("analyse", path, "--plan", toml(PLAN, "plan.toml"), "--json")
    found = ran.contrast("admission")
    assert {c["action"] for c in ran.json["contrasts"]} == {"admission", "referral"}
    assert (found["family"], found["family_size"]) == ("primary", 4)
    assert found["margin"] == 0.2
    assert found["registered"]
    [whole] = ran.json["swaps"]
    assert (whole["family_size"], whole["outcomes"]) == (2, ["admission", "referral"])
    assert whole["p_adjusted"] == pytest.approx(2 * whole["p"])  # the other swap counts with 1
    assert found["p_adjusted"] >= max(2 * found["p"] * (1 - 1e-9), whole["p_adjusted"])
    assert "declared by the plan" in fairmed("analyse", path, "--plan", toml(PLAN, "plan.toml")).out


def test_conditions_that_the_plan_does_not_register_decide_nothing(fairmed, make, record, toml):
    rows = [r for name in ("reference", "race_black") for r in make.arm(name, MIXED, 10)]
    rows += make.arm("language_limited", APART, 10)
    ran = fairmed("analyse", record(rows), "--plan", toml(PLAN, "plan.toml"), "--json")
    found = ran.contrast("admission", "language_limited")
    assert found["family"] == "in no family of the plan"
    assert found["p_adjusted"] is None
    assert found["q"] < 0.05
    assert not found["registered"]


def test_registered_trials_that_are_not_in_the_file_are_missing(fairmed, make, record, toml):
    rows = make.arm("reference", MIXED, 10)
    rows += [r for r in make.arm("race_black", APART, 10) if r["replicate"] <= 8]
    ran = fairmed("analyse", record(rows), "--plan", toml(PLAN, "plan.toml"), "--json")
    found = ran.contrast("admission")
    assert found["verdict"] == "UNMEASURED"
    assert "20 % of the answers of race_black are missing" in found["reasons"]
    (told,) = (d for d in ran.json["diagnostics"] if d["kind"] == "not in the file")
    assert told["text"].startswith("16 of 80 registered trials")


def test_draws_beyond_the_plan_are_not_read_by_its_contrasts(fairmed, make, record, toml):
    rows = make.arm("reference", MIXED, 10) + make.arm("race_black", MIXED, 10)
    later = make.arm("reference", [0] * 8, 6) + make.arm("race_black", [6] * 8, 6)
    rows += [{**r, "replicate": r["replicate"] + 10} for r in later]
    ran = fairmed("analyse", record(rows), "--plan", toml(PLAN, "plan.toml"), "--json")
    assert ran.contrast("admission")["gap"] == 0
    assert "beyond the plan" in {d["kind"] for d in ran.json["diagnostics"]}
    assert ran.json["arms"][0]["trajectories"] == 128


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ('"race_black"', '"race_blck"', 10, "unknown swap 'race_blck'. Did you mean 'race_black'?"),
        ('"referral"', '"refferal"', 11, "unknown action 'refferal'. Did you mean 'referral'?"),
        ("replicates = 10", "replicates = 0", 5, "'replicates' is 0"),
    ],
)
def test_a_wrong_plan_is_named_with_file_and_line(
    fairmed, make, record, toml, old, new, line, said
):
    plan = toml(PLAN.replace(old, new), "plan.toml")
    ran = fairmed("analyse", record(make.arm("reference", MIXED, 4)), "--plan", plan)
    assert ran.status == 2
    assert ran.err.startswith(f"fairmed: error: {plan}:{line}: ")
    assert said in ran.err


def test_the_margin_of_a_plan_is_not_to_be_overruled(fairmed, make, record, toml):
    path = record(make.arm("reference", MIXED, 4))
    ran = fairmed("analyse", path, "--plan", toml(PLAN, "plan.toml"), "--margin", "0.1")
    assert ran.status == 2
    assert "declared by the plan" in ran.err


def test_a_plan_may_name_actions_of_the_rules(fairmed, make, record, toml):
    rules = toml(
        'schema = 1\n[[action]]\nname = "urgent"\nstage = "triage"\nfield = "urgency_score"\n'
        'op = "at_least"\nvalue = 50\n'
    )
    plan = toml(PLAN.replace('["admission", "referral"]', '["urgent"]'), "plan.toml")
    path = record(make.arm("reference", MIXED, 10) + make.arm("race_black", MIXED, 10))
    ran = fairmed("analyse", path, "--rules", rules, "--plan", plan, "--json")
    assert ran.contrast("urgent")["family_size"] == 2


def test_files_are_compared_on_the_vignettes_of_both(fairmed, make, record):
    a = record(make.arm("reference", MIXED, 10), "a.jsonl", model="one")
    b = record(
        [r for r in make.arm("base", APART, 10) if r["vignette"] != "case_00"],
        "b.json",
        model="two",
    )
    ran = fairmed("analyse", a, b, "--json")
    pooled, *_ = ran.json["differences"]
    assert (pooled["model_a"], pooled["model_b"]) == ("one", "two")
    assert pooled["vignettes"] == 7
    cells = {v: k * (10 - k) for v, k in enumerate(MIXED)}
    apart = {v: k * (10 - k) for v, k in enumerate(APART)}
    want = sum(cells[v] - apart[v] for v in range(1, 8)) / (7 * 45)
    (admission,) = (d for d in ran.json["differences"] if d["action"] == "admission")
    assert admission["difference"] == pytest.approx(want)
    (agreement,) = ran.json["agreements"]
    assert agreement["actions"] == 6
    text = fairmed("analyse", a, b).out
    assert "1 = one" in text
    assert "2 = two" in text
    assert max(map(len, text.splitlines())) <= 100


def test_the_record_of_a_run_is_analysed_with_the_controls_that_it_had(fairmed, make, tmp_path):
    rows = [r for name in ("base", "race_black", "blank") for r in make.arm(name, MIXED, 6)]
    plan = {"reference": "base", "identical": ["blank"], "shams": [], "families": []}
    path = tmp_path / "report.json"
    path.write_text(json.dumps({"schema": 1, "runs": [{"model": "m"}], "plan": plan, "rows": rows}))
    found = fairmed("analyse", path, "--json").json
    assert found["files"][0]["model"] == "m"
    assert {c["condition"] for c in found["contrasts"]} == {"race_black"}
    assert {c["kind"] for c in found["controls"]} == {"identical"}


def test_the_record_of_a_run_analysed_by_its_plan_has_the_verdicts_of_the_run(
    fairmed, pytester, monkeypatch
):
    monkeypatch.delenv("CI", raising=False)
    report = pytester.path / "gate.json"
    model = "simulated:floor=0.087,gap=0.25,swap=race_black,seed=1,latency=0"
    pytester.runpytest_subprocess(
        f"--fairmed-model={model}", "--fairmed-profile=ci", f"--fairmed-report={report}"
    )
    run = json.loads(report.read_text(encoding="utf-8"))
    found = fairmed("analyse", report, "--plan", profile_path("ci"), "--json").json

    def told(record):
        keys = ("verdict", "p", "p_adjusted", "gap", "b", "c", "floor", "excess")
        return {
            (c["condition"], c["action"]): [*(c[key] for key in keys), *c["interval"]]
            for c in record["contrasts"]
            if c["condition"] in ("race_black", "insurance_medicaid")
        }

    mine, theirs = told(found), told(run)
    assert len(mine) == 12
    assert mine.keys() == theirs.keys()
    assert "DISPARITY" in {values[0] for values in mine.values()}
    for contrast, values in theirs.items():
        assert mine[contrast] == pytest.approx(values)
