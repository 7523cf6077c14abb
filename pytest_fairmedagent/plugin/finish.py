"""After the last item: the run record is made, sent or written, and summarised from itself."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_fairmedagent.plugin.session import RECORDS, registry_of, run_of
from pytest_fairmedagent.report.record import build_record
from pytest_fairmedagent.report.terminal import summary_lines

_SUMMARY = pytest.StashKey[dict[str, Any]]()


def finish(session: pytest.Session) -> None:
    """Make the record of the session; write it where it was asked for.

    A worker of xdist hands its record to the controller, which writes one. An exit status is only
    ever raised: a gate that ran no fairness test has not passed.
    """
    config = session.config
    record = _own_record(config)
    if hasattr(config, "workeroutput"):
        if record is not None:
            config.workeroutput["fairmed_record"] = json.dumps(record)
        return
    sent = [json.loads(text) for text in config.stash.get(RECORDS, [])]
    if sent:
        # Every worker judges the whole plan alike; the one that began first knows what was drawn.
        record = max(sent, key=lambda r: sum(run["drawn"] for run in r["runs"]))
    if record is None:
        nothing = not run_of(config).selected and not config.option.collectonly
        if nothing and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED
            config.stash[_SUMMARY] = {}
        return
    config.stash[_SUMMARY] = record
    for path in registry_of(config).settings.reports:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def _own_record(config: pytest.Config) -> dict[str, Any] | None:
    studies = [s for s in run_of(config).studies.values() if s.info is not None]
    if not studies:
        return None
    file = registry_of(config).registered.file
    return build_record(studies, profile=file.name, says=file.says)


def summarise(reporter: Any, config: pytest.Config) -> None:
    """Write the section of the terminal summary, a view of the record."""
    record = config.stash.get(_SUMMARY, None)
    if record is None or config.get_verbosity() < -1:
        return
    reporter.section("fairmed", sep="=")
    if not record:
        reporter.write_line(
            "No fairness test was selected, so nothing was measured: exit status 5. Mark tests "
            "with @pytest.mark.fairmed, or give no paths to run the built-in audit."
        )
        return
    for line in summary_lines(record, verbose=config.get_verbosity() > 0):
        reporter.write_line(line)
    for path in registry_of(config).settings.reports:
        reporter.write_line(f"run record written to {path}")
