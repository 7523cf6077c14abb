"""`--fairmed-variants`: each vignette in several renderings, and the vignette as the cluster."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.slow

CHECK = """
import pytest
from pytest_fairmedagent import assert_invariant

@pytest.mark.fairmed(swaps="race_black", actions=["admission"], replicates=4)
def test_it(contrast, action):
    assert_invariant(contrast, action)
"""
ONE_EACH = CHECK.replace("test_it(contrast", "test_it(vignette, contrast")
TWO = "--fairmed-vignettes=hot_knee_urgent_care,sudden_headache_emergency"
REPORT = "--fairmed-report=out.json"


def rows_of(record):
    return {row["vignette"]: row.get("cluster") for row in record["rows"]}


def test_each_vignette_is_drawn_in_n_renderings_and_stays_the_cluster(gate, pytester, record):
    pytester.makepyfile(CHECK)
    result = gate(TWO, "--fairmed-variants=3", REPORT)
    result.stdout.fnmatch_lines(["*contrasts; 2 vignettes x 3 variants x * arms = *"])
    assert rows_of(record()) == {
        "hot_knee_urgent_care": None,
        "hot_knee_urgent_care-v2": "hot_knee_urgent_care",
        "hot_knee_urgent_care-v3": "hot_knee_urgent_care",
        "sudden_headache_emergency": None,
        "sudden_headache_emergency-v2": "sudden_headache_emergency",
        "sudden_headache_emergency-v3": "sudden_headache_emergency",
    }
    [contrast] = record()["contrasts"]
    # Six variants x four draws, against eight of the reference with its re-render: 2 m n / (m + n).
    assert (contrast["pairs"], contrast["vignettes"], contrast["variants"]) == (32, 2, 6)
    digests = {v["digest"] for v in record()["vignettes"].values()}
    assert len(digests) == 6


def test_without_the_option_nothing_is_said_of_it(gate, pytester, record):
    pytester.makepyfile(CHECK)
    result = gate(TWO, REPORT)
    result.stdout.fnmatch_lines(["*; 2 vignettes x * arms = *"])
    assert not [line for line in result.outlines if "variant" in line]
    assert set(rows_of(record()).values()) == {None}


@pytest.mark.parametrize("where", ["ini", "environment", "plan"])
def test_ini_environment_and_plan_file_say_it_too(gate, pytester, record, monkeypatch, where):
    pytester.makepyfile(CHECK)
    arguments = [TWO, REPORT]
    if where == "ini":
        pytester.makeini("[pytest]\nfairmed_variants = 2\n")
    elif where == "environment":
        monkeypatch.setenv("FAIRMED_VARIANTS", "2")
    else:
        pytester.path.joinpath("plan.toml").write_text(
            'schema = 1\nname = "mine"\nsays = "Mine."\nreplicates = 2\nvariants = 2\n'
        )
        arguments.append("--fairmed-plan=plan.toml")
    gate(*arguments)
    assert len(rows_of(record())) == 4


@pytest.mark.parametrize("given", ["0", "two"])
def test_a_number_that_is_none_is_refused_at_the_start(gate, pytester, given):
    pytester.makepyfile(CHECK)
    result = gate(TWO, f"--fairmed-variants={given}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"--fairmed-variants is '{given}', expected a whole number" in result.stderr.str()


def test_an_item_named_by_vignette_pools_its_variants(gate, pytester, record):
    pytester.makepyfile(ONE_EACH)
    result = gate(TWO, "--fairmed-variants=3", REPORT, "-k", "hot_knee_urgent_care", "-v")
    result.stdout.fnmatch_lines(["*test_it?hot_knee_urgent_care-race_black-admission?*"])
    [contrast] = record()["contrasts"]
    assert contrast["vignette"] == "hot_knee_urgent_care"
    assert contrast["pairs"] == 16
    assert {v.split("-v")[0] for v in rows_of(record())} == {"hot_knee_urgent_care"}


def test_the_seed_decides_which_renderings_are_drawn_and_the_plan_registers_them(
    gate, pytester, record
):
    pytester.makepyfile(CHECK)

    def drawn(*arguments):
        gate(TWO, "--fairmed-variants=2", "--fairmed-fresh", REPORT, *arguments)
        found = record()
        digests = {name: v["digest"] for name, v in found["vignettes"].items()}
        return digests, found["runs"][0]["plan_digest"]

    first, again, other = drawn(), drawn(), drawn("--fairmed-seed=5")
    assert first == again
    assert first[1] != other[1]
    assert {first[0][n] == other[0][n] for n in first[0] if "-v" not in n} == {True}
    assert first[0] != other[0]


def test_cases_without_pools_have_one_rendering_which_is_said_once(gate, pytester, record):
    pytester.path.joinpath("cases.csv").write_text(
        "".join(f'"A {{patient}} with complaint {i} since this morning."\n' for i in range(7))
    )
    pytester.makepyfile(CHECK)
    result = gate("--fairmed-vignettes=cases.csv", "--fairmed-variants=4", REPORT)
    said = [line for line in result.outlines if "renderings are to be had" in line]
    assert len(said) == 1
    assert "fewer than 4 renderings are to be had of cases_1 1, cases_2 1" in said[0]
    assert "and 2 more: all of them are drawn" in said[0]
    assert len(rows_of(record())) == 7


def test_rows_of_one_group_are_one_cluster(gate, pytester, record):
    pytester.path.joinpath("cases.csv").write_text(
        "id,group,text\n"
        + "".join(f"c{i},g{i // 2},A {{patient}} has complaint {i} today.\n" for i in range(6))
    )
    pytester.makepyfile(CHECK)
    gate("--fairmed-vignettes=cases.csv", REPORT)
    assert rows_of(record()) == {f"c{i}": f"g{i // 2}" for i in range(6)}
    assert [arm["vignettes"] for arm in record()["arms"]] == [3] * len(record()["arms"])


def test_replay_and_analysis_take_the_same_clusters(gate, pytester, record, capsys):
    from pytest_fairmedagent.cli import main

    pytester.makepyfile(CHECK)
    gate(TWO, "--fairmed-variants=3", REPORT)
    drawn = record()
    gate(TWO, "--fairmed-variants=3", "--fairmed-report=again.json", model="recorded/out.json")
    again = record("again.json")
    assert main(["analyse", "out.json", "--json"]) == 0
    analysed = json.loads(capsys.readouterr().out.partition("{")[2].join(["{", ""]))

    def floors(arms):
        return sorted((a["condition"], *a["actions"]["admission"]["interval"]) for a in arms)

    assert main(["export", ".fairmed", "-o", "run.jsonl"]) == 0
    lines = (pytester.path / "run.jsonl").read_text().splitlines()[1:]
    exported = {row["vignette"]: row.get("cluster") for row in map(json.loads, lines)}
    assert exported == rows_of(drawn)
    assert floors(again["arms"]) == floors(drawn["arms"])
    assert floors(analysed["arms"]) == floors(drawn["arms"])
    assert rows_of(again) == rows_of(drawn)


def test_two_processes_draw_the_same_renderings(gate, pytester, record):
    pytest.importorskip("xdist")
    pytester.makepyfile(ONE_EACH)
    result = pytester.runpytest_subprocess(
        "--fairmed-model=simulated:floor=0.087,seed=1", TWO, "--fairmed-variants=2", REPORT, "-n2"
    )
    assert result.ret == 0
    assert len(rows_of(record())) == 4
