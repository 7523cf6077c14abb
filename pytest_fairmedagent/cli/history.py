"""`fairmed history`: evidence that adds up over the runs of a store, and new lines of runs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_fairmedagent.cli.arguments import run_number
from pytest_fairmedagent.cli.printing import OK, print_record
from pytest_fairmedagent.errors import StoreError

if TYPE_CHECKING:
    from pytest_fairmedagent.analysis.lifetime import Line

NEW_LINE = "new-line"


def add(commands: Any) -> None:
    """Declare the command."""
    history = commands.add_parser(
        "history",
        help="evidence over successive runs of one design and case set",
        description="The lines of a store: successive runs of one design and case set, whatever "
        "the configuration of the agent. For each registered contrast the runs, gaps, floors and "
        "e-values, which may be looked at after every run. `fairmed history new-line --why TEXT` "
        "declares that the agent was mended: later draws begin a new line.",
    )
    history.add_argument(
        "store",
        nargs="*",
        metavar="[new-line] STORE",
        help="folder or SQLite file (.fairmed)",
    )
    history.add_argument(
        "--line", type=run_number, metavar="N", help="this line, run by run (all, in one row each)"
    )
    history.add_argument("--plot", type=Path, metavar="FILE", help="of a line, .svg or .png")
    history.add_argument("--why", default="", metavar="TEXT", help="why a new line begins")
    history.add_argument("--json", action="store_true", help="print a record for programs")
    history.set_defaults(command=_run)


def _run(arguments: argparse.Namespace) -> int:
    words = list(arguments.store)
    declares = words[:1] == [NEW_LINE]
    places = words[1:] if declares else words
    if len(places) > 1:
        raise StoreError(f"one store is looked at: expected one path, got {', '.join(places)}")
    place = Path(places[0] if places else ".fairmed")
    if declares:
        return _declare(arguments, place)
    if arguments.why:
        raise StoreError("--why belongs to `fairmed history new-line --why TEXT`")
    return _show(arguments, place)


def _show(arguments: argparse.Namespace, place: Path) -> int:
    from pytest_fairmedagent.report.lines import history_lines, history_record

    lines = _lines(place)
    if arguments.line is not None and arguments.line > len(lines):
        raise StoreError(f"--line is {arguments.line}, and {place} holds {len(lines)} line(s)")
    record = history_record(lines)
    told = history_lines(record, line=arguments.line)
    if arguments.plot is not None:
        from pytest_fairmedagent.report.lines_plot import plot_line

        if not lines:
            raise StoreError(f"{place} holds no line to plot")
        told.append(plot_line(arguments.plot, record["lines"][(arguments.line or len(lines)) - 1]))
    print_record(record, told, as_json=arguments.json)
    return OK


def _declare(arguments: argparse.Namespace, place: Path) -> int:
    """Declare a new line for draws to come, of one line's design and cases or of all."""
    from pytest_fairmedagent.running.archive import Archive
    from pytest_fairmedagent.running.ledger import LINE
    from pytest_fairmedagent.running.store import Store

    why = arguments.why.strip()
    if not why:
        raise StoreError(
            'a new line needs its reason, which `fairmed history` shows: --why "prompt v3"'
        )
    with Archive(place) as archive:  # an error where there is no store: none is made here
        folder, runs = archive.file.parent, archive.runs()
    if runs and runs[-1].finished is None:
        raise StoreError(
            f"{place}: run {runs[-1].id} has begun and is not finished, and its draws belong to "
            "the line that they began in.\n  Finish it by the same command, or begin anew with "
            "--fairmed-fresh once the new line is declared; a line covers draws to come only."
        )
    design = cases = ""
    lines = _lines(place)
    if arguments.line is not None:
        if arguments.line > len(lines):
            raise StoreError(f"--line is {arguments.line}, and {place} holds {len(lines)} line(s)")
        design, cases = lines[arguments.line - 1].design, lines[arguments.line - 1].cases
    store = Store(folder)
    try:
        entry = store.declare_line(why, design=design, cases=cases)
    finally:
        store.close()
    of = f"line {arguments.line}'s design and cases" if design else "every design and case set"
    record = {"kind": LINE, "id": entry.id, "why": why, "design": design, "cases": cases}
    told = [
        f"A new line begins for {of}: {why}",
        "It holds what is drawn from now on; stored answers stay in the line they were drawn in. "
        "A mended agent draws anew by itself, the same one with --fairmed-fresh.",
    ]
    print_record(record, told, as_json=arguments.json)
    return OK


def _lines(place: Path) -> list[Line]:
    from pytest_fairmedagent.analysis.lifetime import lines_of
    from pytest_fairmedagent.running.archive import Archive

    with Archive(place) as archive:
        return lines_of(archive.entries())
