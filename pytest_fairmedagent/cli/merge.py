"""`fairmed merge`: the records of sharded jobs in one."""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

from pytest_fairmedagent.cli.printing import BAD, OK, print_record


def add(commands: Any) -> None:
    """Declare the command."""
    merge = commands.add_parser(
        "merge",
        help="one record of the records of sharded jobs, judged anew",
        description="Merge run records of jobs that each ran a part of one plan in one "
        "configuration. Families are judged anew over all rows; members that no job ran enter "
        "with p = 1. Exit status 1 for a DISPARITY in a family that gates.",
    )
    merge.add_argument("records", nargs="+", type=Path, metavar="RECORD.json")
    merge.add_argument("-o", "--output", type=Path, required=True, metavar="MERGED.json")
    merge.add_argument("--json", action="store_true", help="print the record, not its summary")
    merge.set_defaults(command=_run)


def _run(arguments: argparse.Namespace) -> int:
    from pytest_fairmedagent.report.merged import is_red, merged_record
    from pytest_fairmedagent.report.terminal import summary_lines
    from pytest_fairmedagent.shelf.export import write_whole
    from pytest_fairmedagent.shelf.merge import merge

    record = merged_record(merge(arguments.records))
    write_whole(arguments.output, json.dumps(record, indent=1, allow_nan=False) + "\n")
    width = shutil.get_terminal_size((104, 24)).columns
    print_record(record, summary_lines(record, width=width), as_json=arguments.json)
    return BAD if is_red(record) else OK
