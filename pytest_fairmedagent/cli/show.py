"""`fairmed show`: what a store holds."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pytest_fairmedagent.cli.arguments import run_number
from pytest_fairmedagent.cli.printing import BAD, OK, print_record


def add(commands: Any) -> None:
    """Declare the command."""
    show = commands.add_parser(
        "show",
        help="what a store holds: its runs, one run, one trajectory",
        description="What a store holds: its runs, one run, or one trajectory with every reply. "
        "The store is read and never written. Exit status 1 if --check finds damage.",
    )
    show.add_argument("store", type=Path, metavar="STORE", help="folder or SQLite file")
    show.add_argument("--run", type=run_number, metavar="N", help="this run (newest finished one)")
    show.add_argument(
        "--trial", metavar="VIGNETTE/CONDITION/REPLICATE", help="this trajectory of the run"
    )
    show.add_argument(
        "--vignettes", default="", metavar="PATHS", help="to render prompts from (shipped ones)"
    )
    show.add_argument("--swaps", type=Path, metavar="TOML", help="to render prompts from (shipped)")
    show.add_argument("--check", action="store_true", help="read all of it and look for damage")
    show.add_argument("--json", action="store_true", help="print a record for programs")
    show.set_defaults(command=_run)


def _run(arguments: argparse.Namespace) -> int:
    from pytest_fairmedagent.errors import StoreError
    from pytest_fairmedagent.files.pairset import read_pair_set
    from pytest_fairmedagent.files.swaps import read_swaps
    from pytest_fairmedagent.files.vignettes import select_vignettes
    from pytest_fairmedagent.report import shown
    from pytest_fairmedagent.running.archive import Archive
    from pytest_fairmedagent.shelf import contents

    if arguments.check and (arguments.run or arguments.trial):
        raise StoreError("--check reads the whole store: leave --run and --trial out")
    with Archive(arguments.store) as archive:
        if arguments.trial is not None:
            vignettes = select_vignettes(arguments.vignettes, Path.cwd())
            pairs = read_pair_set(arguments.vignettes, Path.cwd())
            catalogue = pairs.catalogue if pairs else read_swaps(arguments.swaps)
            record = contents.trial_contents(
                archive, arguments.run, arguments.trial, vignettes, catalogue
            )
            view = shown.trial_lines
        elif arguments.run is not None:
            record, view = contents.run_contents(archive, arguments.run), shown.run_lines
        else:
            record = contents.store_contents(archive, check=arguments.check)
            view = shown.store_lines
    print_record(record, view(record), as_json=arguments.json)
    return BAD if record.get("damage") else OK
