"""The ledger of a store: what was registered, started, looked at and said, in order.

Rows are added and never changed: a later verdict on the same draws depends on what was said of
them before, and on nobody's memory. The table refuses edits by itself.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pytest_fairmedagent.running.database import Database

LINE, PLAN, START, FRESH, LOOK, VERDICT = "line", "plan", "start", "fresh", "look", "verdict"
KINDS = (LINE, PLAN, START, FRESH, LOOK, VERDICT)

Rows = Callable[[str, tuple[object, ...]], Iterable[Sequence[Any]]]

_COLUMNS = "id, kind, created, run, series, configuration, design, cases, line, subject, content"
_ASKED = {"kind", "run", "series", "configuration", "design", "cases", "line", "subject"}


@dataclass(frozen=True)
class Place:
    """Where an entry belongs. `run` and `series` are 0 where there is none yet.

    `configuration`, `design` and `cases` are digests: of what is tested, of the plan without its
    replicates, and of every text that the plan sends. `line` is the id of the entry that declared
    the line of successive runs which this one belongs to; 0 for the first, which nobody declares.
    """

    run: int = 0
    series: int = 0
    configuration: str = ""
    design: str = ""
    cases: str = ""
    line: int = 0


@dataclass(frozen=True)
class Entry:
    """A row of the ledger; `created` in seconds since the epoch.

    One run has one entry of each kind and `subject`: the first.
    """

    id: int
    kind: str
    created: float
    place: Place
    subject: str
    content: Mapping[str, Any]


@dataclass(frozen=True)
class Given:
    """A verdict as it was given: of a contrast, or with `action` "" of a swap as a whole.

    `p` (in 0..1) is adjusted, None where there is none; `look` counts from 1; `level` is what this
    look spent of `alpha`; `replicates` those it was judged at. One that is `post_hoc` gates
    nothing. `payload` is what else is to be kept of it: small, plain JSON. `rule`, `terms` and
    `draws` are filled in by `looking.Book`: how often the plan looks, what the contrast claims and
    on which draws.
    """

    family: str
    swap: str
    action: str
    vignette: str | None
    status: str
    p: float | None
    look: int
    replicates: int
    alpha: float
    level: float
    margin: float | None
    size: int
    gating: bool = True
    post_hoc: bool = False
    payload: Mapping[str, Any] = field(default_factory=dict)
    rule: str = "off"
    terms: str = ""
    draws: tuple[str, ...] = ()


class Ledger:
    """The ledger of a store that is open for writing."""

    _db: Database

    def note(
        self, kind: str, place: Place, content: Mapping[str, Any], *, subject: str = ""
    ) -> Entry:
        """Return the entry of a run with this kind and subject; add it if there is none yet."""
        return self.note_all(kind, place, {subject: content})[0]

    def note_all(
        self, kind: str, place: Place, contents: Mapping[str, Mapping[str, Any]]
    ) -> list[Entry]:
        """The same for several subjects, in one transaction."""
        with self._db.transaction():
            return [self._note(kind, place, what, text) for what, text in contents.items()]

    def _note(self, kind: str, place: Place, subject: str, content: Mapping[str, Any]) -> Entry:
        """Add an entry within a transaction."""
        p = place
        self._db.execute(
            f"INSERT INTO ledger ({_COLUMNS}) VALUES (NULL,?,?,?,?,?,?,?,?,?,?)",  # noqa: S608
            (
                *(kind, time.time(), p.run, p.series, p.configuration, p.design, p.cases, p.line),
                *(subject, json.dumps(content, sort_keys=True)),
            ),
        )
        row = self._db.execute(
            f"SELECT {_COLUMNS} FROM ledger WHERE kind=? AND run=? AND subject=?",  # noqa: S608
            (kind, p.run, subject),
        ).fetchone()
        return _entry(row)

    def give(self, place: Place, verdicts: Iterable[Given]) -> None:
        """Add the verdicts of a run. One that was given before in the same words stands once."""
        contents = {}
        for given in verdicts:
            content = asdict(given)
            text = json.dumps(content, sort_keys=True)
            contents[hashlib.sha256(text.encode()).hexdigest()] = content
        self.note_all(VERDICT, place, contents)

    def declare_line(self, name: str, *, design: str = "", cases: str = "") -> Entry:
        """Begin a new line for later starts of a design and case set; "" for all of them.

        Every call begins one. What was drawn before it stays in the line it was drawn in.
        """
        subject = f"{time.time_ns()}:{name}"  # no run makes it unique
        place = Place(design=design, cases=cases)
        return self.note(LINE, place, {"name": name}, subject=subject)

    def entries(self, **where: str | int) -> list[Entry]:
        """As `read_entries`."""
        with self._db.lock:
            return read_entries(self._db.execute, **where)


def read_entries(rows: Rows, **where: str | int) -> list[Entry]:
    """Return the entries of a ledger in the order in which they were made.

    `rows` runs a statement with values, and returns its rows. `where` may name kind, run, series,
    configuration, design, cases, line and subject.
    """
    strangers = where.keys() - _ASKED
    if strangers:
        raise TypeError(f"a ledger is not asked for {', '.join(sorted(strangers))}")
    tests = "".join(f" AND {name}=?" for name in where)
    statement = f"SELECT {_COLUMNS} FROM ledger WHERE 1{tests} ORDER BY id"  # noqa: S608 - names
    found = rows(statement, tuple(where.values()))
    return [_entry(row) for row in found]


def line_of(entries: Iterable[Entry], *, design: str, cases: str, before: float) -> int:
    """Return the id of the line that draws of a design and case set belong to; 0 for the first.

    `entries` may hold others than lines. `before` is when the first of these draws was made, or now
    where there is none: a line that was declared later is not theirs.
    """
    lines = [
        entry.id
        for entry in entries
        if entry.kind == LINE
        and entry.created <= before
        and entry.place.design in ("", design)
        and entry.place.cases in ("", cases)
    ]
    return max(lines, default=0)


def given_of(entry: Entry) -> Given:
    """Return the verdict of an entry of that kind; what a later version added is left out."""
    names = Given.__dataclass_fields__
    found = {name: value for name, value in entry.content.items() if name in names}
    return Given(**{**found, "draws": tuple(found.get("draws", ()))})


def _entry(row: Sequence[Any]) -> Entry:
    number, kind, created, *place, subject, content = row
    return Entry(number, kind, created, Place(*place), subject, json.loads(content))
