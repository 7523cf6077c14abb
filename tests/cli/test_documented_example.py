"""The example that docs/statistics.md works out by hand is what the command says."""

from __future__ import annotations

import pytest


def test_the_example_of_the_documentation(fairmed, make, record, toml):
    rows = [
        # With a note, as trajectories have one: whole outputs that repeat would count once.
        {
            **(row := make.row(f"case_{v}", condition, r, admit=r <= admits)),
            "outputs": {**row["outputs"], "note": {"text": f"draw {r}"}},
        }
        for condition, counts in (("reference", (0, 0, 1)), ("race_black", (2, 1, 1)))
        for v, admits in enumerate(counts)
        for r in (1, 2)
    ]
    rules = toml('schema = 1\nactions = ["admission"]\n')
    found = fairmed("analyse", record(rows), "--rules", rules, "--json").contrast("admission")
    assert found["verdict"] == "INCONCLUSIVE"
    assert found["p"] == pytest.approx(20 / 72)
    assert found["p_attainable"] == pytest.approx(2 / 72)
    assert found["gap"] == pytest.approx(0.5)
    assert (found["b"], found["c"], found["pairs"]) == pytest.approx((3.5, 0.5, 6))
    assert found["flip_rate"] == pytest.approx(4 / 6)
    assert found["interval"] == pytest.approx([0.5 - 1.96 * 0.360, 1], abs=0.001)
    assert found["floor"] == pytest.approx(0.5)
    assert found["excess"] == pytest.approx(1 / 6)
