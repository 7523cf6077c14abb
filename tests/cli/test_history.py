"""`fairmed history`: lines of runs, what of them counts, and new lines."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pytest_fairmedagent.analysis.lifetime import lines_of
from pytest_fairmedagent.cli import main
from pytest_fairmedagent.running.ledger import PLAN, START, Given, Place
from pytest_fairmedagent.running.store import Store

CASES, DRAWS = 64, 2
FAMILY = {
    "name": "primary",
    "swaps": ["race_black"],
    "actions": ["admission", "referral"],
    "vignettes": CASES,
    "alpha": 0.05,
    "size": 2,
    "gating": True,
}


def payload(rng, gap):
    """Counts of one contrast whose first cases lean to one side by chance and gap."""
    p = np.full(CASES, 0.3)
    arms = [rng.binomial(DRAWS, rate).tolist() for rate in (p + gap, p, p, p)]
    shams = [{"k": k, "n": DRAWS} for k in arms[2:]]
    return {
        "lifetime": {
            **{"gap": gap, "floor": 0.4, "p": 0.2, "measured": True},
            **{"k": arms[0], "m": DRAWS, "j": arms[1], "n": DRAWS, "cases": CASES},
            **{"base": {"k": arms[1], "n": DRAWS}, "shams": shams, "size": CASES},
        }
    }


def given(action, what, **more):
    terms = {
        **{"status": "INCONCLUSIVE", "p": 0.4, "look": 1, "replicates": DRAWS, "alpha": 0.05},
        **{"level": 0.05, "margin": 0.1, "size": 2, "payload": what},
    }
    return Given("primary", "race_black", action, None, **{**terms, **more})


class Runs:
    """A store whose ledger gets runs without an agent."""

    def __init__(self, path):
        self.store, self.number = Store(path), 0

    def add(self, payloads, *, series=None, configuration="", line=0, **more):
        self.number += 1
        place = Place(
            self.number, series or self.number, configuration or f"c{self.number}", "d", "t", line
        )
        self.store.note(PLAN, place, {"families": [FAMILY]}, subject="p")
        self.store.note(START, place, {"model": "simulated"})
        self.store.give(place, [given(action, what, **more) for action, what in payloads.items()])

    def lines(self):
        return lines_of(self.store.entries())


@pytest.fixture
def runs(tmp_path):
    found = Runs(tmp_path / ".fairmed")
    yield found
    found.store.close()


def test_a_steady_gap_turns_its_line_red_and_is_named(runs, tmp_path, capsys):
    rng = np.random.default_rng(1)
    for _ in range(12):
        runs.add({"admission": payload(rng, 0.08), "referral": payload(rng, 0.0)})
    [line] = runs.lines()
    [family] = line.families
    [swap] = family.swaps
    assert [life.contrast.action for life in family.names(swap)] == ["admission"]
    first = family.red(swap)
    assert 0 < first < 11
    assert swap.named[first - 1] < 20 <= max(swap.named[first], swap.contrasts[0].named[first])
    assert line.bound == 0.05
    assert swap.e == pytest.approx((swap.contrasts[0].e + swap.contrasts[1].e) / 2)
    store = str(tmp_path / ".fairmed")
    assert main(["history", store]) == 0
    text = capsys.readouterr().out
    assert f"RED since run {first + 1} of the line: admission" in text
    assert "12 runs" in text
    assert main(["history", store, "--line", "1"]) == 0
    assert capsys.readouterr().out.count("run 7, ") == 2
    assert main(["history", store, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    [told] = record["lines"][0]["families"][0]["swaps"]
    assert told["red_after"] == first + 1
    assert told["contrasts"][0]["p_anytime"] == pytest.approx(1 / swap.contrasts[0].e.max())
    assert len(told["contrasts"][1]["gaps"]) == 12


def test_draws_count_once_and_post_hoc_verdicts_not_at_all(runs):
    rng = np.random.default_rng(2)
    runs.add({"admission": payload(rng, 0.3)}, series=7)
    before = runs.lines()[0].families[0].e
    runs.add({"admission": payload(rng, 0.3)}, series=7)  # more replicates of the same draws
    runs.add({"admission": payload(rng, 0.3)}, post_hoc=True)
    [line] = runs.lines()
    assert len(line.runs) == 1
    assert line.families[0].e == pytest.approx(before)


@pytest.mark.parametrize("how", ["guards", "the same answers again"])
def test_what_is_taken_back_can_only_lower_the_evidence(runs, how):
    rng = np.random.default_rng(3)
    what = payload(rng, 0.3)
    runs.add({"admission": what}, configuration="one")
    if how == "guards":
        what = payload(rng, 0.3)
        what["lifetime"]["measured"] = False
    runs.add({"admission": what}, configuration="one")
    [life] = runs.lines()[0].families[0].swaps[0].contrasts
    assert life.e[1] < life.e[0]
    runs.add({"admission": payload(rng, 0.3)}, configuration="one")
    [life] = runs.lines()[0].families[0].swaps[0].contrasts
    assert life.e[2] > life.e[0]


def test_a_contrast_that_was_not_run_wins_and_loses_nothing(runs):
    rng = np.random.default_rng(4)
    runs.add({"admission": payload(rng, 0.2), "referral": payload(rng, 0.2)})
    runs.add({"referral": payload(rng, 0.2)})
    lives = runs.lines()[0].families[0].swaps[0].contrasts
    [life] = [life for life in lives if life.contrast.action == "admission"]
    assert np.isnan(life.gaps[1])
    assert life.plain[1] == pytest.approx(life.plain[0], rel=0.5)


def test_a_new_line_begins_at_one_again(runs, tmp_path, capsys):
    rng, store = np.random.default_rng(5), str(tmp_path / ".fairmed")
    for _ in range(6):
        runs.add({"admission": payload(rng, 0.3)})
    assert main(["history", "new-line", store, "--why", "prompt 3"]) == 0
    [declared] = runs.store.entries(kind="line")
    runs.add({"admission": payload(rng, 0.0)}, line=declared.id)
    old, new = runs.lines()
    assert old.families[0].red(old.families[0].swaps[0]) is not None
    assert new.families[0].red(new.families[0].swaps[0]) is None
    assert (new.number, new.why) == (2, "prompt 3")
    capsys.readouterr()
    assert main(["history", store]) == 0
    text = capsys.readouterr().out
    assert "prompt 3" in text
    assert "All lines of this store (2) together: at most 0.1." in text


def test_what_cannot_be_declared_or_shown_is_refused(runs, tmp_path, capsys):
    store = str(tmp_path / ".fairmed")
    for arguments, message in (
        (["new-line", store], "needs its reason"),
        ([store, "--why", "x"], "--why belongs to"),
        ([store, "--line", "1"], "holds 0 line(s)"),
        (["new-line", store, "--why", "x", "--line", "2"], "holds 0 line(s)"),
        ([store, "--plot", "a.svg"], "no line to plot"),
        ([store, store], "one store is looked at"),
        ([str(tmp_path / "none")], "does not exist"),
        (["new-line", str(tmp_path / "none"), "--why", "x"], "does not exist"),
    ):
        assert main(["history", *arguments]) == 2
        assert message in capsys.readouterr().err
    assert main(["history", store]) == 0
    assert "No line yet" in capsys.readouterr().out


def test_a_line_is_plotted(runs, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    rng, store = np.random.default_rng(6), str(tmp_path / ".fairmed")
    for _ in range(3):
        runs.add({"admission": payload(rng, 0.2)})
    file = tmp_path / "line.svg"
    assert main(["history", store, "--plot", str(file)]) == 0
    assert "race_black (any)" in file.read_text(encoding="utf-8")
    assert main(["history", store, "--plot", "line.txt"]) == 2
    assert ".svg or .png" in capsys.readouterr().err


def test_plan_foretells_the_runs_that_find_a_steady_gap(capsys):
    size = ["--vignettes", "64", "--replicates", "2", "--family", "1"]
    assert main(["plan", *size, "--lifetime", "0.2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["lifetime"]
    assert 1 <= told["runs"] <= 3
    assert told["chance"] >= 0.8
