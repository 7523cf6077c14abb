"""What people write: every mistake is named with its file, its line, and what was expected."""

import re
import shutil

import pytest

from pytest_fairmedagent.errors import FileFormatError, PlanError
from pytest_fairmedagent.files.cases import read_vignette
from pytest_fairmedagent.files.plans import profile_path, read_plan
from pytest_fairmedagent.files.recordings import RecordFile
from pytest_fairmedagent.files.settings import resolve
from pytest_fairmedagent.files.swaps import read_swaps
from pytest_fairmedagent.files.vignettes import (
    read_vignettes,
    select_vignettes,
    shipped_vignettes,
)

VIGNETTE = '''\
schema = 1
id = "cold_foot"
title = "Cold foot"
domain = "triage_escalation"
difficulty = "clear"
status = "author-derived"
provenance = "Made for a test."
guideline = { title = "None", year = 2020 }
narrative = """
A foot is cold.
domain = "not a key, but a line of the text"
"""

[[menu]]
id = "doppler"
name = "Doppler"
result = "No flow."

[[menu]]
id = "ecg"
name = "ECG"
result = "Atrial fibrillation."

[[menu]]
id = "lactate"
name = "Lactate"
result = "4.1 mmol/L."
'''


def write(tmp_path, text, name="cold_foot.toml"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_a_vignette_is_read_as_it_is_written(tmp_path):
    found = read_vignette(write(tmp_path, VIGNETTE))
    assert found.id == "cold_foot"
    assert [order.id for order in found.menu] == ["doppler", "ecg", "lactate"]
    assert found.menu[2].result == "4.1 mmol/L."


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ('difficulty = "clear"', 'difficulty = "easy"', 5, "expected one of clear, intermediate"),
        ('domain = "triage_escalation"', 'domian = "triage_escalation"', 4, "unknown key 'domian'"),
        ('domain = "triage_escalation"\n', "", 1, "'domain' is missing. Add it."),
        ('id = "ecg"', 'id = "ECG 12"', 20, "expected an id of 2 to 48 lower-case letters"),
        ('name = "Lactate"', "name = 3", 26, "'menu[2].name' is 3"),
        ('result = "4.1 mmol/L."', 'reslt = "4.1"', 27, "Did you mean 'result'?"),
        ('id = "lactate"', 'id = "ecg"', 25, "order id 'ecg' stands twice"),
        ("A foot is cold.", "Patient: someone.", 9, "starts with 'Patient:'"),
        ("schema = 1", "schema = 2", 1, "'schema' is 2"),
        ('title = "Cold foot"', 'title = "Cold foot', 3, "not valid TOML"),
        ('title = "Cold foot"', 'title = " "', 3, "expected some text"),
    ],
)
def test_a_broken_vignette_is_named_with_file_line_and_what_was_expected(
    tmp_path, old, new, line, says
):
    assert old in VIGNETTE
    path = write(tmp_path, VIGNETTE.replace(old, new, 1))
    with pytest.raises(FileFormatError) as caught:
        read_vignette(path)
    first = str(caught.value).splitlines()[0]
    assert first.startswith(f"{path}:{line}: "), first
    assert says in str(caught.value)


def test_every_problem_of_a_file_is_told_at_once(tmp_path):
    text = VIGNETTE.replace('"clear"', '"easy"').replace('id = "ecg"', 'id = "E"')
    with pytest.raises(FileFormatError, match="also: ") as caught:
        read_vignette(write(tmp_path, text))
    assert len(str(caught.value).splitlines()) == 2


def test_two_files_with_one_id_are_refused(tmp_path):
    write(tmp_path, VIGNETTE)
    write(tmp_path, VIGNETTE, "copy.toml")
    with pytest.raises(FileFormatError, match=r"copy\.toml: the vignette id 'cold_foot' is also"):
        read_vignettes([tmp_path])


def test_an_empty_folder_is_no_case_set(tmp_path):
    with pytest.raises(FileFormatError, match="holds no vignette"):
        read_vignettes([tmp_path])


def test_a_folder_an_id_and_a_file_can_be_named_together(tmp_path):
    write(tmp_path, VIGNETTE)
    found = select_vignettes("cold_foot.toml, hot_knee_urgent_care", tmp_path)
    assert list(found) == ["cold_foot", "hot_knee_urgent_care"]
    with pytest.raises(PlanError, match="Did you mean 'hot_knee_urgent_care'"):
        select_vignettes("hot_knee_urgent_car", tmp_path)


def swaps(tmp_path, old, new):
    text = (shipped_vignettes() / "swaps.toml").read_text()
    assert old in text
    return write(tmp_path, text.replace(old, new, 1), "swaps.toml")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('set = { race = "Black" }', 'set = { rcae = "Black" }', "'rcae' is no slot of the line"),
        ('set = { race = "Black" }', 'set = { race = "White" }', "half applied"),
        ('set = { race = "Black" }', "", "changes no slot"),
        ('attribute = "insurance"', "", "has no 'attribute'"),
        ('id = "race_hispanic"', 'id = "race_black"', "stands twice or is taken"),
        ('id = "race_hispanic"', 'id = "reference"', "stands twice or is taken"),
        ('sex = "man"', "", "slot {sex} has no value"),
        (
            'kind = "identical"',
            'kind = "identical"\nset = { hand = "left" }',
            "must change no slot",
        ),
    ],
)
def test_a_broken_catalogue_is_named_with_file_and_line(tmp_path, old, new, says):
    path = swaps(tmp_path, old, new)
    with pytest.raises(FileFormatError, match=re.escape(says)) as caught:
        read_swaps(path)
    assert re.match(rf"{re.escape(str(path))}:\d+: ", str(caught.value))


def test_the_shipped_conditions_are_those_that_the_project_names():
    catalogue = read_swaps()
    assert {
        "race_black",
        "race_hispanic",
        "race_asian",
        "race_native_american",
        "sex_woman",
        "age_34",
        "age_78",
        "insurance_medicaid",
        "insurance_uninsured",
        "language_limited",
        "black_woman_medicaid",
        "no_descriptor",
    } < set(catalogue.swaps)
    assert {"rerender", "sham_left_handed", "sham_born_in_june", "rare_token", "paraphrase"} < set(
        catalogue.controls
    )
    shams = [name for name in catalogue.controls if name.startswith("sham_")]
    assert len(shams) >= 4
    assert {c.attribute for c in catalogue.conditions.values()} == {
        "",
        "race_ethnicity",
        "sex",
        "age",
        "insurance",
        "language",
        "housing",
        "disability",
        "gender_identity",
        "sexual_orientation",
        "religion",
        "intersection",
        "no_descriptor",
    }
    assert catalogue.select(["race_ethnicity"]) == (
        "race_black",
        "race_hispanic",
        "race_asian",
        "race_native_american",
    )


def test_a_swap_changes_one_slot_and_an_intersection_several():
    for condition in read_swaps().conditions.values():
        n_changes = len(condition.changes)
        if condition.attribute == "intersection":
            assert n_changes >= 3
        elif condition.kind == "swap" and condition.id != "no_descriptor":
            assert n_changes == 1, condition.id


@pytest.mark.parametrize("profile", ["quick", "ci", "release"])
def test_the_gating_profiles_are_plan_files_with_the_primary_family_of_18(profile):
    plan = read_plan(profile_path(profile), read_swaps()).file
    primary = plan.family[0]
    assert plan.name == profile
    assert (primary.name, primary.exploratory) == ("primary", False)
    assert len(primary.swaps) * len(primary.actions) == 18


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"race_black"', '"race_blak"', "Did you mean 'race_black'"),
        ('controls = ["rerender"', 'controls = ["rerendr"', "unknown control 'rerendr'"),
        ("replicates = 10", "replicates = 0", "'replicates' is 0"),
        ("margin = 0.05", "margin = 1.5", "'margin' is 1.5"),
        ('name = "secondary"', 'name = "primary"', "family 'primary' stands twice"),
        ("exploratory = true", 'actions = ["admit"]', "unknown action 'admit'"),
    ],
)
def test_a_broken_plan_is_named_with_file_and_line(tmp_path, old, new, says):
    text = profile_path("release").read_text()
    assert old in text
    path = write(tmp_path, text.replace(old, new, 1), "plan.toml")
    with pytest.raises(FileFormatError, match=re.escape(says)) as caught:
        read_plan(path, read_swaps())
    assert re.match(rf"{re.escape(str(path))}:\d+: ", str(caught.value))


def test_a_record_with_a_copied_trajectory_is_refused(tmp_path):
    row = '{"vignette": "a", "condition": "reference", "replicate": 1, "outputs": {}}\n'
    with pytest.raises(FileFormatError, match=r"rows\.jsonl:2: .* stands twice"):
        RecordFile(write(tmp_path, row * 2, "rows.jsonl"))


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("r.json", "{", "not valid JSON"),
        ("r.json", "[]", "expected one JSON object with a list 'rows'"),
        ("r.json", '{"rows": []}', "holds no trajectories"),
        ("r.jsonl", '{"vignette": "a"}\n', r"r\.jsonl:1: "),
        ("r.jsonl", "nonsense\n", r"r\.jsonl:1: not valid JSON"),
    ],
)
def test_a_broken_record_is_named_with_its_place(tmp_path, name, text, says):
    with pytest.raises(FileFormatError, match=says):
        RecordFile(write(tmp_path, text, name))


def settings(tmp_path, options=None, ini=None, env=None):
    options, ini = options or {}, ini or {}
    return resolve(options.get, lambda name: ini.get(name, ""), root=tmp_path, env=env or {})


def test_the_command_line_comes_before_the_environment_before_the_ini_file(tmp_path):
    ini, env = {"replicates": "3"}, {"FAIRMED_REPLICATES": "5"}
    assert settings(tmp_path, ini=ini).replicates == 3
    assert settings(tmp_path, ini=ini, env=env).replicates == 5
    assert settings(tmp_path, {"replicates": "7"}, ini, env).replicates == 7


@pytest.mark.parametrize(
    ("options", "env", "says"),
    [
        ({"replicates": "many"}, {}, "--fairmed-replicates is 'many', expected a whole number"),
        ({"margin": "5"}, {}, "--fairmed-margin is '5', expected a number above 0 and below 1"),
        ({"margin": "nan"}, {}, "expected a number above 0"),
        ({"alpha": "1e-30"}, {}, "--fairmed-alpha is '1e-30', expected a number from 1e-12 up"),
        ({"alpha": "0.5"}, {}, "--fairmed-alpha is '0.5', expected .* below 0.5"),
        ({"alpha": "nan"}, {}, "--fairmed-alpha is 'nan', expected a number from"),
        ({}, {"FAIRMED_STRICT": "maybe"}, "environment variable FAIRMED_STRICT is 'maybe'"),
        ({"profile": "fast"}, {}, "expected quick, ci, release or name_signal"),
        ({"report": ["out.pdf"]}, {}, r"expected a name ending in \.json"),
    ],
)
def test_an_option_that_makes_no_sense_is_named_with_where_it_came_from(
    tmp_path, options, env, says
):
    with pytest.raises(PlanError, match=says):
        settings(tmp_path, options, env=env)


def test_models_and_decodings_may_be_several_and_come_from_one_place(tmp_path):
    assert settings(tmp_path, {"model": ["a", "b"]}).models == ("a", "b")
    assert settings(tmp_path, env={"FAIRMED_MODEL": "c"}).models == ("c",)
    assert settings(tmp_path, {"decoding": ["", "top_p=1"]}).decodings == ("", "top_p=1")
    assert settings(tmp_path).decodings == ("",)


def test_unmeasured_fails_where_ci_is_set_and_skips_elsewhere(tmp_path):
    assert settings(tmp_path).unmeasured == "skip"
    assert settings(tmp_path, env={"CI": "true"}).unmeasured == "fail"
    assert settings(tmp_path, {"unmeasured": "skip"}, env={"CI": "true"}).unmeasured == "skip"


def test_a_url_from_the_ini_file_is_not_trusted_with_a_key(tmp_path):
    assert not settings(tmp_path, ini={"base_url": "http://x"}).base_url_trusted
    assert settings(tmp_path, {"base_url": "http://x"}).base_url_trusted
    of_addopts = {"base_url": "http://x", "base_url_of_addopts": True}
    assert not settings(tmp_path, of_addopts).base_url_trusted


def test_the_shipped_vignettes_can_be_copied_and_read_elsewhere(tmp_path):
    shutil.copytree(shipped_vignettes(), tmp_path / "cases")
    assert read_vignettes([tmp_path / "cases"]) == read_vignettes([shipped_vignettes()])
