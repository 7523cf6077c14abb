"""The run records of sharded jobs: read, and held against each other before they are merged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from pytest_fairmedagent.domain import Confounded, Confounder, Contrast, Family, Plan
from pytest_fairmedagent.errors import FileFormatError, PlanError
from pytest_fairmedagent.files.record_row import Row
from pytest_fairmedagent.files.records import RecordSource
from pytest_fairmedagent.running.info import RunInfo, digest_of
from pytest_fairmedagent.running.looking import Start
from pytest_fairmedagent.verdict.looks import earlier_of

SCHEMA = 1  # of the run records that can be read here

_SHOWN = 5  # differences that a message names
_LISTS = ("runs", "contrasts", "outcomes", "relations", "reliability", "diagnostics")


@dataclass(frozen=True)
class Shard:
    """The record of one job: its plan, the contrasts it judged, its run, its trajectories."""

    path: Path
    header: Mapping[str, Any]
    plan: Plan
    contrasts: tuple[Contrast, ...]
    info: RunInfo
    rows: Mapping[tuple[str, str, int], Row]


def read_shard(path: Path) -> Shard:
    """Return the record of one job. Raises FileFormatError for what is no record of one run."""
    source = RecordSource(path)
    rows: dict[tuple[str, str, int], Row] = {}
    for line, row in source.rows():
        place = (row.vignette, row.condition, row.replicate)
        if place in rows:
            raise FileFormatError(f"{path}:{line}: {', '.join(map(str, place))} stands twice")
        rows[place] = row
    header = source.header
    if not _is_record(header):
        raise FileFormatError(
            f"{path}: is no run record of schema {SCHEMA}.\n  Expected what a job writes with "
            "--fairmed-report=NAME.json. Rows alone are judged by `fairmed analyse`."
        )
    if len(header["runs"]) != 1:
        raise FileFormatError(
            f"{path}: holds {len(header['runs'])} runs, expected 1: what is merged are shards of "
            "one run.\n  Let a job test one agent."
        )
    run = header["runs"][0]
    try:
        plan = _plan(header["plan"])
        contrasts = (
            *(
                Contrast(c["family"], c["condition"], c["action"], c["vignette"])
                for c in header["contrasts"]
            ),
            *(
                Contrast(c["family"], c["condition"], c["outcome"], c["vignette"])
                for c in header["outcomes"]  # that are no actions
            ),
        )
        given = {field.name: run[field.name] for field in fields(RunInfo)}
        given["ledger"] = earlier_of(run["ledger"])
        given["starts"] = tuple(Start(**start) for start in run["starts"])
        info = RunInfo(**given)
        whole = plan.digest == run["plan_digest"] and info.config_digest == digest_of(
            info.configuration
        )
        members = {member for family in plan.families for member in family.members}
        strangers = [contrast for contrast in contrasts if contrast not in members]
        _check_counts(info)
    except (KeyError, TypeError, AttributeError) as error:
        raise FileFormatError(
            f"{path}: is no run record of this version: {error!r}\n  Merge records that the same "
            "pytest-fairmedagent wrote."
        ) from error
    if not whole:
        raise FileFormatError(
            f"{path}: its plan or configuration is not the one of its digest: it was edited.\n"
            "  Merge records as the jobs wrote them."
        )
    if strangers:
        raise FileFormatError(f"{path}: {strangers[0]} is no member of its plan: it was edited.")
    return Shard(path, header, plan, contrasts, info, rows)


def _is_record(header: Mapping[str, Any]) -> bool:
    lists = [header.get(key) for key in _LISTS]
    return (
        header.get("schema") == SCHEMA
        and all(isinstance(part, list) for part in lists)
        and all(isinstance(entry, dict) for part in lists for entry in part or ())
        and isinstance(header.get("plan"), dict)
        and {"name", "says"} <= set(header.get("profile") or ())
        and {"created", "environment"} <= header.keys()
    )


def _check_counts(info: RunInfo) -> None:
    counts = (info.drawn, info.retries, info.input_tokens, info.output_tokens, info.elapsed_s)
    if not all(isinstance(n, (int, float)) for n in counts) or not all(
        isinstance(look, int) for look in info.earlier_looks
    ):
        raise TypeError("a count that is no number")


def _plan(data: Mapping[str, Any]) -> Plan:
    return Plan(
        families=tuple(Family(**_tuples(family)) for family in data["families"]),
        reference=data["reference"],
        identical=tuple(data["identical"]),
        shams=tuple(data["shams"]),
        sequential=data["sequential"],
        confounded=tuple(
            Confounded(
                **_tuples({**found, "entries": [Confounder(**entry) for entry in found["entries"]]})
            )
            for found in data.get("confounded", ())
        ),
        outcomes=_tuples(data.get("outcomes", ())),
        pooled=bool(data.get("pooled", False)),
    )


def _tuples(value: Any) -> Any:
    """Return what JSON has as lists as tuples, in all depths."""
    if isinstance(value, dict):
        return {key: _tuples(inner) for key, inner in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def check_alike(shards: Sequence[Shard]) -> None:
    """Raise PlanError where jobs differ in plan or configuration, naming the fields that do."""
    first = shards[0]
    for other in shards[1:]:
        for what, a, b in (
            ("plans", first.header["plan"], other.header["plan"]),
            ("configurations", first.info.configuration, other.info.configuration),
        ):
            found = list(_differences(a, b))
            if found:
                more = f"\n    and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
                told = "".join(f"\n    {line}" for line in found[:_SHOWN])
                raise PlanError(
                    f"{first.path} and {other.path}: their {what} differ in "
                    f"{', '.join(line.split(':')[0] for line in found[:_SHOWN])}, so they are no "
                    f"shards of one run.{told}{more}\n  Run every job with the same options; "
                    "select tests with -k or a split, never with the plan's options."
                )


def _differences(a: Any, b: Any, name: str = "") -> Iterator[str]:
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for key in sorted({*a, *b}):
            inner = f"{name}.{key}" if name else str(key)
            yield from _differences(a.get(key, "(absent)"), b.get(key, "(absent)"), inner)
    elif _has_names(a) and _has_names(b):
        yield from _differences({i["name"]: i for i in a}, {i["name"]: i for i in b}, name)
    elif a != b:
        yield f"{name}: {_short(a)}, {_short(b)}"


def _has_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(i, dict) and "name" in i for i in value)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
