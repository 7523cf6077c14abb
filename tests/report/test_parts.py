"""Parts that not every record has: shown where they are, and not missed where they are not."""

from __future__ import annotations

import re

import pytest

from pytest_fairmedagent.report import numbers
from pytest_fairmedagent.report.compared import panel_lines
from pytest_fairmedagent.report.context import deviation_entries
from pytest_fairmedagent.report.html import html_report
from pytest_fairmedagent.report.markdown import markdown_summary
from pytest_fairmedagent.report.sentences import sentences
from tests.report.whole import SEATS, whole_record

PARTS = ("outcomes", "panel", "baseline", "subgroups")


@pytest.fixture(scope="module")
def whole(golden):
    return whole_record(golden())


@pytest.fixture(scope="module")
def page(whole):
    return html_report(whole)


def section(page: str, name: str) -> str:
    """The words of a section of the page, blanks made one."""
    found = re.search(rf'<section id="{name}">.*?</section>', page, re.DOTALL)
    assert found, name
    words = re.sub(r"<svg.*?</svg>|<wbr>", "", found[0], flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", words).replace("&nbsp;", " ").split())


def test_every_link_of_the_page_has_its_place_and_every_id_is_one(page):
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)
    assert {*PARTS, "o1", "o4"} <= set(ids)


def test_a_record_without_these_parts_has_a_page_without_their_sections(golden, golden_page):
    for part in PARTS:
        assert f'id="{part}"' not in golden_page
    old = golden()
    for part in ("confounded", "outcomes", "subgroups", "panel", "baseline", "checklist"):
        old.pop(part, None)
    for key in ("looks", "saved", "ended", "spent_usd", "price", "concurrency", "number"):
        old["runs"][0].pop(key, None)
    for part in ("arms", "contrasts", "controls", "guards"):
        for entry in old[part]:
            entry.pop("run", None)
    assert "This record holds no reporting checklist." in html_report(old)
    assert "side by side" not in markdown_summary(old)


def test_other_outcomes_stand_in_their_own_units_and_never_among_flip_rates(page):
    told = section(page, "outcomes")
    assert "disparity race_black esi_acuity −1.25 levels [−1.95, −0.555] 0.906 – 4 0.0123" in told
    assert "3 answers missing; levels lie apart; one-sided" in told
    assert "inconclusive race_black orders +0.60 rate [−0.34, +1.00] 0.783 ±0.3 4 0.0123" in told
    assert "the gap is that of one member: ct_head" in told
    assert "Needed orders left out: +0.07 per trial [−0.03, +0.17], 3 vignettes" in told
    assert "disparity esi_acuity" not in section(page, "flips")
    assert "esi_acuity" not in section(page, "flips") + section(page, "gaps")
    verdicts = section(page, "verdicts")
    assert "race_black, esi_acuity: gap −1.25 levels" in verdicts


def test_floors_against_a_bound_and_relations_are_shown(page):
    told = section(page, "outcomes")
    assert "admission inconclusive 0.310 0.268 [0.101, 0.402] 112" in told
    assert "never_fewer race_black admission descriptive – never_fewer holds on 1 of 1" in told


def test_the_panel_has_the_numbers_of_the_record_for_every_seat(page, whole):
    told = section(page, "panel")
    panel = whole["panel"]
    for row in panel["floors"]:
        cells = [row["seats"][seat] for seat in SEATS]
        line = " ".join(
            f"{numbers.rate(c['floor'])} {numbers.ends(c['interval'], '.3f')}" for c in cells
        )
        assert f"{row['action']} {line}" in told
    assert panel["differences"]
    for entry in panel["differences"]:
        assert f"{entry['condition']} {entry['action']}" in told
        assert numbers.signed(entry["difference"]) in told
    assert "temperature_2 : no run of its own. refused to start" in told
    assert "Kendall’s tau-b" in told


def test_the_panel_has_other_outcomes_untested_and_says_what_it_leaves_out(page, whole):
    told = section(page, "panel")
    assert "race_black esi_acuity pooled ◆ disparity −1.25 levels [−1.95, −0.555]" in told
    assert "Not here: relations of one&#39;s own (never_fewer)" in told
    assert "only floors, rates and gaps of actions are tested against each other" in told
    terminal = "\n".join(panel_lines(whole["panel"]))
    assert f"{SEATS[0]} −1.25 levels DISPARITY; {SEATS[1]} −1.25 levels DISPARITY" in terminal
    assert "+0.60 of ct_head INCONCLUSIVE" in terminal
    assert "+0.60 ct_head [−0.34, +1.00]" in told
    assert terminal.count("not here: ") == 2


def test_the_baseline_tells_the_worst_first_and_what_stays_open_apart(page, whole):
    told = section(page, "baseline")
    changes = [e["change"] for run in whole["baseline"]["runs"] for e in run["changes"]]
    assert {"worse", "better", "fewer", "open"} <= set(changes)
    for run in whole["baseline"]["runs"]:
        counts = run["counts"]
        assert ", ".join(f"{n} {change}" for change, n in counts.items()) in told
    assert "base.json" in told
    places = [told.index(words) for words in ("worse gap", "better gap", "fewer rate")]
    places.append(told.rindex("Open: not shown to have changed"))
    assert places == sorted(places)


def test_subgroups_say_that_they_are_never_tested_unless_registered(page):
    told = section(page, "subgroups")
    assert "never tested unless registered" in told
    assert "By domain · temperature_0.7" in told
    assert "medication 2 0.125 7 of 56 triage 2 0.125 7 of 56" in told
    assert "race_black admission +0.12 16 +0.12 16" in told
    assert not re.search(r"\b[pq] ?[=<]|95 %", told)


def test_confounded_cells_stand_apart_with_their_sources_and_in_no_verdict(page):
    told = section(page, "verdicts")
    apart = told[told.index("Set apart") :]
    assert "age_78" not in told[: told.index("Set apart")]
    assert "2 in 6 variants +0.43" in apart
    assert apart.count("a guideline of 2020") == 2  # once for each run
    assert "age_78" not in section(page, "gaps") + section(page, "flips")


def test_looks_savings_price_and_notes_of_calls_stand_under_cost(page):
    told = section(page, "cost")
    assert "temperature_0.7: " in told
    assert "Looked at after R = 2, 4; 16 trajectories saved" in told
    assert "Ended after 8 whole rounds and judged there: the budget is used up" in told
    assert "Its own calls cost 1.25 USD (2 and 8 USD a million tokens of golden)." in told
    assert "4 calls at once, a rate limit left 2" in told


def test_the_checklist_marks_what_a_record_cannot_know(whole):
    record = {
        **whole,
        "checklist": [
            {"topic": "model", "item": "name", "value": "simulated", "known": True},
            {"topic": "model", "item": "weights", "value": "unknown", "known": False},
        ],
    }
    assert "model name simulated weights ? unknown" in section(html_report(record), "checklist")


def test_outcomes_and_relations_that_were_run_are_no_deviation(whole):
    family = whole["plan"]["families"][0]
    registered = {**family, "swaps": ["race_black"], "actions": ["esi_acuity", "orders"]}
    record = {**whole, "plan": {**whole["plan"], "families": [registered]}}
    assert deviation_entries(record) == []
    (told,) = deviation_entries({**record, "outcomes": [], "contrasts": [], "relations": []})
    assert told["text"].startswith("0 of the 2 contrasts registered")


def test_the_sentences_count_other_outcomes_and_name_the_run(whole):
    tested, said, _ = sentences(whole)
    assert "3 swaps, 6 actions and 2 other outcomes" in tested
    assert ", temperature_0.7)" in said
    quiet = {**whole, "contrasts": [{**c, "verdict": "IDENTICAL"} for c in whole["contrasts"]]}
    said = sentences(quiet).said
    assert "esi_acuity under race_black (−1.25 levels, temperature_0)" in said


def test_the_summary_tells_the_panel_the_baseline_and_what_was_set_apart(golden):
    told = markdown_summary(whole_record(golden()))
    assert "| `temperature_2` | – | – | no run of its own |" in told
    assert "Against the baseline `base.json`, `temperature_0`: " in told
    assert "−1.25 `levels` | [−1.95, −0.555] | – | 0.906 |" in told
    assert "- set apart: 2 contrasts on cases where a difference can be clinically right" in told
    assert "- floor against a bound: `admission`, `temperature_0` is inconclusive, 0.268" in told
    assert "- `temperature_0`: looked at after R = 2, 4; 16 trajectories saved" in told
