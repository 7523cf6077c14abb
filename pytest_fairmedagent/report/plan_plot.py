"""The plot of a plan: the smallest gap that is found, against the trajectories that it takes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pytest_fairmedagent.errors import PlanError
from pytest_fairmedagent.planning import Design, Gate

SUFFIXES = (".svg", ".png")
_MARKS = ("o", "s", "^", "D")  # a line is told by its mark too, not by its colour alone


def plot_plan(
    path: Path,
    gate: Gate,
    *,
    n_arms: int,
    vignettes: Sequence[int],
    chosen: Design | None,
    gap: float | None,
) -> str:
    """Write the plot, and return a line that says where. One line for each number of vignettes.

    Raises PlanError for another suffix, where matplotlib is missing, or where it cannot be written.
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
        for number, n in enumerate(sorted(set(vignettes))):
            replicates = _replicates(chosen)
            x = [n * r * n_arms for r in replicates]
            y = [gate.detectable(n, r) for r in replicates]
            mark = _MARKS[number % len(_MARKS)]
            axes.plot(x, y, marker=mark, markersize=4, linewidth=1.2, label=f"{n} vignettes")
        if gap is not None:
            axes.axhline(gap, color="0.4", linestyle="--", linewidth=1)
            axes.annotate(f"gap {gap:g}", (0.99, gap), xycoords=("axes fraction", "data"),
                          ha="right", va="bottom", color="0.3")  # fmt: skip
        if chosen is not None:
            axes.plot(
                [chosen.trajectories],
                [gate.detectable(chosen.n_vignettes, chosen.replicates)],
                marker="*",
                markersize=14,
                color="black",
                linestyle="none",
                label=f"{chosen.n_vignettes} x {chosen.replicates} in {n_arms} arms",
            )
        axes.set_xscale("log")
        axes.set_ylim(0, None)
        axes.set_xlabel(f"trajectories ({n_arms} arms)")
        axes.set_ylabel("smallest signed gap that is found")
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
    usual = [2, 3, 4, 5, 7, 10, 15, 20, 30, 50]
    most = chosen.replicates if chosen else 0
    return [*usual, *(r for r in (80, 120, 200, 400, 800, 1600) if r <= 2 * most)]
