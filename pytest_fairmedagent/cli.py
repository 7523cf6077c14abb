"""The command line: `fairmed analyse`, `validate`, `show`, `export` and `merge`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pytest_fairmedagent import __version__
from pytest_fairmedagent.errors import FairmedError

OK, BAD, USAGE = 0, 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit status: 0 done, 1 something validated is wrong, 2 bad usage or a bad file."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that knows no ± shall not fail
    arguments = _parser().parse_args(argv)
    command: Callable[[argparse.Namespace], int] = arguments.command
    try:
        status = command(arguments)
        sys.stdout.flush()
    except FairmedError as error:
        sys.stdout.flush()
        print(f"fairmed: error: {_shown(str(error))}", file=sys.stderr)
        return USAGE
    except BrokenPipeError:  # the reader has seen enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    return status


def _shown(text: str) -> str:
    from pytest_fairmedagent.report.text import clean, harmless

    return "\n".join(harmless(clean(line)) for line in text.split("\n"))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="fairmed",
        description="Fairness of clinical language-model agents, read against their own noise.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    analyse = commands.add_parser(
        "analyse",
        help="floors, contrasts and diagnostics of recorded trajectories",
        description="Floors, contrasts and diagnostics of recorded trajectories, without a model. "
        "Several files are compared as models. The exit status says nothing of the verdicts.",
    )
    analyse.add_argument("files", nargs="+", type=Path, metavar="FILE", help="JSON or JSON Lines")
    analyse.add_argument("--reference", metavar="NAME", help="the condition to compare with")
    analyse.add_argument("--block", metavar="NAME", help="look at this set of the file only")
    analyse.add_argument(
        "--rules", type=Path, metavar="TOML", help="names of conditions, block key, own actions"
    )
    analyse.add_argument(
        "--plan", type=Path, metavar="TOML", help="registered families; without it, all are one"
    )
    analyse.add_argument(
        "--margin", type=_share, metavar="M", help="largest signed gap that would not matter, 0..1"
    )
    analyse.add_argument("--alpha", type=_share, metavar="A", help="level of the family (0.05)")
    analyse.add_argument(
        "--seed", type=_seed, default=42, metavar="N", help="of percentile intervals (42)"
    )
    analyse.add_argument("--json", action="store_true", help="print a record for programs")
    analyse.set_defaults(command=_analyse)

    validate = commands.add_parser(
        "validate",
        help="check vignette, swap, plan and rules files",
        description="Check vignette, swap, plan and rules files. Exit status 1 if any is wrong.",
    )
    validate.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="files or folders")
    validate.add_argument("--json", action="store_true", help="print a list for programs")
    validate.set_defaults(command=_validate)
    _add_shelf(commands)
    return parser


def _add_shelf(commands: Any) -> None:
    """Add the commands that read what was drawn."""
    show = commands.add_parser(
        "show",
        help="what a store holds: its runs, one run, one trajectory",
        description="What a store holds: its runs, one run, or one trajectory with every reply. "
        "The store is read and never written. Exit status 1 if --check finds damage.",
    )
    show.add_argument("store", type=Path, metavar="STORE", help="folder or SQLite file")
    show.add_argument("--run", type=_number, metavar="N", help="this run (newest finished one)")
    show.add_argument(
        "--trial", metavar="VIGNETTE/CONDITION/REPLICATE", help="this trajectory of the run"
    )
    show.add_argument(
        "--vignettes", default="", metavar="PATHS", help="to render prompts from (shipped ones)"
    )
    show.add_argument("--swaps", type=Path, metavar="TOML", help="to render prompts from (shipped)")
    show.add_argument("--check", action="store_true", help="read all of it and look for damage")
    show.add_argument("--json", action="store_true", help="print a record for programs")
    show.set_defaults(command=_show)

    export = commands.add_parser(
        "export",
        help="a run of a store as a record file",
        description="Write the trajectories of a run as JSON Lines, the configuration in the "
        "header: `fairmed analyse` and recorded/PATH read it.",
    )
    export.add_argument("store", type=Path, metavar="STORE", help="folder or SQLite file")
    export.add_argument("--run", type=_number, metavar="N", help="this run (newest finished one)")
    export.add_argument("-o", "--output", type=Path, required=True, metavar="FILE.jsonl")
    export.set_defaults(command=_export)

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
    merge.set_defaults(command=_merge)


def _share(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0 and below 1")
    return number


def _seed(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of a run: expected 1, 2, ...")
    return int(text)


def _analyse(arguments: argparse.Namespace) -> int:
    from pytest_fairmedagent.analysis import analyse
    from pytest_fairmedagent.report.analysed import analysis_record
    from pytest_fairmedagent.report.tables import analysis_lines

    analysis = analyse(
        arguments.files,
        reference=arguments.reference,
        block=arguments.block,
        rules=arguments.rules,
        plan=arguments.plan,
        margin=arguments.margin,
        alpha=arguments.alpha,
        seed=arguments.seed,
    )
    record = analysis_record(analysis)
    if arguments.json:
        print(json.dumps(record, indent=1, allow_nan=False))
    else:
        print("\n".join(analysis_lines(record)))
    return OK


def _validate(arguments: argparse.Namespace) -> int:
    from pytest_fairmedagent.files.validate import validate

    checked = validate(arguments.paths)
    if arguments.json:
        print(json.dumps([file.as_dict() for file in checked], indent=1))
    else:
        for file in checked:
            if not file.errors:
                print(_shown(f"ok   {file.path} ({file.kind})"))
            for error in file.errors:
                print(f"bad  {_shown(error)}")
    return BAD if any(file.errors for file in checked) else OK


def _show(arguments: argparse.Namespace) -> int:
    from pytest_fairmedagent.errors import StoreError
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
            catalogue = read_swaps(arguments.swaps)
            record = contents.trial_contents(
                archive, arguments.run, arguments.trial, vignettes, catalogue
            )
            view = shown.trial_lines
        elif arguments.run is not None:
            record, view = contents.run_contents(archive, arguments.run), shown.run_lines
        else:
            record = contents.store_contents(archive, check=arguments.check)
            view = shown.store_lines
    _print(record, view(record), as_json=arguments.json)
    return BAD if record.get("damage") else OK


def _export(arguments: argparse.Namespace) -> int:
    from pytest_fairmedagent.report.text import clean
    from pytest_fairmedagent.running.archive import Archive
    from pytest_fairmedagent.shelf.export import export_run

    with Archive(arguments.store) as archive:
        print(clean(export_run(archive, arguments.run, arguments.output)))
    return OK


def _merge(arguments: argparse.Namespace) -> int:
    from pytest_fairmedagent.report.merged import is_red, merged_record
    from pytest_fairmedagent.report.terminal import summary_lines
    from pytest_fairmedagent.shelf.export import write_whole
    from pytest_fairmedagent.shelf.merge import merge

    record = merged_record(merge(arguments.records))
    write_whole(arguments.output, json.dumps(record, indent=1, allow_nan=False) + "\n")
    _print(record, summary_lines(record), as_json=arguments.json)
    return BAD if is_red(record) else OK


def _print(record: dict[str, Any], lines: list[str], *, as_json: bool) -> None:
    print(json.dumps(record, indent=1, allow_nan=False) if as_json else "\n".join(lines))


if __name__ == "__main__":
    raise SystemExit(main())
