"""Logs of inspect_ai as rows of a record file: an epoch of a sample is a replicate."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_fairmedagent import __version__
from pytest_fairmedagent.errors import FileFormatError
from pytest_fairmedagent.files.inspect_log import InspectLog, found_at, read_inspect_log
from pytest_fairmedagent.files.inspect_rules import InspectField, InspectTable
from pytest_fairmedagent.files.rules import read_inspect_table, read_rules

# An answer that ended so was cut or withheld: what can be read from it is no decision.
_CUT = ("max_tokens", "model_length", "content_filter")

_CONFIGURATION = (
    *("model", "model_args", "model_generate_config", "model_base_url"),
    *("task", "task_version", "task_args", "solver", "solver_args", "packages"),
)

Lines = list[dict[str, Any]]


def record_of_logs(paths: Sequence[Path], rules: Path) -> Lines:
    """Return the header and the rows of a record file. Raises FileFormatError.

    Several logs are one record: they must be of one configuration, and the epochs of a later log go
    on where those of an earlier one end.
    """
    table, names = read_inspect_table(rules), read_rules(rules).names
    logs = [read_inspect_log(path) for path in paths]
    configuration = _configuration(logs, table)
    seen: dict[object, Path] = {}
    last: dict[tuple[str, str], int] = {}
    rows = []
    for log in logs:
        run = log.evaluated.get("eval_id") or log.path.resolve()
        if run in seen:
            raise FileFormatError(
                f"{log.path}: is the same run as {seen[run]}. A copy of a log is no further draw."
            )
        seen[run] = log.path
        own: dict[tuple[str, str, int], str] = {}
        for sample in log.samples:
            vignette = _name(log, sample, table.vignette)
            named = _name(log, sample, table.condition)
            condition = names.get(named, named)
            place = (vignette, condition, sample["epoch"])
            if place in own:
                raise FileFormatError(
                    f"{log.path}: samples {own[place]} and {sample['id']} are both {vignette}, "
                    f"{condition} in epoch {place[2]}.\n  Another case needs another vignette: say "
                    'in [inspect] where the log tells them apart, such as vignette = "id".'
                )
            own[place] = str(sample["id"])
            replicate = last.get((vignette, condition), 0) + sample["epoch"]
            rows.append(_row(log, sample, table, (vignette, condition, replicate)))
        for row in rows:
            arm = row["vignette"], row["condition"]
            last[arm] = max(row["replicate"], last.get(arm, 0))
    _strike_copies(rows)
    created = str(logs[0].evaluated.get("created", ""))
    header = {
        "schema": 1,
        "generator": f"pytest-fairmedagent {__version__}, from inspect_ai",
        "model": str(configuration["model"]),
        "created": created,
        "configuration": configuration,
    }
    return [header, *rows]


def _strike_copies(rows: Lines) -> None:
    """Make rows missing that share an answer with an earlier one: a copy is no replicate.

    inspect_ai's cache serves an answer to several epochs where its policy says per_epoch=False.
    """
    read: set[str] = set()
    for row in rows:
        ids = set(row["response_ids"])
        if ids & read:
            row.update(outputs={}, missing={"trial": "answer read from a cache: a copy"})
        read |= ids


def logs_told(paths: Sequence[Path], lines: Lines) -> str:
    """Return in a line what was read, and what of it is no decision."""
    rows = lines[1:]
    n_missing = sum(bool(row["missing"]) for row in rows)
    vignettes = {row["vignette"] for row in rows}
    conditions = sorted({row["condition"] for row in rows})
    return (
        f"{len(paths)} log{'s' * (len(paths) > 1)}: {len(rows)} trajectories of {len(vignettes)} "
        f"vignettes under {', '.join(conditions)}; {n_missing} incomplete"
    )


def _configuration(logs: Sequence[InspectLog], table: InspectTable) -> dict[str, object]:
    """Return what was run, without what tells conditions apart. All logs must agree in it."""
    told = [_told(log, table) for log in logs]
    for log, other in zip(logs[1:], told[1:], strict=True):
        differing = [key for key in told[0] if told[0][key] != other[key]]
        if differing:
            shown = "; ".join(f"{k}: {told[0][k]!r} and {other[k]!r}" for k in differing)
            raise FileFormatError(
                f"{log.path}: was run in another configuration than {logs[0].path}: {shown}.\n"
                "  Import each into a file of its own, and give `fairmed analyse` both."
            )
    return told[0]


def _told(log: InspectLog, table: InspectTable) -> dict[str, object]:
    run = json.loads(json.dumps(log.evaluated))
    for place in (table.vignette, table.condition):
        names = place.split(".")
        inner = run if names[0] == "eval" else None
        for name in names[1:-1]:
            inner = inner.get(name) if isinstance(inner, dict) else None
        if isinstance(inner, dict):
            inner.pop(names[-1], None)
    return {
        **{key: run.get(key) for key in _CONFIGURATION},
        "plan": [
            {"solver": step.get("solver"), "params": step.get("params")}
            for step in (log.header.get("plan") or {}).get("steps") or ()
        ],
    }


def _name(log: InspectLog, sample: Mapping[str, Any], place: str) -> str:
    value = next(found_at(log, sample, place), None)
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        there = ", ".join(f"metadata.{key}" for key in sample.get("metadata") or ()) or "none"
        raise FileFormatError(
            f"{log.path}: sample {sample['id']} has {value!r} at '{place}', expected a name.\n"
            f"  Its metadata: {there}. Name the right place in the rules file, under [inspect]."
        )
    return str(value)


def _row(
    log: InspectLog, sample: Mapping[str, Any], table: InspectTable, place: tuple[str, str, int]
) -> dict[str, Any]:
    outputs: dict[str, dict[str, object]] = {}
    missing: dict[str, str] = {}
    reason = _reason(sample)
    if reason:
        missing["trial"] = reason
    else:
        for field in table.field:
            value, why = _value(log, sample, field)
            if why:
                missing[field.stage] = why
            else:
                outputs.setdefault(field.stage, {})[field.field] = value
    calls = [e for e in sample.get("events") or () if e.get("event") == "model"]
    usage = (sample.get("model_usage") or {}).values()
    return {
        **dict(zip(("vignette", "condition", "replicate"), place, strict=True)),
        "outputs": outputs,
        "missing": missing,
        "calls": len(calls),
        "retries": sum(call.get("retries") or 0 for call in calls),
        "input_tokens": sum(u.get("input_tokens") or 0 for u in usage),
        "output_tokens": sum(u.get("output_tokens") or 0 for u in usage),
        "response_ids": [name for call in calls if (name := _answer_id(call))],
        "drawn": sample.get("completed_at") or sample.get("started_at"),
    }


def _answer_id(call: Mapping[str, Any]) -> str:
    """Return the id of an answer. One that was read from a cache has that of the first reading."""
    choices = (call.get("output") or {}).get("choices") or ()
    return str(choices[0].get("message", {}).get("id") or "") if choices else ""


def _reason(sample: Mapping[str, Any]) -> str:
    """Return why a sample is no trajectory, or ""."""
    choices = (sample.get("output") or {}).get("choices") or [{}]
    if sample.get("error"):
        return f"error: {str(sample['error'].get('message', ''))[:200]}"
    if sample.get("limit"):
        return f"stopped at its limit: {sample['limit'].get('type', 'unknown')}"
    if sample.get("invalidation"):
        return "invalidated in the log"
    stop = choices[0].get("stop_reason")
    return f"answer ended by {stop}" if stop in _CUT else ""


def _value(log: InspectLog, sample: Mapping[str, Any], field: InspectField) -> tuple[object, str]:
    """Return the value of a field, or why it is missing."""
    value = next(found_at(log, sample, field.at), None)
    if value is None:
        return None, f"nothing at {field.at}"
    if field.values:
        word = str(value).lower() if isinstance(value, bool) else str(value)
        if word not in field.values:
            return None, f"{word[:40]!r} at {field.at} is none of {', '.join(field.values)}"
        return field.values[word], ""
    if not isinstance(value, (bool, int, float, str)):
        return None, f"{field.at} is no single value"
    return value, ""
