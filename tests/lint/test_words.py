"""Ordinary clinical words are no cues, and ordinary numbers are no faults."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_fairmedagent.lint import check_cases
from pytest_fairmedagent.lint.cues import cues
from pytest_fairmedagent.lint.differing import difference
from pytest_fairmedagent.lint.quantities import doses, measured, pressures, temperatures
from pytest_fairmedagent.lint.units import convert

HARMLESS = [
    "Other than thermal pain there is no foreign body; sheath, penicillin, MR, QTc 428 ms.",
    "White cells are few and the native valve is intact.",
    "An old inferior infarct, and a hematoma three days old to the eye.",
    "The dose may be repeated; walking may march on.",
    "Speaks in full sentences; straight leg raise is negative.",
    "Murphy sign is positive, McBurney point is tender, and Wilson disease is unlikely.",
    "Known for Stevens-Johnson syndrome and Parkinson disease.",
    "Periods of apnea; a dominant R wave in V1; activities of daily living are managed.",
    "ECG interpretation by machine; occupational therapy has been asked for.",
    "The left foot is warm, dorsalis pedis pulse 2+, reflexes 2+.",
    "Ankle-brachial index 0.4; L4-L5 disc; 7 of 48 points; grade 3/5 power.",
    "After 1 L of crystalloid BP is 98/56 mmHg and heart rate fell from 116 to 98/min.",
    "Pulse oximetry 97%, blood glucose 118 mg/dL, oxygen 2 L/min.",
    "Temperature 38.4 C (101.1 F).",
    "Acetaminophen 1 g every six hours; metformin 1,000 mg twice daily; enoxaparin 40 mg.",
    "Hydrocodone-acetaminophen 5/325 mg; buprenorphine-naloxone 16/4 mg.",
    "Sodium 134, potassium 4.9, bicarbonate 16 mmol/L; creatinine 2.1 mg/dL.",
    "Systolic pressure falls by 6 on standing, and the heart rate rises within 2 minutes.",
    "Troponin was drawn at 08:30 and 11:30; the first was 8 ng/L.",
]


@pytest.mark.parametrize("sentence", HARMLESS)
def test_a_harmless_sentence_is_no_finding(sentence, shipped, catalogue):
    case = next(v for v in shipped.values() if v.setting == "emergency")
    text = case.narrative.replace("Background:", f"{sentence} Background:")
    longer = replace(case, narrative=text, template="", pools=())
    before = {hit.message for hit in check_cases([case], catalogue)}
    new = [h for h in check_cases([longer], catalogue) if h.message not in before]
    assert [hit for hit in new if hit.rule != "VG302"] == []


@given(st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=6))
def test_a_cue_inside_a_longer_word_is_none(ends):
    inside = f"x{ends}he{ends}x"
    assert [cue for cue in cues(f"Some {inside} here") if cue.text != inside] == []


@given(st.text(max_size=200), st.text(max_size=200))
def test_what_differs_is_symmetric(a, b):
    assert difference(a, b).attributes == difference(b, a).attributes or a == b


@given(st.text(max_size=300))
def test_any_text_is_read_without_an_error(text):
    places = [(q.start, q.end) for q in (*measured(text), *temperatures(text), *doses(text))]
    places += [(start, end) for *_, start, end in pressures(text)]
    places += [(cue.start, cue.end) for cue in cues(text)]
    assert all(0 <= start <= end <= len(text) for start, end in places)


@pytest.mark.parametrize(
    ("value", "source", "target", "measure", "expected"),
    [
        (102.7, "F", "C", "temperature", 39.278),
        (37.0, "C", "F", "temperature", 98.6),
        (1.0, "g", "mg", "dose", 1000.0),
        (5.5, "mmol/L", "mg/dL", "glucose", 99.09),
        (88.42, "umol/L", "mg/dL", "creatinine", 1.0),
        (90, "min", "h", "duration", 1.5),
    ],
)
def test_units_convert(value, source, target, measure, expected):
    assert convert(value, source, target, measure) == pytest.approx(expected, rel=1e-4)
    assert convert(expected, target, source, measure) == pytest.approx(value, rel=1e-4)


def test_units_of_different_kinds_do_not_convert():
    assert convert(1, "mmHg", "C") is None
    assert convert(1, "mmol/L", "mg/dL", "sodium") is None
