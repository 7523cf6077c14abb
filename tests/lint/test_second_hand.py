"""Most faults that a second hand plants are found, of those that no rule was tried on too.

A part of them here; all by `python tests/lint/second_hand.py held_out`.
"""

from __future__ import annotations

import random
from pathlib import Path
from runpy import run_path

import pytest

pytestmark = pytest.mark.slow

FAULTS = run_path(str(Path(__file__).with_name("second_hand.py")))["faults"]


@pytest.mark.parametrize("half", ["held_out", "tuned"])
def test_nine_of_ten_planted_faults_are_found(half, tmp_path):
    faults = list(FAULTS(half))
    drawn = random.Random(half).sample(faults, 30)
    missed = [fault for fault in drawn if not fault.is_found(tmp_path)]
    assert len(missed) <= 3, [f"{fault.kind}: {fault.says}" for fault in missed]


def test_there_are_450_held_out_faults_of_at_least_30_kinds():
    faults = list(FAULTS("held_out"))
    assert len(faults) >= 450
    assert len({fault.kind for fault in faults}) >= 30
