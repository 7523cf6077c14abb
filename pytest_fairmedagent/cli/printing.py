"""What the commands have in common: exit statuses, and printing a record or a view of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any

OK, BAD, USAGE = 0, 1, 2


def harmless_lines(text: str) -> str:
    """Return text without control characters, of which no line gives a command to a CI log."""
    from pytest_fairmedagent.report.text import clean, harmless

    return "\n".join(harmless(clean(line)) for line in text.split("\n"))


def print_record(record: dict[str, Any], lines: Iterable[str], *, as_json: bool) -> None:
    """Print a record for programs, or the lines that are its view for people."""
    if as_json:
        print(json.dumps(record, indent=1, allow_nan=False))
    else:
        print_lines(lines)


def print_lines(lines: Iterable[str]) -> None:
    """Print lines for people, in colour where standard output is a terminal that wants it."""
    from pytest_fairmedagent.report.colours import coloured, wants_colour

    paint = coloured if wants_colour(sys.stdout) else str
    print("\n".join(map(paint, lines)))
