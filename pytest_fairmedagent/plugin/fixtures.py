"""The fixtures. Those named in a marked function become its items; see `parametrise.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_fairmedagent.domain import Trajectory, Vignette
    from pytest_fairmedagent.plugin.assertions import ContrastUnderTest
    from pytest_fairmedagent.plugin.own_checks import Floors
    from pytest_fairmedagent.study import Study


def _check_marked(request: pytest.FixtureRequest, name: str) -> None:
    if request.node.get_closest_marker("fairmed") is None:
        pytest.fail(
            f"the fixture '{name}' needs the mark: @pytest.mark.fairmed(swaps=...) on "
            f"{request.node.name}",
            pytrace=False,
        )


def _param(request: pytest.FixtureRequest, name: str) -> str:
    """Return the value this item was given, or fail with advice where it was given none."""
    _check_marked(request, name)
    if not hasattr(request, "param"):
        pytest.fail(
            f"the fixture '{name}' has no value in {request.node.name}: name it as an argument of "
            "the marked function, for what a function names becomes its items",
            pytrace=False,
        )
    return str(request.param)


@pytest.fixture(scope="session")
def fairmed_seat(request: pytest.FixtureRequest) -> Any:
    """The model and decoding that this item tests: `.id`, `.model`, `.decoding_text`.

    With several of `--fairmed-model` or `--fairmed-decoding` there is an item for each.
    """
    from pytest_fairmedagent.plugin.options import asked_for
    from pytest_fairmedagent.plugin.session import run_of

    if not asked_for(request.config):  # the fixtures that need a model say what is missing
        return None
    return request.param if hasattr(request, "param") else run_of(request.config).seats[0]


@pytest.fixture(scope="session")
def fairmed_model(request: pytest.FixtureRequest, fairmed_seat: Any) -> Any:
    """The model under test (a `ChatModel`), opened; for agents of your own that ask it."""
    from pytest_fairmedagent.plugin.options import NOT_ASKED_FOR, asked_for

    if not asked_for(request.config):  # a test without the mark must not open the default model
        pytest.skip(NOT_ASKED_FOR)
    from pytest_fairmedagent.errors import FairmedError
    from pytest_fairmedagent.plugin.items import told
    from pytest_fairmedagent.plugin.session import run_of

    try:
        model = run_of(request.config).model(fairmed_seat)
        if model is not None:
            model.open()
    except FairmedError as error:
        raise told(error) from None
    if model is None:
        pytest.skip("a recorded run has no model")
    return model


@pytest.fixture(scope="session")
def fairmed_agent(request: pytest.FixtureRequest) -> Any:
    """The agent under test: the six-stage agent, or `--fairmed-agent`. Override it with yours.

    An agent is a callable from a case to actions. Return the class and each trial gets one of its
    own. Give it a `version`, so that its trajectories can be kept for later runs.
    """
    from pytest_fairmedagent.errors import FairmedError
    from pytest_fairmedagent.plugin.items import told
    from pytest_fairmedagent.plugin.session import run_of

    try:
        return run_of(request.config).default_agent()
    except FairmedError as error:
        raise told(error) from None


@pytest.fixture
def study(request: pytest.FixtureRequest, fairmed_seat: Any, fairmed_agent: Any) -> Study:
    """The sampled `Study` of this item: plan, table, floors, verdicts."""
    from pytest_fairmedagent.plugin.session import run_of

    _check_marked(request, "contrast" if "contrast" in request.fixturenames else "study")
    found = run_of(request.config).study(request.node, fairmed_agent)
    found.asked_by = request.node
    return found


@pytest.fixture
def contrast(request: pytest.FixtureRequest, study: Study) -> ContrastUnderTest:
    """One swap against its reference, sampled. An item for each swap that the mark registers."""
    swap = _param(request, "contrast")
    if not hasattr(study, "judge"):
        pytest.fail(
            "the fixture 'contrast' needs the fixture 'study' of pytest-fairmedagent, and this "
            f"project's own returned {type(study).__name__}. Give that one another name.",
            pytrace=False,
        )
    from pytest_fairmedagent.plugin.assertions import ContrastUnderTest
    from pytest_fairmedagent.plugin.parametrise import function_id
    from pytest_fairmedagent.plugin.session import registry_of

    registry = registry_of(request.config)
    family = registry.registrations[function_id(request.node)].family
    callspec = request.node.callspec
    return ContrastUnderTest(
        swap=swap,
        vignette=callspec.params["vignette"] if family.per_vignette else None,
        family=family.name,
        study=study,
        strict=registry.strict,
        gate_heterogeneous=registry.settings.gate_heterogeneous,
        item=request.node,
    )


@pytest.fixture
def action(request: pytest.FixtureRequest) -> str:
    """The id of one action. An item for each action that the mark registers."""
    return _param(request, "action")


@pytest.fixture
def vignette(request: pytest.FixtureRequest) -> Vignette:
    """One vignette. An item for each; contrasts are then confined to it."""
    from pytest_fairmedagent.plugin.session import registry_of

    cases, name = registry_of(request.config).cases, _param(request, "vignette")
    if name not in cases:
        from pytest_fairmedagent.errors import closest

        pytest.fail(f"unknown vignette {name!r}.{closest(name, cases)}", pytrace=False)
    return cases[name]


@pytest.fixture
def trajectories(
    request: pytest.FixtureRequest, study: Study
) -> Callable[[str], dict[str, list[Trajectory]]]:
    """A callable: condition -> {vignette: its trajectories in order of draw}.

    Only conditions that this run samples have any: reference, controls and the selected swaps.
    """

    def of(condition: str) -> dict[str, list[Trajectory]]:
        __tracebackhide__ = True
        assert study.table is not None  # noqa: S101 - it is sampled
        from pytest_fairmedagent.errors import PlanError, closest

        if condition not in study.table.conditions:
            raise PlanError(
                f"no trajectories of condition {condition!r} in this run."
                f"{closest(condition, study.table.conditions)}"
            )
        rows = study.table.rows.items()
        return {v: list(row) for (v, c), row in rows if c == condition}

    return of


@pytest.fixture
def floor(request: pytest.FixtureRequest, study: Study) -> Floors:
    """A callable: action -> its floor in the reference arm, over the function's vignettes.

    A function that names this and no contrast draws the reference arm only.
    """
    from pytest_fairmedagent.plugin.own_checks import Floors

    return Floors(study, request.node)
