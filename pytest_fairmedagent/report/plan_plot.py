"""The plot of a plan: the smallest gap that is found, against the trajectories that it takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_fairmedagent.errors import PlanError
from pytest_fairmedagent.planning import Design, Gate

SUFFIXES = (".svg", ".png")
# What a line is, its mark and its stroke: it is not told by colour alone.
_LINES = (
    ("smallest gap that is found in one action", "o", "-"),
    ("smallest gap that is found in all actions of a swap", "^", "-."),
    ("smallest margin that all are shown inside", "s", "--"),
)


def plot_plan(
    path: Path, gate: Gate, *, n_vignettes: int, n_arms: int, chosen: Design | None
) -> str:
    """Write the plot for a number of vignettes; return a line that says where.

    Lines for the gap that is found in one action and in all, and where it has a formula, one for
    the margin that all are shown inside; their points are replicates. Raises PlanError for another
    suffix, where matplotlib is missing, or where the file cannot be written.
    """
    if path.suffix not in SUFFIXES:
        raise PlanError(f"--plot is {str(path)!r}, expected a name ending in .svg or .png")
    try:
        from matplotlib import rc_context
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise PlanError(
            '--plot needs matplotlib\n  pip install "pytest-fairmedagent[report]"'
        ) from error
    # A fixed salt and no date: the same plan gives the same file.
    with rc_context({"svg.hashsalt": "fairmed", "svg.fonttype": "none"}):
        figure = Figure(figsize=(7, 4.5), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        replicates = _replicates(chosen)
        scale = n_vignettes * n_arms
        found = {r: gate.detectable(n_vignettes, r) for r in replicates}
        wide = {r: gate.detectable(n_vignettes, r, every=True) for r in replicates}
        provable = {r: gate.provable(n_vignettes, r) for r in replicates}
        shown = {r: margin for r, margin in provable.items() if margin is not None}
        for (label, mark, style), points in zip(_LINES, (found, wide, shown), strict=True):
            if points:
                x, y = [r * scale for r in points], list(points.values())
                axes.plot(x, y, marker=mark, linestyle=style, markersize=5, label=label)
        below: Any = {"xytext": (0, -13), "textcoords": "offset points", "ha": "center"}
        for r, gap in found.items():
            axes.annotate(f"R={r}", (r * scale, gap), fontsize=7, color="0.3", **below)
        if chosen is not None and chosen.n_vignettes == n_vignettes:
            axes.axvline(chosen.trajectories, color="0.4", linestyle=":", linewidth=1.2)
        axes.set_xscale("log")
        axes.set_ylim(0, None)
        axes.set_xlabel(f"trajectories: {n_vignettes} vignettes x R replicates x {n_arms} arms")
        axes.set_ylabel("signed gap")
        axes.set_title(
            f"floor {gate.floor:.3f}, {gate.n_members} contrasts at {gate.alpha:g}, power "
            f"{gate.power:g}",
            fontsize=10,
        )
        axes.grid(visible=True, color="0.9")
        axes.legend(frameon=False)
        try:
            figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else {})
        except OSError as error:
            raise PlanError(f"--plot: {path} cannot be written: {error.strerror}") from error
    return f"wrote {path}"


def _replicates(chosen: Design | None) -> list[int]:
    most = 2 * chosen.replicates if chosen else 0
    return [r for r in (3, 5, 8, 12, 20, 40, 80, 160, 400, 1000) if r <= max(40, most)]
