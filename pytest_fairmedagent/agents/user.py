"""Agents of the user's own: any callable from a case to actions."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import threading
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from pytest_fairmedagent.agents.base import Ask
from pytest_fairmedagent.domain import Case, Trajectory
from pytest_fairmedagent.errors import FairmedError, ModelError, PlanError

_PLAIN = (bool, int, float, str)


class UserAgent:
    """Wraps a callable `agent(case)`, sync or async.

    It returns actions (`{"admission": True, ...}`) or outputs by stage (`{"reassess": {"admit":
    True}}`). An agent that states a `version` (or `digest`) keeps its trajectories for later runs;
    without one nobody can tell whether it changed, so they serve this run only.
    """

    def __init__(self, function: Callable[[Case], Any]) -> None:
        self._function = function
        self._proven = False
        self._lock = threading.Lock()
        stated = getattr(function, "version", None) or getattr(function, "digest", None)
        self._version = str(stated) if stated else f"unstated, this run only: {uuid.uuid4().hex}"

    def configuration(self) -> Mapping[str, object]:
        name = getattr(self._function, "__qualname__", type(self._function).__qualname__)
        module = getattr(self._function, "__module__", "")
        return {"agent": f"{module}:{name}", "agent_version": self._version}

    def run(self, case: Case, ask: Ask) -> Trajectory:
        """Return what the agent did. What it raises is its own fault, and data.

        Only while it has never succeeded is an exception taken for a mistake in the wiring.
        """
        try:
            answer = self._function(case)
            if inspect.isawaitable(answer):
                answer = asyncio.run(_awaited(answer))
            outputs = _outputs(answer)
        except ModelError:
            raise
        except Exception as error:
            if not self._proven:
                raise AgentError(
                    f"the agent {self.configuration()['agent']} failed on its first case: "
                    f"{type(error).__name__}: {error}\n  It is called with a Case (text, menu, "
                    "result(order_id)) and returns a mapping of actions or of stages."
                ) from error
            return Trajectory({}, {"trial": f"the agent raised {type(error).__name__}"})
        self._proven = True
        return Trajectory(outputs)


class AgentError(FairmedError):
    """An agent of the user's that cannot be called as it should."""


async def _awaited(answer: Any) -> Any:
    return await answer


def _outputs(answer: object) -> dict[str, dict[str, object]]:
    if not isinstance(answer, Mapping) or not answer:
        raise TypeError(f"returned {type(answer).__name__}, expected a mapping that is not empty")
    if not all(isinstance(value, Mapping) for value in answer.values()):
        answer = {"actions": answer}
    outputs: dict[str, dict[str, object]] = {}
    for stage, fields in answer.items():
        outputs[str(stage)] = {str(name): _plain(name, value) for name, value in fields.items()}
    return outputs


def _plain(name: object, value: object) -> object:
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, (list, tuple, set, frozenset)) and all(isinstance(v, str) for v in value):
        return sorted(value)
    raise TypeError(f"{name!r} is {type(value).__name__}, expected bool, int, float, str or ids")


def load_agent(spec: str) -> Callable[[Case], Any]:
    """Return the callable that `module:attr` names. Raises PlanError."""
    module_name, _, attribute = spec.partition(":")
    if not module_name or not attribute:
        raise PlanError(f"--fairmed-agent is {spec!r}, expected module:attr")
    try:
        found: Any = importlib.import_module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise PlanError(f"--fairmed-agent {spec!r} cannot be found: {error}") from error
    if not callable(found):
        raise PlanError(f"--fairmed-agent {spec!r} is {type(found).__name__}, expected a callable")
    return found  # type: ignore[no-any-return]
