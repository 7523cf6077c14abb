"""Agents of the user's own: any callable from a case to actions."""

from __future__ import annotations

import importlib
import inspect
import json
import math
import sys
import uuid
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from pytest_fairmedagent.agents.base import Agent, Ask
from pytest_fairmedagent.agents.fresh import AgentError, Fresh
from pytest_fairmedagent.agents.outage import outage
from pytest_fairmedagent.agents.waiting import ended
from pytest_fairmedagent.domain import OUTCOMES, Case, Trajectory
from pytest_fairmedagent.errors import ModelError, PlanError
from pytest_fairmedagent.files.recordings import UNSTATED

__all__ = ["AgentError", "AgentFault", "UserAgent", "as_agent", "load_agent"]

CALL_LIMIT_S = 600.0  # of a trial, where the agent does not say

_PLAIN = (bool, int, float, str)


class AgentFault(Exception):
    """What an agent did wrong, in words that a record may keep: they hold nothing of the case."""


class UserAgent:
    """Wraps a callable `agent(case)`, sync or async, or a class or factory of such.

    It returns actions (`{"admission": True, ...}`) or outputs by stage (`{"reassess": {"admit":
    True}}`). An agent that states a `version` (or `digest`) keeps its trajectories for later runs;
    without one nobody can tell whether it changed, so they serve this run only: those processes
    that name the same `start`. A method `configuration()` may state what else identifies it. How
    each trial gets a fresh agent is the rule of `Fresh`.

    A trial is given up after the agent's `call_limit_s` seconds, 600 where it has none; None lets
    it run for ever.
    """

    calls_per_trial: int | None = None  # it asks in its own way

    def __init__(self, given: Callable[..., Any], *, start: str = "") -> None:
        self._given = given
        self._fresh = Fresh(given)
        self._limit_s = _limit_s(given)
        self._proven = False
        stated = self._stated_version()
        own = start or uuid.uuid4().hex
        self._version = stated or f"{UNSTATED}: {own}"

    @property
    def endpoints(self) -> tuple[str, ...]:
        """The servers that the agent says it asks."""
        return tuple(getattr(self._given, "endpoints", ()))

    def configuration(self) -> Mapping[str, object]:
        own = {
            "agent": self._name,
            "agent_version": self._version,
            "agent_state": self._fresh.kind,
        }
        describe = getattr(self._given, "configuration", None)
        if describe is None or self._fresh.makes:
            return own
        stated = {f"agent_{name}": value for name, value in describe().items()}
        try:
            json.dumps(stated)
        except TypeError as error:
            raise AgentError(
                f"configuration() of the agent {self._name} holds what JSON cannot: {error}"
            ) from error
        return {**stated, **own}

    def run(self, case: Case, ask: Ask) -> Trajectory:
        """Return what the agent did. What it raises is its own fault, and data.

        Only while it has never succeeded is an exception taken for a mistake in the wiring. What
        tells of a server that was not there (a ModelError, or see `outage`) is tried again.
        """
        return ask.patiently(lambda: self._once(case), self._limit_s)

    def _once(self, case: Case) -> Trajectory:
        try:
            with self._fresh.trial() as agent:
                outputs = _outputs(ended(agent(case), self._limit_s))
        except (ModelError, AgentError, KeyboardInterrupt):
            raise
        # No Exception are sys.exit(), a cancelled task, and pytest.skip(), which would skip the
        # test that has this agent measured.
        except BaseException as error:
            lost = outage(error)
            if lost is not None:
                raise lost from error
            if not self._proven:
                what = "" if isinstance(error, AgentFault) else f"{type(error).__name__}: "
                raise AgentError(
                    f"the agent {self._name} failed on its first case: {what}{error}\n"
                    "  It is called with a Case (text, menu, result(order_id)) and returns a "
                    "mapping of actions or of stages."
                ) from error
            told = str(error) if isinstance(error, AgentFault) else f"raised {type(error).__name__}"
            return Trajectory({}, {"trial": f"the agent {told}"})
        self._proven = True
        return Trajectory(outputs)

    @property
    def _name(self) -> str:
        kind = type(self._given)
        name = getattr(self._given, "__qualname__", kind.__qualname__)
        return f"{getattr(self._given, '__module__', '')}:{name}"

    def _stated_version(self) -> str:
        found = _version_of(self._given)
        if not found and self._fresh.makes:
            try:
                found = _version_of(self._fresh.make())
            except Exception as error:
                raise AgentError(
                    f"the agent {self._name} cannot be made: {type(error).__name__}: {error}\n"
                    "  A class or a function without arguments is called anew for each trial."
                ) from error
        return found


def as_agent(given: Any, *, start: str = "") -> Agent:
    """Return the agent that a fixture's value is. Raises PlanError for what is none."""
    if hasattr(given, "run") and hasattr(given, "configuration"):
        return cast("Agent", given() if inspect.isclass(given) else given)
    if not callable(given):
        raise PlanError(
            f"the fixture fairmed_agent returned {type(given).__name__}, expected a callable from "
            "a case to actions, or a class of such"
        )
    return UserAgent(given, start=start)


def _limit_s(given: object) -> float | None:
    """Return after how many seconds a trial is given up. Raises AgentError for no such number."""
    stated = getattr(given, "call_limit_s", CALL_LIMIT_S)
    if stated is None or (isinstance(stated, (int, float)) and 0 < stated < math.inf):
        return stated
    raise AgentError(f"the agent's call_limit_s is {stated!r}, expected seconds above 0, or None")


def _version_of(agent: object) -> str:
    """Return the version or digest that an agent states, "" where it states none."""
    for name in ("version", "digest"):
        stated = getattr(agent, name, None)
        if isinstance(stated, (str, int, float)) and stated:
            return str(stated)
    return ""


def _outputs(answer: object) -> dict[str, dict[str, object]]:
    if not isinstance(answer, Mapping) or not answer:
        kind = type(answer).__name__
        raise AgentFault(f"returned {kind}, expected a mapping that is not empty")
    if not all(isinstance(value, Mapping) for value in answer.values()):
        answer = {"actions": answer}
    outputs: dict[str, dict[str, object]] = {}
    for stage, fields in answer.items():
        outputs[str(stage)] = {str(name): _plain(value) for name, value in fields.items()}
    for name in OUTCOMES.keys() & outputs.get("actions", {}):
        if OUTCOMES[name](Trajectory(outputs)) is None:
            kind = type(outputs["actions"][name]).__name__
            raise AgentFault(f"returned {name} as {kind}, expected {_expected(name)}")
    return outputs


def _expected(name: str) -> str:
    return {"binary": "bool", "set": "ids"}.get(OUTCOMES[name].kind, "a number")


def _plain(value: object) -> object:
    if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0:
        value = value.item()  # type: ignore[attr-defined]
    if isinstance(value, _PLAIN) and (not isinstance(value, float) or math.isfinite(value)):
        return value
    if isinstance(value, (list, tuple, set, frozenset)) and all(isinstance(v, str) for v in value):
        return sorted(value)
    raise AgentFault(
        f"returned a field that is {type(value).__name__}, expected bool, int, finite float, str "
        "or ids"
    )


def load_agent(spec: str) -> Callable[..., Any]:
    """Return the agent that `module:attr` or a URL names. Raises PlanError.

    A module is looked for on the path, and in the folder that pytest was started in.
    """
    if spec.startswith(("http://", "https://")):
        from pytest_fairmedagent.agents.http import agent_at

        return agent_at(spec)
    module_name, _, attribute = spec.partition(":")
    if not module_name or not attribute:
        raise PlanError(f"--fairmed-agent is {spec!r}, expected module:attr or http://HOST/PATH")
    try:
        if find_spec(module_name.partition(".")[0]) is None:
            sys.path.insert(0, str(Path.cwd()))
        found: Any = importlib.import_module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise PlanError(f"--fairmed-agent {spec!r} cannot be found: {error}") from error
    except Exception as error:
        raise PlanError(
            f"--fairmed-agent {spec!r} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    if not callable(found):
        raise PlanError(f"--fairmed-agent {spec!r} is {type(found).__name__}, expected a callable")
    return found  # type: ignore[no-any-return]
