"""Bad usage and bad files: exit status 2, one message that names file and line, no traceback."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

GOOD = {"vignette": "a", "condition": "reference", "replicate": 1, "outputs": {}}


def refused(ran):
    assert ran.status == 2
    assert ran.out == ""
    assert "Traceback" not in ran.err
    assert ran.err.startswith("fairmed: error: ")
    return ran.err.removeprefix("fairmed: error: ").strip()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"vignette": 3}, "'vignette' is 3, expected a name"),
        ({"vignette": ""}, "'vignette' is '', expected a name"),
        ({"condition": None}, "'condition' is None, expected a name"),
        ({"replicate": 0}, "'replicate' is 0, expected a whole number from 1"),
        ({"replicate": "1"}, "'replicate' is '1', expected a whole number from 1"),
        ({"replicate": True}, "'replicate' is True, expected a whole number from 1"),
        ({"replicate": 1.5}, "'replicate' is 1.5, expected a whole number from 1"),
        ({"outputs": []}, "'outputs' is [], expected an object"),
        ({"outputs": {"triage": 3}}, "'outputs.triage' is 3, expected an object"),
        ({"missing": ["triage"]}, "'missing' is ['triage'], expected an object {stage: reason}"),
        ({"missing": {"triage": 4}}, "expected an object {stage: reason}"),
        ({"complete": "no"}, "'complete' is 'no', expected true or false"),
        ({"calls": -1}, "'calls' is -1, expected a whole number from 0"),
        ({"block": ["x"]}, "'block' is ['x'], expected a name or number"),
        ({"config": 7}, "'config' is 7, expected an object or a digest"),
    ],
)
def test_a_row_that_is_not_what_it_should_be_is_named_with_its_line(fairmed, record, change, said):
    path = record([GOOD, {**GOOD, "replicate": 2, **change}])
    message = refused(fairmed("analyse", path))
    assert message.startswith(f"{path}:2: ")
    assert said in message


@pytest.mark.parametrize("key", ["vignette", "condition", "replicate", "outputs"])
def test_a_row_without_a_key_is_named_with_its_line(fairmed, record, key):
    path = record([GOOD, {k: v for k, v in GOOD.items() if k != key}])
    assert f"{path}:2: '{key}' is missing" in refused(fairmed("analyse", path))


def test_further_keys_are_tolerated_and_null_is_absent(fairmed, record):
    extra = {"note": [1], "missing": None, "calls": None, "block": None, "complete": None}
    assert fairmed("analyse", record([{**GOOD, **extra}])).status == 0


@pytest.mark.parametrize("name", ["record.jsonl", "record.json"])
def test_a_copy_of_a_trajectory_is_refused_with_its_line(fairmed, record, name):
    path = record([GOOD, {**GOOD, "replicate": 2}, GOOD], name)
    message = refused(fairmed("analyse", path))
    line = next(
        number
        for number, text in reversed(list(enumerate(path.read_text().splitlines(), start=1)))
        if '"vignette"' in text
    )
    assert message.startswith(f"{path}:{line - (name == 'record.json')}: ")
    assert "a, reference, replicate 1 stands twice" in message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected one JSON object with a list 'rows', or JSON Lines"),
        ("[1, 2]", "expected one JSON object with a list 'rows', or JSON Lines"),
        ('{"model": "m"}', "expected one JSON object with a list 'rows', or JSON Lines"),
        ('{"rows": []}', "holds no trajectories"),
        ('{"rows": [}', "not valid JSON"),
        ('{"rows": [\n{"vignette": "a"\n', ":3: not valid JSON"),
        ('{"rows": [] "x": 1}', "expected ',' or '}'"),
        ('{"rows": [{}]}', "'vignette' is missing"),
        ('{"rows": [3]}', "a row is 3, expected an object"),
        ('{"rows": []} trailing', "expected the end of the file"),
        ('{"rows": ' + "[" * 200_000, "not valid JSON: nested too deeply"),
    ],
)
def test_json_that_is_no_record_is_refused(fairmed, tmp_path, text, said):
    path = tmp_path / "record.json"
    path.write_text(text, encoding="utf-8")
    assert said in refused(fairmed("analyse", path))


def test_a_torn_last_line_is_named(fairmed, tmp_path):
    path = tmp_path / "record.jsonl"
    path.write_text(json.dumps(GOOD) + "\n" + json.dumps(GOOD)[:30], encoding="utf-8")
    assert refused(fairmed("analyse", path)).startswith(f"{path}:2: not valid JSON")


def test_bytes_that_are_no_text_are_named_with_their_line(fairmed, tmp_path):
    path = tmp_path / "record.jsonl"
    path.write_bytes(json.dumps(GOOD).encode() + b"\n\xff\xfe\n")
    assert refused(fairmed("analyse", path)).startswith(f"{path}:2: not valid JSON")
    other = tmp_path / "record.json"
    other.write_bytes(b"\xff\xfe{}")
    assert "cannot be read" in refused(fairmed("analyse", other))


def test_blank_lines_a_byte_order_mark_and_line_separators_do_no_harm(fairmed, tmp_path):
    path = tmp_path / "record.jsonl"
    row = {**GOOD, "outputs": {"document": {"note": "one\u2028two\x85three"}}}
    text = "\ufeff" + json.dumps({"model": "m"}) + "\r\n\r\n" + json.dumps(row, ensure_ascii=False)
    path.write_text(text, encoding="utf-8", newline="")
    ran = fairmed("analyse", path, "--json")
    assert ran.status == 0
    assert ran.json["files"][0]["model"] == "m"


def test_several_conditions_without_a_reference_are_listed(fairmed, make, record):
    path = record(make.arm("base", [1, 2], 3) + make.arm("other", [1, 2], 3))
    message = refused(fairmed("analyse", path))
    assert "which of its 2 conditions is the reference" in message
    assert message.endswith("conditions: base, other")


def test_an_unknown_reference_is_refused_with_the_nearest(fairmed, make, record):
    path = record(make.arm("base", [1, 2], 3) + make.arm("other", [1, 2], 3))
    message = refused(fairmed("analyse", path, "--reference", "bse"))
    assert "no file has a condition 'bse'. Did you mean 'base'?" in message


def test_a_header_that_names_an_unknown_reference_is_refused(fairmed, make, record):
    rows = make.arm("base", [1, 2], 3) + make.arm("other", [1, 2], 3)
    message = refused(fairmed("analyse", record(rows, reference="bsae")))
    assert "no condition 'bsae', which shall be the reference. Did you mean 'base'?" in message


def test_a_file_that_is_not_there_and_one_given_twice(fairmed, record, tmp_path):
    path = record([GOOD])
    assert "cannot be read: No such file" in refused(fairmed("analyse", tmp_path / "no.jsonl"))
    assert "cannot be read" in refused(fairmed("analyse", tmp_path))
    assert "given twice" in refused(fairmed("analyse", path, path))


@pytest.mark.parametrize(
    "arguments",
    [
        ["analyse"],
        ["nonsense"],
        [],
        ["analyse", "x", "--margin", "1"],
        ["analyse", "x", "--margin", "nan"],
        ["analyse", "x", "--alpha", "a"],
        ["analyse", "x", "--seed", "-1"],
    ],
)
def test_bad_usage_ends_with_status_2_and_says_how(fairmed, arguments):
    ran = fairmed(*arguments)
    assert ran.status == 2
    assert "usage: fairmed" in ran.err


def test_the_command_ends_quietly_when_its_reader_does(make, record):
    path = record(make.arm("only", [1, 2, 3], 5))
    command = [sys.executable, "-m", "pytest_fairmedagent.cli", "analyse", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        _, err = process.communicate(timeout=60)
    assert err == b""
    assert process.returncode == 0


def test_a_terminal_without_our_signs_is_no_reason_to_fail(make, record):
    path = record(make.arm("reference", [1, 5], 6) + make.arm("race_black", [1, 5], 6))
    command = [sys.executable, "-m", "pytest_fairmedagent.cli", "analyse", str(path)]
    done = subprocess.run(
        [*command, "--margin", "0.1"],
        env={"PYTHONIOENCODING": "ascii", "PATH": ""},
        capture_output=True,
        check=True,
    )
    assert b"margin" in done.stdout
