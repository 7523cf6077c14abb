"""What `fairmed validate` found, for people and for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_fairmedagent.lint.files import Result


def checked_record(result: Result) -> list[dict[str, Any]]:
    """Return one record a file: its kind, whether it is ok, format errors and findings."""
    return [
        {
            "file": str(file.path),
            "kind": file.kind,
            "ok": not file.errors and all(f.severity != "error" for f in found),
            "errors": list(file.errors),
            "findings": [finding.as_dict() for finding in found],
        }
        for file, found in result.by_file()
    ]


def checked_lines(record: list[dict[str, Any]]) -> list[str]:
    """Return a line for each error, each finding and each file without any."""
    lines = []
    for file in record:
        lines += [f"bad  {error}" for error in file["errors"]]
        for found in file["findings"]:
            word = "bad " if found["severity"] == "error" else "warn"
            place = f"{found['file']}:{found['line']}"
            lines.append(f"{word} {place}: {found['rule']} {found['message']}. {found['advice']}.")
        if not file["errors"] and not file["findings"]:
            lines.append(f"ok   {file['file']} ({file['kind']})")
    return lines


def rule_lines(*, as_json: bool) -> list[str]:
    """Return the rules of the linter, one a line, or as JSON."""
    from pytest_fairmedagent.lint.rules import RULES

    if as_json:
        table = [
            {"rule": rule.id, "severity": rule.severity, "says": rule.says}
            for rule in RULES.values()
        ]
        return [json.dumps(table, indent=1)]
    return [f"{rule.id}  {rule.severity:7}  {rule.says}" for rule in RULES.values()]
