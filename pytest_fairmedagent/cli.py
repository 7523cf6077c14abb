"""The command line: `fairmed COMMAND`, which prints for people or, with `--json`, for programs."""

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
        description="Check vignette, swap, plan and rules files, and hold cases and swaps to the "
        "rules of the linter. Exit status 1 if there is an error.",
    )
    validate.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="files or folders")
    validate.add_argument("--rules", action="store_true", help="list the rules and stop")
    validate.add_argument("--strict", action="store_true", help="warnings count as errors")
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
        help="a run of a store as a record file, or as a table",
        description="Write the trajectories of a run as JSON Lines, the configuration in the "
        "header: `fairmed analyse` and recorded/PATH read it. As .csv or .parquet, the replicate "
        "table of a store or of a record: a line for each trajectory.",
    )
    export.add_argument("store", type=Path, metavar="STORE", help="folder or SQLite file; a record")
    export.add_argument("--run", type=_number, metavar="N", help="this run (newest finished one)")
    export.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FILE", help=".jsonl, .csv, .parquet"
    )
    export.set_defaults(command=_export)

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
    report.set_defaults(command=_report)

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
    take_in.set_defaults(command=_import)

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
    from pytest_fairmedagent.report.checked import checked_lines, checked_record, rule_lines

    if arguments.rules:
        print("\n".join(rule_lines(as_json=arguments.json)))
        return OK
    if not arguments.paths:
        raise FairmedError("validate was given no path: expected files or folders, or --rules")
    from pytest_fairmedagent.lint import check_files

    result = check_files(arguments.paths)
    record = checked_record(result)
    if arguments.json:
        print(json.dumps(record, indent=1))
    else:
        print("\n".join(_shown(line) for line in checked_lines(record)))
    n_wrong = result.n_errors + (result.n_warnings if arguments.strict else 0)
    return BAD if n_wrong else OK


def _show(arguments: argparse.Namespace) -> int:
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
    _print(record, view(record), as_json=arguments.json)
    return BAD if record.get("damage") else OK


def _export(arguments: argparse.Namespace) -> int:
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


def _report(arguments: argparse.Namespace) -> int:
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


def _import(arguments: argparse.Namespace) -> int:
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
