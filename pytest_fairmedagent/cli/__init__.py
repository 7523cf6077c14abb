"""The command line: `fairmed COMMAND`, which prints for people or, with `--json`, for programs.

A module here is one command: `add` declares its arguments, and what it sets as `command` runs it.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence

from pytest_fairmedagent import __version__
from pytest_fairmedagent.cli import (
    adjudicate,
    analyse,
    compare,
    doctor,
    export,
    history,
    importing,
    merge,
    plan,
    report,
    show,
    validate,
)
from pytest_fairmedagent.cli.printing import OK, USAGE, harmless_lines
from pytest_fairmedagent.errors import FairmedError

# In the order of a user's way: look round, plan, check, judge, look closer, hand on.
_COMMANDS = (
    doctor,
    plan,
    validate,
    adjudicate,
    analyse,
    report,
    compare,
    history,
    show,
    export,
    importing,
    merge,
)


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
        print(f"fairmed: error: {harmless_lines(str(error))}", file=sys.stderr)
        return USAGE
    except BrokenPipeError:  # the reader has seen enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="fairmed",
        description="Fairness of clinical language-model agents, read against their own noise.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in _COMMANDS:
        command.add(commands)
    return parser
