"""The plots of a report, as SVG that takes its colours and its font from the page around it.

Every plot is a view of numbers that stand in a table beside it. The same record gives the same
bytes, as long as matplotlib is the same.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from pytest_fairmedagent.report.text import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Record = Mapping[str, Any]

# Colours that stand for roles; the page's style sheet says what they are, by day and by night.
_ROLES = {
    "ink": "#010101",
    "muted": "#020202",
    "line": "#030303",
    "band": "#040404",
    "paper": "#050505",
    "disparity": "#060606",
    "equivalent": "#070707",
    "identical": "#080808",
    "inconclusive": "#090909",
    "unmeasured": "#0a0a0a",
}
_MARKERS = {
    "DISPARITY": "D",
    "EQUIVALENT": "o",
    "IDENTICAL": "s",
    "INCONCLUSIVE": "o",
    "UNMEASURED": "X",
}
_HOLLOW = ("INCONCLUSIVE",)
_ROW = 0.27  # inches that one line of a plot takes
_WIDE, _NARROW = 9.6, 4.3


def forest_plot(
    panels: Sequence[tuple[str, Sequence[Record]]],
    *,
    title: str,
    text: str,
    name: str,
    narrow: bool,
) -> str:
    """Return signed gaps with their intervals, over the band that the floor explains.

    A panel is a heading with its contrasts; contrasts without a measured gap show as empty lines.
    """
    columns = 1 if narrow else min(3, len(panels))
    lines = -(-len(panels) // columns)
    rows = max(len(contrasts) for _, contrasts in panels)
    scales = lines > 2  # then each panel has its own, for the last may be a page away
    height = lines * (rows * _ROW + (0.85 if scales else 0.62)) + 0.25
    with _style():
        figure = _figure(_NARROW if narrow else _WIDE, height)
        figure.set_layout_engine("constrained", wspace=0.08)  # tick labels need room between
        grid = figure.subplots(lines, columns, squeeze=False, sharex=True)
        limit = _limit([c for _, contrasts in panels for c in contrasts])
        for index, axes in enumerate(grid.flat):
            if index >= len(panels):
                axes.set_visible(False)
                continue
            heading, contrasts = panels[index]
            # Where all panels have the same lines, their names stand once on every line of panels.
            first = index % columns == 0 or not _alike(panels)
            _forest(axes, heading, contrasts, limit, labelled=first)
            axes.tick_params(labelbottom=scales or index + columns >= len(panels))
        return _svg(figure, title=title, text=text, name=name)


def _alike(panels: Sequence[tuple[str, Sequence[Record]]]) -> bool:
    return len({tuple(c["label"] for c in contrasts) for _, contrasts in panels}) == 1


def _limit(contrasts: Sequence[Record]) -> float:
    ends: list[float] = [abs(end) for c in contrasts for end in c["interval"] if end is not None]
    ends += [c["noise"] or 0.0 for c in contrasts] + [c["margin"] or 0.0 for c in contrasts]
    return min(1.0, 1.08 * max([*ends, 0.05]))


def _forest(
    axes: Axes, heading: str, contrasts: Sequence[Record], limit: float, *, labelled: bool
) -> None:
    axes.set_title(short(heading, 30), loc="left", parse_math=False)
    axes.set_xlim(-limit, limit)
    axes.set_ylim(len(contrasts) - 0.4, -0.6)
    axes.axvline(0, color=_ROLES["muted"], linewidth=0.8)
    for margin in {c["margin"] for c in contrasts if c["margin"]}:
        for end in (-margin, margin):
            axes.axvline(end, color=_ROLES["muted"], linewidth=0.8, linestyle=(0, (2, 3)))
    for y, contrast in enumerate(contrasts):
        noise, (low, high) = contrast["noise"], contrast["interval"]
        if noise is not None:
            axes.barh(y, 2 * noise, left=-noise, height=0.72, color=_ROLES["band"], zorder=0)
        if contrast["gap"] is not None and low is not None:
            colour = _ROLES[contrast["verdict"].lower()]
            axes.plot([low, high], [y, y], color=colour, linewidth=1.4, solid_capstyle="butt")
            _point(axes, contrast["gap"], y, contrast["verdict"])
    labels = [short(c["label"], 28) for c in contrasts] if labelled else []
    axes.set_yticks(range(len(contrasts)) if labelled else [])
    for label in axes.set_yticklabels(labels) if labelled else []:
        label.set_parse_math(False)
    _bare(axes)


def floor_plot(floors: Sequence[Record], *, title: str, text: str, name: str, narrow: bool) -> str:
    """Return the floor of every action with its interval."""
    with _style():
        figure = _figure(_NARROW if narrow else _WIDE, len(floors) * _ROW + 0.5)
        axes = figure.subplots()
        for y, floor in enumerate(floors):
            if floor["floor"] is None:
                continue
            low, high = floor["interval"]
            colour = _ROLES["ink"] if floor["label"] != "pooled" else _ROLES["muted"]
            axes.plot([low, high], [y, y], color=colour, linewidth=1.4, solid_capstyle="butt")
            axes.plot([floor["floor"]], [y], "o", color=colour, markersize=6)
        axes.set_ylim(len(floors) - 0.4, -0.6)
        axes.set_xlim(0, max([0.1, *(1.05 * f["interval"][1] for f in floors if f["interval"][1])]))
        axes.set_yticks(range(len(floors)))
        for label in axes.set_yticklabels([short(f["label"], 28) for f in floors]):
            label.set_parse_math(False)
        _bare(axes)
        return _svg(figure, title=title, text=text, name=name)


def flip_plot(contrasts: Sequence[Record], *, title: str, text: str, name: str) -> str:
    """Return flip rates against floors; on the diagonal a flip is what a rerun does too."""
    with _style():
        figure = _figure(_NARROW, _NARROW * 0.8)
        axes = figure.subplots()
        known = [c for c in contrasts if c["floor"] is not None and c["flip_rate"] is not None]
        most = max([0.1, *(c["floor"] for c in known), *(c["flip_rate"] for c in known)]) * 1.08
        axes.plot([0, most], [0, most], color=_ROLES["muted"], linewidth=0.8, linestyle=(0, (2, 3)))
        for contrast in reversed(known):  # what matters most is drawn last, above the others
            _point(axes, contrast["floor"], contrast["flip_rate"], contrast["verdict"])
        axes.set_xlim(0, most)
        axes.set_ylim(0, most)
        axes.set_xlabel("floor")
        axes.set_ylabel("flip rate")
        _bare(axes)
        axes.yaxis.set_major_locator(_ticks())
        axes.tick_params(axis="y", labelcolor=_ROLES["muted"])
        axes.grid(visible=True, axis="y")
        return _svg(figure, title=title, text=text, name=name)


def _point(axes: Axes, x: float, y: float, verdict: str) -> None:
    colour = _ROLES[verdict.lower()]
    axes.plot(
        [x],
        [y],
        _MARKERS[verdict],
        markersize=6.5 if verdict == "DISPARITY" else 6,
        markeredgecolor=colour,
        markeredgewidth=1.3,
        markerfacecolor=_ROLES["paper"] if verdict in _HOLLOW else colour,
        zorder=4,
    )


def _bare(axes: Axes) -> None:
    axes.tick_params(length=0, pad=5)
    axes.grid(visible=True, axis="x")
    for side in axes.spines.values():
        side.set_visible(False)
    axes.xaxis.set_major_locator(_ticks())


def _ticks() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins=5, steps=[1, 2, 5, 10])


def _style() -> Any:
    import matplotlib

    return matplotlib.rc_context(
        {
            "svg.hashsalt": "fairmed",
            "svg.fonttype": "none",
            "font.size": 10.5,
            "axes.titlesize": 10.5,
            "axes.titleweight": "bold",
            "axes.labelsize": 10.5,
            "axes.axisbelow": True,
            "text.color": _ROLES["ink"],
            "axes.titlecolor": _ROLES["ink"],
            "axes.labelcolor": _ROLES["muted"],
            "xtick.color": _ROLES["muted"],
            "ytick.color": _ROLES["ink"],
            "grid.color": _ROLES["line"],
            "grid.linewidth": 0.7,
        }
    )


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    figure.patch.set_visible(False)
    return figure


def _svg(figure: Figure, *, title: str, text: str, name: str) -> str:
    """Return the figure as an element of a page, with a name and a description to be read out."""
    for axes in figure.axes:
        axes.patch.set_visible(False)
    file = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(file, format="svg", metadata=nothing)
    drawn = file.getvalue()
    box = re.search(r'viewBox="([^"]+)"', drawn)
    inner = drawn[drawn.index(">", drawn.index("<svg")) + 1 : drawn.rindex("</svg>")]
    roles = {colour: role for role, colour in _ROLES.items()}
    inner = re.sub(
        r"\b(fill|stroke): (#0[0-9a]0[0-9a]0[0-9a])",
        lambda hit: f"{hit[1]}: var(--{roles.get(hit[2], 'ink')})",
        inner,
    )
    inner = re.sub(r"<style.*?</style>|<metadata>.*?</metadata>", "", inner, flags=re.DOTALL)
    # Both ways in which versions of matplotlib name their fonts.
    inner = re.sub(r"font-family: [^;\"]*", "font-family: inherit", inner)
    inner = re.sub(r"(font: [^;\"']*?px) [^;\"]*", r"\1 inherit", inner)
    inner = re.sub(r"(\d\.\d\d)\d+\b", r"\1", inner)  # hundredths of a point are enough
    inner = re.sub(r'\b(id="|url\(#|href="#)', rf"\1{name}-", inner)  # no id twice on the page
    return (
        f'<svg class="plot" role="img" aria-labelledby="{name}-title {name}-text" '
        f'viewBox="{box[1] if box else "0 0 1 1"}" xmlns="http://www.w3.org/2000/svg" '
        f'xmlns:xlink="http://www.w3.org/1999/xlink"><title id="{name}-title">{escape(title)}'
        f'</title><desc id="{name}-text">{escape(text)}</desc>{inner.strip()}</svg>'
    )
