"""The example of docs/measures.md runs, and prints what its text says that it gives."""

import re
from pathlib import Path

import pytest

from pytest_fairmedagent import measures

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "measures.md").read_text(encoding="utf-8")


def test_the_example_runs_and_tells_total_direct_and_mediated(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    [code] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(code, {})
    mediated, followed = capsys.readouterr().out.splitlines()
    told = re.search(
        r"total ([+-].*?), direct ([+-].*?), through the held stage ([+-]\S+) \[(.*), (.*)\] "
        r"\(interventional\)",
        mediated,
    )
    total, direct, through, low, high = map(float, told.groups())
    assert total > 0.1
    assert direct > 0.1
    assert through == pytest.approx(total - direct, abs=0.002)
    assert low < 0 < high, "the simulated gap does not go through the orders"
    assert "flips in" in followed


def test_the_page_names_every_function_of_the_room():
    functions = [name for name in measures.__all__ if name.islower()]
    assert len(functions) > 5
    for name in functions:
        assert f"`{name}(" in PAGE or name == "counted_flags", name
