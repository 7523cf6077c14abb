"""The run record as a file: its schema, published as JSON Schema, and how it is read back.

Keys may be added within a version of the schema, so keys that are not known here are kept.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from pytest_fairmedagent.errors import FileFormatError
from pytest_fairmedagent.files.record_compared import (
    BaselinePart,
    PanelPart,
)
from pytest_fairmedagent.files.record_judged import (
    ConfoundedOutcomePart,
    ConfoundedPart,
    ContrastPart,
    ControlPart,
    GuardPart,
    OutcomePart,
    RelationPart,
    ReliabilityPart,
    SubgroupPart,
    SwapPart,
)
from pytest_fairmedagent.files.record_parts import (
    ArmPart,
    BudgetPart,
    ConditionPart,
    Count,
    Note,
    Part,
    PlanPart,
    Profile,
    RowPart,
    Run,
    Status,
)

SCHEMA = 1


class RunRecord(Part):
    """The run record of pytest-fairmedagent: all that a run has come to."""

    schema_: Literal[1] = Field(alias="schema")
    generator: str
    created: str = Field(description="when it was written, ISO 8601 in UTC")
    interrupted: bool
    complete: bool = Field(description="whether the plan was drawn to its end")
    profile: Profile
    environment: dict[str, Any]
    runs: Annotated[list[Run], Field(min_length=1)]
    plan: PlanPart
    conditions: dict[str, ConditionPart]
    vignettes: dict[str, dict[str, Any]]
    arms: list[ArmPart]
    swaps: list[SwapPart] = Field(default=[], description="over all their outcomes together")
    contrasts: list[ContrastPart]
    controls: list[ControlPart]
    outcomes: list[OutcomePart] = Field(default=[], description="contrasts of no action")
    reliability: list[ReliabilityPart] = Field(default=[], description="floors against a bound")
    relations: list[RelationPart] = Field(default=[], description="tests of the user's own")
    confounded: list[ConfoundedPart | ConfoundedOutcomePart] = Field(
        default=[], description="set apart, never claimed"
    )
    guards: list[GuardPart]
    diagnostics: list[Note]
    deviations: list[Note] = Field(description="what was not as the plan has it")
    verdicts: dict[Status, Count]
    configuration: dict[str, Any]
    budget: BudgetPart
    subgroups: list[SubgroupPart] = Field(default=[], description="by domain and difficulty")
    panel: PanelPart | None = Field(default=None, description="where several models were run")
    baseline: BaselinePart | None = Field(default=None, description="where there was one")
    checklist: Any = Field(description="data for a reporting checklist")
    merged: list[dict[str, Any]] = Field(default=[], description="the records it was merged from")
    rows: list[RowPart]


def is_run_record(path: Path) -> bool:
    """Return whether a file is a run record by its look: one JSON object with `runs`."""
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return False  # other formats, and what is wrong with a file, are told by their reader
    return isinstance(data, dict) and "runs" in data


def read_run_record(path: Path) -> dict[str, Any]:
    """Return the run record of a file. Raises FileFormatError for what is none."""
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{path}: is no run record: {error}\n  {_EXPECTED}") from error
    if not isinstance(data, dict) or "runs" not in data:
        raise FileFormatError(f"{path}: is no run record.\n  {_EXPECTED}")
    if data.get("schema") != SCHEMA:
        raise FileFormatError(
            f"{path}: is a run record of schema {data.get('schema')!r}, and {SCHEMA} can be read "
            "here.\n  Use the version of pytest-fairmedagent that wrote it."
        )
    try:
        RunRecord.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise FileFormatError(
            f"{path}: is no run record of this version: {where}: {first['msg']}\n  {_EXPECTED}"
        ) from error
    return data


_EXPECTED = "Expected what --fairmed-report=NAME.json or `fairmed merge` writes."


def record_schema() -> str:
    """Return the JSON Schema of run records, as docs/record.schema.json has it."""
    schema = RunRecord.model_json_schema()
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": f"schema {SCHEMA} of run records; keys may be added within it",
        **schema,
    }
    return json.dumps(schema, indent=1) + "\n"
