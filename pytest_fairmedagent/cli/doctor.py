"""`fairmed doctor`: what this machine can run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pytest_fairmedagent.cli.printing import BAD, OK, print_record


def add(commands: Any) -> None:
    """Declare the command."""
    doctor = commands.add_parser(
        "doctor",
        help="what this machine can run, and the next command",
        description="Models of Ollama, keys that are set (never their values), embedded weights, "
        "extras, versions, the store of this folder, and the next command. Only OLLAMA_HOST or "
        "this machine is asked. Exit status 1 if the model or store that is asked for cannot be "
        "used.",
    )
    doctor.add_argument("--model", default="", metavar="SPEC", help="can this model be used?")
    doctor.add_argument("--store", type=Path, metavar="PATH", help="folder of the store (.fairmed)")
    doctor.add_argument("--json", action="store_true", help="print a record for programs")
    doctor.set_defaults(command=_run)


def _run(arguments: argparse.Namespace) -> int:
    from pytest_fairmedagent.doctor import examine
    from pytest_fairmedagent.report.examined import doctor_lines

    record = examine(arguments.store or Path(".fairmed"), model=arguments.model)
    print_record(record, doctor_lines(record), as_json=arguments.json)
    asked, store = record["asked"], record["store"]
    broken = asked is not None and bool(asked["lacks"])
    if arguments.store is not None:
        broken |= not store["there"] or bool(store["fault"] or store.get("damage"))
    return BAD if broken else OK
