"""What a writer meant to fill in and did not: placeholders of templates and of programs."""

from __future__ import annotations

import re
from collections.abc import Iterator

# What each habit leaves: braces, brackets, angle brackets, blanks, shell and printf names,
# markers of drafts, empty values of programs.
_PLACEHOLDER = re.compile(
    r"\{[^{}]{0,60}\}|\{\{|\}\}"
    r"|\[\*\*.{0,60}?\*\*\]|\[(?!sic\b)[A-Za-z_][^\[\]]{0,60}\]"
    r"|<<?/?[A-Za-z_][\w \-/]{0,40}>>?"
    r"|_{2,}|\?{2,}|@{2,}|#{2,}|\*{3,}|\.{4,}|…{2,}"
    r"|\$\{|\$[A-Za-z_]\w*|%\([A-Za-z_]\w*\)[sd]|%[sd]\b"
    r"|\bX{2,}\b|\bx{3,}\b|\bY{2,}\b|\b9{4,}\b"
    r"|\b(?:TODO|FIXME|TBD|TBC|XXX|NaN|nan|null|NULL|undefined|#REF!|#N/A)\b"
    r"|(?i:\blorem ipsum\b|\bplaceholder\b|\b(?:insert|fill in|enter) \w+ here\b"
    r"|\bto be (?:added|filled|completed)\b|\bblah\b|\bfoo ?bar\b|\basdf\b)"
)
_QUICK = re.compile(r"[{}\[\]<>_?@#*…$%]|\.{4}|XX|xxx|YY|999|T[OB]D|FIXME|TBC|[Nn]a[Nn]|null|NULL"
                    r"|undef|orem|laceh|here|to be|lah|foo|asdf", re.ASCII)  # fmt: skip


def placeholders(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and text of what stands for something that was never filled in."""
    if not _QUICK.search(text):
        return
    for hit in _PLACEHOLDER.finditer(text):
        yield hit.start(), hit.end(), hit.group()
