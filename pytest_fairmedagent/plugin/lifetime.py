"""The gate over its life: red where the runs of a line together show what one run does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_fairmedagent.domain import Contrast
from pytest_fairmedagent.plugin.session import registry_of
from pytest_fairmedagent.study import Study

if TYPE_CHECKING:
    from pytest_fairmedagent.analysis.lifetime import FamilyLife, Line, SwapLife

_LINES = pytest.StashKey[dict[int, "Line | None"]]()


def line_of(config: pytest.Config, study: Study) -> Line | None:
    """Return the line of a judged study, its run included; None where the plan does not ask.

    None too for a recording, which has no ledger.
    """
    if not registry_of(config).registered.file.lifetime:
        return None
    known = config.stash.setdefault(_LINES, {})
    if id(study) not in known:
        known[id(study)] = _read(study)
    return known[id(study)]


def _read(study: Study) -> Line | None:
    from pytest_fairmedagent.analysis.lifetime import lines_of

    place = study.place
    if place is None or study.store is None:
        return None
    study.judge()
    with study.store.reopened() as store:
        entries = store.entries(design=place.design, cases=place.cases, line=place.line)
    return next(iter(lines_of(entries)), None)


def red_over_life(config: pytest.Config, study: Study, contrast: Contrast) -> str:
    """Return why a contrast is red over its line, in one sentence; "" where it is not.

    A swap that is red without a single action of its own is red in all of them.
    """
    for family, swap in _red(line_of(config, study)):
        mine = (swap.swap, swap.vignette) == (contrast.swap, contrast.vignette)
        if family.terms.name == contrast.family and mine:
            named = [life.contrast for life in family.names(swap)]
            if not named or contrast in named:
                return _told(line_of(config, study), family, swap)
    return ""


def life_entry(config: pytest.Config, study: Study) -> dict[str, Any] | None:
    """Return what a record says of the line of its run; None where the plan does not ask."""
    from pytest_fairmedagent.report.lines import quiet_sentence

    line = line_of(config, study)
    if line is None:
        return None
    red = [_told(line, family, swap) for family, swap in _red(line)]
    return {
        "runs": len(line.runs),
        "bound": line.bound,
        "red": bool(red),
        "text": red or [quiet_sentence(line)],
    }


def _red(line: Line | None) -> list[tuple[FamilyLife, SwapLife]]:
    return [
        (family, swap)
        for family in (line.families if line else ())
        for swap in family.swaps
        if family.terms.gating and family.red(swap) is not None
    ]


def _told(line: Line | None, family: FamilyLife, swap: SwapLife) -> str:
    from pytest_fairmedagent.report.lines import red_sentence

    assert line is not None  # noqa: S101 - something in it is red
    return red_sentence(line, family, swap)
