"""`fairmed export`: a run of a store as a file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pytest_fairmedagent.cli.arguments import run_number
from pytest_fairmedagent.cli.printing import OK


def add(commands: Any) -> None:
    """Declare the command."""
    export = commands.add_parser(
        "export",
        help="a run of a store as a record file, or as a table",
        description="Write the trajectories of a run as JSON Lines, the configuration in the "
        "header: `fairmed analyse` and recorded/PATH read it. As .csv or .parquet, the replicate "
        "table of a store or of a record: a line for each trajectory.",
    )
    export.add_argument("store", type=Path, metavar="STORE", help="folder or SQLite file; a record")
    export.add_argument(
        "--run", type=run_number, metavar="N", help="this run (newest finished one)"
    )
    export.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FILE", help=".jsonl, .csv, .parquet"
    )
    export.set_defaults(command=_run)


def _run(arguments: argparse.Namespace) -> int:
    from pytest_fairmedagent.report.replicates import SUFFIXES, export_table
    from pytest_fairmedagent.report.text import clean
    from pytest_fairmedagent.running.archive import Archive
    from pytest_fairmedagent.shelf.export import export_run

    if arguments.output.suffix in SUFFIXES:
        print(clean(export_table(arguments.store, arguments.run, arguments.output)))
        return OK
    with Archive(arguments.store) as archive:
        print(clean(export_run(archive, arguments.run, arguments.output)))
    return OK
