"""The table of contrasts in a terminal: a line for each, in narrow ones under its swap."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_fairmedagent.report.text import clean
from pytest_fairmedagent.report.wholes import notes_of, place, said_of

Record = dict[str, Any]

# Columns of a line without the names of action and swap, wide and narrow.
_WIDE, _NARROW = 70, 66
_SAID = 45  # of what is said of a swap as a whole, between its name and its p


def contrast_lines(
    contrasts: Sequence[Record],
    wholes: Mapping[tuple[Any, ...], Record],
    *,
    gating: bool,
    verbose: bool,
    width: int,
) -> Iterator[str]:
    """Yield the contrasts of a family in at most `width` columns, 80 at least.

    Above those of a swap stands the swap as a whole, where `wholes` has it (see `wholes.place`).
    Where the names of swaps and actions leave no room for a line, contrasts stand under the name of
    their swap, and where even an action's name is too long, their numbers stand below it. No number
    is left out.
    """
    actions = max([14, *(len(clean(c["action"])) for c in contrasts)])
    swaps = max([20, *(len(clean(c["condition"])) for c in contrasts)])
    vignettes = max((len(clean(c["vignette"] or "")) for c in contrasts), default=0)
    p = "p adj" if gating else "q"
    if _WIDE + actions + swaps + (2 + vignettes if vignettes else 0) <= width:
        head = f"  {'verdict':<12} {'action':<{actions}} {'swap':<{swaps}} {'gap':>5} "
        yield f"{head}{'95 % interval':>15} {'flips':>5} {'floor':>5} {'b':>5} {'c':>5} {p:>7}"
        above = None
        for contrast in contrasts:
            if place(contrast) != above:
                above = place(contrast)
                yield from _whole(wholes.get(above), actions, swaps)
            yield _wide(contrast, actions, swaps)
            yield from _notes(contrast, verbose)
        return
    stacked = _NARROW + actions > width
    head = f"  {'verdict':<12} {'action':<{0 if stacked else actions}}"
    numbers = (
        f" {'gap':>5} {'95 % interval':>14} {'flips':>5} {'floor':>5} {'b':>4} {'c':>4} {p:>7}"
    )
    yield from (head.rstrip(), f"      {numbers}") if stacked else (head + numbers,)
    above = None
    for contrast in contrasts:
        if place(contrast) != above:
            above = place(contrast)
            where = f", on {contrast['vignette']}" if contrast["vignette"] else ""
            yield f"  -- {contrast['condition']} vs {contrast['reference']}{where}"
            if above in wholes:
                whole = wholes[above]
                told = f"any of {len(whole['outcomes'])}: {said_of(whole, _SAID)}"
                yield f"  {whole['verdict']:<12} {told}, p adj {chance(whole['p_adjusted'])}"
                yield from (f"      {text}" for text in notes_of(whole))
        name = f"  {contrast['verdict']:<12} {contrast['action']:<{0 if stacked else actions}}"
        row = f" {_narrow(contrast)}"
        yield from (name, f"      {row}") if stacked else (name + row,)
        yield from _notes(contrast, verbose)


def _whole(whole: Record | None, actions: int, swaps: int) -> Iterator[str]:
    """Yield the row of a swap as a whole: its p stands in the column of its outcomes' p."""
    if whole is None:
        return
    what = f"any of {len(whole['outcomes'])}"
    names = f"  {whole['verdict']:<12} {what:<{actions}} {whole['condition']:<{swaps}}"
    row = f"{names} {said_of(whole, _SAID):<{_SAID}}"
    yield f"{row} {chance(whole['p_adjusted']):>7}" + (
        f"  {whole['vignette']}" if whole["vignette"] else ""
    )
    yield from (f"      {text}" for text in notes_of(whole))


def _notes(contrast: Record, verbose: bool) -> Iterator[str]:
    telling = contrast["verdict"] in ("DISPARITY", "UNMEASURED") or verbose
    for text in (*(contrast["reasons"] if telling else ()), *contrast["flags"]):
        yield f"      {text}"


def _wide(contrast: Record, actions: int, swaps: int) -> str:
    names = f"  {contrast['verdict']:<12} {contrast['action']:<{actions}} "
    names += f"{contrast['condition']:<{swaps}}"
    row = (
        f"{names} {signed(contrast['gap']):>5} {_interval(contrast):>15} "
        f"{_rate(contrast['flip_rate']):>5} {_rate(contrast['floor']):>5} "
        f"{_count(contrast['b']):>5} {_count(contrast['c']):>5} {p_or_q(contrast):>7}"
    )
    if contrast["vignette"]:
        row += f"  {contrast['vignette']}"
    return row.rstrip()


def _narrow(contrast: Record) -> str:
    return (
        f"{signed(contrast['gap']):>5} {_interval(contrast):>14} "
        f"{_rate(contrast['flip_rate']):>5} {_rate(contrast['floor']):>5} "
        f"{_short_count(contrast['b']):>4} {_short_count(contrast['c']):>4} {p_or_q(contrast):>7}"
    )


def _interval(contrast: Record) -> str:
    low, high = contrast["interval"]
    return "-" if low is None or high is None else f"[{low:+.2f}, {high:+.2f}]"


def p_or_q(contrast: Record) -> str:
    """Return the adjusted p-value of a contrast that gates, the q-value of an exploratory one."""
    return chance(contrast["p_adjusted"] if contrast["q"] is None else contrast["q"])


def signed(value: float | None) -> str:
    """Return a signed gap with two digits."""
    return "-" if value is None else f"{value:+.2f}"


def chance(p: float | None) -> str:
    """Return a p-value in at most seven characters."""
    if p is None:
        return "-"
    return "1" if p >= 0.9995 else f"{p:.4f}" if p >= 0.00095 else f"{p:.1e}"


def _rate(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _count(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _short_count(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}" if value >= 99.95 else f"{value:.1f}"
