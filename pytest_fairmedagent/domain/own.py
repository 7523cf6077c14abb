"""What users add of their own, as values: outcomes, swaps and relations."""

from __future__ import annotations

import hashlib
import inspect
import math
import textwrap
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, overload

from pytest_fairmedagent.domain.outcome import (
    BINARY,
    OUTCOME_KINDS,
    OUTCOMES,
    SET,
    Outcome,
)
from pytest_fairmedagent.domain.trajectory import Trajectory
from pytest_fairmedagent.errors import OwnCodeError, PlanError, closest

Labels = Mapping[str, list[Any]]  # vignette -> its labels in order of draw, None where missing

_EXPECTED = {
    BINARY: "True, False or None",
    SET: "a collection of ids (no string) or None",
}


@dataclass(frozen=True)
class Swap:
    """A swap of the user's own: slots of the catalogue's line, or a whole line instead."""

    id: str
    slots: tuple[tuple[str, str], ...] = ()
    line: str | None = None
    attribute: str = ""


@dataclass(frozen=True)
class Relation:
    """A test of the user's own. `digest` tells its versions apart; see `relation`."""

    id: str
    test: Callable[[Labels, Labels], Any]
    digest: str

    @property
    def stamp(self) -> str:
        """Name and version, as the plan registers them."""
        return f"{self.id} {self.digest[:12]}"

    def __call__(self, swap: Labels, reference: Labels) -> Any:
        return self.test(swap, reference)


def swap(id: str, *, line: str | None = None, attribute: str = "", **slots: str) -> Swap:
    """Return a swap for `swaps=[...]` of the mark: the values of the line's slots that it changes.

    `swap("sex_nonbinary", sex="nonbinary person")`. With `line` it has a whole line of its own.
    `attribute` groups it, by default under its own id. What the catalogue's line does not have is
    a PlanError where the mark is read.
    """
    return Swap(id, tuple(slots.items()), line, attribute)


@overload
def outcome(function: Callable[[Trajectory], Any]) -> Outcome: ...
@overload
def outcome(
    *, kind: str = ..., unit: str = ..., name: str = ..., version: str = ...
) -> Callable[[Callable[[Trajectory], Any]], Outcome]: ...
def outcome(
    function: Callable[[Trajectory], Any] | None = None,
    *,
    kind: str = BINARY,
    unit: str = "",
    name: str = "",
    version: str = "",
) -> Outcome | Callable[[Callable[[Trajectory], Any]], Outcome]:
    """Make an outcome of a function of a trajectory, to be named in `actions=[...]`.

    The function returns a bool (`binary`), a number (`ordinal`, `score`) or a collection of ids
    (`set`), and None where the trajectory does not say. `unit` is what a step of a number is
    called. The outcome has the function's name or `name`. The plan registers its `version`, or the
    digest of its source: what the function calls is not part of that, so raise `version` then.

    Raises PlanError for an unknown kind, the name of a built-in outcome, or no source and version.
    """
    if kind not in OUTCOME_KINDS:
        raise PlanError(f"outcome: unknown kind {kind!r}.{closest(kind, OUTCOME_KINDS)}")

    def made(function: Callable[[Trajectory], Any]) -> Outcome:
        called = name or function.__name__
        if called in OUTCOMES:
            raise PlanError(f"outcome {called!r} is built in. Give yours another name.")
        return Outcome(
            called, _checked(called, kind, function), kind, unit, _digest(called, function, version)
        )

    return made if function is None else made(function)


@overload
def relation(function: Callable[[Labels, Labels], Any]) -> Relation: ...
@overload
def relation(
    *, name: str = ..., version: str = ...
) -> Callable[[Callable[[Labels, Labels], Any]], Relation]: ...
def relation(
    function: Callable[[Labels, Labels], Any] | None = None, *, name: str = "", version: str = ""
) -> Relation | Callable[[Callable[[Labels, Labels], Any]], Relation]:
    """Make a relation of a function of two outcome tables, for `relation=` of the mark.

    The function gets the labels under the swap and under the reference, each {vignette: labels in
    order of draw}, None where missing. It returns a p-value in 0..1, which enters Holm in its
    family and may fail, or {vignette: whether the relation holds there}, which has no error rate:
    it is shown as descriptive and never fails. Raises PlanError without source and version.
    """

    def made(function: Callable[[Labels, Labels], Any]) -> Relation:
        called = name or function.__name__
        return Relation(called, function, _digest(called, function, version))

    return made if function is None else made(function)


def _digest(name: str, function: Callable[..., Any], version: str) -> str:
    """Return the hex SHA-256 of the version, or of the source where none is stated."""
    if version:
        content = f"version {version}"
    else:
        try:
            content = textwrap.dedent(inspect.getsource(function))
        except (OSError, TypeError):
            raise PlanError(
                f"the source of {name!r} cannot be read, so its versions cannot be told apart. "
                "State one: version='1'."
            ) from None
    return hashlib.sha256(f"{name}\n{content}".encode()).hexdigest()


def _is_number(value: object) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and math.isfinite(value)  # type: ignore[arg-type]


def _checked(
    name: str, kind: str, function: Callable[[Trajectory], Any]
) -> Callable[[Trajectory], Any]:
    """Return the function with its value checked against the kind; sets come as frozensets."""

    def read(trajectory: Trajectory) -> Any:
        try:
            value = function(trajectory)
        except Exception as error:
            raise OwnCodeError(
                f"outcome {name!r} failed on a trajectory: {type(error).__name__}: {error}.\n  "
                "Return None where the trajectory does not say."
            ) from error
        if value is None:
            return None
        if kind == BINARY:
            if isinstance(value, bool):
                return value
        elif kind == SET:
            if isinstance(value, Collection) and not isinstance(value, (str, bytes, Mapping)):
                return frozenset(map(str, value))
        elif _is_number(value):
            return value
        expected = _EXPECTED.get(kind, "a finite number or None")
        raise OwnCodeError(
            f"outcome {name!r} of kind {kind!r} returned {value!r}, expected {expected}"
        )

    return read
