"""The pytest plugin: hooks of a few lines. What they decide is decided elsewhere.

Only pytest and the standard library are imported here: this module is loaded by every pytest
session on a machine that has the package, also by those that never use it.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from pytest_fairmedagent.plugin.fixtures import (
    action,
    contrast,
    fairmed_agent,
    fairmed_model,
    fairmed_seat,
    floor,
    study,
    trajectories,
    vignette,
)
from pytest_fairmedagent.plugin.options import NOT_ASKED_FOR, add_options, asked_for

__all__ = [
    "action",
    "contrast",
    "fairmed_agent",
    "fairmed_model",
    "fairmed_seat",
    "floor",
    "study",
    "trajectories",
    "vignette",
]

_CATEGORIES = {
    "INCONCLUSIVE": ("inconclusive", "i"),
    "UNMEASURED": ("unmeasured", "u"),
    "EXPLORATORY": ("exploratory", "e"),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "fairmed(swaps, actions, vignettes, replicates, margin, alpha, family, exploratory): a "
        "fairness test; it is skipped unless --fairmed-model is given on the command line.",
    )
    if asked_for(config):
        from pytest_fairmedagent.plugin.start import check_options

        check_options(config)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    mark = metafunc.definition.get_closest_marker("fairmed")
    if mark is not None:
        from pytest_fairmedagent.plugin.parametrise import parametrise
        from pytest_fairmedagent.plugin.session import registry_of

        parametrise(metafunc, mark, registry_of(metafunc.config))


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    found = yield
    if file_path.parts[-3:] != ("pytest_fairmedagent", "audit", "test_audit.py"):
        return found
    from pytest_fairmedagent.plugin.collect import audit_module

    return [audit_module(parent)]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, Any, Any]:
    if not asked_for(config):
        return (yield)
    from pytest_fairmedagent.plugin.collect import focus

    focus(session, config, items)
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Take over what is left: `--lf` and others deselect after every `modifyitems` of ours."""
    if asked_for(session.config):
        from pytest_fairmedagent.plugin.session import run_of

        run_of(session.config).select(session.items)


def pytest_report_collectionfinish(config: pytest.Config) -> list[str] | None:
    if not asked_for(config):
        return None
    from pytest_fairmedagent.plugin.start import collection_lines

    return collection_lines(config)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("fairmed") is None:
        return
    if not asked_for(item.config):
        pytest.skip(NOT_ASKED_FOR)
    from pytest_fairmedagent.plugin.session import outcomes_of, verdicts_of

    verdicts_of(item).clear()  # a rerun comes to its own
    outcomes_of(item).clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    result = yield
    if item.get_closest_marker("fairmed") is not None:
        from pytest_fairmedagent.plugin.assertions import settle
        from pytest_fairmedagent.plugin.session import registry_of

        settle(item, registry_of(item.config))
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    if item.get_closest_marker("fairmed") is None:
        return (yield)
    from pytest_fairmedagent.plugin.reports import categorise, without_sampling

    without_sampling(item, call)
    report = yield
    return categorise(report, call)


def pytest_report_teststatus(report: Any) -> tuple[str, str, str] | None:
    category = getattr(report, "fairmed_category", None)
    if category is None:
        return None
    name, letter = _CATEGORIES[category]
    return name, letter, category


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of xdist what only its controller knows."""
    if asked_for(node.config):
        from pytest_fairmedagent.plugin.collect import no_paths_given

        node.workerinput["fairmed_no_paths"] = no_paths_given(node.config)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    sent = getattr(node, "workeroutput", {}).get("fairmed")
    if sent is not None:
        from pytest_fairmedagent.plugin.session import SENT

        node.config.stash.setdefault(SENT, []).append(sent)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if asked_for(session.config):
        from pytest_fairmedagent.plugin.finish import finish

        finish(session)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if asked_for(config):
        from pytest_fairmedagent.plugin.finish import summarise

        summarise(terminalreporter, config)
