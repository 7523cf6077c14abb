"""Long files: one row for each case and group, with the whole text that the group has."""

from __future__ import annotations

from pytest_fairmedagent.domain import Catalogue, Condition, Vignette
from pytest_fairmedagent.files.foreign import (
    PAIRS,
    Foreign,
    ForeignRow,
    each_row,
    parse_row,
    slug,
)
from pytest_fairmedagent.files.mapping import ColumnMap
from pytest_fairmedagent.files.pairs import REFERENCE, RERENDER, template_of
from pytest_fairmedagent.files.rows import Row, Rows
from pytest_fairmedagent.files.types import Text

# Groups of a long file differ in what their authors chose, often in several attributes at once.
ATTRIBUTE = "group_intersection"


class LongRow(ForeignRow):
    """One arm: the text of a `case` for a group, `arm`."""

    case: Text
    arm: Text
    text: Text


def read_long(rows: Rows, mapped: ColumnMap) -> Foreign:
    """Return the cases of a long file: one vignette a case, with one descriptor a group.

    The reference is the group that the mapping names, else that of the first row. Raises
    FileFormatError for a case without the reference, or with a group twice.
    """
    texts: dict[str, dict[str, tuple[Row, LongRow]]] = {}
    names: dict[str, str] = {}

    def read(row: Row) -> None:
        data = parse_row(LongRow, rows, row, row.values)
        arms = texts.setdefault(slug(data.case), {})
        arm = data.arm.strip()
        if arm in arms:
            raise rows.error(
                row.line,
                f"case '{data.case}' has the group '{arm}' also on line {arms[arm][0].line}.",
            )
        if any(known.text == data.text for _, known in arms.values()):
            raise rows.error(row.line, f"the text of '{arm}' is that of another group of the case.")
        names.setdefault(arm, slug(arm, prefix="group"))
        arms[arm] = (row, data)

    each_row(rows, read)
    reference = mapped.reference or next(iter(names))
    if reference not in names:
        raise rows.error(
            rows.rows[0].line,
            f"no row has the reference group '{reference}'. The groups: {', '.join(names)}.",
        )
    attribute = slug(mapped.attribute, prefix="attribute") if mapped.attribute else ATTRIBUTE
    found, lines = [], {}
    for case, arms in texts.items():
        first, data = next(iter(arms.values()))
        if reference not in arms:
            raise rows.error(first.line, f"case '{data.case}' has no text of '{reference}'.")
        lines[case] = first.line
        found.append(_vignette(rows, case, reference, names, arms, mapped))
    swaps = {
        name: Condition(name, arm, "swap", attribute)
        for arm, name in names.items()
        if arm != reference
    }
    catalogue = Catalogue(
        {
            REFERENCE: Condition(REFERENCE, "", "reference"),
            **swaps,
            RERENDER: Condition(RERENDER, "", "identical"),
        }
    )
    return Foreign(rows.path, PAIRS, tuple(found), lines, catalogue)


def _vignette(
    rows: Rows,
    case: str,
    reference: str,
    names: dict[str, str],
    arms: dict[str, tuple[Row, LongRow]],
    mapped: ColumnMap,
) -> Vignette:
    order = [reference, *(arm for arm in arms if arm != reference)]
    narrative, pieces = template_of([arms[arm][1].text.replace("\r\n", "\n") for arm in order])
    row, data = arms[reference]
    group = slug(data.group) if data.group else ""
    return Vignette(
        id=case,
        title=data.title or case,
        narrative=narrative,
        provenance=data.provenance or f"unstated; {rows.path.name}:{row.line}",
        variant_of=group if group != case else "",
        descriptors=(
            (REFERENCE, pieces[0]),
            (RERENDER, pieces[0]),
            *((names[arm], piece) for arm, piece in zip(order[1:], pieces[1:], strict=True)),
        ),
        silences=mapped.silences,
        **data.labels,
    )
