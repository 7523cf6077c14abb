"""Metamorphic fairness tests of clinical language-model agents, read against their own noise.

Nothing is imported until it is asked for: this package is loaded by every pytest session on a
machine that has it installed, also by those that never use it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_fairmedagent.agents.http import HttpAgent as HttpAgent
    from pytest_fairmedagent.domain import Case as Case
    from pytest_fairmedagent.domain import Outcome as Outcome
    from pytest_fairmedagent.domain import Trajectory as Trajectory
    from pytest_fairmedagent.domain.own import outcome as outcome
    from pytest_fairmedagent.domain.own import relation as relation
    from pytest_fairmedagent.domain.own import swap as swap
    from pytest_fairmedagent.errors import FairmedError as FairmedError
    from pytest_fairmedagent.plugin.assertions import assert_invariant as assert_invariant
    from pytest_fairmedagent.plugin.baseline import (
        assert_same_as_baseline as assert_same_as_baseline,
    )
    from pytest_fairmedagent.plugin.own_checks import assert_floor_below as assert_floor_below
    from pytest_fairmedagent.plugin.own_checks import assert_relation as assert_relation
    from pytest_fairmedagent.study import Study as Study
    from pytest_fairmedagent.verdict import Verdict as Verdict

__version__ = "0.1.0"

_HOME = {
    "assert_floor_below": "pytest_fairmedagent.plugin.own_checks",
    "assert_relation": "pytest_fairmedagent.plugin.own_checks",
    "outcome": "pytest_fairmedagent.domain.own",
    "relation": "pytest_fairmedagent.domain.own",
    "swap": "pytest_fairmedagent.domain.own",
    "assert_invariant": "pytest_fairmedagent.plugin.assertions",
    "assert_same_as_baseline": "pytest_fairmedagent.plugin.baseline",
    "Case": "pytest_fairmedagent.domain",
    "FairmedError": "pytest_fairmedagent.errors",
    "HttpAgent": "pytest_fairmedagent.agents.http",
    "Outcome": "pytest_fairmedagent.domain",
    "Study": "pytest_fairmedagent.study",
    "Trajectory": "pytest_fairmedagent.domain",
    "Verdict": "pytest_fairmedagent.verdict",
}

__all__ = [
    "Case",
    "FairmedError",
    "HttpAgent",
    "Outcome",
    "Study",
    "Trajectory",
    "Verdict",
    "__version__",
    "assert_floor_below",
    "assert_invariant",
    "assert_relation",
    "assert_same_as_baseline",
    "outcome",
    "relation",
    "swap",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'pytest_fairmedagent' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOME[name]), name)
