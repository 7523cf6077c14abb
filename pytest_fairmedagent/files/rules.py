"""Rules files: how the names and fields of somebody's records are to be read.

    schema = 1
    block = "arm"                       # the row key that tells sets with a reference of their own

    [[condition]]
    name = "rerender_control"           # as the rows have it
    id = "rerender"                     # as it shall be called; without it, the same
    kind = "identical"                  # reference, swap, identical or sham

    [[action]]
    name = "early_follow_up"
    stage = "document"
    field = "followup_days"
    op = "at_most"                      # is_true, equals, at_least, at_most
    value = 7

    [[range]]
    stage = "prescribe"                 # outside it, a value is missing with that reason
    field = "analgesia_tier"
    low = 0
    high = 3

    [inspect]                           # of logs of inspect_ai: see `InspectTable`

Names are mapped here or not at all, never by guess.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import Field

from pytest_fairmedagent.domain import ACTIONS, KINDS, Outcome, Trajectory
from pytest_fairmedagent.errors import FairmedError, FileFormatError, closest
from pytest_fairmedagent.files.inspect_rules import InspectTable
from pytest_fairmedagent.files.swaps import RESERVED, read_swaps
from pytest_fairmedagent.files.toml import Strict, TomlFile
from pytest_fairmedagent.files.types import Slug, Text, one_of

OPERATIONS = ("is_true", "equals", "at_least", "at_most")

Number = int | float
Scalar = bool | int | float | str


class ConditionRule(Strict):
    name: Text
    id: Text | None = None
    kind: Annotated[str, one_of(KINDS)] | None = None
    attribute: str = ""


class ActionRule(Strict):
    name: Slug
    stage: Text
    field: Text
    op: Annotated[str, one_of(OPERATIONS)]
    value: Scalar | None = None


class RangeRule(Strict):
    stage: Text
    field: Text
    low: Number
    high: Number


class RulesFile(Strict):
    """The fields of a rules file; `schema` is the version of this format."""

    schema_version: Annotated[int, Field(alias="schema", ge=1, le=1)]
    block: Text = "block"
    actions: Annotated[list[str], Field(min_length=1)] | None = None
    condition: Annotated[list[ConditionRule], Field(default_factory=list)]
    action: Annotated[list[ActionRule], Field(default_factory=list)]
    range: Annotated[list[RangeRule], Field(default_factory=list)]
    inspect: InspectTable | None = None


@dataclass(frozen=True)
class Rules:
    """How records are read.

    `names` maps the conditions of a file to their ids, `kinds` ids to what they are, `attributes`
    ids to the group of the swap. `ranges` are {(stage, field): (low, high)}, both ends inside.
    """

    block: str = "block"
    names: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)
    actions: Mapping[str, Outcome] = field(default_factory=lambda: ACTIONS)
    ranges: Mapping[tuple[str, str], tuple[float, float]] = field(default_factory=dict)

    @property
    def reference(self) -> str | None:
        """The id of the condition that these rules call the reference."""
        return next((name for name, kind in self.kinds.items() if kind == RESERVED), None)


def default_rules() -> Rules:
    """Return the rules without a file: names as they are, and kinds of the catalogue's own ids."""
    shipped = read_swaps().conditions.values()
    return Rules(
        kinds={c.id: c.kind for c in shipped if c.kind != RESERVED},
        attributes={c.id: c.attribute for c in shipped},
    )


def read_inspect_table(path: Path) -> InspectTable:
    """Return how logs are read. Raises FileFormatError with file and line."""
    table = TomlFile(path).parse(RulesFile).inspect
    if table is None:
        raise FileFormatError(f"{path}: has no table [inspect], which says where a log has what")
    return table


def read_rules(path: Path) -> Rules:
    """Return the rules of a file. Raises FileFormatError with file and line."""
    source = TomlFile(path)
    data = source.parse(RulesFile)
    known = default_rules()
    names: dict[str, str] = {}
    kinds, attributes = dict(known.kinds), dict(known.attributes)
    reference: str | None = None
    for index, rule in enumerate(data.condition):
        place = ("condition", index)
        if rule.name in names:
            raise source.error((*place, "name"), f"condition '{rule.name}' stands twice.")
        names[rule.name] = rule.id or rule.name
        if rule.kind == RESERVED:
            if reference not in (None, names[rule.name]):
                raise source.error(
                    (*place, "kind"),
                    f"'{rule.name}' is the second reference, beside '{reference}'. Keep one.",
                )
            reference = names[rule.name]
        if rule.kind is not None:
            kinds[names[rule.name]] = rule.kind
        if rule.attribute:
            attributes[names[rule.name]] = rule.attribute
    ranges: dict[tuple[str, str], tuple[float, float]] = {}
    for index, limits in enumerate(data.range):
        if not limits.low <= limits.high:
            raise source.error(
                ("range", index, "low"), f"'low' is {limits.low}, above 'high', {limits.high}."
            )
        ranges[limits.stage, limits.field] = (limits.low, limits.high)
    return Rules(data.block, names, kinds, attributes, _actions(source, data), ranges)


def _actions(source: TomlFile, data: RulesFile) -> dict[str, Outcome]:
    own: dict[str, Outcome] = {}
    for index, rule in enumerate(data.action):
        try:
            outcome = outcome_of(rule)
        except FairmedError as error:
            raise source.error(("action", index, "value"), str(error)) from None
        if rule.name in own:
            raise source.error(("action", index, "name"), f"action '{rule.name}' stands twice.")
        own[rule.name] = outcome
    if data.actions is None:
        return own or dict(ACTIONS)
    known = {**ACTIONS, **own}
    for name in data.actions:
        if name not in known:
            raise source.error(("actions",), f"unknown action {name!r}.{closest(name, known)}")
    for name in own:
        if name not in data.actions:
            raise source.error(("actions",), f"'actions' leaves out '{name}', which is defined.")
    return {name: known[name] for name in data.actions}


def outcome_of(rule: ActionRule) -> Outcome:
    """Return the action of a rule. Raises FairmedError where value and operation do not fit."""
    holds = _holds(rule.op, rule.value)

    def read(trajectory: Trajectory) -> bool | None:
        value = trajectory.get(rule.stage, rule.field)
        return None if value is None else holds(value)

    return Outcome(rule.name, read)


def _holds(op: str, value: Scalar | None) -> Callable[[object], bool | None]:
    """Return the reading of one field value; None for a value of another type."""
    if op == "is_true":
        if value is not None:
            raise FairmedError("'is_true' takes no 'value'. Remove it.")
        return lambda found: found if isinstance(found, bool) else None
    if value is None:
        raise FairmedError(f"'{op}' needs a 'value'. Add it.")
    if op == "equals":
        return lambda found: found == value if _alike(found, value) else None
    limit = number_of(value)
    if limit is None:
        raise FairmedError(f"'value' is {value!r}, expected a number for '{op}'.")

    def compare(found: object) -> bool | None:
        number = number_of(found)
        if number is None:
            return None
        return number >= limit if op == "at_least" else number <= limit

    return compare


def number_of(value: object) -> float | None:
    """Return a finite number; None for anything else. True is none to who wrote the record."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _alike(found: object, value: Scalar) -> bool:
    numbers = number_of(found) is not None and number_of(value) is not None
    return numbers or type(found) is type(value)
