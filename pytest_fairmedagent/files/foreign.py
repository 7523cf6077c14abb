"""Cases that other people wrote: CSV and JSON Lines files, one case or one ready pair a row."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import ConfigDict, Field, ValidationError, field_validator

from pytest_fairmedagent.domain import DIFFICULTIES, DOMAINS, SETTINGS, Catalogue, Order, Vignette
from pytest_fairmedagent.domain.pronouns import PRONOUN_SLOTS
from pytest_fairmedagent.domain.vignette import PATIENT
from pytest_fairmedagent.errors import FileFormatError
from pytest_fairmedagent.files.cases import OrderTable
from pytest_fairmedagent.files.rows import Row, Rows, read_rows
from pytest_fairmedagent.files.toml import Strict
from pytest_fairmedagent.files.types import Text, one_of

if TYPE_CHECKING:
    from pytest_fairmedagent.files.mapping import ColumnMap

CASES, PAIRS = "cases", "pairs"
UNSTATED = "unstated"
SLOT = f"{{{PATIENT}}}"
TEXT_COLUMNS = ("text", "narrative")

_ANY_SLOT = re.compile(r"\{+\s*[A-Za-z_][A-Za-z0-9_ ]*\}+")

Model = TypeVar("Model", bound="ForeignRow")


class ForeignRow(Strict):
    """What the rows of cases and of pairs have in common. Columns of other names are passed over.

    `group` names the base case of rows that are versions of one case: they are one cluster.
    """

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)

    id: Text | None = None
    group: Text | None = None
    title: Text | None = None
    domain: Annotated[str, one_of(DOMAINS)] | None = None
    difficulty: Annotated[str, one_of(DIFFICULTIES)] | None = None
    setting: Annotated[str, one_of(SETTINGS)] | None = None
    specialty: Text | None = None
    provenance: Text | None = None
    silence: Any = None
    menu: Annotated[list[OrderTable], Field(default_factory=list, max_length=20)]

    @field_validator("menu", mode="before")
    @classmethod
    def _menu_of_text(cls, value: object) -> object:
        try:
            return json.loads(value) if isinstance(value, str) else value
        except (ValueError, RecursionError):
            raise ValueError(
                'expected JSON: [{"id": "ecg", "name": "ECG", "result": "Normal."}, ...]'
            ) from None

    @field_validator("menu")
    @classmethod
    def _ids_once(cls, menu: list[OrderTable]) -> list[OrderTable]:
        ids = [order.id for order in menu]
        twice = next((name for name in ids if ids.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"order id '{twice}' stands twice")
        return menu

    @property
    def labels(self) -> dict[str, Any]:
        """The fields of a Vignette that say what kind of case it is."""
        return {
            "domain": self.domain or "",
            "difficulty": self.difficulty or "",
            "setting": self.setting or "",
            "specialty": self.specialty or "",
            "menu": tuple(Order(o.id, o.name, o.result) for o in self.menu),
            "status": UNSTATED,
        }


class CaseRow(ForeignRow):
    text: Text


@dataclass(frozen=True)
class Foreign:
    """What a file holds: vignettes, and the line of each by its id.

    `kind` is `cases` or `pairs`. Pairs have a `catalogue` of their own, and `outcomes` by
    attribute where the file says which actions its pairs are about.
    """

    path: Path
    kind: str
    vignettes: tuple[Vignette, ...]
    lines: Mapping[str, int]
    catalogue: Catalogue | None = None
    outcomes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def read_foreign(path: Path, columns: str = "") -> Foreign:
    """Return the cases or pairs of a CSV or JSON Lines file.

    Args:
        columns: what `--fairmed-columns` says: how the file calls the columns.

    Raises FileFormatError with file and line; it names every row that is wrong.
    """
    from pytest_fairmedagent.files.longform import read_long  # they build on this file
    from pytest_fairmedagent.files.mapping import column_map, known_columns
    from pytest_fairmedagent.files.pairs import read_pairs

    mapped = column_map(path, columns)
    theirs = [name.strip().lower() for name in mapped.columns.values()]
    rows = mapped.named(read_rows(path, [*known_columns(), *theirs], SLOT))
    if rows.named and any("swapped_text" in row.values for row in rows.rows):
        return read_pairs(rows, mapped)
    if rows.named and all({"case", "arm"} <= set(row.values) for row in rows.rows):
        return read_long(rows, mapped)
    return _read_cases(rows, mapped)


def _read_cases(rows: Rows, mapped: ColumnMap) -> Foreign:
    from pytest_fairmedagent.files.mapping import silences_of

    column = _text_column(rows)
    slotted = any(SLOT in str(row.values.get(column, "")) for row in rows.rows)
    lines: dict[str, int] = {}
    found: list[Vignette] = []

    def read(row: Row) -> None:
        values = row.values if rows.named else {}
        data = parse_row(CaseRow, rows, row, {**values, "text": row.values.get(column, "")}, column)
        text = data.text.replace("\r\n", "\n")
        problem = _problem(text, slotted=slotted, named=rows.named)
        if problem:
            raise rows.error(row.line, problem)
        name = case_id(rows, row, data.id)
        if name in lines:
            raise rows.error(
                row.line, f"the id '{name}' is also that of line {lines[name]}. Rename one of them."
            )
        lines[name] = row.line
        group = slug(data.group) if data.group else ""
        found.append(
            Vignette(
                id=name,
                title=data.title or name,
                narrative=text,
                provenance=data.provenance or f"unstated; {rows.path.name}:{row.line}",
                variant_of=group if group != name else "",
                silences=(
                    *silences_of(row.values.get("silence"), f"{rows.path}:{row.line}"),
                    *mapped.silences,
                ),
                **data.labels,
            )
        )

    each_row(rows, read)
    return Foreign(rows.path, CASES, tuple(found), lines)


def _text_column(rows: Rows) -> str:
    """Return the column of the case texts: by its name, else the one that has the slot."""
    columns = list(dict.fromkeys(name for row in rows.rows for name in row.values))
    named = [name for name in TEXT_COLUMNS if name in columns]
    if len(named) == 1:
        return named[0]
    holding = [c for c in columns if any(SLOT in str(r.values.get(c, "")) for r in rows.rows)]
    line = rows.rows[0].line
    if len(named) > 1 or len(holding) > 1:
        both = " and ".join(f"'{name}'" for name in named or holding)
        raise rows.error(
            line, f"the columns {both} hold case texts, expected one. Remove the other."
        )
    if not rows.named and len(columns) > 1 and holding:
        _refuse_cut_text(rows, holding[0])
    if holding or len(columns) == 1:
        return (holding or columns)[0]
    raise rows.error(
        line,
        f"no column is called 'text' and none holds {SLOT}, so nothing says which of the "
        f"{len(columns)} columns is the case. Add a header row with 'text'.",
    )


def _refuse_cut_text(rows: Rows, column: str) -> None:
    """Raise where a cell beside the text looks like the rest of it, cut off at a comma."""
    for row in rows.rows:
        for name, value in row.values.items():
            if name != column and (str(value).startswith(" ") or len(str(value)) > 40):
                raise rows.error(
                    row.line,
                    f"column {int(name) + 1} looks like a text that was cut at a comma. Put case "
                    "texts in \"quotes\", or add a header row with 'text'.",
                )


def _problem(text: str, *, slotted: bool, named: bool) -> str:
    """Return what is wrong with the text of a case; "" for nothing."""
    for hit in _ANY_SLOT.findall(text):
        if hit != SLOT and not (hit[1:-1] in PRONOUN_SLOTS and hit.count("{") == 1):
            return (
                f"slot {hit} of the text has no descriptor. The slots are {SLOT} and the pronouns "
                "{they}, {them}, {their}; others are mapped by name."
            )
    n_slots = text.count(SLOT)
    if n_slots > 1:
        return (
            f"the text has {n_slots} {SLOT} slots, expected one. The descriptor stands once; say "
            "'the patient' in the other places."
        )
    if slotted and not n_slots:
        hint = "" if named else " If this is a header row, call the column 'text'."
        return f"the text has no {SLOT} slot, and other rows have one.{hint}"
    if not n_slots and len(text.split()) < 4:
        return f"the text is {text!r}, which is no case. If this is a header row, call it 'text'."
    told = [line for line in text.split("\n") if line.lstrip().startswith("Patient:")]
    if any(SLOT not in line for line in told):
        return (
            "a line of the text starts with 'Patient:'. That line is the descriptor's, which is "
            f"added when the case is rendered. Reword it, or put {SLOT} there."
        )
    return ""


def parse_row(
    model: type[Model], rows: Rows, row: Row, values: Mapping[str, object], text: str = "text"
) -> Model:
    """Return the fields of one row. Raises FileFormatError with its line.

    Empty cells and nulls are fields that are not there; whole numbers are texts. `text` is what the
    file calls the column of the case text.
    """
    given = {n: _plain(v) for n, v in values.items() if v is not None and str(v).strip()}
    try:
        return model.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = str(first["loc"][0])
        name = text if name == "text" else name
        where = ".".join(str(part) for part in (name, *first["loc"][1:]))
        if first["type"] == "missing":
            raise rows.error(row.line, f"'{where}' is empty. Add it.") from None
        value = repr(first.get("input"))
        shown = value if len(value) <= 60 else value[:57] + "..."
        message = first["msg"].removeprefix("Value error, ").rstrip(".")
        raise rows.error(row.line, f"'{where}' is {shown}: {message}.") from None


def _plain(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def each_row(rows: Rows, read: Callable[[Row], None]) -> None:
    """Read every row, then raise FileFormatError for all that are wrong."""
    errors: list[str] = []
    for row in rows.rows:
        try:
            read(row)
        except FileFormatError as error:
            errors.append(str(error))
    if errors:
        more = [f"and {len(errors) - 20} more"] if len(errors) > 20 else []
        raise FileFormatError("\n  also: ".join([*errors[:20], *more]))


def case_id(rows: Rows, row: Row, given: str | None) -> str:
    """Return the id of a row as a slug; by default that of the file with the line."""
    return slug(given) if given else slug(f"{rows.path.stem}_{row.line}")


def slug(text: str, *, prefix: str = "case") -> str:
    """Return a text as an id: 2 to 48 lower-case letters, digits and '_', a letter first.

    Equal texts give equal ids. What is too long, or has nothing that an id may hold, gets a digest.
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    name = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")
    if len(name) < 2 or not name[0].isalpha():
        name = f"{prefix}_{name or sha256(text.encode()).hexdigest()[:8]}"
    return name if len(name) <= 48 else f"{name[:39]}_{sha256(text.encode()).hexdigest()[:8]}"


def words(given: str | None, sep: str) -> Sequence[str]:
    return [word.strip() for word in (given or "").split(sep) if word.strip()]
