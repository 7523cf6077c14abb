"""`fairmed validate`: files, held to their formats and to the linter."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from pytest_fairmedagent.cli.printing import BAD, OK, harmless_lines
from pytest_fairmedagent.errors import FairmedError


def add(commands: Any) -> None:
    """Declare the command."""
    validate = commands.add_parser(
        "validate",
        help="check vignette, swap, plan and rules files",
        description="Check vignette, swap, plan and rules files, and hold cases and swaps to the "
        "rules of the linter. Exit status 1 if there is an error.",
    )
    validate.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="files or folders")
    validate.add_argument("--rules", action="store_true", help="list the rules and stop")
    validate.add_argument(
        "--composition", action="store_true", help="print what the cases are made of, and stop"
    )
    validate.add_argument(
        "--digests", action="store_true", help="print the digests of a folder's files, and stop"
    )
    validate.add_argument(
        "--columns",
        metavar="A=B,...",
        default="",
        help="what CSV and JSON Lines files call their columns, as text=Vignette,id=case_id",
    )
    validate.add_argument(
        "--sheet",
        choices=("croissant", "card", "changes"),
        help="print a folder's Croissant description, its card for hubs, or what changed since "
        "the edition before, and stop",
    )
    validate.add_argument("--strict", action="store_true", help="warnings count as errors")
    validate.add_argument("--json", action="store_true", help="print a list for programs")
    validate.set_defaults(command=_run)


def _run(arguments: argparse.Namespace) -> int:
    from pytest_fairmedagent.report.checked import checked_lines, checked_record, rule_lines

    if arguments.rules:
        print("\n".join(rule_lines(as_json=arguments.json)))
        return OK
    if not arguments.paths:
        raise FairmedError("validate was given no path: expected files or folders, or --rules")
    if arguments.composition or arguments.digests or arguments.sheet:
        _print_sheet(arguments)
        return OK
    from pytest_fairmedagent.lint import check_files

    result = check_files(arguments.paths, arguments.columns)
    record = checked_record(result)
    if arguments.json:
        print(json.dumps(record, indent=1))
    else:
        print("\n".join(harmless_lines(line) for line in checked_lines(record)))
    n_wrong = result.n_errors + (result.n_warnings if arguments.strict else 0)
    return BAD if n_wrong else OK


def _print_sheet(arguments: argparse.Namespace) -> None:
    """Print the tables and the digests that the data sheet of a case set holds."""
    from pytest_fairmedagent.files.composition import composition_lines, digest_lines
    from pytest_fairmedagent.files.publishing import card_lines, change_lines, croissant_text
    from pytest_fairmedagent.files.vignettes import read_vignettes

    if arguments.composition:
        print("\n".join(composition_lines(read_vignettes(arguments.paths).values())))
    for folder in arguments.paths if arguments.digests or arguments.sheet else ():
        if not folder.is_dir():
            named = "--digests" if arguments.digests else f"--sheet={arguments.sheet}"
            raise FairmedError(f"{named}: {folder} is no folder. Name the folder of a case set.")
        if arguments.digests:
            print("\n".join(digest_lines(folder)))
        elif arguments.sheet == "croissant":
            print(croissant_text(folder), end="")
        else:
            lines = card_lines if arguments.sheet == "card" else change_lines
            print("\n".join(lines(folder)))
