"""`fairmed analyse`: recorded trajectories, judged without a model."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_fairmedagent.cli.arguments import level, seed, share
from pytest_fairmedagent.cli.printing import OK, harmless_lines, print_lines

if TYPE_CHECKING:
    from pytest_fairmedagent.analysis import Analysis


def add(commands: Any) -> None:
    """Declare the command."""
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
        "--margin", type=share, metavar="M", help="largest signed gap that would not matter, 0..1"
    )
    analyse.add_argument("--alpha", type=level, metavar="A", help="level of the family (0.05)")
    analyse.add_argument(
        "--seed", type=seed, default=42, metavar="N", help="of percentile intervals (42)"
    )
    analyse.add_argument(
        "--checklist", action="store_true", help="print reporting data for TRIPOD-LLM's topics"
    )
    analyse.add_argument("--json", action="store_true", help="print a record for programs")
    analyse.set_defaults(command=_run)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.checklist:
        return _checklist(arguments)
    from pytest_fairmedagent.report.analysed import analysis_record
    from pytest_fairmedagent.report.tables import analysis_lines

    record = analysis_record(_analysis(arguments))
    if arguments.json:
        print(json.dumps(record, indent=1, allow_nan=False))
    else:
        print_lines(analysis_lines(record))
    return OK


def _analysis(arguments: argparse.Namespace) -> Analysis:
    from pytest_fairmedagent.analysis import analyse

    return analyse(
        arguments.files,
        reference=arguments.reference,
        block=arguments.block,
        rules=arguments.rules,
        plan=arguments.plan,
        margin=arguments.margin,
        alpha=arguments.alpha,
        seed=arguments.seed,
    )


def _checklist(arguments: argparse.Namespace) -> int:
    """Print the checklist of run records, and one for all other record files together."""
    from pytest_fairmedagent.files.run_record import is_run_record, read_run_record
    from pytest_fairmedagent.report.analysed import analysis_record
    from pytest_fairmedagent.report.checklist import checklist, checklist_lines

    records = {str(p): read_run_record(p) for p in arguments.files if is_run_record(p)}
    arguments.files = [path for path in arguments.files if str(path) not in records]
    if arguments.files:
        name = ", ".join(map(str, arguments.files))
        records[name] = analysis_record(_analysis(arguments))
    found = {name: checklist(record) for name, record in records.items()}
    if arguments.json:
        lists = [{"file": name, "checklist": entries} for name, entries in found.items()]
        print(json.dumps({"schema": 1, "checklists": lists}, indent=1, allow_nan=False))
        return OK
    for name, entries in found.items():
        print_lines([harmless_lines(name), *checklist_lines(entries)])
    return OK
