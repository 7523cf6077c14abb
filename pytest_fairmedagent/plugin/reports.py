"""What an item's report says beyond pytest's own: its category, its time without sampling."""

from __future__ import annotations

import pytest

from pytest_fairmedagent.plugin.session import SAMPLING_S


def without_sampling(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Take the time of sampling out of the item's duration: it was spent for the whole session."""
    sampling_s = item.stash.get(SAMPLING_S, 0.0)
    item.stash[SAMPLING_S] = 0.0  # it lay in this phase, and in no other
    call.duration = max(0.0, call.duration - sampling_s)


def categorise(report: pytest.TestReport, call: pytest.CallInfo[None]) -> pytest.TestReport:
    """Mark the report of an item that ended as inconclusive, unmeasured or exploratory."""
    if call.excinfo is not None:
        category = getattr(call.excinfo.value, "fairmed_category", None)
        if category is not None:
            report.fairmed_category = category  # type: ignore[attr-defined]
    return report
