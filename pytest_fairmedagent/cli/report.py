"""`fairmed report`: a run record as a page or a summary."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from pytest_fairmedagent.cli.printing import OK
from pytest_fairmedagent.errors import FairmedError


def add(commands: Any) -> None:
    """Declare the command."""
    report = commands.add_parser(
        "report",
        help="a run record as a page or a summary",
        description="Write a run record as a page (.html) or as a summary for pull requests (.md). "
        "Nothing is computed anew, and the exit status says nothing of the verdicts.",
    )
    report.add_argument("record", type=Path, metavar="RECORD.json")
    report.add_argument(
        "-o",
        "--output",
        action="append",
        type=Path,
        metavar="FILE",
        help=".html or .md; may be given several times (default: RECORD.html)",
    )
    report.add_argument("--json", action="store_true", help="print a list of what was written")
    report.set_defaults(command=_run)


def _run(arguments: argparse.Namespace) -> int:
    from pytest_fairmedagent.files.run_record import read_run_record
    from pytest_fairmedagent.report.text import clean
    from pytest_fairmedagent.report.written import check_formats, write_report

    outputs = arguments.output or [arguments.record.with_suffix(".html")]
    for path in outputs:
        if path.suffix not in (".html", ".md"):
            raise FairmedError(f"--output is {str(path)!r}, expected a name ending in .html or .md")
    check_formats(outputs)
    record = read_run_record(arguments.record)
    lines = [write_report(record, path) for path in outputs]
    if arguments.json:
        print(json.dumps([{"file": str(path), "format": path.suffix[1:]} for path in outputs]))
    else:
        print("\n".join(clean(line) for line in lines))
    return OK
