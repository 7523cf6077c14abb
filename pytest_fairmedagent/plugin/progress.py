"""Progress of sampling: one line rewritten in a terminal, a line now and then in a log."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import Any

import pytest

from pytest_fairmedagent.running.sampler import Progress
from pytest_fairmedagent.study import Study

EVERY_S = 30.0  # between lines of a log
FIRST_S = 2.0  # a run that is done by then needs no progress


class ProgressLine:
    """Shows progress while sampling, and nothing where there is no terminal reporter or `-q -q`."""

    def __init__(self, config: pytest.Config, study: Study) -> None:
        self._reporter: Any = config.pluginmanager.getplugin("terminalreporter")
        self._capture: Any = config.pluginmanager.getplugin("capturemanager")
        # Without a terminal reporter pytest 8.0 has no verbosity that could be asked for.
        if self._reporter and (hasattr(config, "workerinput") or config.get_verbosity() < -1):
            self._reporter = None
        self._name = study.model.name if study.model else "recorded"
        self._last = time.monotonic()
        self._started = self._last
        self._live = bool(self._reporter and self._reporter.isatty)
        self._shown = False

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._shown:
            self._write("\r\x1b[K" if self._live else "\n")

    def show(self, progress: Progress) -> None:
        now = time.monotonic()
        if self._reporter is None or now - self._started < FIRST_S:
            return
        if now - self._last < (0.5 if self._live else EVERY_S):
            return
        self._last = now
        line = _text(progress, self._name)
        # Most terminals wrap what is wider, and a wrapped line cannot be rewritten.
        self._write(f"\r\x1b[K{line[:79]}" if self._live else f"\n{line}")
        self._shown = True

    def _write(self, text: str) -> None:
        suspended = self._capture.global_and_fixture_disabled() if self._capture else nullcontext()
        with suspended:
            self._reporter.write(text, flush=True)


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
