"""A row of a record file: one trajectory, checked key by key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

from pytest_fairmedagent.domain import Trajectory
from pytest_fairmedagent.errors import FileFormatError

# What an exported run says beside; a file of somebody else's may mean something else by it, so
# that a value which is not as expected is passed over and not refused.
_FURTHER = frozenset({"drawn", "input_tokens", "output_tokens", "infrastructure", "cluster"})


class Row(NamedTuple):
    """One trajectory of a file. `replicate` counts from 1; `block` names a set of its own.

    `config` is the configuration it was drawn in, or the digest of one; None leaves it to the
    header. `response_ids` are the server's ids of its answers: two rows with one of them read it
    twice. `drawn` is when it was drawn, in seconds since the epoch; None where the row says nothing
    that is a date. `infrastructure` tells that it is missing through no fault of the agent.
    `cluster` is the case that the vignette is a variant of, "" for none. `cut` tells that the row
    says of itself that it is not complete.
    """

    vignette: str
    condition: str
    replicate: int
    outputs: Mapping[str, Mapping[str, object]]
    missing: Mapping[str, str]
    calls: int
    retries: int
    block: str | None
    config: object
    response_ids: tuple[str, ...] = ()
    drawn: float | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    infrastructure: bool = False
    cluster: str = ""
    cut: bool = False


def check_row(path: Path, line: int, data: Any, block_key: str = "block") -> Row:
    """Return the row. Raises FileFormatError with what is wrong; further keys are not minded.

    Written out, not declared, because a file may hold a million of them.
    """
    try:
        missing, calls, retries = data.get("missing"), data.get("calls"), data.get("retries")
        response_ids = data.get("response_ids")
        row = Row(
            data["vignette"],
            data["condition"],
            data["replicate"],
            data["outputs"],
            {} if missing is None else missing,
            0 if calls is None else calls,
            0 if retries is None else retries,
            data.get(block_key),
            data.get("config"),
            () if response_ids is None else response_ids,
        )
    except (KeyError, TypeError, AttributeError):
        row = None
    if row is None or not _sound(row, data.get("complete")):
        raise FileFormatError(f"{path}:{line}: {_complaint(data, block_key)}")
    if None in row.outputs.values():
        row = row._replace(outputs={s: f for s, f in row.outputs.items() if f is not None})
    if data.get("complete") is False:
        row = row._replace(missing=row.missing or {"trial": "recorded as incomplete"}, cut=True)
    if isinstance(row.block, int):
        row = row._replace(block=str(row.block))
    if row.response_ids != ():
        row = row._replace(response_ids=tuple(row.response_ids))
    if not _FURTHER.isdisjoint(data):
        row = row._replace(
            drawn=seconds_of(data.get("drawn")),
            input_tokens=_count_of(data.get("input_tokens")),
            output_tokens=_count_of(data.get("output_tokens")),
            infrastructure=data.get("infrastructure") is True and row.missing != {},
            cluster=cluster if isinstance(cluster := data.get("cluster"), str) else "",
        )
    return row


def _count_of(value: object) -> int:
    return value if isinstance(value, int) and _is_count(value) else 0


def seconds_of(date: object) -> float | None:
    """Return an ISO date in seconds since the epoch, as UTC where it has no zone; else None."""
    try:
        found = datetime.fromisoformat(str(date).replace("Z", "+00:00"))
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp()


def _sound(row: Row, complete: object) -> bool:
    return (
        _is_name(row.vignette)
        and _is_name(row.condition)
        and _is_count(row.replicate)
        and row.replicate > 0
        and type(row.outputs) is dict
        and all(fields is None or type(fields) is dict for fields in row.outputs.values())
        and (row.missing == {} or _is_reasons(row.missing))
        and _is_count(row.calls)
        and _is_count(row.retries)
        and (row.block is None or type(row.block) in (str, int))
        and (row.config is None or type(row.config) in (str, dict))
        and (complete is None or type(complete) is bool)
        and (row.response_ids == () or _is_names(row.response_ids))
    )


def _is_name(value: object) -> bool:
    return type(value) is str and value != ""


def _is_names(value: object) -> bool:
    return type(value) is list and all(type(name) is str for name in value)


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _is_reasons(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(reason, str) for reason in value.values())


def _complaint(data: Any, block_key: str) -> str:
    """Return what is wrong with a row that is not sound."""
    if not isinstance(data, dict):
        return f"a row is {_shown(data)}, expected an object"
    checks: list[tuple[str, str, Callable[[Any], bool]]] = [
        ("vignette", "a name", _is_name),
        ("condition", "a name", _is_name),
        ("replicate", "a whole number from 1", lambda v: _is_count(v) and v > 0),
        ("outputs", "an object {stage: {field: value}}", lambda v: isinstance(v, dict)),
        ("missing", "an object {stage: reason}", _is_reasons),
        ("calls", "a whole number from 0", _is_count),
        ("retries", "a whole number from 0", _is_count),
        (block_key, "a name or number", lambda v: type(v) in (str, int)),
        ("config", "an object or a digest", lambda v: type(v) in (str, dict)),
        ("complete", "true or false", lambda v: type(v) is bool),
        ("response_ids", "a list of ids", _is_names),
    ]
    for key, expected, holds in checks:
        needed = key in ("vignette", "condition", "replicate", "outputs")
        if needed and key not in data:
            return f"'{key}' is missing, expected {expected}"
        if (needed or data.get(key) is not None) and not holds(data[key]):
            return f"'{key}' is {_shown(data[key])}, expected {expected}"
    stage = next(s for s, f in data["outputs"].items() if f is not None and type(f) is not dict)
    value = _shown(data["outputs"][stage])
    return f"'outputs.{stage}' is {value}, expected an object {{field: value}}"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def trajectory_of(row: Row) -> Trajectory:
    """Return what the row says of its trial; nothing of one that is missing as a whole."""
    return Trajectory(
        {} if "trial" in row.missing else row.outputs,
        dict(row.missing),
        calls=row.calls,
        repairs=row.retries,
        input_tokens=row.input_tokens,
        output_tokens=row.output_tokens,
        infrastructure=row.infrastructure,
        response_ids=row.response_ids,
    )


def twice(row: Row) -> str:
    """Say that a trajectory has the place of another."""
    return (
        f"{row.vignette}, {row.condition}, replicate {row.replicate} stands twice. A copy of a "
        "trajectory is no replicate."
    )
