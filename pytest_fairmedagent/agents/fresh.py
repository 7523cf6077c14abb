"""A fresh agent for each trial: replicates are independent only if no trial knows of another."""

from __future__ import annotations

import inspect
import threading
import types
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

from pytest_fairmedagent.agents.waiting import ended
from pytest_fairmedagent.errors import FairmedError

GROWTHS = 3  # a memory grows with every trial; what is filled once or twice is a lazy start

_SIZED = (list, tuple, dict, set, deque, str, bytes, bytearray)
_OPAQUE = (type, types.ModuleType, types.FunctionType, types.MethodType, types.BuiltinFunctionType)


class AgentError(FairmedError):
    """An agent of the user's that cannot be called as it should, or carries over what it saw."""


class Fresh:
    """Hands an agent out for one trial at a time. `kind` says by which of four rules:

    - `made for each trial`: a class, or a callable without arguments, is called for each trial;
    - `reset for each trial`: its `reset()` is called first. An object is then used by one worker at
      a time; of a class, each worker has an object of its own;
    - `stateless by its own word`: the agent has `stateless = True`, and is believed;
    - `shared`: anything else. It is watched: if what it holds grows trial by trial, the run stops.
    """

    def __init__(self, given: Callable[..., Any]) -> None:
        self._given = given
        self.makes = inspect.isclass(given) or _takes_nothing(given)
        self._own = threading.local()
        self._lock = threading.Lock()
        self._watch: _Watch | None = None
        if self.makes:
            resets = hasattr(given, "reset")
            self.kind = "reset for each trial" if resets else "made for each trial"
        elif hasattr(given, "reset"):
            self.kind = "reset for each trial"
        elif getattr(given, "stateless", False) is True:
            self.kind = "stateless by its own word"
        else:
            self.kind = "shared"
            self._watch = _Watch(given)

    def make(self) -> Any:
        """Return a new agent of a factory."""
        made = self._given()
        if not callable(made):
            raise TypeError(f"it makes {type(made).__name__}, expected a callable from a case")
        return made

    @contextmanager
    def trial(self) -> Iterator[Callable[..., Any]]:
        """Give the agent for one trial. Raises AgentError for one that remembers the last."""
        if self.makes and self.kind == "made for each trial":
            yield self.make()
            return
        agent: Any = self._own_one() if self.makes else self._given
        resets = hasattr(agent, "reset")
        with self._lock if resets and not self.makes else nullcontext():
            if resets:
                ended(agent.reset())
            yield agent
        if self._watch is not None:
            self._watch.look()

    def _own_one(self) -> Any:
        if not hasattr(self._own, "agent"):
            self._own.agent = self.make()
        return self._own.agent


class _Watch:
    """Looks whether what an agent holds grows with the trials, as a memory of them would.

    Two levels are looked at: what the agent holds itself and what that holds. This costs no call of
    the agent, and it finds a list of messages. What stays equally large (a mood, a last answer) it
    does not find: that is what the guard of serial dependence is for.
    """

    def __init__(self, agent: object) -> None:
        self._agent = agent
        self._first = dict(_sizes(agent))
        self._most = dict(self._first)
        self._grown: Counter[str] = Counter()
        self._lock = threading.Lock()

    def look(self) -> None:
        with self._lock:
            for name, size in _sizes(self._agent):
                if size <= self._most.get(name, 0):
                    continue
                self._most[name] = size
                self._grown[name] += 1
                if self._grown[name] == GROWTHS:
                    raise AgentError(
                        f"the agent remembers earlier trials: the size of {name} was "
                        f"{self._first.get(name, 0)} before its first trial and is {size} now; it "
                        f"grew in {GROWTHS} of them.\n  Trials that know of each other are no "
                        "independent draws. Let the fixture return the class, or a function "
                        "without arguments that makes the agent, and each trial gets its own; or "
                        "give the agent reset(), which is called before each trial. If it is a "
                        "log that the agent never reads, say so: stateless = True."
                    )


def _takes_nothing(given: Callable[..., Any]) -> bool:
    """Whether a callable takes no case: then it makes agents and is none."""
    try:
        signature = inspect.signature(given)
    except (TypeError, ValueError):
        return False
    return not _binds(signature, object()) and _binds(signature)


def _binds(signature: inspect.Signature, *arguments: object) -> bool:
    try:
        signature.bind(*arguments)
    except TypeError:
        return False
    return True


def _sizes(agent: object) -> Iterator[tuple[str, int]]:
    """Yield names and sizes of what an agent holds: two levels of attributes, or of names used."""
    for name, value in _held(agent).items():
        if isinstance(value, _SIZED):
            yield name, len(value)
        elif not isinstance(value, _OPAQUE):
            for inner, held in _attributes(value).items():
                if isinstance(held, _SIZED):
                    yield f"{name}.{inner}", len(held)


def _held(agent: object) -> Mapping[str, object]:
    if isinstance(agent, partial):
        bound = {f"argument {i}": value for i, value in enumerate(agent.args)}
        return {**_held(agent.func), **bound, **agent.keywords}
    if isinstance(agent, types.MethodType):
        return _held(agent.__self__)
    if isinstance(agent, types.FunctionType):
        code, known = agent.__code__, agent.__globals__
        cells = zip(code.co_freevars, agent.__closure__ or (), strict=False)
        used = {name: known[name] for name in code.co_names if name in known}
        return {**used, **{n: c.cell_contents for n, c in cells if _is_filled(c)}, **vars(agent)}
    return _attributes(agent)


def _is_filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - reading an empty one raises
    except ValueError:
        return False
    return True


def _attributes(value: object) -> Mapping[str, object]:
    return dict(getattr(value, "__dict__", {}))
