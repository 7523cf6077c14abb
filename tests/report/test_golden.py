"""Equal records give equal reports. UPDATE_GOLDEN=1 in the environment writes the golden ones."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from pytest_fairmedagent.report.markdown import markdown_summary

GOLDEN = Path(__file__).parent / "golden"
UPDATE = os.environ.get("UPDATE_GOLDEN") == "1"


def words_of(page: str) -> str:
    """The page without plots (which change with matplotlib), style and script."""
    page = re.sub(r"<svg.*?</svg>", "<svg/>", page, flags=re.DOTALL)
    page = re.sub(r"<(style|script)>.*?</\1>", r"<\1/>", page, flags=re.DOTALL)
    return re.sub(r"'sha256-[^']*'", "'sha256-'", page)


def compare(name: str, text: str) -> None:
    if UPDATE:
        (GOLDEN / name).write_text(text, encoding="utf-8", newline="\n")
    assert text.encode() == (GOLDEN / name).read_bytes()


def test_a_record_drawn_now_has_every_key_of_the_golden_record(draw):
    record = draw(4, ("race_black", "race_hispanic"), 8)
    if UPDATE:
        text = json.dumps({**record, "rows": None}, indent=1)
        rows = ",\n".join(json.dumps(row) for row in record["rows"])
        text = text.replace('"rows": null', f'"rows": [\n{rows}\n]') + "\n"
        (GOLDEN / "record.json").write_text(text, encoding="utf-8", newline="\n")
    kept = json.loads((GOLDEN / "record.json").read_text(encoding="utf-8"))
    assert kept.keys() <= record.keys()
    for part in ("runs", "arms", "swaps", "contrasts", "controls", "guards", "rows"):
        assert kept[part][0].keys() <= record[part][0].keys(), part


def test_the_golden_record_gives_the_golden_summary_byte_for_byte(golden):
    compare("summary.md", markdown_summary(golden()))


def test_the_golden_record_gives_the_words_of_the_golden_page_byte_for_byte(golden_page):
    compare("page.html", words_of(golden_page))


def test_two_processes_make_the_same_page_with_its_plots_byte_for_byte(golden_page):
    code = (
        "import hashlib, json, sys\n"
        "from pytest_fairmedagent.report.html import html_report\n"
        "page = html_report(json.load(open(sys.argv[1], encoding='utf-8')))\n"
        "print(hashlib.sha256(page.encode()).hexdigest())"
    )
    made = subprocess.run(
        [sys.executable, "-c", code, str(GOLDEN / "record.json")],
        env={**os.environ, "PYTHONHASHSEED": "12345"},
        capture_output=True,
        text=True,
        check=True,
    )
    here = hashlib.sha256(golden_page.encode()).hexdigest()
    assert made.stdout.strip() == here
