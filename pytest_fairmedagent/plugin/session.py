"""The state of one test session: its registry, its studies, and what its items came to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_fairmedagent.plugin.audit_run import AuditRun
    from pytest_fairmedagent.plugin.registry import Registry
    from pytest_fairmedagent.verdict import SwapVerdict, Verdict

REGISTRY = pytest.StashKey["Registry"]()
RUN = pytest.StashKey["AuditRun"]()
VERDICTS = pytest.StashKey[list["Verdict | SwapVerdict"]]()
OUTCOMES = pytest.StashKey[list[tuple[str, str]]]()
SAMPLING_S = pytest.StashKey[float]()
SENT = pytest.StashKey[list[str]]()  # what the workers of xdist have come to, as JSON


def registry_of(config: pytest.Config) -> Registry:
    """Return the session's registry, made when it is first asked for."""
    if REGISTRY not in config.stash:
        from pytest_fairmedagent.plugin.registry import Registry

        config.stash[REGISTRY] = Registry(config)
    return config.stash[REGISTRY]


def run_of(config: pytest.Config) -> AuditRun:
    """Return the session's run, made when it is first asked for."""
    if RUN not in config.stash:
        from pytest_fairmedagent.plugin.audit_run import AuditRun

        config.stash[RUN] = AuditRun(config, registry_of(config))
    return config.stash[RUN]


def verdicts_of(item: pytest.Item) -> list[Verdict | SwapVerdict]:
    """Return the verdicts that an item has come to so far."""
    return item.stash.setdefault(VERDICTS, [])


def outcomes_of(item: pytest.Item) -> list[tuple[str, str]]:
    """Return what assertions that come to no verdict have come to so far: a status, and a message.

    The status is "" for one that held, UNMEASURED, or another word for one that failed.
    """
    return item.stash.setdefault(OUTCOMES, [])


def state(item: pytest.Item, numbers: Mapping[str, object]) -> None:
    """State numbers as properties of an item, for JUnit and other reporters.

    In place of those of an earlier try: a rerun states the item's numbers once more.
    """
    if item.config.getini("fairmed_junit_properties") != "no":
        others = [pair for pair in item.user_properties if pair[0] not in numbers]
        item.user_properties[:] = [*others, *numbers.items()]


def marked(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    return [item for item in items if item.get_closest_marker("fairmed")]
