"""Runs side by side in lines of text: the seats of a panel, or two records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_fairmedagent.report.changed import comparison_lines, value
from pytest_fairmedagent.report.numbers import ends, measured, rate, signed

Entry = Mapping[str, Any]

_LONG = 19  # of a name in a table; longer ones get a number and stand in a list above it
_WIDE = 2  # so many columns have room for intervals and whole verdicts
_SHORT = {"DISPARITY": "D", "EQUIVALENT": "E", "IDENTICAL": "=", "INCONCLUSIVE": "i"}
_MANY = 24  # contrasts side by side, unless all are asked for


def panel_lines(panel: Entry, *, verbose: bool = False) -> Iterator[str]:
    """Yield the tables of a panel: floors, contrasts, paired differences, rank agreement."""
    names = [seat["id"] for seat in panel["seats"] if seat["run"] is not None]
    yield f"side by side: {len(names)} of {len(panel['seats'])} models or decodings"
    for seat in panel["seats"]:
        if seat["run"] is None:
            yield f"  {seat['id']}: no run of its own: {seat['fault'] or 'its items did not run'}"
        elif seat["fault"]:
            yield f"  {seat['id']}: {seat['fault']}"
    yield from (f"  {note}" for note in panel.get("notes", ()))
    letters = _letters(names)
    yield from _tables(panel, letters, verbose)
    for a, b in dict.fromkeys(tuple(entry["of"]) for entry in panel["differences"]):
        mine = [e for e in panel["differences"] if e["of"] == [a, b]]
        yield from _differences(mine, letters[a], letters[b], verbose)
    yield from _agreement(panel["agreement"], letters)
    if panel["differences"]:
        yield (
            "  Nothing here fails: q by Benjamini and Hochberg within two runs and a kind of "
            "reading. Each run has a floor of its own, and none is carried over."
        )


def compared_lines(record: Entry, *, verbose: bool = False) -> Iterator[str]:
    """Yield two records side by side, and what changed from the first to the second."""
    for when in ("before", "after"):
        yield f"{when:<7} {record[when]['file']} of {record[when]['created']}"
    letters = _letters([name for run in record["runs"] for name in (run["a"], run["b"])])
    yield from _tables(record, letters, verbose)
    yield from _agreement(record["agreement"], letters)
    for run in record["runs"]:
        yield ""
        yield "what changed"
        yield from comparison_lines(run, several=len(record["runs"]) > 1, verbose=verbose)


def _tables(tables: Entry, letters: Mapping[str, str], verbose: bool) -> Iterator[str]:
    for name, letter in letters.items():
        if letter != name:
            yield f"  {letter} = {name}"
    yield from _floors(tables["floors"], letters)
    yield from _contrasts(tables["contrasts"], letters, verbose)
    yield from _outcomes(tables.get("outcomes", ()), letters, verbose)
    yield from (f"  not here: {text}" for text in tables.get("left_out", ()))


def _agreement(entries: Sequence[Entry], letters: Mapping[str, str]) -> Iterator[str]:
    for entry in entries:
        if entry["actions"] < 2:
            continue
        a, b = (letters[name] for name in entry["of"])
        head = f"  order of the {entry['actions']} actions by floor, {a} and {b}: "
        if entry["kendall_tau_b"] is None:
            yield f"{head}none, for all floors of one are the same"
        else:
            yield (
                f"{head}Kendall tau-b {signed(entry['kendall_tau_b'])}, Spearman "
                f"{signed(entry['spearman'])} (described, not tested)"
            )


def _letters(names: Sequence[str]) -> dict[str, str]:
    """Return what stands for each name in tables: itself, or a number where one is long."""
    names = list(dict.fromkeys(names))
    if len(names) <= _WIDE and all(len(name) <= _LONG for name in names):
        return {name: name for name in names}
    return {name: f"({number})" for number, name in enumerate(names, start=1)}


def _floors(floors: Sequence[Entry], letters: Mapping[str, str]) -> Iterator[str]:
    wide = len(letters) <= _WIDE
    width = 21 if wide else 6
    yield ""
    yield "  instability floor (reference arm)"
    yield f"    {'action':<16}" + "".join(f" {letter:>{width}}" for letter in letters.values())
    for entry in floors:
        cells = []
        for name in letters:
            found = entry["seats"].get(name)
            told = "-"
            if found and found["floor"] is not None:
                told = rate(found["floor"])
                told += f" {ends(found['interval'], '.3f')}" if wide else ""
            cells.append(f" {told:>{width}}")
        yield f"    {entry['action']:<16}" + "".join(cells)


def _contrasts(
    contrasts: Sequence[Entry], letters: Mapping[str, str], verbose: bool
) -> Iterator[str]:
    if not contrasts:
        return
    wide = len(letters) <= _WIDE
    width = _LONG if wide else 8
    yield ""
    short = ", ".join(f"{letter} {name}" for name, letter in _SHORT.items())
    yield "  signed gaps and verdicts" + ("" if wide else f" ({short}, u UNMEASURED)")
    yield f"    {'action':<14} {'swap':<20}" + "".join(f" {x:>{width}}" for x in letters.values())
    shown = contrasts if verbose else contrasts[:_MANY]
    for entry in shown:
        cells = []
        for name in letters:
            found = entry["seats"].get(name)
            told = "-"
            if found:
                verdict = found["verdict"]
                told = f"{signed(found['gap'])} {verdict if wide else _SHORT.get(verdict, 'u')}"
            cells.append(f" {told:>{width}}")
        where = f" {entry['vignette']}" if entry["vignette"] else ""
        yield f"    {entry['action']:<14} {entry['condition']:<20}" + "".join(cells) + where
    if len(contrasts) > len(shown):
        yield f"    ... {len(contrasts) - len(shown)} more with -v, and all in the record"


def _outcomes(
    outcomes: Sequence[Entry], letters: Mapping[str, str], verbose: bool
) -> Iterator[str]:
    if not outcomes:
        return
    yield ""
    yield "  other outcomes: gap in their units and verdict (not tested against each other)"
    for entry in outcomes if verbose else outcomes[:_MANY]:
        where = f" {entry['vignette']}" if entry["vignette"] else ""
        yield f"    {entry['outcome']}, {entry['condition']}{where}"
        told = []
        for name, letter in letters.items():
            found = entry["seats"].get(name)
            if found is None:
                told.append(f"{letter} not run")
                continue
            member = f" of {found['member']}" if found["member"] else ""
            gap = measured(found["gap"], entry["unit"])
            told.append(f"{letter} {gap}{member} {found['verdict']}")
        yield f"      {'; '.join(told)}"
    if len(outcomes) > _MANY and not verbose:
        yield f"    ... {len(outcomes) - _MANY} more with -v, and all in the record"


def _differences(entries: Sequence[Entry], a: str, b: str, verbose: bool) -> Iterator[str]:
    yield ""
    yield f"  {b} less {a}, on the same vignettes (n)"
    for entry in entries:
        if entry["kind"] != "floor":
            continue
        removed = _removed(entry)
        left = f", {entry['left_out']} left out" if entry["left_out"] else ""
        yield (
            f"    floor {entry['action']:<14} {signed(entry['difference'])} "
            f"{ends(entry['interval'])}{removed}; {value(entry)}, {_n(entry)}{left}"
        )
    others = [entry for entry in entries if entry["kind"] != "floor"]
    telling = [e for e in others if verbose or (e.get("q") is not None and e["q"] <= 0.1)]
    for entry in telling:
        yield (
            f"    {entry['kind']:<5} {entry['action']:<14} {entry['condition']:<20} "
            f"{signed(entry['difference'])} {ends(entry['interval'])} {value(entry)}, {_n(entry)}"
        )
    quiet = len(others) - len(telling)
    if quiet:
        yield f"    {quiet} differences of rates and gaps with q above 0.1: -v shows them"


def _removed(entry: Entry) -> str:
    """Return how much of the first floor is gone in the second, or how much there is more."""
    share, (low, high) = entry["removed"], entry["removed_interval"]
    if share is None:
        return ""
    word = "gone"
    if share < 0:  # "-333 % gone" is no English
        word, share = "more", -share
        low, high = (None if end is None else -end for end in (high, low))
    told = f"; {_percent(share)} % {word}"
    if low is not None and high is not None:
        told += f" [{_percent(low)}, {_percent(high)}]"
    return told


def _percent(share: float) -> str:
    return f"{100 * share:.0f}".replace("-", "\N{MINUS SIGN}")


def _n(entry: Entry) -> str:
    return f"n={entry['vignettes']}"
