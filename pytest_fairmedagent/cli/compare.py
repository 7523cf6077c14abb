"""`fairmed compare`: two run records, what changed from the one to the other."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pytest_fairmedagent.cli.printing import BAD, OK, print_record
from pytest_fairmedagent.errors import PlanError


def add(commands: Any) -> None:
    """Declare the command."""
    compare = commands.add_parser(
        "compare",
        help="two run records: what got worse or better beyond both floors",
        description="Compare two run records on the vignettes, arms and actions that both have: "
        "floors and contrasts side by side, and what changed, tested. "
        "They may be of one model at two times, or of two models. Exit status 1 where a gap or a "
        "floor got worse.",
    )
    compare.add_argument("before", type=Path, metavar="BEFORE.json")
    compare.add_argument("after", type=Path, metavar="AFTER.json")
    compare.add_argument(
        "--accept",
        action="store_true",
        help="then copy AFTER over BEFORE, so that it is the baseline from now on",
    )
    compare.add_argument("-v", "--verbose", action="store_true", help="print what did not change")
    compare.add_argument("--json", action="store_true", help="print a record for programs")
    compare.set_defaults(command=_run)


def _run(arguments: argparse.Namespace) -> int:
    from pytest_fairmedagent.comparing.baseline import compared_records
    from pytest_fairmedagent.files.run_record import read_run_record
    from pytest_fairmedagent.report.compared import compared_lines
    from pytest_fairmedagent.report.terminal import WIDTH
    from pytest_fairmedagent.report.text import fitted
    from pytest_fairmedagent.shelf.export import write_whole

    paths = arguments.before, arguments.after
    before, after = map(read_run_record, paths)
    if arguments.accept and not (after["complete"] and not after["interrupted"]):
        raise PlanError(
            f"{arguments.after}: its plan was not drawn to its end, so it is no baseline.\n"
            "  Let the same command draw the rest, or compare without --accept."
        )
    record = compared_records(before, after, *map(str, paths))
    lines = [
        part
        for line in compared_lines(record, verbose=arguments.verbose)
        for part in fitted(line, WIDTH)
    ]
    if arguments.accept:
        write_whole(arguments.before, arguments.after.read_bytes())
        lines.append(f"accepted: {arguments.before} is now a copy of {arguments.after}")
    print_record(record, lines, as_json=arguments.json)
    return BAD if any(run["counts"]["worse"] for run in record["runs"]) else OK
