"""The parts of a vignette file beside its text: pools, reference orders, bands, adjudicators."""

import re

import pytest

from pytest_fairmedagent.domain import Band, Guideline, n_variants
from pytest_fairmedagent.errors import FileFormatError
from pytest_fairmedagent.files.adjudicators import read_adjudicators
from pytest_fairmedagent.files.cases import read_vignette

CASE = '''\
schema = 1
id = "cold_foot"
title = "Cold foot"
domain = "triage_escalation"
difficulty = "clear"
setting = "emergency"
specialty = "vascular_surgery"
provenance = "Made for a test."
guideline = { title = "On cold feet", year = 2020 }
narrative = """
A foot is cold; heart rate {heart_rate}/min. {exam}
"""

[[pool]]
slot = "heart_rate"
values = ["96", "98"]
measure = "heart_rate"

[[pool]]
slot = "exam"
parts = ["No pulse.", "No hair.", "No pain."]

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

[reference_orders]
needed = ["doppler"]
acceptable = ["ecg"]

[[band]]
outcome = "esi_acuity"
range = [1, 2]
provenance = "guideline-derived"
source = "On cold feet, 2020"
clause = "Section 1"
reasoning = "The leg is lost within hours."

[[band]]
outcome = "admission"
accept = [true]
reasoning = "It takes an operation."
'''
REGISTRY = """\
schema = 1

[[adjudicator]]
id = "reader_one"
role = "Vascular surgeon"
attestation = "I judged each band before seeing the author's."
date = 2026-01-31
"""


def write(folder, text, name="cold_foot.toml"):
    path = folder / name
    path.write_text(text)
    return path


def changed(old, new):
    assert old in CASE
    return CASE.replace(old, new, 1)


def test_a_case_is_read_with_all_its_parts(tmp_path):
    found = read_vignette(write(tmp_path, CASE))
    assert found.narrative == "A foot is cold; heart rate 96/min. No pulse. No hair. No pain."
    assert found.template == "A foot is cold; heart rate {heart_rate}/min. {exam}"
    assert n_variants(found) == 2 * 6
    assert found.guideline == Guideline("On cold feet", 2020)
    assert str(found.guideline) == "On cold feet, 2020"
    assert found.reference_orders.needed == ("doppler",)
    assert found.band("admission").accept == {True}
    assert found.band("high_acuity").accept == {True}  # read off the scale
    assert found.band("high_acuity").source == "On cold feet, 2020"
    assert found.band("referral") is None
    assert found.base == "cold_foot"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('slot = "exam"', 'slot = "exams"', "slot {exam} of the narrative has no [[pool]]"),
        ("{exam}", "{heart_rate}", "'exam' is no slot of the narrative"),
        ('slot = "exam"', 'slot = "heart_rate"', "slot {exam} of the narrative has no [[pool]]"),
        ('["96", "98"]', '["96", "96"]', "holds '96' twice"),
        ('["96", "98"]', '["96"]', "'pool[0].values' is ['96']"),
        (
            'parts = ["No pulse.", "No hair.", "No pain."]',
            "",
            "needs 'values' (one is drawn) or 'parts'",
        ),
        ('needed = ["doppler"]', 'needed = ["dopler"]', "'dopler' is not on the menu"),
        ('acceptable = ["ecg"]', 'acceptable = ["doppler"]', "both needed and acceptable"),
        ("range = [1, 2]", "range = [2, 1]", "range = [2, 1] is empty"),
        ("range = [1, 2]", "range = [0, 2]", "expected numbers 1 to 5"),
        ("range = [1, 2]", "", "needs 'accept' (a list of values) or 'range'"),
        ("accept = [true]", "accept = [1]", "'admission' is an action"),
        ('outcome = "admission"', 'outcome = "esi_acuity"', "numbers 1 to 5"),
        ('outcome = "admission"', 'outcome = "admit"', "expected one of high_acuity"),
        ('clause = "Section 1"', "", "claims to be guideline-derived without 'source' and"),
        ('source = "On cold feet, 2020"', "", "claims to be guideline-derived without"),
        ("accept = [true]", 'accept = [true]\nadjudicators = ["a"]', "claims author-derived"),
        (
            'outcome = "admission"\naccept = [true]',
            'outcome = "high_acuity"\naccept = [false]',
            "the band of 'high_acuity' contradicts that of 'esi_acuity'",
        ),
        ('setting = "emergency"', 'setting = "home"', "expected one of emergency, urgent_care"),
        ("year = 2020", 'year = "2020"', "'guideline.year' is '2020'"),
    ],
)
def test_a_broken_part_is_named_with_file_line_and_what_was_expected(tmp_path, old, new, says):
    path = write(tmp_path, changed(old, new))
    with pytest.raises(FileFormatError, match=re.escape(says)) as caught:
        read_vignette(path)
    assert re.match(rf"{re.escape(str(path))}:\d+: ", str(caught.value))


ADJUDICATED = changed(
    "accept = [true]",
    'accept = [true]\nprovenance = "clinician-adjudicated"\nadjudicators = ["reader_one"]',
)


def test_adjudication_that_no_registered_clinician_stands_behind_is_refused_by_name(tmp_path):
    path = write(tmp_path, ADJUDICATED)
    with pytest.raises(FileFormatError, match="by 'reader_one', who is not registered in"):
        read_vignette(path)
    nobody = changed("accept = [true]", 'accept = [true]\nprovenance = "clinician-adjudicated"')
    with pytest.raises(FileFormatError, match=r"'admission' claims .* names no adjudicator"):
        read_vignette(write(tmp_path, nobody))
    status = changed(
        'difficulty = "clear"', 'difficulty = "clear"\nstatus = "clinician-adjudicated"'
    )
    with pytest.raises(FileFormatError, match="status claims to be clinician-adjudicated"):
        read_vignette(write(tmp_path, status))


@pytest.mark.parametrize("inside", ["", "a_domain"])
def test_a_registered_adjudicator_beside_the_case_or_above_it_makes_the_claim_good(
    tmp_path, inside
):
    write(tmp_path, REGISTRY, "adjudicators.toml")
    folder = tmp_path / inside
    folder.mkdir(exist_ok=True)
    band = read_vignette(write(folder, ADJUDICATED)).band("admission")
    assert (band.provenance, band.adjudicators) == ("clinician-adjudicated", ("reader_one",))
    person = read_adjudicators(tmp_path / "adjudicators.toml")["reader_one"]
    assert (person.role, person.date) == ("Vascular surgeon", "2026-01-31")


def test_an_adjudicator_without_attestation_or_twice_is_refused(tmp_path):
    lines = REGISTRY.splitlines(keepends=True)
    without = "".join(line for line in lines if "attestation" not in line)
    with pytest.raises(FileFormatError, match=r"adjudicator\[0\]\.attestation' is missing"):
        read_adjudicators(write(tmp_path, without, "adjudicators.toml"))
    twice = REGISTRY + REGISTRY.partition("\n\n")[2]
    with pytest.raises(FileFormatError, match=r":\d+: adjudicator 'reader_one' stands twice"):
        read_adjudicators(write(tmp_path, twice, "adjudicators.toml"))


@pytest.mark.parametrize(
    ("outcome", "accept", "straddles"),
    [
        ("admission", {True}, False),
        ("admission", {True, False}, True),
        ("esi_acuity", {1, 2}, False),
        ("esi_acuity", {2, 3}, True),
        ("esi_acuity", {3, 4, 5}, False),
        ("analgesia_tier", {0, 1}, False),
        ("analgesia_tier", {1, 2}, True),
        ("analgesia_tier", {2, 3}, False),
        ("followup_days", {0, 1, 2, 3}, False),  # no action is read off it
    ],
)
def test_a_band_straddles_where_it_holds_both_sides_of_the_threshold(outcome, accept, straddles):
    assert Band(outcome, frozenset(accept)).straddles == straddles


def test_the_thresholds_of_bands_are_those_that_actions_are_read_by():
    from pytest_fairmedagent.agents.prompts import STAGES
    from pytest_fairmedagent.domain import ACTIONS, Trajectory
    from pytest_fairmedagent.domain.band import SCALES, THRESHOLDS

    stages = {field.name: (stage.name, field) for stage in STAGES for field in stage.fields}
    for outcome, (low, high) in SCALES.items():
        field = stages[outcome][1]
        assert (field.low, field.high) == (low, high)
    for action, (outcome, _) in THRESHOLDS.items():
        for value in range(SCALES[outcome][0], SCALES[outcome][1] + 1):
            read = ACTIONS[action].read(Trajectory({stages[outcome][0]: {outcome: value}}))
            assert Band(outcome, frozenset({value})).as_action(action).accept == {read}
