"""Text that may come from a model or a file, made fit for a terminal and a CI log."""

from __future__ import annotations

import textwrap


def clean(text: str) -> str:
    """Return text without control characters, which could move a cursor or recolour a line."""
    return "".join(c if c.isprintable() else "?" for c in text)


def fitted(line: str, width: int) -> list[str]:
    """Return a line, cleaned, folded to the width, and giving no command to a CI log.

    Tables are within the width as they are; words are folded with a hanging indent.
    """
    line = clean(line)
    parts = [line.rstrip()]
    if len(line) > width:
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        parts = textwrap.wrap(line, width, subsequent_indent=indent, break_on_hyphens=False)
    return [harmless(part) for part in parts]


def harmless(line: str) -> str:
    """Return a line that gives no command to a CI log, whose reader skips leading blanks."""
    start = len(line) - len(line.lstrip())
    return f"{line[:start]}?{line[start + 1 :]}" if line.startswith("::", start) else line
