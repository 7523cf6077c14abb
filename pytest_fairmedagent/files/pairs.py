"""Ready pairs: two whole texts of one case that differ in one marked attribute."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from pytest_fairmedagent.domain import ACTIONS, Catalogue, Condition, Vignette
from pytest_fairmedagent.errors import closest
from pytest_fairmedagent.files.differing import first_unexplained, left_over
from pytest_fairmedagent.files.foreign import (
    PAIRS,
    SLOT,
    Foreign,
    ForeignRow,
    case_id,
    each_row,
    parse_row,
    slug,
    words,
)
from pytest_fairmedagent.files.mapping import NONE, ColumnMap, silences_of
from pytest_fairmedagent.files.rows import Row, Rows
from pytest_fairmedagent.files.types import Text

REFERENCE, RERENDER = "reference", "rerender"


class PairRow(ForeignRow):
    """One pair. A value is what the text calls the attribute; other words of it follow after `|`.

    `man|husband` and `woman|wife` pair man with woman, husband with wife. An empty
    `reference_value` says that the reference text does not mention the attribute. `condition` is
    the id of the swap, by default attribute and value; `outcome` the actions the pair is about.
    """

    attribute: Text
    reference_value: str = ""
    reference_text: Text
    swapped_value: Text
    swapped_text: Text
    condition: Text | None = None
    outcome: Text | None = None


@dataclass
class _Case:
    """A case under construction: its first row, its reference text, its swapped texts."""

    row: Row
    data: PairRow
    reference: str
    swapped: dict[str, str] = field(default_factory=dict)  # condition -> text


def read_pairs(rows: Rows, mapped: ColumnMap = NONE) -> Foreign:
    """Return the vignettes of pairs and their catalogue.

    Rows with one id, or without an id and with one reference text, are arms of one case. A pair
    whose texts differ in more than the marked attribute is refused: the comparison would be one of
    several attributes at once.
    """
    cases: dict[str, _Case] = {}
    swaps: dict[str, Condition] = {}
    references: dict[str, tuple[str, int]] = {}  # condition -> reference value, line
    outcomes: dict[str, tuple[str, ...]] = {}

    def read(row: Row) -> None:
        data = parse_row(PairRow, rows, row, row.values)
        _check(rows, row, data)
        attribute = slug(data.attribute, prefix="attribute")
        first = words(data.swapped_value, "|")[0]
        name = slug(data.condition or f"{attribute}_{first}", prefix="swap")
        if name in (REFERENCE, RERENDER):
            raise rows.error(row.line, f"'{name}' is no id for a swap: it is taken.")
        known = swaps.setdefault(name, Condition(name, first, "swap", attribute))
        if known.attribute != attribute:
            raise rows.error(
                row.line, f"condition '{name}' belongs to '{known.attribute}' on another line."
            )
        told = data.reference_value.split("|")[0].strip().lower()
        value, line = references.setdefault(name, (told, row.line))
        if value != told and data.condition is None:
            raise rows.error(
                row.line,
                f"'{name}' is set against {told!r} here and against {value!r} on line {line}. "
                "Pooled, that is no one contrast: give one of them a 'condition' of its own.",
            )
        about = _actions(rows, row, data)
        if outcomes.setdefault(attribute, about) != about:
            raise rows.error(
                row.line,
                f"the pairs of '{attribute}' are about {_listed(outcomes[attribute])} on another "
                f"line and about {_listed(about)} here. Give one 'outcome' for all of them.",
            )
        _add(rows, row, data, name, cases)

    each_row(rows, read)
    catalogue = Catalogue(
        {
            REFERENCE: Condition(REFERENCE, "", "reference"),
            **swaps,
            RERENDER: Condition(RERENDER, "", "identical"),
        }
    )
    return Foreign(
        rows.path,
        PAIRS,
        tuple(_vignette(rows, name, case, mapped) for name, case in cases.items()),
        {name: case.row.line for name, case in cases.items()},
        catalogue,
        {attribute: about for attribute, about in outcomes.items() if about},
    )


def _check(rows: Rows, row: Row, data: PairRow) -> None:
    """Raise FileFormatError where the two texts are no pair."""
    for name in ("reference_text", "swapped_text"):
        if SLOT in getattr(data, name):
            raise rows.error(
                row.line, f"'{name}' has a {SLOT} slot; the texts of a pair are whole."
            )
    if data.reference_text == data.swapped_text:
        raise rows.error(row.line, "the two texts of the pair are equal: nothing is swapped.")
    before, after = data.reference_value.split("|"), data.swapped_value.split("|")
    if len(before) != len(after):
        raise rows.error(
            row.line,
            f"'reference_value' has {len(before)} words parted by '|' and 'swapped_value' "
            f"{len(after)}. They are paired in order: give as many.",
        )
    values = [(a.strip(), b.strip()) for a, b in zip(before, after, strict=True)]
    pronouns = bool({"sex", "gender"} & set(slug(data.attribute).split("_")))
    found = first_unexplained(data.reference_text, data.swapped_text, values, pronouns=pronouns)
    if found is not None:
        marked = ", ".join(f"{a!r} -> {b!r}" for a, b in values)
        raise rows.error(
            row.line,
            f"the two texts differ in more than '{data.attribute}' ({marked}): {found[0]!r} -> "
            f"{found[1]!r}. Make the rest alike, or name what belongs to the attribute too, parted "
            "by '|'.",
        )
    word = left_over(data.swapped_text, values)
    if word is not None:
        raise rows.error(
            row.line,
            f"the pair is swapped by half: the swapped text still says {word!r}. Swap it there "
            "too, reword it, or give the value in more words.",
        )


def _actions(rows: Rows, row: Row, data: PairRow) -> tuple[str, ...]:
    about = tuple(dict.fromkeys(words(data.outcome, ",")))
    for action in about:
        if action not in ACTIONS:
            raise rows.error(row.line, f"unknown action {action!r}.{closest(action, ACTIONS)}")
    return about


def _add(rows: Rows, row: Row, data: PairRow, condition: str, cases: dict[str, _Case]) -> None:
    reference = _plain(data.reference_text)
    twin = next((n for n, c in cases.items() if c.reference == reference and not c.data.id), None)
    name = case_id(rows, row, data.id) if data.id or twin is None else twin
    case = cases.setdefault(name, _Case(row, data, reference))
    if case.reference != reference:
        raise rows.error(
            row.line,
            f"the id '{name}' is also that of line {case.row.line}, which has another reference "
            "text. Rename one of them.",
        )
    if case.data.labels != data.labels or case.data.group != data.group:
        raise rows.error(
            row.line,
            f"case '{name}' has other labels, menu or group here than on line {case.row.line}. "
            "Make them alike.",
        )
    swapped = _plain(data.swapped_text)
    if condition in case.swapped or swapped in case.swapped.values():
        raise rows.error(
            row.line, f"case '{name}' has this swap or this swapped text twice. Remove one."
        )
    case.swapped[condition] = swapped


def _vignette(rows: Rows, name: str, case: _Case, mapped: ColumnMap) -> Vignette:
    narrative, pieces = template_of([case.reference, *case.swapped.values()])
    group = slug(case.data.group) if case.data.group else ""
    return Vignette(
        id=name,
        title=case.data.title or name,
        narrative=narrative,
        provenance=case.data.provenance or f"unstated; {rows.path.name}:{case.row.line}",
        variant_of=group if group != name else "",
        descriptors=(
            (REFERENCE, pieces[0]),
            (RERENDER, pieces[0]),
            *zip(case.swapped, pieces[1:], strict=True),
        ),
        silences=(
            *silences_of(case.data.silence, f"{rows.path}:{case.row.line}"),
            *mapped.silences,
        ),
        **case.data.labels,
    )


def template_of(texts: Sequence[str]) -> tuple[str, list[str]]:
    """Return the words that all texts begin and end with, a slot between, and what fills it."""
    parts = [re.split(r"(\s+)", text) for text in texts]
    shortest = min(map(len, parts))
    start = 0
    while start < shortest and len({part[start] for part in parts}) == 1:
        start += 1
    end = 0
    while end < shortest - start and len({part[-1 - end] for part in parts}) == 1:
        end += 1
    narrative = "".join(parts[0][:start]) + SLOT + "".join(parts[0][len(parts[0]) - end :])
    return narrative, ["".join(part[start : len(part) - end]) for part in parts]


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")


def _listed(actions: Sequence[str]) -> str:
    return ", ".join(actions) or "all actions"
