"""The page in a real browser. It needs Chromium, node, and axe-core and puppeteer-core of npm.

npm install axe-core puppeteer-core
FAIRMED_NODE_MODULES=$PWD/node_modules python -m pytest tests/report/test_browser.py
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from pytest_fairmedagent.report.html import html_report
from tests.report.whole import whole_record

MODULES = os.environ.get("FAIRMED_NODE_MODULES", "")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""

pytestmark = [
    pytest.mark.skipif(not CHROMIUM, reason="no chromium on this machine"),
    pytest.mark.skipif(shutil.which("node") is None, reason="no node on this machine"),
    pytest.mark.skipif(
        not (Path(MODULES) / "axe-core").is_dir() or not MODULES,
        reason="FAIRMED_NODE_MODULES names no folder with axe-core and puppeteer-core",
    ),
]


@pytest.fixture(scope="module")
def seen(golden, tmp_path_factory):
    page = tmp_path_factory.mktemp("page") / "page.html"
    page.write_text(html_report(whole_record(golden())), encoding="utf-8")
    script = Path(__file__).with_name("browser.mjs")
    ran = subprocess.run(
        ["node", str(script), str(page), CHROMIUM], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_axe_finds_no_violation_by_day_or_night_at_1280_or_390_pixels(seen):
    found = [view["violations"] for view in seen if "violations" in view]
    assert found == [[], [], []]


def test_the_console_is_silent_and_nothing_is_fetched(seen):
    assert all(view["console"] == view["requests"] == [] for view in seen[:4])


def test_the_page_is_never_wider_than_its_window(seen):
    assert [view["overflow"] for view in seen[:4]] == [0, 0, 0, 0]


def test_without_scripts_the_page_lacks_its_filters_and_nothing_else(seen):
    assert [view["tools"] > 0 for view in seen[:4]] == [True, True, True, False]


def test_under_its_policy_the_own_script_runs_and_no_other(seen):
    last = seen[4]
    assert last["own"] > 0
    assert not last["strange"]
    assert last["errors"] == []
