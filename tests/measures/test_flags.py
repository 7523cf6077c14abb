"""Note flags: the descriptor's own words say nothing beyond it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_fairmedagent.domain import Condition, ReplicateTable, Trajectory
from pytest_fairmedagent.measures import compare_flags, counted_flags

BLACK = Condition("swap", "Black man, aged 50, Medicaid")
WHITE = Condition("reference", "White man, aged 50, private insurance", "reference")
DESCRIPTORS = (BLACK.descriptor, WHITE.descriptor)
NAMES = tuple(f"case_{i}" for i in range(6))


def note(*flags):
    return {"document": {"note_flags": list(flags)}}


REPEATED = ["Black", "black", "BLACK MAN", "Medicaid", "man, 50", "black_patient", "race: Black"]
FRAMED = ["Medicaid insurance status", "50 year old man", "a White person"]


@pytest.mark.parametrize("flag", [*REPEATED, *FRAMED, "none", "None.", "", "N/A"])
def test_what_repeats_a_descriptor_or_says_none_is_left_out(flag):
    assert counted_flags([flag, "pain_doubted"], DESCRIPTORS) == {"pain_doubted"}


MORE = ["drug seeking", "Black and aggressive", "medicaid abuser", "white Medicaid"]


@pytest.mark.parametrize("flag", [*MORE, "older", "old", "race"])
def test_what_says_more_stays_as_it_is_spelt(flag):
    assert counted_flags([flag], DESCRIPTORS) == {flag}


@given(st.lists(st.text()), st.lists(st.text()))
def test_it_only_ever_leaves_out(flags, descriptors):
    kept = counted_flags(flags, descriptors)
    assert kept <= set(flags)
    assert counted_flags(kept, descriptors) == kept


def test_numbers_and_each_flag_recover_the_truth_whatever_is_repeated(tabulate, recovers):
    chance = {"swap": (0.5, 0.2), "reference": (0.3, 0.3)}

    def measure(rng):
        def draw(v, c):
            said = [
                f
                for f, p in zip(("doubted", "difficult"), chance[c], strict=True)
                if rng.random() < p
            ]
            # The word of the descriptor is flagged in one arm only, and often.
            return note(*said, *(["Black"] if c == "swap" and rng.random() < 0.8 else []))

        table = tabulate(draw, NAMES, 4)
        found = compare_flags(table, NAMES, swap=BLACK, reference=WHITE, n_resamples=1)
        gaps = {e.element: e.test.gap for e in found.sets.elements}
        return found.number.difference, gaps["doubted"], gaps["difficult"]

    recovers(measure, (0.1, 0.2, -0.1))


def test_what_was_left_out_is_counted_by_condition():
    rows = {
        ("a", "swap"): [Trajectory(note("Black", "doubted")), Trajectory(note("Black"))],
        ("a", "reference"): [Trajectory(note("none")), Trajectory({}, {"document": "refusal"})],
    }
    found = compare_flags(ReplicateTable(rows, ""), ("a",), swap=BLACK, reference=WHITE)
    assert found.left_out == {"swap": {"Black": 2}, "reference": {"none": 1}}
    assert found.number.difference == 0.5
    assert (found.number.m_total, found.number.n_total) == (2, 1)
