"""Which plots stand on the page, and what is said of each to who cannot see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_fairmedagent.report.plots import flip_plot, floor_plot, forest_plot
from pytest_fairmedagent.report.sentences import count
from pytest_fairmedagent.report.text import short
from pytest_fairmedagent.verdict import SEVERITY

Record = Mapping[str, Any]

MOST_PANELS = 15  # swaps that have a panel of their own
MOST_LINES = 12  # contrasts in a panel
MOST_ALONE = 30  # contrasts in the one panel of a family that is too large for panels


def floor_figures(floors: Sequence[Record], name: str) -> dict[str, Any]:
    """Return the plot of floors, for wide and for narrow pages."""
    text = "; ".join(
        f"{short(f['label'], 40)} {f['floor']:.3f}" for f in floors if f["floor"] is not None
    )
    return {
        width: _markup(
            floor_plot(
                floors,
                title="Instability floor by action",
                text=f"Floors with 95 % intervals, as in the table beside: {text}.",
                name=f"{name}-{width}",
                narrow=width == "narrow",
            )
        )
        for width in ("wide", "narrow")
    }


def family_figures(family: Record, contrasts: Sequence[Record], name: str) -> dict[str, Any]:
    """Return the forest plot of a family, wide and narrow, and its flip rates against floors."""
    panels, left_out = _panels(family, contrasts)
    counts = [
        f"{sum(c['verdict'] == s for c in contrasts)} {s.lower()}"
        for s in SEVERITY
        if any(c["verdict"] == s for c in contrasts)
    ]
    text = (
        f"{count(len(contrasts), 'contrast')}: {', '.join(counts)}. The numbers are in the table."
    )
    forest = {
        width: _markup(
            forest_plot(
                panels,
                title="Signed gaps with 95 % intervals over the noise band of the floor",
                text=text,
                name=f"{name}-forest-{width}",
                narrow=width == "narrow",
            )
        )
        for width in ("wide", "narrow")
    }
    flips = flip_plot(
        sorted(contrasts, key=lambda c: SEVERITY.index(c["verdict"]))[:400],
        title="Flip rate against floor",
        text=f"One mark for each contrast. {text}",
        name=f"{name}-flips",
    )
    return {"forest": forest, "forest_left_out": left_out, "flips": _markup(flips)}


def _panels(
    family: Record, contrasts: Sequence[Record]
) -> tuple[list[tuple[str, list[dict[str, Any]]]], int]:
    """Return a panel for each swap, or the most telling contrasts alone; and how many are left."""
    swaps = [s for s in family["swaps"] if any(c["condition"] == s for c in contrasts)]
    panels = [
        (swap, [{**c, "label": _label(c)} for c in contrasts if c["condition"] == swap])
        for swap in swaps
    ]
    if len(panels) <= MOST_PANELS and all(len(lines) <= MOST_LINES for _, lines in panels):
        return panels, 0
    ordered = sorted(contrasts, key=lambda c: (SEVERITY.index(c["verdict"]), -abs(c["gap"] or 0.0)))
    told = [
        {**c, "label": f"{short(c['condition'], 20)} · {_label(c)}"} for c in ordered[:MOST_ALONE]
    ]
    return [("the most telling contrasts", told)], len(contrasts) - len(told)


def _label(contrast: Record) -> str:
    action = short(contrast["action"], 28)
    return f"{action} · {short(contrast['vignette'], 28)}" if contrast["vignette"] else action


def _markup(svg: str) -> Any:
    from markupsafe import Markup

    return Markup(svg)  # noqa: S704 - matplotlib and we have escaped what is in it
