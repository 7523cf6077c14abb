"""What `fairmed plan` is given, read: names or numbers, cases, floor, price."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_fairmedagent.errors import PlanError, closest

if TYPE_CHECKING:
    from pytest_fairmedagent.domain import Catalogue
    from pytest_fairmedagent.files.prices import Price
    from pytest_fairmedagent.planning import PlanningFloor


def floor(arguments: argparse.Namespace, actions: tuple[str, ...]) -> PlanningFloor:
    """Return the floor to plan with. Raises PlanError."""
    from pytest_fairmedagent import planning

    if arguments.record is None:
        if arguments.upper:
            raise PlanError("--upper needs --record: an assumed floor has no interval")
        return planning.assumed(arguments.floor or 0.087)
    return planning.measured(arguments.record, actions=actions, upper=arguments.upper)


def swaps(text: str, catalogue: Catalogue) -> int:
    """Return how many swaps a number, or names of the shipped catalogue, are."""
    names = _words(text)
    if not names:
        return int(text)
    try:
        return len(catalogue.select(names))
    except KeyError as error:
        name = str(error.args[0])
        raise PlanError(
            f"--swaps: unknown swap {name!r}.{closest(name, catalogue.swaps)}"
        ) from None


def named(option: str, text: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """Return names, each of them known; none for a number. Raises PlanError."""
    for name in _words(text):
        if name not in known:
            raise PlanError(f"{option}: {name!r} is not known.{closest(name, known)}")
    return tuple(_words(text))


def _words(text: str) -> list[str]:
    """Return names; none for a number from 1."""
    if text.isascii() and text.isdigit() and int(text):
        return []
    return [word.strip() for word in text.split(",") if word.strip()] or [text]


def vignettes(text: str) -> tuple[dict[str, Any], int]:
    """Return the cases that tokens are expected from, and the most vignettes of a design."""
    from pytest_fairmedagent.files.vignettes import select_vignettes

    if text.isascii() and text.isdigit() and int(text):
        return select_vignettes("shipped", Path.cwd()), int(text)
    cases = select_vignettes(text, Path.cwd())
    return cases, len(cases)


def price(arguments: argparse.Namespace) -> tuple[str, Price | None]:
    """Return back end and price of `--model`; no price where no table knows one."""
    from pytest_fairmedagent.files.prices import price_of
    from pytest_fairmedagent.models.specs import parse_spec

    if not arguments.model:
        return "", None
    spec = parse_spec(arguments.model)
    tables = (arguments.prices,) if arguments.prices else ()
    return spec.backend, price_of(f"{spec.backend}/{spec.name}", tables)
