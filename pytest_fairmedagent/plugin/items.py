"""What a pytest item tells of itself, and what it is told: parameters, agent, time, failures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pytest_fairmedagent.errors import FairmedError
from pytest_fairmedagent.plugin.parametrise import stated_names

SEAT = "fairmed_seat"  # the fixture that holds an item's seat


def told(error: FairmedError) -> BaseException:
    """Return the failure of a test that says what the error says, and nothing of our code."""
    from pytest_fairmedagent.report.text import shown

    # An agent's or a server's words may be in it: no line of them gives a command to a CI log.
    return pytest.fail.Exception(shown(f"{type(error).__name__}: {error}"), pytrace=False)


def params_of(item: pytest.Item) -> Mapping[str, Any]:
    """Return the values that an item was parametrised with, by name."""
    callspec = getattr(item, "callspec", None)
    return callspec.params if callspec else {}


def agent_seen_by(item: pytest.Item) -> str:
    """Return what tells the item's agent from others: items with the same share their draws.

    That is where its fixture `fairmed_agent` is defined, and every parameter that went into it: two
    parameters make two agents.
    """
    info = getattr(item, "_fixtureinfo", None)
    definitions = info.name2fixturedefs if info else {}
    if not definitions.get("fairmed_agent"):
        return ""
    agent = definitions["fairmed_agent"][-1]
    place = f"{getattr(agent.func, '__module__', '')}:{agent.baseid}"
    params, stated = params_of(item), stated_names(item)
    for name in sorted((_needed_by("fairmed_agent", definitions) & params.keys()) - {SEAT}):
        # A fixture's own parameters have their places in it, which are alike in every process.
        own = definitions[name][-1].params and name not in stated
        place += f":{name}={item.callspec.indices[name] if own else id(params[name])}"  # type: ignore[attr-defined]
    return place


def brings_its_agent(item: pytest.Item) -> bool:
    """Return whether the project overrides the fixture `fairmed_agent` for the item."""
    return not agent_seen_by(item).startswith(("pytest_fairmedagent.plugin.fixtures:", ":"))


def _needed_by(name: str, definitions: Mapping[str, Any]) -> set[str]:
    """Return the names of a fixture and of all that it asks for."""
    found: set[str] = set()
    open_ends = [name]
    while open_ends:
        name = open_ends.pop()
        if name not in found:
            found.add(name)
            open_ends += [arg for d in definitions.get(name, ()) for arg in d.argnames]
    return found


class paused_timeout:
    """Sampling is the session's time, not the item's: pytest-timeout waits meanwhile."""

    def __init__(self, item: pytest.Item) -> None:
        self._item = item
        self._hooks = item.config.hook

    def __enter__(self) -> None:
        if hasattr(self._hooks, "pytest_timeout_cancel_timer"):
            self._hooks.pytest_timeout_cancel_timer(item=self._item)

    def __exit__(self, *exc: object) -> None:
        if hasattr(self._hooks, "pytest_timeout_set_timer"):
            import pytest_timeout  # its hook is there, so it is

            settings = pytest_timeout._get_item_settings(self._item)
            if settings.timeout and not settings.func_only:
                self._hooks.pytest_timeout_set_timer(item=self._item, settings=settings)
