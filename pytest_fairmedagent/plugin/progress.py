"""Progress of sampling: one line rewritten in a terminal, a line now and then in a log."""

from __future__ import annotations

import os
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest

from pytest_fairmedagent.running.sampler import Progress
from pytest_fairmedagent.study import Study

EVERY_S = 30.0  # between lines of a log
FIRST_S = 2.0  # a run that is done by then needs no progress


class ProgressLine:
    """Shows progress while sampling, and nothing where there is no terminal reporter or `-q -q`.

    It begins on a line of its own, and pytest is told so: it then writes the name of the item or
    file again before its result, so that neither ever stands in the other's line.
    """

    def __init__(self, config: pytest.Config, study: Study) -> None:
        self._reporter: Any = config.pluginmanager.getplugin("terminalreporter")
        self._capture: Any = config.pluginmanager.getplugin("capturemanager")
        # Without a terminal reporter pytest 8.0 has no verbosity that could be asked for.
        if self._reporter and (hasattr(config, "workerinput") or config.get_verbosity() < -1):
            self._reporter = None
        self._name = study.model.name if study.model else "recorded"
        self._last = time.monotonic()
        self._started = self._last
        dumb = os.environ.get("TERM") == "dumb"
        self._live = bool(self._reporter and self._reporter.isatty and not dumb)
        self._shown = False

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._shown and self._live:
            self._rewrite("")

    def show(self, progress: Progress) -> None:
        now = time.monotonic()
        if self._reporter is None or now - self._started < FIRST_S:
            return
        if now - self._last < (0.5 if self._live else EVERY_S):
            return
        self._last = now
        line = _text(progress, self._name)
        if not self._shown:
            with self._uncaptured():
                self._reporter.ensure_newline()
            self._shown = True
        if self._live:
            self._rewrite(line)
        else:
            with self._uncaptured():
                self._reporter.write_line(line)

    def _rewrite(self, line: str) -> None:
        """Put a line in place of the last one.

        Past pytest's writer: it counts columns to set its percentages, and knows no way back.
        """
        writer = self._reporter._tw
        file = getattr(writer, "_file", sys.stdout)
        with self._uncaptured():
            writer.flush()
            # Most terminals wrap what is wider, and a wrapped line cannot be rewritten.
            file.write(f"\r\x1b[K{line[: writer.fullwidth - 1]}")
            file.flush()

    def _uncaptured(self) -> AbstractContextManager[None]:
        if self._capture is None:
            return nullcontext()
        suspended: AbstractContextManager[None] = self._capture.global_and_fixture_disabled()
        return suspended


def _text(progress: Progress, name: str) -> str:
    if progress.note:
        return f"fairmed {progress.note}, {name}"
    parts = [f"fairmed {progress.done}/{progress.total}"]
    drawn = progress.done - progress.from_before
    if drawn > 0:
        parts.append(f"{progress.elapsed_s / drawn:.1f} s each")
    if progress.left_s is not None:
        parts.append(f"{_duration(progress.left_s)} left")
    if progress.from_before:
        parts.append(f"{progress.from_before} from before")
    if progress.waiting:
        parts.append(f"{progress.waiting} with other processes")
    if progress.retries:
        parts.append(f"{progress.retries} retries")
    if progress.throttle is not None and progress.throttle.shrunk:
        parts.append(f"rate limited to {progress.throttle.limit} at once")
    if progress.calls:
        parts.append(f"{progress.calls} calls")
    if progress.spent_usd is not None:
        parts.append(f"${progress.spent_usd:.2f} spent")
    if progress.failed:
        parts.append(f"{progress.failed} failed")
    return ", ".join([*parts, name])


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
