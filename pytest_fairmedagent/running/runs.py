"""Runs and series: which draws a start of a plan continues, and what was looked at before."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import astuple, dataclass
from typing import Any

from pytest_fairmedagent.domain import Contrast, Trial
from pytest_fairmedagent.running.database import Database
from pytest_fairmedagent.running.ledger import FRESH, LINE, PLAN, START, Ledger, Place, line_of

IMPORTED = "imported"  # in place of a start's name: what was drawn elsewhere is continued by none


@dataclass(frozen=True)
class Run:
    """One start of a plan in one configuration.

    Runs of one `series` share their draws; a fresh run begins a new series. `seed` is the series'.
    `earlier_looks` are the replicates at which the same design was judged before on a part of these
    draws: by finished runs that had fewer of them, or where a run had to end before its plan.
    `registered_before_draws` tells whether the plan was fixed before the series' first trial.
    """

    id: int
    series: int
    seed: int
    created: float
    finished: float | None
    resumed: bool
    earlier_looks: tuple[int, ...]
    registered_before_draws: bool


@dataclass(frozen=True)
class Told:
    """What a run says of itself: `fields` are the configuration in which it was drawn."""

    id: int
    created: float
    fields: Mapping[str, object]


@dataclass(frozen=True)
class Draw:
    """One trial with its place in the store: the key of what is sent, and which draw of it."""

    trial: Trial
    key: str
    draw: int


class Runs(Ledger):
    """The runs of a store."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def begin(
        self,
        *,
        plan: str,
        design: str,
        replicates: int,
        configuration: str,
        fields: Mapping[str, object],
        model: str,
        seed: int | None,
        default_seed: int,
        fresh: str,
        draws: Iterable[Draw] = (),
    ) -> Run:
        """Return the run of a plan in a configuration: the unfinished one, or a new one.

        A new run continues the newest series of the same configuration (and seed, if one is
        given), unless it is to be fresh: `fresh` is then a name that the processes of one start
        share, else "". A finished run of the same plan is returned as it is. `draws` are the
        trials of this start; the run is later shown and replayed by them.
        """
        with self._db.transaction():
            latest = self._db.execute(
                "SELECT series, seed FROM runs WHERE configuration=? AND (? IS NULL OR seed=?) "
                "AND (?='' OR fresh=?) AND fresh<>? ORDER BY id DESC LIMIT 1",
                (configuration, seed, seed, fresh, fresh, IMPORTED),
            ).fetchone()
            series: int | None = None if latest is None else latest[0]
            same = self._db.execute(
                "SELECT id, created, finished FROM runs WHERE series=? AND plan=? "
                "ORDER BY id LIMIT 1",
                (series, plan),
            ).fetchone()
            if same is None:
                used = latest[1] if series is not None else (default_seed if seed is None else seed)
                now = time.time()
                number = self._db.execute(
                    "INSERT INTO runs (series, created, plan, design, replicates, configuration, "
                    "fields, model, seed, fresh) VALUES (?,?,?,?,?,?,?,?,?,?) RETURNING id",
                    (
                        *(series or 0, now, plan, design, replicates),
                        *(configuration, json.dumps(fields), model, used, fresh),
                    ),
                ).fetchone()[0]
                if series is None:
                    series = int(number)
                    self._db.execute("UPDATE runs SET series=id WHERE id=?", (number,))
                same = (number, now, None)
                resumed = False
            else:
                used, resumed = latest[1], True
            assert series is not None  # noqa: S101 - for the type checker
            self._place(same[0], draws)
            looks = self._db.execute(
                "SELECT replicates FROM runs WHERE series=? AND design=? AND plan<>? "
                "AND finished IS NOT NULL AND replicates<? UNION "
                "SELECT looks.replicates FROM looks JOIN runs ON looks.run=runs.id "
                "WHERE series=? AND design=? AND (plan<>? OR going IS NULL) AND looks.replicates<? "
                "ORDER BY replicates",
                (series, design, plan, replicates) * 2,
            ).fetchall()
            first = self._first_draw(series)
            return Run(
                id=same[0],
                series=series,
                seed=used,
                created=same[1],
                finished=same[2],
                resumed=resumed,
                earlier_looks=tuple(row[0] for row in looks),
                registered_before_draws=first is None or same[1] <= first,
            )

    def register(
        self,
        run: Run,
        *,
        design: str,
        configuration: str,
        cases: str,
        plan: Mapping[str, Any],
        start: Mapping[str, Any],
        fresh: bool,
    ) -> Place:
        """Return the place of a run in the ledger; note its plan and its start, each once.

        `cases` is a digest of every text that the plan sends: where one was edited, what is drawn
        next is a start of its own. It stays in the line in which it was begun.
        """
        begun = self.entries(kind=START, run=run.id, subject=cases)
        if begun:
            line = begun[0].place.line
        else:
            first = self._first_draw(run.series)
            before = time.time() if first is None else first
            lines = self.entries(kind=LINE)
            line = line_of(lines, design=design, cases=cases, before=before)
        place = Place(run.id, run.series, configuration, design, cases, line)
        text = json.dumps(plan, sort_keys=True)
        self.note(PLAN, place, plan, subject=hashlib.sha256(text.encode()).hexdigest())
        self.note(START, place, start, subject=cases)
        if fresh and run.id == run.series:
            self.note(FRESH, place, {})
        return place

    def _first_draw(self, series: int) -> float | None:
        """Return when the first trial of a series was done; None where there is none."""
        with self._db.lock:
            found = self._db.execute(
                "SELECT min(finished) FROM trials WHERE series=? AND state='done'", (series,)
            ).fetchone()[0]
        return None if found is None else float(found)

    def told(self, model: str, *, plan: str, seed: int | None) -> list[Told]:
        """Return the runs that were drawn here with a model of this name.

        First the finished ones of the plan, then the others, each the newest first.
        """
        with self._db.lock:
            rows = self._db.execute(
                "SELECT id, created, fields FROM runs "
                "WHERE model=? AND fresh<>? AND (? IS NULL OR seed=?) "
                "ORDER BY plan=? AND finished IS NOT NULL DESC, id DESC",
                (model, IMPORTED, seed, seed, plan),
            ).fetchall()
        return [Told(number, created, json.loads(fields)) for number, created, fields in rows]

    def _place(self, run: int, draws: Iterable[Draw]) -> None:
        """Note the trials of a run. A vignette that was edited since has a new key: it counts."""
        for draw in draws:
            trial = draw.trial
            self._db.execute(
                "INSERT OR REPLACE INTO places VALUES (?,?,?,?,?,?)",
                (run, trial.vignette, trial.condition, trial.replicate, draw.key, draw.draw),
            )

    def keep_look(self, run: Run, replicates: int, going: Collection[Contrast]) -> set[Contrast]:
        """Return the contrasts that go on after a planned look: those that were kept first."""
        text = json.dumps([astuple(contrast) for contrast in going])
        self._note_look(run, replicates, text)
        with self._db.lock:
            kept = self._db.execute(
                "SELECT going FROM looks WHERE run=? AND replicates=?", (run.id, replicates)
            ).fetchone()[0]
        return {Contrast(*fields) for fields in json.loads(kept or "[]")}

    def note_look(self, run: Run, replicates: int) -> None:
        """Note that a run was judged before its end: more of it later is more after a look."""
        self._note_look(run, replicates, None)

    def _note_look(self, run: Run, replicates: int, going: str | None) -> None:
        with self._db.lock:
            self._db.execute(
                "INSERT INTO looks VALUES (?,?,?,?) ON CONFLICT DO NOTHING",
                (run.id, replicates, time.time(), going),
            )

    def concurrency(self, configuration: str, fresh: str) -> str | None:
        """Return the newest measurement for a configuration, as `keep_concurrency` was given it.

        A fresh start asks for its own only.
        """
        with self._db.lock:
            row = self._db.execute(
                "SELECT measured FROM concurrency WHERE configuration=? AND (?='' OR fresh=?) "
                "ORDER BY created DESC LIMIT 1",
                (configuration, fresh, fresh),
            ).fetchone()
        return None if row is None else str(row[0])

    def keep_concurrency(self, configuration: str, fresh: str, measured: str) -> None:
        """Keep a measurement for the later starts of the series."""
        with self._db.lock:
            self._db.execute(
                "INSERT OR REPLACE INTO concurrency VALUES (?,?,?,?)",
                (configuration, fresh, time.time(), measured),
            )

    def finish(self, run: Run) -> None:
        """Mark a run finished: all its trials are there and have been judged."""
        with self._db.lock:
            self._db.execute(
                "UPDATE runs SET finished=? WHERE id=? AND finished IS NULL", (time.time(), run.id)
            )
