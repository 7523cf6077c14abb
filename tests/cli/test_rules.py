"""Rules files: names of conditions, the block key, actions of one's own, ranges."""

from __future__ import annotations

import pytest


def write(action):
    return "schema = 1\n[[action]]\n" + "".join(f"{k} = {v}\n" for k, v in action.items())


EARLY = {
    "name": '"early_follow_up"',
    "stage": '"document"',
    "field": '"followup_days"',
    "op": '"at_most"',
    "value": "7",
}


@pytest.mark.parametrize(
    ("op", "value", "days", "rate"),
    [
        ("at_most", "7", [7, 8, 6, 30], 0.5),
        ("at_least", "7", [7, 8, 6, 30], 0.75),
        ("at_least", "7.5", [7, 8, 6, 30], 0.5),
        ("equals", "7", [7, 8, 7, 7.0], 0.75),
        ("equals", '"soon"', ["soon", "late", "soon", "soon"], 0.75),
        ("equals", "true", [True, False, True, True], 0.75),
        ("is_true", None, [True, False, False, False], 0.25),
    ],
)
def test_an_action_of_ones_own_reads_a_field(fairmed, make, record, toml, op, value, days, rate):
    action = {**EARLY, "op": f'"{op}"'}
    action.pop("value")
    if value is not None:
        action["value"] = value
    path = record([make.row("a", "reference", i, days=d) for i, d in enumerate(days, start=1)])
    ran = fairmed("analyse", path, "--rules", toml(write(action)), "--json")
    (arm,) = ran.json["arms"]
    assert set(arm["actions"]) == {"early_follow_up"}
    assert arm["actions"]["early_follow_up"]["rate"] == rate
    assert arm["actions"]["early_follow_up"]["missing"] == 0


@pytest.mark.parametrize(
    ("op", "value", "odd"),
    [
        ("at_most", "7", ["seven", True, None, [7]]),
        ("equals", "true", [1, "true", None, 1.0]),
        ("equals", "1", [True, "1", None, []]),
        ("is_true", None, [1, "yes", None, {}]),
    ],
)
def test_a_value_of_another_type_is_missing_not_a_no(fairmed, make, record, toml, op, value, odd):
    action = {**EARLY, "op": f'"{op}"'}
    action.pop("value")
    if value is not None:
        action["value"] = value
    path = record([make.row("a", "reference", i, days=d) for i, d in enumerate(odd, start=1)])
    found = fairmed("analyse", path, "--rules", toml(write(action)), "--json").json
    assert found["arms"][0]["actions"]["early_follow_up"]["missing"] == 4


def test_the_six_and_ones_own_are_chosen_by_name(fairmed, make, record, toml):
    text = 'schema = 1\nactions = ["early_follow_up", "admission"]\n' + write(EARLY)[11:]
    path = record([make.row("a", "reference", 1)])
    found = fairmed("analyse", path, "--rules", toml(text), "--json").json
    assert list(found["arms"][0]["actions"]) == ["early_follow_up", "admission"]


def test_names_are_mapped_and_the_files_own_are_kept_beside(fairmed, make, record, toml):
    rules = toml(
        'schema = 1\n[[condition]]\nname = "white"\nid = "reference"\nkind = "reference"\n'
        '[[condition]]\nname = "again"\nid = "rerender"\n'
        '[[condition]]\nname = "black"\nid = "race_black"\n'
    )
    rows = [r for name in ("white", "again", "black") for r in make.arm(name, [1, 3], 4)]
    found = fairmed("analyse", record(rows), "--rules", rules, "--json").json
    assert {(a["condition"], a["named"], a["kind"]) for a in found["arms"]} == {
        ("reference", "white", "reference"),
        ("rerender", "again", "identical"),
        ("race_black", "black", "swap"),
    }
    assert {c["condition"] for c in found["contrasts"]} == {"race_black"}


def test_two_conditions_of_a_file_are_not_mapped_to_one(fairmed, make, record, toml):
    rules = toml(
        'schema = 1\n[[condition]]\nname = "x"\nid = "z"\n[[condition]]\nname = "y"\nid = "z"\n'
    )
    ran = fairmed(
        "analyse", record(make.arm("x", [1], 2) + make.arm("y", [1], 2)), "--rules", rules
    )
    assert ran.status == 2
    assert ":3: 'y' and 'x' are both mapped to 'z'" in ran.err


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("schema = 2\n", 1, "'schema' is 2"),
        ('schema = 1\nbock = "arm"\n', 2, "unknown key 'bock'. Did you mean 'block'?"),
        (write({**EARLY, "op": '"eval"'}), 6, "expected one of is_true, equals"),
        (write({**EARLY, "value": '"x"'}), 7, "expected a number for 'at_most'"),
        (write({**EARLY, "value": "nan"}), 7, "expected a number for 'at_most'"),
        (write({**EARLY, "op": '"is_true"'}), 7, "'is_true' takes no 'value'"),
        (write({k: v for k, v in EARLY.items() if k != "value"}), 2, "'at_most' needs a 'value'"),
        (
            write({k: v for k, v in EARLY.items() if k != "stage"}),
            2,
            "'action[0].stage' is missing",
        ),
        (write(EARLY) + write(EARLY)[11:], 9, "action 'early_follow_up' stands twice"),
        ('schema = 1\nactions = ["admision"]\n', 2, "Did you mean 'admission'?"),
        (
            'schema = 1\nactions = ["admission"]\n' + write(EARLY)[11:],
            2,
            "leaves out 'early_follow_up'",
        ),
        (
            'schema = 1\n[[condition]]\nname = "a"\nkind = "reference"\n'
            '[[condition]]\nname = "b"\nkind = "reference"\n',
            7,
            "second reference",
        ),
        (
            'schema = 1\n[[condition]]\nname = "a"\n\n[[condition]]\nname = "a"\n',
            6,
            "condition 'a' stands twice",
        ),
        ('schema = 1\n[[condition]]\nname = "a"\nkind = "shame"\n', 4, "expected one of reference"),
        (
            'schema = 1\n[[range]]\nstage = "s"\nfield = "f"\nlow = 3\nhigh = 1\n',
            5,
            "'low' is 3, above 'high', 1",
        ),
        ("schema = \n", 1, "not valid TOML"),
    ],
)
def test_a_wrong_rule_is_named_with_file_and_line(fairmed, make, record, toml, text, line, said):
    rules = toml(text)
    ran = fairmed("analyse", record([make.row("a", "reference", 1)]), "--rules", rules)
    assert ran.status == 2
    assert ran.err.startswith(f"fairmed: error: {rules}:{line}: ")
    assert said in ran.err
