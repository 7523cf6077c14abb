"""The plot of a line: evidence of each contrast after each run, on a log scale."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_fairmedagent.errors import PlanError

SUFFIXES = (".svg", ".png")
_MARKS = "osD^vPX*<>"


def plot_line(path: Path, line: dict[str, Any]) -> str:
    """Write the plot of one line of a history record; return a line that says where.

    One panel for each family, with the bar at which a contrast or swap is red. Raises PlanError for
    another suffix, where matplotlib is missing, or where the file cannot be written.
    """
    if path.suffix not in SUFFIXES:
        raise PlanError(f"--plot is {str(path)!r}, expected a name ending in .svg or .png")
    try:
        from matplotlib import rc_context
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator
    except ImportError as error:
        raise PlanError(
            '--plot needs matplotlib\n  pip install "pytest-fairmedagent[report]"'
        ) from error
    families = line["families"] or [{"name": "", "alpha": 0.05, "swaps": []}]
    # A fixed salt and no date: the same line gives the same file.
    with rc_context({"svg.hashsalt": "fairmed", "svg.fonttype": "none"}):
        figure = Figure(figsize=(8, 4.5 * len(families)), layout="constrained")
        FigureCanvasAgg(figure)
        for place, family in enumerate(families, start=1):
            axes = figure.add_subplot(len(families), 1, place)
            runs = range(1, len(line["runs"]) + 1)
            for number, swap in enumerate(family["swaps"]):
                mark = _MARKS[number % len(_MARKS)]
                name = f"{swap['swap']} (any)"
                axes.plot(runs, swap["e_adjusted"], marker=mark, linewidth=2, label=name)
                colour = axes.lines[-1].get_color()
                for contrast in swap["contrasts"]:
                    axes.plot(runs, contrast["e_adjusted"], color=colour, linewidth=0.7, alpha=0.6)
                    end = (len(runs), contrast["e_adjusted"][-1])
                    axes.annotate(contrast["action"], end, fontsize=6, color=colour)
            axes.axhline(1 / family["alpha"], color="0.3", linestyle="--", linewidth=1)
            axes.set_yscale("log")
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            axes.set_xlabel("runs of the line")
            axes.set_ylabel("e, adjusted in the family")
            axes.set_title(
                f"{family['name']}: red at {1 / family['alpha']:g} (dashed); falsely, ever, with "
                f"chance at most {family['alpha']:g}",
                fontsize=10,
            )
            if family["swaps"]:
                axes.legend(frameon=False, fontsize=8)
        try:
            figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else {})
        except OSError as error:
            raise PlanError(f"--plot: {path} cannot be written: {error.strerror}") from error
    return f"wrote {path}"
