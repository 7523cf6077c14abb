"""`fairmed import`: a record file as a run of a store."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pytest_fairmedagent.cli.printing import OK


def add(commands: Any) -> None:
    """Declare the command."""
    take_in = commands.add_parser(
        "import",
        help="a record file as a run of a store",
        description="Take a record file or an exported run into a store, as a run of its own for "
        "each agent and block. It can then be shown, exported and replayed. What was drawn "
        "elsewhere is never continued and never mixed with draws of one's own.",
    )
    take_in.add_argument("file", type=Path, metavar="FILE", help="JSON or JSON Lines")
    take_in.add_argument(
        "--store", type=Path, default=Path(".fairmed"), metavar="PATH", help="folder (.fairmed)"
    )
    take_in.set_defaults(command=_run)


def _run(arguments: argparse.Namespace) -> int:
    from pytest_fairmedagent.report.text import clean
    from pytest_fairmedagent.shelf.imported import import_file

    for found in import_file(arguments.file, arguments.store):
        what = "written" if found.new else "there from before, nothing written"
        print(
            clean(
                f"run {found.run} of {arguments.store}: {found.n_trajectories} trajectories of "
                f"{found.model}, {what}. Replay it with "
                f"--fairmed-model=recorded/{arguments.store}#{found.run}"
            )
        )
    return OK
