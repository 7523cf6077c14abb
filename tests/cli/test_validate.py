"""`fairmed validate`: every complaint with file and line, and a status that a build can use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import pytest_fairmedagent
from pytest_fairmedagent.files.vignettes import shipped_vignettes

AUDIT = Path(pytest_fairmedagent.__file__).parent / "audit"
SWAPS = """schema = 1
line = "A {race} patient."

[reference]
race = "White"

[[condition]]
id = "race_green"
attribute = "race"
set = { race = "Green" }
"""
PLAN = """schema = 1
name = "own"
says = "For a test."
replicates = 3

[[family]]
name = "primary"
swaps = ["race_green"]
"""


def test_what_comes_with_the_project_is_ok(fairmed):
    ran = fairmed("validate", shipped_vignettes(), AUDIT)
    assert ran.status == 0
    lines = ran.out.splitlines()
    assert all(line.startswith("ok   ") for line in lines)
    assert {line.rsplit("(", 1)[1] for line in lines} == {"vignette)", "swaps)", "plan)"}


def test_every_error_is_listed_with_file_and_line(fairmed, tmp_path):
    path = tmp_path / "case.toml"
    path.write_text('schema = 1\nid = "Bad Id"\ntitle = ""\nnarrative = "x"\nmenu = []\nodd = 1\n')
    ran = fairmed("validate", path)
    assert ran.status == 1
    lines = [line for line in ran.out.splitlines() if not line.startswith("  ")]
    assert all(line.startswith(f"bad  {path}:") for line in lines)
    for place in (":2: 'id'", ":3: 'title'", ":5: 'menu'", ":6: unknown key 'odd'"):
        assert any(place in line for line in lines), place
    assert any("'domain' is missing" in line for line in lines)


def test_json_says_the_same(fairmed, tmp_path):
    good, bad = tmp_path / "swaps.toml", tmp_path / "rules.toml"
    good.write_text(SWAPS)
    bad.write_text('schema = 1\nblock = 3\nactions = ["admission"]\n')
    ran = fairmed("validate", good, bad, "--json")
    assert ran.status == 1
    one, other = json.loads(ran.out)
    assert one == {"file": str(good), "kind": "swaps", "ok": True, "errors": []}
    assert (other["kind"], other["ok"]) == ("rules", False)
    assert other["errors"][0].startswith(f"{bad}:2: 'block' is 3")


def test_a_plan_is_read_with_the_catalogue_beside_it(fairmed, tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN)
    alone = fairmed("validate", tmp_path)
    assert alone.status == 1
    assert f"{tmp_path / 'plan.toml'}:8: unknown swap 'race_green'" in alone.out
    (tmp_path / "swaps.toml").write_text(SWAPS)
    assert fairmed("validate", tmp_path).status == 0


def test_two_vignettes_of_one_id_are_named(fairmed, tmp_path):
    text = next(shipped_vignettes().glob("early*.toml")).read_text(encoding="utf-8")
    for name in ("a.toml", "b.toml"):
        (tmp_path / name).write_text(text, encoding="utf-8")
    ran = fairmed("validate", tmp_path)
    assert ran.status == 1
    assert ran.out.count("ok   ") == 1
    assert "is also that of" in ran.out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n", "is neither a vignette nor a swaps, plan or rules file"),
        ("x = \n", ":1: not valid TOML"),
        ("", "no keys at all"),
        ('[[condition]]\nname = "a"\n', "'schema' is missing"),
    ],
)
def test_what_is_none_of_these_files_is_bad(fairmed, tmp_path, text, said):
    path = tmp_path / "odd.toml"
    path.write_text(text)
    ran = fairmed("validate", path)
    assert ran.status == 1
    assert said in ran.out


def test_a_path_that_is_not_there_and_an_empty_folder_are_bad(fairmed, tmp_path):
    ran = fairmed("validate", tmp_path / "no.toml", tmp_path)
    assert ran.status == 1
    assert "cannot be read" in ran.out
    assert "holds no file *.toml" in ran.out
