"""What a model, an agent or a file has written changes nothing but the words that are shown."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from pytest_fairmedagent.report.html import html_report
from pytest_fairmedagent.report.markdown import markdown_summary
from pytest_fairmedagent.report.replicates import _csv, replicate_columns
from pytest_fairmedagent.report.terminal import summary_lines
from pytest_fairmedagent.report.written import report_text
from tests.report.whole import whole_record

pytestmark = pytest.mark.slow

EVIL = (
    "=EVIL</td></script><script>alert(1)</script><img src=x onerror=alert(1)>&lt;b&gt;&amp;{{7*7}}"
    "[link](http://evil.example)![image](http://evil.example/x.png)`code`|cell|@someone #1 "
    "\x00\x1b[2J\x07\u202e\u2028\r\n::error file=x::owned\n## heading\n$\\frac{1}{2}$ ]]> -->"
)
LONG = EVIL + "x" * 100_000

# Words that mean something to a program stay; every other text may be a stranger's.
KEPT = {"verdict", "config_digest", "plan_digest", "digest", "created", "kind", "config", "guard"}
KEPT |= {"change"}


def planted(value: Any, text: str, key: str = "") -> Any:
    """The record with `text` behind every name and every word of it, the same for the same."""
    if isinstance(value, dict):
        below = key if key in ("missing", "outputs") else ""  # names in two levels
        return {
            f"{name}{text}" if key in NAMED else name: planted(v, text, below or name)
            for name, v in value.items()
        }
    if isinstance(value, list):
        return [planted(v, text, "" if isinstance(v, dict) else key) for v in value]
    if isinstance(value, str) and key not in KEPT:
        return f"{value}{text}"
    return value


# Objects whose keys are names of vignettes, conditions, actions, stages, fields or reasons.
NAMED = {"actions", "conditions", "vignettes", "labels", "missing", "outputs", "configuration"}
NAMED |= {"seats", "floors", "holds"}


def evil_record(golden: Any, text: str) -> dict[str, Any]:
    record = whole_record(golden())
    record["rows"] = [row for row in record["rows"] if row["replicate"] < 3]
    record["runs"][0]["missing"] = {"reference": {"triage: refused": 2}}
    record["deviations"] = [{"kind": "option", "text": "replicates"}]
    record["diagnostics"] = [{"kind": "missing", "text": "something"}]
    record["checklist"] = [{"topic": "model", "item": "model", "value": "simulated"}]
    record["rows"][0] |= {"missing": {"order": "refused"}, "complete": False}
    return planted(record, text)


class Tags(HTMLParser):
    """The tags of a page with their attributes' names; where a line may break is no matter."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[Any, ...]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag != "wbr":
            self.tags.append((tag, *sorted(name for name, _ in attrs)))


@pytest.fixture(scope="module")
def hostile(golden):
    return html_report(evil_record(golden, EVIL))


def test_a_page_of_hostile_words_has_the_tags_of_a_page_of_harmless_ones(golden, hostile):
    harmless = html_report(evil_record(golden, "ok"))
    strip = re.compile(r"<svg.*?</svg>", re.DOTALL)
    assert "EVIL" in hostile
    assert Tags(strip.sub("", hostile)).tags == Tags(strip.sub("", harmless)).tags
    assert [tag for tag in Tags(hostile).tags if tag[0] in ("script", "img", "iframe", "link")] == [
        ("script",)
    ]
    assert not any(n.startswith("on") for tag in Tags(hostile).tags for n in tag[1:])
    assert all(c.isprintable() or c == "\n" for c in hostile)
    assert "{{7*7}}" in hostile  # shown, not evaluated


def test_words_in_a_plot_are_words_and_nothing_else(hostile):
    plots = re.findall(r"<svg.*?</svg>", hostile, re.DOTALL)
    assert len(plots) >= 4
    drawn = {
        "svg",
        "title",
        "desc",
        "defs",
        "g",
        "path",
        "use",
        "text",
        "tspan",
        "clippath",
        "rect",
    }
    for plot in plots:
        assert {tag[0] for tag in Tags(plot).tags} <= drawn


def test_words_of_100_kb_are_cut_on_the_page_and_say_so(golden):
    page = html_report(evil_record(golden, LONG))
    assert "characters, cut)" in page
    assert len(page) < 3_000_000


@pytest.mark.parametrize("text", [EVIL, LONG], ids=["hostile", "100 kB"])
def test_the_summary_holds_strange_words_in_code_spans_alone(golden, text):
    summary = markdown_summary(evil_record(golden, text))
    outside = re.sub(r"`[^`\n]*`", "", summary)
    assert "EVIL" in summary
    for piece in ("EVIL", "<script", "evil.example", "@someone", "](", "heading", "`"):
        assert piece not in outside, piece
    assert not any(line.lstrip().startswith("::") for line in summary.splitlines())
    assert all(c.isprintable() or c == "\n" for c in summary)
    assert len(summary) < 40_000
    tables = [lines.splitlines() for lines in summary.split("\n\n") if lines.startswith("| ")]
    assert len(tables) == 4
    for table in tables:
        assert len({line.count("|") for line in table}) == 1


@pytest.mark.parametrize("text", [EVIL, LONG], ids=["hostile", "100 kB"])
def test_the_terminal_neither_obeys_nor_drowns(golden, text):
    lines = summary_lines(evil_record(golden, text), verbose=True)
    assert all(line.isprintable() for line in lines)
    assert not any(line.lstrip().startswith("::") for line in lines)
    assert sum(map(len, lines)) < 800_000  # folded lines of two runs, each name cut


@pytest.mark.parametrize("text", [EVIL, LONG], ids=["hostile", "100 kB"])
def test_json_gives_the_words_back_as_they_were(golden, text):
    record = evil_record(golden, text)
    written = report_text(record, ".json")
    assert json.loads(written) == record
    assert written.isascii()
    assert not any(line.lstrip().startswith("::") for line in written.splitlines())


@pytest.mark.parametrize("start", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r\n::error::x", " =1"])
def test_no_cell_of_a_table_is_a_formula_or_a_second_line(golden, start):
    rows = golden()["rows"][:3]
    for row in rows:
        row["vignette"] = f"{start}{EVIL}"
        row["outputs"]["order"]["orders"] = [f"{start}{EVIL}"]
        row["outputs"]["document"][f"{start}note"] = start
    text = _csv(replicate_columns(rows)).decode()
    assert len(text.splitlines()) == len(rows) + 1
    for line in csv.reader(io.StringIO(text)):
        for cell in line:
            assert not cell.lstrip().startswith(("=", "+", "-", "@", "::")), cell


def test_numbers_below_zero_stay_numbers_in_a_table(golden):
    rows = golden()["rows"][:1]
    rows[0]["outputs"]["triage"]["urgency_score"] = -3
    assert ",-3," in _csv(replicate_columns(rows)).decode()
