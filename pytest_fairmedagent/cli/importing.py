"""`fairmed import`: a record file, or logs of inspect_ai, as a run of a store."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pytest_fairmedagent.cli.printing import OK
from pytest_fairmedagent.errors import FairmedError


def add(commands: Any) -> None:
    """Declare the command."""
    take_in = commands.add_parser(
        "import",
        help="a record file, or logs of inspect_ai, as a run of a store",
        description="Take a record file or an exported run into a store, as a run of its own for "
        "each agent and block. It can then be shown, exported and replayed. What was drawn "
        "elsewhere is never continued and never mixed with draws of one's own. Logs of inspect_ai "
        "(.eval or .json) are read by a rules file; with --output they become a record file.",
    )
    take_in.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="JSON, JSON Lines, or .eval logs"
    )
    take_in.add_argument(
        "--rules", type=Path, metavar="TOML", help="where a log has what, under [inspect]"
    )
    take_in.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="write logs as this record file (.jsonl)"
    )
    take_in.add_argument(
        "--store", type=Path, default=Path(".fairmed"), metavar="PATH", help="folder (.fairmed)"
    )
    take_in.set_defaults(command=_run)


def _run(arguments: argparse.Namespace) -> int:
    from pytest_fairmedagent.files.inspect_log import is_inspect_log
    from pytest_fairmedagent.shelf.imported import import_file

    logs = [path for path in arguments.files if is_inspect_log(path)]
    if logs and len(logs) < len(arguments.files):
        raise FairmedError("import was given logs and record files. Import one kind at a time.")
    if not logs and (arguments.rules or arguments.output):
        raise FairmedError(
            f"{arguments.files[0]}: is no log of inspect_ai. --rules and --output are for logs; a "
            "record file is imported as it is."
        )
    if logs:
        if arguments.rules is None:
            raise FairmedError(
                f"{logs[0]}: a log needs --rules FILE.toml, whose table [inspect] says where a "
                "sample has vignette, condition and fields.\n  docs/inspect.md has an example."
            )
        with _record(logs, arguments) as record:
            if arguments.output is None:
                _tell(import_file(record, arguments.store), arguments.store)
        return OK
    for path in arguments.files:
        _tell(import_file(path, arguments.store), arguments.store)
    return OK


@contextmanager
def _record(logs: list[Path], arguments: argparse.Namespace) -> Iterator[Path]:
    """Give the record file of logs: the one asked for, or one that is gone afterwards."""
    import tempfile

    from pytest_fairmedagent.report.text import clean
    from pytest_fairmedagent.shelf.export import write_whole
    from pytest_fairmedagent.shelf.inspect_logs import logs_told, record_of_logs

    lines = record_of_logs(logs, arguments.rules)
    with tempfile.TemporaryDirectory() as folder:
        target = arguments.output or Path(folder) / "logs.jsonl"
        write_whole(target, "".join(f"{json.dumps(line)}\n" for line in lines))
        told = f", written to {target}" if arguments.output else ""
        print(clean(logs_told(logs, lines) + told))
        yield target


def _tell(imported: Any, store: Path) -> None:
    from pytest_fairmedagent.report.text import clean

    for found in imported:
        what = "written" if found.new else "there from before, nothing written"
        print(
            clean(
                f"run {found.run} of {store}: {found.n_trajectories} trajectories of "
                f"{found.model}, {what}. Replay it with "
                f"--fairmed-model=recorded/{store}#{found.run}"
            )
        )
