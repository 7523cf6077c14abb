"""The reporting checklist: what a record knows is told, what it cannot know is marked unknown."""

import json
import re
from pathlib import Path

import pytest

from pytest_fairmedagent.report.checklist import AUTHORS, UNKNOWN, checklist
from tests.report.whole import SEATS, whole_record

GOLDEN = Path(__file__).parents[1] / "report" / "golden" / "record.json"

AUTHORS_ALONE = {
    "funding",
    "conflicts of interest",
    "patients and public",
    "approval, or why none is needed",
    "availability of data and code",
}


@pytest.fixture
def golden():
    return json.loads(GOLDEN.read_text(encoding="utf-8"))


def by_item(entries):
    return {entry["item"]: entry for entry in entries}


def test_it_tells_what_the_record_holds(golden):
    found = by_item(checklist(golden))
    run = golden["runs"][0]
    assert found["digest of the prompts"]["value"].endswith(run["configuration"]["prompts"][:64])
    assert run["plan_digest"][:12] in found["registration of the plan"]["value"]
    assert found["number of cases"]["value"] == str(len(golden["vignettes"]))
    assert found["trajectories, over all arms"]["value"] == str(len(golden["rows"]))
    assert found["seed of schedule and draws"]["value"] == str(run["seed"])
    for action in golden["plan"]["families"][0]["actions"]:
        assert action in found["what was measured"]["value"]
    for status, n in golden["verdicts"].items():
        assert (f"{n} {status}" in found["verdicts"]["value"]) is (n > 0)


def test_what_only_authors_can_state_is_unknown_in_every_record(golden):
    found = by_item(checklist(golden))
    assert found.keys() >= AUTHORS_ALONE
    for item in AUTHORS_ALONE:
        assert found[item]["value"] == AUTHORS
        assert not found[item]["known"]


def test_nothing_marked_known_says_unknown_and_the_other_way_round(golden):
    for entry in checklist(golden):
        assert entry["known"] is not entry["value"].startswith(UNKNOWN), entry


def test_weights_that_nobody_attests_are_named(golden):
    golden["runs"][0]["configuration"] |= {"backend": "ollama", "weights": "sha256:12"}
    known = "nothing: weights are known by their digest"
    assert by_item(checklist(golden))["what nobody attests"]["value"] == known
    golden["runs"][0]["configuration"]["weights"] = "unattested"
    golden["runs"][0]["model"] = "anthropic/claude-haiku-4-5"
    found = by_item(checklist(golden))["what nobody attests"]["value"]
    assert "anthropic/claude-haiku-4-5" in found
    assert "may change under its name" in found


def test_decoding_keeps_unset_apart_from_set(golden):
    golden["runs"][0]["configuration"]["decoding"] = {"temperature": 0.7, "top_p": "unset"}
    found = by_item(checklist(golden))["parameters sent (unset: the server's own)"]
    assert found["value"] == "decoding temperature=0.7, top_p=unset"
    assert found["known"]


def test_deviations_and_losses_stand_in_it(golden):
    golden["deviations"] = [{"kind": "incomplete", "text": "the plan was not drawn to its end"}]
    golden["runs"][0]["missing"] = {"race_black": {"order: no JSON": 3}}
    found = by_item(checklist(golden))
    assert found["deviations from the plan"]["value"] == "the plan was not drawn to its end"
    assert "3 x order: no JSON" in found["how much, and why"]["value"]


def test_the_command_prints_it_for_a_run_record(fairmed, golden):
    ran = fairmed("analyse", "--checklist", GOLDEN)
    assert ran.status == 0
    lines = ran.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert "TRIPOD-LLM" in ran.out
    assert "Gallifant" in ran.out
    n = sum(not entry["known"] for entry in checklist(golden))
    assert sum(line.startswith("? ") for line in lines) == n
    assert lines[-1].startswith(f"{n} of ")
    (listed,) = fairmed("analyse", "--checklist", "--json", GOLDEN).json["checklists"]
    assert listed["checklist"] == checklist(golden)


def test_a_record_file_of_ones_own_leaves_unknown_what_it_does_not_say(fairmed, record, make):
    rows = make.arm("reference", [2, 5], 4) + make.arm("race_black", [3, 5], 4)
    path = record(rows, "own.jsonl", reference="reference")
    (listed,) = fairmed("analyse", "--checklist", "--json", path).json["checklists"]
    found = by_item(listed["checklist"])
    assert found["number of cases"]["value"] == "2"
    assert found["trajectories, over all arms"]["value"] == "16"
    assert found["conditions compared"]["value"] == "race_black, reference"
    for item in ("licence", "digest of the prompts", "registration of the plan", "cost"):
        assert found[item]["value"] == UNKNOWN
        assert not found[item]["known"]


def test_it_has_each_topic_once(fairmed):
    lines = fairmed("analyse", "--checklist", GOLDEN).out.splitlines()
    headings = [line for line in lines if re.fullmatch(r"[a-z][a-z ]*", line)]
    assert headings
    assert len(headings) == len(set(headings))


def test_a_simulation_has_no_weights_to_attest(golden):
    found = by_item(checklist(golden))["what nobody attests"]["value"]
    assert found == "nothing: simulated answers come from no weights"


def test_a_replay_knows_neither_tokens_nor_when_it_was_drawn(golden):
    golden["runs"][0] |= {"id": None, "seed": None}
    found = by_item(checklist(golden))
    assert "tokens and time unknown" in found["calls and tokens"]["value"]
    assert found["when and where"]["value"].startswith("judged ")
    assert found["when and where"]["value"].endswith("drawn before")
    assert not found["seed of schedule and draws"]["known"]


def test_why_the_sample_has_its_size_is_for_the_authors(golden):
    assert not by_item(checklist(golden))["how it was determined"]["known"]


def test_methods_name_the_tests_of_what_was_run_and_no_other(golden):
    plain = by_item(checklist(golden))["methods"]["value"]
    assert "permutation test" not in plain
    assert "sequential" not in plain
    golden["outcomes"] = [{"kind": "score", "outcome": "urgency_score"}]
    golden["plan"]["sequential"] = "gs"
    found = by_item(checklist(golden))["methods"]["value"]
    assert "permutation test, of the mean difference of scores" in found
    assert "group-sequential" in found
    assert "sets" not in found


def test_floors_of_several_runs_stand_under_their_names(golden):
    whole = whole_record(golden)
    found = by_item(checklist(whole))["instability floor by arm, pooled"]["value"]
    assert [part.split(":")[0] for part in found.split("; ")] == list(SEATS)
