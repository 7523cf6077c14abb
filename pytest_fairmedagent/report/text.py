"""Text that may come from a model or a file, made fit for a terminal and a CI log."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

_LONGEST = 2000  # characters of a line; what goes on is not for people


def clean(text: str) -> str:
    """Return text without control characters, which could move a cursor or recolour a line."""
    return "".join(c if c.isprintable() else "?" for c in text)


def tame(text: str, limit: int = 240) -> str:
    """Return text without control characters, cut to `limit` characters, which it then says."""
    if len(text) <= limit:
        return clean(text)
    return f"{clean(text[:limit])}… ({len(text)} characters, cut)"


def code(text: str) -> str:
    """Return text as a code span of Markdown that a table can hold."""
    harmless = tame(text, 120).replace("`", "'").replace("|", "¦").strip()
    return f"`{harmless or ' '}`"


def short(text: str, limit: int) -> str:
    """Return text without control characters, at most `limit` long; the label of a plot."""
    return clean(text if len(text) <= limit else f"{text[: limit - 1]}…")


def shown(text: str) -> str:
    """Return a text of several lines of which none is endless or gives a command to a log."""
    return "\n".join(harmless(tame(line, _LONGEST)) for line in text.split("\n"))


def fitted(line: str, width: int) -> list[str]:
    """Return a line, cleaned, folded to the width, and giving no command to a CI log.

    Tables are within the width as they are; words are folded with a hanging indent.
    """
    line = tame(line, _LONGEST)
    parts = [line.rstrip()]
    if len(line) > width:
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        parts = textwrap.wrap(line, width, subsequent_indent=indent, break_on_hyphens=False)
    return [harmless(part) for part in parts]


def harmless(line: str) -> str:
    """Return a line that gives no command to a CI log, whose reader skips leading blanks."""
    start = len(line) - len(line.lstrip())
    return f"{line[:start]}?{line[start + 1 :]}" if line.startswith("::", start) else line


def cases(entry: Mapping[str, Any]) -> str:
    """Return how many vignettes an entry of a record is about, and in how many variants."""
    n_vignettes = entry["vignettes"]
    told = f"{n_vignettes} vignette{'' if n_vignettes == 1 else 's'}"
    return f"{told} in {entry['variants']} variants" if entry.get("variants") else told


def file_size(n_bytes: int) -> str:
    """Return a number of bytes in the unit that people read."""
    if n_bytes < 1000:
        return f"{n_bytes} B"
    if n_bytes < 1_000_000:
        return f"{n_bytes / 1000:.1f} kB"
    return f"{n_bytes / 1_000_000:.1f} MB"
