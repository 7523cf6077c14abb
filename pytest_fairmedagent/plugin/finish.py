"""After the last item: the run record is made, sent or written, and summarised from itself."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import pytest

from pytest_fairmedagent.errors import FairmedError, OwnCodeError, PlanError
from pytest_fairmedagent.plugin.explain import PART as ASKED
from pytest_fairmedagent.plugin.explain import asked, explanation
from pytest_fairmedagent.plugin.lifetime import life_entry
from pytest_fairmedagent.plugin.merging import merge, one_configuration
from pytest_fairmedagent.plugin.overrides import overrides
from pytest_fairmedagent.plugin.seats import Seat
from pytest_fairmedagent.plugin.session import SENT, registry_of, run_of
from pytest_fairmedagent.report.checklist import checklist
from pytest_fairmedagent.report.colours import spans
from pytest_fairmedagent.report.context import interrupted_entry
from pytest_fairmedagent.report.record import build_record
from pytest_fairmedagent.report.terminal import summary_lines
from pytest_fairmedagent.report.written import write_report
from pytest_fairmedagent.study import Study

Record = dict[str, Any]

_SUMMARY = pytest.StashKey[Record]()
_UNCOMPARED = pytest.StashKey[bool]()
_LINES = pytest.StashKey[list[str]]()  # what else the summary has to say

# Options that make a session run no test at all.
_LOOKING_ONLY = (
    "collectonly",
    "setupplan",
    "showfixtures",
    "show_fixtures_per_test",
    "cacheshow",
)


def finish(session: pytest.Session) -> None:
    """Make the record of the session; write it where it was asked for.

    A worker of xdist hands its records to the controller, which writes one. An exit status is only
    ever raised: a gate that measured nothing has not passed.
    """
    config, run = session.config, run_of(session.config)
    interrupted = session.exitstatus == pytest.ExitCode.INTERRUPTED
    config.stash[_LINES] = []
    records, n_items = _own_records(config), len(run.selected)
    # Whether there is any is all that is asked, and counting 5,000 items takes a quarter second.
    n_contrasts = int(any(run.contrasts(item) for item in run.selected))
    faults = {seat.id: line for seat, line in run.faults.items()}
    if hasattr(config, "workeroutput"):
        config.workeroutput["fairmed"] = json.dumps([records, n_items, n_contrasts, faults])
        if records and interrupted:  # its controller listens to no worker any more
            _write(session, interrupted_entry(merge(records)))
        return
    for text in config.stash.get(SENT, []):
        sent = json.loads(text)
        records, n_items, n_contrasts = records + sent[0], n_items + sent[1], n_contrasts + sent[2]
        faults |= sent[3]
    records = _without_twins(session, records, faults)
    if records:
        wanted = [found.get(ASKED) for found in records]
        record = merge(records)
        add_comparisons(config, record, faults)
        record["checklist"] = checklist(record)
        terminal = config.pluginmanager.hasplugin("terminalreporter")
        width = config.get_terminal_writer().fullwidth if terminal else 80
        config.stash[_LINES] += explanation(record, wanted, width=width)
        config.stash[_SUMMARY] = interrupted_entry(record) if interrupted else record
        _write(session, record)
        _append_step_summary(session, record)
        if config.stash.get(_UNCOMPARED, False) and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
    elif not any(config.getoption(name, None) for name in _LOOKING_ONLY):
        _refuse_silence(session, n_items, n_contrasts)


def _refuse_silence(session: pytest.Session, n_items: int, n_contrasts: int) -> None:
    """Turn a run that measured nothing and is not red otherwise to exit status 5, and say why."""
    status = pytest.ExitCode.NO_TESTS_COLLECTED
    if session.exitstatus not in (pytest.ExitCode.OK, status):
        return
    session.exitstatus = status
    if not n_items:
        why = (
            "No fairness test was selected. Mark tests with @pytest.mark.fairmed, look at the "
            "paths, -k, -m and --deselect, or give no paths to run the built-in audit."
        )
    elif not n_contrasts:
        why = (
            "The fairness tests hold no contrast: --fairmed-swaps and --fairmed-actions leave "
            "nothing of what they register."
        )
    else:
        why = "Every fairness test was skipped, or ended before it drew anything."
    line = f"Nothing was measured, so exit status 5: this is no pass. {why}"
    session.config.stash[_LINES] = [line]


def _own_records(config: pytest.Config) -> list[Record]:
    """Return a record for each agent that was sampled here."""
    records = []
    for (seat, _), study in run_of(config).studies.items():
        if study.info is not None:
            try:
                records.append(own_record(config, seat, study))
            except OwnCodeError as error:  # its items have failed with it
                config.stash[_LINES].append(f"ERROR: there is no record of this run: {error}")
    return records


def own_record(config: pytest.Config, seat: Seat, study: Study) -> Record:
    """Return the record of one study, which says which seat of a panel it is."""
    registry = registry_of(config)
    file, told = registry.registered.file, overrides(registry)
    record = build_record([study], profile=file.name, says=file.says, overrides=told)
    if seat.id:
        record["runs"][0]["seat"] = seat.entry()
    life = life_entry(config, study)
    if life is not None:
        record["runs"][0]["lifetime"] = life
    record[ASKED] = asked(config, registry.settings.explain)  # no part of what is written
    return record


def _without_twins(
    session: pytest.Session, records: list[Record], faults: dict[str, str]
) -> list[Record]:
    """Leave out seats that turn out to be the configuration of another, and have the run red."""
    twins = one_configuration(records)
    for line in twins.values():
        session.config.stash[_LINES].append(f"ERROR: {line}. Leave one of them out.")
        if session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
    faults |= twins
    return [r for r in records if r["runs"][0].get("seat", {}).get("id") not in twins]


def add_comparisons(config: pytest.Config, record: Record, faults: Mapping[str, str]) -> None:
    """Add to a record its panel and its comparison with a baseline, where there are any.

    `faults` say what kept a seat from being drawn, by its id.
    """
    run, settings = run_of(config), registry_of(config).settings
    if len(run.seats) > 1:
        from pytest_fairmedagent.comparing.panel import panel_entry

        seats = [{**seat.entry(), "fault": faults.get(seat.id)} for seat in run.seats]
        record["panel"] = panel_entry(record, seats)
    if settings.baseline is not None:
        from pytest_fairmedagent.comparing.baseline import baseline_entry

        name = settings.baseline.name
        try:
            record["baseline"] = baseline_entry(record, run.baseline, name)
        except PlanError as error:  # the run is paid for, and its record is written all the same
            record["diagnostics"].append({"kind": "baseline", "text": str(error)})
            config.stash[_LINES].append(f"ERROR: not compared with {name}: {error}")
            config.stash[_UNCOMPARED] = True


def _write(session: pytest.Session, record: Record) -> None:
    """Write the reports. One that cannot be written is said, and the run is not green then."""
    lines = session.config.stash[_LINES]
    for path in registry_of(session.config).settings.reports:
        try:
            lines.append(write_report(record, path))
        except (OSError, FairmedError) as error:
            lines.append(f"ERROR: the report cannot be written: {error}")
            if session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.INTERNAL_ERROR


def _append_step_summary(session: pytest.Session, record: Record) -> None:
    """Append the summary for people to the page of a GitHub Actions job, where there is one."""
    place = os.environ.get("GITHUB_STEP_SUMMARY")
    if place:
        from pytest_fairmedagent.report.markdown import markdown_summary

        try:
            with open(place, "a", encoding="utf-8") as file:
                file.write(markdown_summary(record))
        except OSError as error:  # the page is a convenience, and the record is the result
            session.config.stash[_LINES].append(f"no job summary: {error}")


def summarise(reporter: Any, config: pytest.Config) -> None:
    """Write the section of the terminal summary, a view of the record."""
    record, lines = config.stash.get(_SUMMARY, None), config.stash.get(_LINES, [])
    if (record is None and not lines) or config.get_verbosity() < -1:
        return
    reporter.section("fairmed", sep="=")
    if record is not None:
        verbose, width = config.get_verbosity() > 0, config.get_terminal_writer().fullwidth
        lines = [*summary_lines(record, verbose=verbose, width=width), *lines]
    for line in lines:
        for text, markup in spans(line):  # pytest decides whether there is colour
            reporter.write(text, **markup)
        reporter.line("")
