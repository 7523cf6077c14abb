"""Which items run when a model is given: the fairness tests, or the built-in audit."""

from __future__ import annotations

import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_fairmedagent.errors import FairmedError
from pytest_fairmedagent.plugin.session import registry_of

AUDIT_ID = "pytest_fairmedagent.audit"
AUDIT_FILE = Path(__file__).resolve().parents[1] / "audit" / "test_audit.py"


class AuditModule(pytest.Module):
    """The built-in audit: a marked function for each family of the plan file.

    Neither file nor functions go through the project's naming rules (`python_files`,
    `python_functions`), so that no ini file can make the audit disappear.
    """

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        module = self.obj
        try:
            families = registry_of(self.config).registered.file.family
        except FairmedError as error:
            raise self.CollectError(f"{type(error).__name__}: {error}") from error
        for table in families:
            name = f"test_{table.name}"
            function = types.FunctionType(module.check.__code__, vars(module), name)
            setattr(module, name, pytest.mark.fairmed(family=table.name)(function))
            yield from self._genfunctions(name, function)


def audit_module(parent: pytest.Collector) -> AuditModule:
    """Return the audit's module, under one node id wherever it was found."""
    return AuditModule.from_parent(parent, path=AUDIT_FILE, nodeid=AUDIT_ID)


def no_paths_given(config: pytest.Config) -> bool:
    """Whether pytest was given no paths; those in `addopts` count as given."""
    worker = getattr(config, "workerinput", None)
    if worker is not None:  # a worker is always given paths, so the controller has to tell it
        return bool(worker.get("fairmed_no_paths", False))
    return config.args_source is not pytest.Config.ArgsSource.ARGS


def focus(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without paths keep the fairness tests only, or take the built-in audit where there is none.

    This runs before `-k` and `-m` deselect anything: those choose among fairness tests, they do
    not decide that there are none.
    """
    if not no_paths_given(config):
        return
    kept = [item for item in items if item.get_closest_marker("fairmed")]
    dropped = [item for item in items if not item.get_closest_marker("fairmed")]
    if not kept and not session.testsfailed and not _is_partial(config):
        kept = list(session.genitems(audit_module(session)))
    if dropped and (kept or not session.testsfailed):
        config.hook.pytest_deselected(items=dropped)
        items[:] = kept
    elif kept:
        items[:] = kept


def _is_partial(config: pytest.Config) -> bool:
    """Whether `--lf` or `--sw` may have left fairness tests uncollected.

    Where nothing failed they leave nothing out, and where the last failure was the audit's own, it
    is the audit that runs again.
    """
    cache = getattr(config, "cache", None)
    for option, key in (("lf", "cache/lastfailed"), ("stepwise", "cache/stepwise")):
        if config.getoption(option, False):
            found = cache.get(key, None) if cache is not None else None
            if option == "stepwise" and isinstance(found, dict):  # since pytest 8.4
                found = found.get("last_failed")
            return bool(found) and AUDIT_ID not in str(found)
    return False
