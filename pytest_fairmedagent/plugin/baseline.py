"""`assert_same_as_baseline`: a marked test that fails on a regression beyond both floors only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pytest_fairmedagent.domain import Outcome
from pytest_fairmedagent.errors import PlanError, RegressionError
from pytest_fairmedagent.plugin.assertions import ContrastUnderTest, check_action, id_of
from pytest_fairmedagent.plugin.parametrise import function_id
from pytest_fairmedagent.plugin.session import outcomes_of, registry_of, run_of, state
from pytest_fairmedagent.report.changed import bound_line, change_line, shared_lines
from pytest_fairmedagent.study import Study
from pytest_fairmedagent.verdict import UNMEASURED

Entry = Mapping[str, Any]

_COMPARED = pytest.StashKey[dict[int, tuple[Study, Entry]]]()


def assert_same_as_baseline(
    tested: ContrastUnderTest | Study, action: str | Outcome
) -> tuple[Entry, ...]:
    """Assert that an action has not got worse since `--fairmed-baseline`; return what was compared.

    Fails only for a regression beyond the noise of both runs: a signed gap that grew, or a floor
    that grew. With the fixture `contrast` that is its gap and the action's floor, with `study` the
    gaps of all swaps. What is not shown to be worse passes, and is not thereby shown to be equal:
    each entry says what change it could have seen. Without a baseline, or where the two runs do not
    share what is asked for, the item ends as UNMEASURED.

    Raises:
        RegressionError: for a gap or a floor that grew.
        PlanError: for an action that the plan does not register.
    """
    __tracebackhide__ = True
    contrast = tested if isinstance(tested, ContrastUnderTest) else None
    study = contrast.study if contrast else tested
    item = contrast.item if contrast else getattr(study, "asked_by", None)
    if not isinstance(study, Study) or not isinstance(item, pytest.Item):
        raise PlanError(
            f"assert_same_as_baseline got {type(tested).__name__} {tested!r}, expected the fixture "
            "'contrast' or 'study' of a test marked with @pytest.mark.fairmed(...)"
        )
    action = id_of(action)
    check_action(action, study, (*study.plan.actions, *study.plan.further))
    if registry_of(item.config).settings.baseline is None:
        told = "no baseline was given: --fairmed-baseline=RECORD.json"
        outcomes_of(item).append((UNMEASURED, told))
        return ()
    found = compared(item.config, study)
    mine = tuple(e for e in found["changes"] if e["action"] == action and _asked(e, contrast))
    wanted = {"gap", "floor"} - {e["kind"] for e in mine}
    if wanted:
        where = f", {contrast.swap}" if contrast else ""
        what = " and ".join(sorted(wanted))
        told = (
            f"the baseline cannot be compared on the {what} of {action}{where}: "
            f"{'; '.join(found['differs']) or 'too few answers in one of the runs'}"
        )
        outcomes_of(item).append((UNMEASURED, told))
    _state(item, action, mine)
    worse = [e for e in mine if e["change"] == "worse"]
    if worse and registry_of(item.config).gates(function_id(item)):
        outcomes_of(item).append(("REGRESSION", change_line(worse[0])))
        raise RegressionError(_failure(worse, found))
    outcomes_of(item).append(("", ""))
    return mine


def compared(config: pytest.Config, study: Study) -> Entry:
    """Return the comparison of a sampled study with its counterpart in the baseline, made once."""
    known = config.stash.setdefault(_COMPARED, {})
    if id(study) not in known:
        from pytest_fairmedagent.comparing.baseline import baseline_entry
        from pytest_fairmedagent.plugin.finish import own_record

        run = run_of(config)
        seat = next(seat for (seat, _), other in run.studies.items() if other is study)
        name = str(registry_of(config).settings.baseline)
        entry = baseline_entry(own_record(config, seat, study), run.baseline, name)
        known[id(study)] = study, entry["runs"][0]
    return known[id(study)][1]


def _asked(entry: Entry, contrast: ContrastUnderTest | None) -> bool:
    if entry["kind"] == "floor":
        return True
    if entry["kind"] != "gap":
        return False
    place = (entry["condition"], entry["vignette"])
    return contrast is None or place == (contrast.swap, contrast.vignette)


def _state(item: pytest.Item, action: str, entries: tuple[Entry, ...]) -> None:
    """State the numbers as properties of the item, for JUnit and other reporters."""
    numbers: dict[str, object] = {}
    for entry in entries:
        name = f"fairmed.{action}.baseline.{entry['kind']}"
        if entry["kind"] == "gap":
            name += f".{entry['condition']}"
        for key in ("a", "b", "difference", "p_adjusted", "change"):
            value = entry[key]
            numbers[f"{name}.{key}"] = round(value, 6) if isinstance(value, float) else value
    state(item, numbers)


def _failure(worse: list[Entry], found: Entry) -> str:
    return "\n".join([*map(change_line, worse), *shared_lines(found), bound_line(found)])
