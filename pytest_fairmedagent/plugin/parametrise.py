"""What a marked function names becomes items; what it does not name is pooled."""

from __future__ import annotations

import pytest

from pytest_fairmedagent.domain import Family
from pytest_fairmedagent.errors import FairmedError
from pytest_fairmedagent.plugin.options import asked_for
from pytest_fairmedagent.plugin.registry import Registry
from pytest_fairmedagent.plugin.session import run_of
from pytest_fairmedagent.stats import stratified_test

NAMES = ("vignette", "contrast", "action")
NOTES = pytest.StashKey[list[str]]()


def function_id(node: pytest.Item) -> str:
    """Return the node id of the function an item comes from, without its parameters."""
    name = getattr(node, "originalname", None) or node.name
    return f"{node.parent.nodeid}::{name}" if node.parent else str(name)


def parametrise(metafunc: pytest.Metafunc, mark: pytest.Mark, registry: Registry) -> None:
    """Register a marked function and make its items. A mistake is an error of its module."""
    names = [name for name in NAMES if name in metafunc.fixturenames and _is_ours(metafunc, name)]
    # By mark, or in a hook of the project's own, which has run by now.
    stated = stated_names(metafunc.definition) | {n for c in metafunc._calls for n in c.params}
    nodeid = metafunc.definition.nodeid
    try:
        registration = registry.register(
            nodeid,
            mark,
            sorted({*names, *(stated & set(NAMES))}),
            module=metafunc.module,
            floors_only=_asks_for_floors_only(metafunc),
        )
        swaps, actions = registry.selected(registration.family)
    except FairmedError as error:
        path, line, _ = metafunc.definition.reportinfo()
        first, _, rest = str(error).partition("\n")
        where = f"{metafunc.definition.name} ({path}:{(line or 0) + 1})"
        message = f"{type(error).__name__}: {where}: {first}" + (f"\n{rest}" if rest else "")
        raise pytest.Collector.CollectError(message) from error
    values = {"vignette": registration.family.vignettes, "contrast": swaps, "action": actions}
    for name in names:
        if name not in stated:
            metafunc.parametrize(name, values[name], ids=list(values[name]), indirect=True)
    _seat(metafunc)
    if registration.family.per_vignette:
        _warn_if_powerless(metafunc, registration.family)


def _seat(metafunc: pytest.Metafunc) -> None:
    """Make an item for each model and decoding, where the options name several."""
    if "fairmed_seat" not in metafunc.fixturenames or not asked_for(metafunc.config):
        return
    seats = run_of(metafunc.config).seats
    if len(seats) > 1:  # session-scoped, so that the items of a seat run one after the other
        ids = [seat.id for seat in seats]
        metafunc.parametrize("fairmed_seat", seats, ids=ids, indirect=True, scope="session")


def stated_names(node: pytest.Item) -> set[str]:
    """Return the names that a function, its class or its module parametrises by mark."""
    found: set[str] = set()
    for mark in node.iter_markers("parametrize"):
        given = mark.args[0] if mark.args else mark.kwargs.get("argnames", "")
        names = given.split(",") if isinstance(given, str) else given
        found.update(name.strip() for name in names)
    return found


def _is_ours(metafunc: pytest.Metafunc, name: str) -> bool:
    """Whether the fixture of this name is the plugin's, and not one of the project's own."""
    definitions = metafunc._arg2fixturedefs.get(name)
    if not definitions:
        return False
    module = getattr(definitions[-1].func, "__module__", "")
    return module == "pytest_fairmedagent.plugin.fixtures"


def _asks_for_floors_only(metafunc: pytest.Metafunc) -> bool:
    """Whether a function names `floor` or `study` of ours, and nothing that needs other arms."""
    asked = {name for name in metafunc.fixturenames if _is_ours(metafunc, name)}
    return bool(asked & {"floor", "study"}) and not asked & {"contrast", "trajectories"}


def _warn_if_powerless(metafunc: pytest.Metafunc, family: Family) -> None:
    """Warn where no result of one vignette could fail, with the replicates that could."""
    if _attainable(family.replicates) * family.size <= family.alpha:
        return
    r = family.replicates
    enough = next(n for n in range(r, 1000) if _attainable(n) * family.size <= family.alpha)
    notes = metafunc.config.stash.setdefault(NOTES, [])
    notes.append(
        f"{metafunc.definition.nodeid}: one vignette at R={r} cannot fail in a family of "
        f"{family.size}: the smallest attainable p is {_attainable(r):.2g}; R={enough} could"
    )


def _attainable(replicates: int) -> float:
    """Return the smallest p of one vignette: all positive in one arm and none in the other."""
    return stratified_test([replicates], [replicates], [0], [replicates]).p_attainable
