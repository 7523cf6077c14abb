"""A run record in the format that a file's suffix names."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pytest_fairmedagent.errors import FairmedError
from pytest_fairmedagent.shelf.export import write_whole

SUFFIXES = (".json", ".html", ".md")

_NEEDED = ("jinja2", "matplotlib")  # of the HTML report


class ReportError(FairmedError):
    """A report that cannot be made with what is installed."""


def check_formats(paths: Iterable[Path]) -> None:
    """Raise ReportError where a format needs what is not installed.

    Asked before the run: at its end everything is paid for.
    """
    for path in paths:
        absent = [name for name in _NEEDED if path.suffix == ".html" and find_spec(name) is None]
        if absent:
            raise ReportError(
                f"{path.name} is an HTML report, which needs {' and '.join(absent)}.\n"
                '  pip install "pytest-fairmedagent[report]"\n'
                "  Reports in .md and .json need nothing more."
            )


def report_text(record: dict[str, Any], suffix: str) -> str:
    """Return the text of the record as `.json`, `.html` or `.md`."""
    if suffix == ".html":
        from pytest_fairmedagent.report.html import html_report

        return html_report(record)
    if suffix == ".md":
        from pytest_fairmedagent.report.markdown import markdown_summary

        return markdown_summary(record)
    return json.dumps(record, indent=1, allow_nan=False) + "\n"


def write_report(record: dict[str, Any], path: Path) -> str:
    """Write the record in the format of the suffix; return in a line what was written.

    Raises StoreError where it cannot be written, and then leaves nothing behind.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, report_text(record, path.suffix))
    name = {".html": "report", ".md": "summary"}.get(path.suffix, "run record")
    return f"{name} written to {path}"
