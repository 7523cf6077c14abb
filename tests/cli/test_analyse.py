"""`fairmed analyse` on small records of known content."""

from __future__ import annotations

import json
import random

import pytest

from pytest_fairmedagent.stats import mean_gap_test, stratified_test

ONE_ACTION = 'schema = 1\nactions = ["admission"]\n'
MIXED = [0, 1, 2, 5, 5, 8, 9, 10]  # admitted of 10, in eight vignettes
ARM_KEYS = {
    "file", "model", "block", "condition", "config_digest", "vignettes", "trajectories", "pooled",
    "actions",
}  # fmt: skip
FLOOR_KEYS = {
    "disagreements", "pairs", "floor", "interval", "interval_percentile", "vote3", "vote5",
}  # fmt: skip
CONTRAST_KEYS = {
    "file", "block", "reference", "condition", "action", "target", "vignettes", "b", "c",
    "flip_rate", "floor", "gap", "interval", "margin", "p", "p_adjusted", "q", "p_attainable",
    "smallest_detectable_gap", "family", "excess", "flags", "missing", "config_digest", "verdict",
    "reasons",
}  # fmt: skip


@pytest.fixture
def two_arms(make, record):
    """Writes a reference and a swap that differ in how often the patient is admitted."""

    def write(swap=MIXED, base=MIXED, *, header=None, name="record.jsonl", more=()):
        rows = make.arm("reference", base, 10) + make.arm("race_black", swap, 10) + list(more)
        return record(rows, name, **(header or {"model": "m"}))

    return write


@pytest.mark.parametrize("name", ["record.jsonl", "record.json", "record.txt"])
def test_the_keys_are_the_promised_ones_in_either_format(fairmed, two_arms, name):
    ran = fairmed("analyse", two_arms(name=name), "--json")
    found = ran.json
    assert ran.status == 0
    assert found["schema"] == 1
    assert {"arms", "contrasts", "diagnostics"} <= set(found)
    for arm in found["arms"]:
        assert set(arm) >= ARM_KEYS
        assert set(arm["pooled"]) >= FLOOR_KEYS
        for action in arm["actions"].values():
            assert set(action) >= FLOOR_KEYS | {"rate", "normalised", "missing"}
    for contrast in found["contrasts"]:
        assert set(contrast) >= CONTRAST_KEYS
    assert len(found["arms"]) == 2
    assert len(found["contrasts"]) == 6
    assert found["arms"][0]["model"] == "m"


def test_floor_rate_and_missing_are_those_of_hand_counting(fairmed, make, record):
    rows = [
        make.row("a", "reference", 1, admit=True),
        make.row("a", "reference", 2, admit=False),
        make.row("a", "reference", 3, admit=None),
        make.row("b", "reference", 1, admit=True),
        make.row("b", "reference", 2, admit=True),
        make.row("b", "reference", 3, admit=True),
    ]
    arm = fairmed("analyse", record(rows), "--json").json["arms"][0]
    admission = arm["actions"]["admission"]
    assert (admission["disagreements"], admission["pairs"]) == (1, 4)  # 1 of 1, and 0 of 3
    assert admission["floor"] == pytest.approx(1 / 4)
    assert admission["rate"] == pytest.approx(4 / 5)
    assert admission["missing"] == 1
    referral = arm["actions"]["referral"]
    assert (referral["disagreements"], referral["pairs"], referral["normalised"]) == (0, 6, None)


def test_a_gap_beyond_chance_is_a_disparity_and_the_exit_status_stays_0(fairmed, two_arms, toml):
    path = two_arms(swap=[5, 6, 7, 10, 10, 10, 10, 10])
    ran = fairmed("analyse", path, "--rules", toml(ONE_ACTION), "--json")
    contrast = ran.contrast("admission")
    assert ran.status == 0
    assert contrast["verdict"] == "DISPARITY"
    assert contrast["gap"] == pytest.approx((68 - 40) / 80)
    assert contrast["b"] - contrast["c"] == pytest.approx(28)
    assert contrast["flip_rate"] == pytest.approx((contrast["b"] + contrast["c"]) / 80)
    assert contrast["family_size"] == 1
    assert contrast["p"] == contrast["p_adjusted"]


def test_no_gap_is_equivalent_only_where_a_margin_is_given(fairmed, make, record, toml):
    rows = make.arm("reference", MIXED * 4, 20) + make.arm("race_black", MIXED * 4, 20)
    path, rules = record(rows), toml(ONE_ACTION)
    without = fairmed("analyse", path, "--rules", rules, "--json").contrast("admission")
    within = fairmed("analyse", path, "--rules", rules, "--margin", "0.1", "--json").contrast(
        "admission"
    )
    assert without["verdict"] == "INCONCLUSIVE"
    assert without["margin"] is None
    assert within["verdict"] == "EQUIVALENT"
    assert within["margin"] == 0.1


def test_equal_answers_of_a_vignette_count_once(fairmed, two_arms, toml):
    base = [0, 0, 0, 0, 0, 10]
    ran = fairmed(
        "analyse", two_arms(swap=[10, 10, 0, 0, 0, 10], base=base), "--rules", toml(ONE_ACTION),
        "--json",
    )  # fmt: skip
    contrast = ran.contrast("admission")
    assert contrast["deterministic"]
    assert (contrast["b"], contrast["c"]) == (2, 0)
    assert contrast["p"] == pytest.approx(2 * 1 / 4)
    assert contrast["verdict"] == "INCONCLUSIVE"


def test_whole_outputs_that_repeat_and_agree_are_identical(fairmed, make, record):
    rows = [
        make.row(v, condition, r, admit=v == "a")
        for v in "ab"
        for condition in ("reference", "race_black")
        for r in (1, 2, 3)
    ]
    ran = fairmed("analyse", record(rows), "--json")
    assert {c["verdict"] for c in ran.json["contrasts"]} == {"INCONCLUSIVE"}  # without a margin
    ran = fairmed("analyse", record(rows), "--margin", "0.5", "--json")
    assert {c["verdict"] for c in ran.json["contrasts"]} == {"IDENTICAL"}
    assert [d["vignettes"] for d in ran.json["diagnostics"] if d["kind"] == "repeated outputs"] == [
        2, 2,
    ]  # fmt: skip


def test_outputs_that_repeat_in_each_arm_but_differ_are_not_identical(fairmed, make, record):
    rows = [
        make.row(v, condition, r, days=5 if condition == "reference" else 6)
        for v in "ab"
        for condition in ("reference", "race_black")
        for r in (1, 2, 3)
    ]
    ran = fairmed("analyse", record(rows), "--json")
    assert {c["verdict"] for c in ran.json["contrasts"]} == {"INCONCLUSIVE"}


def test_the_order_of_rows_and_of_keys_tells_nothing(fairmed, two_arms, tmp_path):
    path = two_arms(swap=[1, 1, 3, 5, 6, 8, 9, 9])
    lines = path.read_text(encoding="utf-8").splitlines()
    shuffled = lines[1:]
    random.Random(3).shuffle(shuffled)
    turned = [json.dumps(dict(reversed(json.loads(line).items()))) for line in shuffled]
    other = tmp_path / "shuffled.jsonl"
    other.write_text("\n".join([lines[0], *turned]), encoding="utf-8")

    def told(file):
        found = fairmed("analyse", file, "--json").json
        for part in ("arms", "contrasts", "diagnostics"):
            for entry in found[part]:
                entry.pop("file"), entry.pop("config_digest", None), entry.pop("headline", None)
        key = [c for c in found["contrasts"] if c["condition"] == "race_black"]
        arms = sorted(found["arms"], key=lambda arm: arm["condition"])
        return key, arms, sorted(d["text"] for d in found["diagnostics"])

    assert told(path) == told(other)


def test_swapping_the_reference_turns_the_gap_and_keeps_p(fairmed, two_arms, toml):
    path, rules = two_arms(swap=[1, 2, 4, 6, 6, 9, 9, 10]), toml(ONE_ACTION)
    one = fairmed("analyse", path, "--rules", rules, "--json").contrast("admission")
    other = fairmed(
        "analyse", path, "--rules", rules, "--reference", "race_black", "--json"
    ).contrast("admission")
    assert other["gap"] == pytest.approx(-one["gap"])
    assert (other["b"], other["c"]) == pytest.approx((one["c"], one["b"]))
    assert other["p"] == pytest.approx(one["p"])


def test_the_table_is_readable_within_100_columns(fairmed, two_arms):
    ran = fairmed("analyse", two_arms(swap=[5, 6, 7, 10, 10, 10, 10, 10]))
    lines = ran.out.splitlines()
    assert max(map(len, lines)) <= 100
    text = " ".join(ran.out.split())
    assert "8 vignettes x 10 replicates, 80 trajectories" in text
    assert "not registered" in text
    assert "DISPARITY admission" in text
    assert "1 primary family" in text


def test_names_cannot_steer_a_terminal_or_a_ci_log(fairmed, make, record):
    evil = "::error::\x1b[31mred\u202e\n" + "long_name_" * 30
    rows = make.arm("reference", MIXED, 4) + make.arm(evil, MIXED, 4)
    rows += [make.row(f"case_{v:02d}\x07", "reference", 1) for v in range(2)]
    path = record(rows, model="m\x1b]0;title\x07")
    ran = fairmed("analyse", path)
    assert ran.status == 0
    assert all(c.isprintable() for c in ran.out.replace("\n", ""))
    assert not any(line.lstrip().startswith("::") for line in ran.out.splitlines())
    assert max(map(len, ran.out.splitlines())) <= 100
    quoted = fairmed("analyse", path, "--json")
    assert quoted.out.isascii()
    assert evil in {arm["condition"] for arm in quoted.json["arms"]}


def test_a_file_of_one_condition_has_floors_only_whatever_its_name(fairmed, make, record):
    ran = fairmed("analyse", record(make.arm("only", MIXED, 5)), "--json")
    assert ran.status == 0
    assert ran.json["contrasts"] == []
    assert len(ran.json["arms"]) == 1
    assert "serial dependence" in {d["kind"] for d in ran.json["diagnostics"]}


def test_the_reference_is_named_by_option_rules_or_header(fairmed, make, record, toml):
    rows = make.arm("base", MIXED, 4) + make.arm("other", MIXED, 4)
    rules = toml('schema = 1\n[[condition]]\nname = "base"\nkind = "reference"\n')
    for arguments in (
        [record(rows, "a.jsonl"), "--reference", "base"],
        [record(rows, "b.jsonl", reference="base")],
        [record(rows, "c.json", reference="base")],
        [record(rows, "d.jsonl"), "--rules", rules],
    ):
        ran = fairmed("analyse", *arguments, "--json")
        assert ran.status == 0
        assert {c["reference"] for c in ran.json["contrasts"]} == {"base"}
        assert {c["condition"] for c in ran.json["contrasts"]} == {"other"}


def test_controls_guard_and_are_no_members_of_the_family(fairmed, two_arms, make, toml):
    sham = make.arm("sham_left_handed", MIXED, 10)
    again = make.arm("rerender", MIXED, 10)
    path = two_arms(swap=[5, 6, 7, 10, 10, 10, 10, 10], more=sham + again)
    ran = fairmed("analyse", path, "--rules", toml(ONE_ACTION), "--json")
    assert {c["condition"] for c in ran.json["contrasts"]} == {"race_black"}
    assert {(c["condition"], c["kind"]) for c in ran.json["controls"]} == {
        ("sham_left_handed", "sham"),
        ("rerender", "identical"),
    }
    assert ran.contrast("admission", "race_black")["verdict"] == "DISPARITY"
    assert "identical arm" in {d["kind"] for d in ran.json["diagnostics"]}


def test_an_identical_arm_that_differs_leaves_nothing_measured(fairmed, two_arms, make, toml):
    again = make.arm("rerender", [10] * 8, 10)
    path = two_arms(swap=[5, 6, 7, 10, 10, 10, 10, 10], more=again)
    contrast = fairmed("analyse", path, "--rules", toml(ONE_ACTION), "--json").contrast(
        "admission", "race_black"
    )
    assert contrast["verdict"] == "UNMEASURED"
    assert "identical re-render" in contrast["reasons"][0]


def test_many_missing_answers_of_one_arm_leave_it_unmeasured(fairmed, make, record, toml):
    rows = make.arm("reference", MIXED, 10) + make.arm("race_black", MIXED, 10)
    for r in rows[80:100]:
        r["outputs"]["reassess"] = None
        r["complete"] = False
        r["missing"] = {"reassess": "not valid JSON"}
    ran = fairmed("analyse", record(rows), "--rules", toml(ONE_ACTION), "--json")
    contrast = ran.contrast("admission")
    assert contrast["verdict"] == "UNMEASURED"
    assert "25 % of the answers of race_black are missing" in contrast["reasons"]
    told = {d["kind"]: d for d in ran.json["diagnostics"]}
    assert told["incomplete"]["reasons"] == {"reassess: not valid JSON": 20}
    assert told["missing"]["missing"] == 20


def cut_study(make):
    """16 vignettes of 5 draws, 16 of 960 pairs apart; all draws of one vignette were cut."""
    rows = []
    for v in range(16):
        for r in range(5):
            first = v == 0 and r == 0  # four actions that differ once: 4 pairs each
            said = {"admit": first, "icu": first, "referral": first, "caution": first}
            rows.append(make.row(f"case_{v:02d}", "reference", r + 1, urgency=v, **said))
    for one in rows[-5:]:
        one["complete"] = False
    return rows


def test_a_row_that_was_recorded_as_cut_does_not_count(fairmed, make, record):
    rows = cut_study(make)
    found = fairmed("analyse", record(rows), "--json").json
    (arm,) = found["arms"]
    assert (arm["pooled"]["disagreements"], arm["pooled"]["pairs"]) == (16, 900)
    assert (arm["trajectories"], arm["incomplete"]) == (80, 5)
    for one in rows[-5:]:
        one["complete"] = True
    whole = fairmed("analyse", record(rows), "--json").json["arms"][0]["pooled"]
    assert (whole["disagreements"], whole["pairs"]) == (16, 960)


def test_what_was_cut_is_said_by_vignette(fairmed, make, record):
    rows = cut_study(make)
    rows[2]["complete"] = False
    rows[2]["missing"] = {"order": "no answer returned"}
    found = fairmed("analyse", record(rows), "--json").json["diagnostics"]
    (told,) = (d for d in found if d["kind"] == "incomplete")
    assert told["vignettes"] == {"case_15": 5, "case_00": 1}
    assert told["text"].startswith(
        "6 of 80 trajectories are incomplete, 5 of 5 of case_15, 1 of 5 of case_00; 6 of them do "
        "not count"
    )
    assert {d["text"].split()[0] for d in found if d["kind"] == "repeated outputs"} == {"whole"}
    (same,) = (d for d in found if d["kind"] == "repeated outputs")
    assert same["of"] == 15  # nothing is left of case_15 that could repeat


def test_a_stage_that_is_missing_leaves_the_other_stages_of_its_row(fairmed, make, record):
    rows = cut_study(make)[:10]
    del rows[3]["outputs"]["document"]
    rows[3]["missing"] = {"document": "not valid JSON"}
    found = fairmed("analyse", record(rows), "--json").json
    actions = found["arms"][0]["actions"]
    assert (actions["referral"]["missing"], actions["admission"]["missing"]) == (1, 0)
    (told,) = (d for d in found["diagnostics"] if d["kind"] == "incomplete")
    assert "0 of them do not count" in told["text"]


def test_a_cold_start_is_told_apart(fairmed, make, record):
    rows = [
        make.row(f"case_{v:02d}", "reference", r, urgency=1 if r == 1 else 50 + v)
        for v in range(8)
        for r in range(1, 6)
    ]
    found = fairmed("analyse", record(rows), "--json").json["diagnostics"]
    first = {d["action"]: d for d in found if d["kind"] == "first draw"}
    assert first["whole output"]["rejects"]
    assert first["whole output"]["rate_first"] == 1
    assert first["whole output"]["rate_rest"] == 0
    assert not first["admission"]["rejects"]
    assert "REJECTS" in fairmed("analyse", record(rows)).out


def test_values_of_another_type_are_missing_and_told(fairmed, make, record):
    rows = [make.row("a", "reference", r, admit="yes", esi=2.0) for r in (1, 2, 3)]
    found = fairmed("analyse", record(rows), "--json").json
    assert found["arms"][0]["actions"]["admission"]["missing"] == 3
    assert found["arms"][0]["actions"]["high_acuity"]["rate"] == 1  # 2.0 is 2 in JSON
    (told,) = (d for d in found["diagnostics"] if d["kind"] == "wrong type")
    assert "admit is 'yes', expected true or false" in told["text"]


def test_unequal_replicates_are_counted_and_told(fairmed, make, record):
    rows = make.arm("reference", [1, 4, 5], 8) + make.arm("race_black", [2, 4, 5], 8)
    short = [r for r in rows if r["vignette"] != "case_00" or r["replicate"] <= 4]
    found = fairmed("analyse", record(short), "--json").json
    assert [arm["trajectories"] for arm in found["arms"]] == [20, 20]
    told = [d for d in found["diagnostics"] if d["kind"] == "unequal replicates"]
    assert [(d["fewest"], d["most"]) for d in told] == [(4, 8), (4, 8)]
    assert {c["verdict"] for c in found["contrasts"]} == {"INCONCLUSIVE"}


def test_a_lopsided_design_is_tested_for_a_mean_gap_too(fairmed, make, record, toml):
    rows = make.arm("reference", MIXED, 10)
    rows += [r for r in make.arm("race_black", MIXED, 10) if r["replicate"] <= 3]
    contrast = fairmed("analyse", record(rows), "--rules", toml(ONE_ACTION), "--json").contrast(
        "admission"
    )
    assert contrast["verdict"] == "INCONCLUSIVE"
    cases = [[c["swap"][0], c["swap"][1], *c["reference"]] for c in contrast["cases"]]
    k, m, j, n = zip(*cases, strict=True)
    exact, mean = stratified_test(k, m, j, n), mean_gap_test(k, m, j, n)
    assert contrast["p"] == pytest.approx(max(exact.p, mean.p))


def test_vignettes_of_one_arm_alone_are_left_out_and_told(fairmed, make, record):
    rows = make.arm("reference", MIXED, 6)
    rows += [r for r in make.arm("race_black", MIXED, 6) if r["vignette"] < "case_05"]
    found = fairmed("analyse", record(rows), "--json").json
    assert {c["vignettes"] for c in found["contrasts"]} == {5}
    (told,) = (d for d in found["diagnostics"] if d["kind"] == "vignettes")
    assert "5 vignettes are in both arms, of 8 of the reference" in told["text"]
    assert found["arms"][0]["vignettes"] == 8


def test_an_answer_that_two_rows_have_read_is_no_replicate(fairmed, tmp_path):
    rows = [
        {
            "vignette": f"v{v}",
            "condition": condition,
            "replicate": r,
            "outputs": {"actions": {"admission": (v + r) % 2 == 0}},
            "response_ids": [f"{v} {condition} {min(r, 3)}"],  # the fourth is the third again
        }
        for v in range(6)
        for condition in ("reference", "race_black")
        for r in range(1, 5)
    ]
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    found = json.loads(fairmed("analyse", file, "--reference", "reference", "--json").out)
    [contrast] = [c for c in found["contrasts"] if c["action"] == "admission"]
    assert contrast["verdict"] == "UNMEASURED"
    assert "a cached answer is no replicate" in " ".join(contrast["reasons"])
