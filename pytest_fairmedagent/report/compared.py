"""Comparisons of runs in lines of text: of the seats of a panel, and with a baseline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_fairmedagent.report.numbers import chance, ends, rate, signed

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
            yield f"  {seat['id']}: nothing was drawn: {seat['fault'] or 'its items did not run'}"
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


def _agreement(entries: Sequence[Entry], letters: Mapping[str, str]) -> Iterator[str]:
    for entry in entries:
        if entry["kendall_tau_b"] is not None or entry["spearman"] is not None:
            a, b = (letters[name] for name in entry["of"])
            yield (
                f"  order of the {entry['actions']} actions by floor, {a} and {b}: Kendall tau-b "
                f"{signed(entry['kendall_tau_b'])}, Spearman {signed(entry['spearman'])} "
                "(described, not tested)"
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


def _differences(entries: Sequence[Entry], a: str, b: str, verbose: bool) -> Iterator[str]:
    yield ""
    yield f"  {b} less {a}, on the same vignettes (n)"
    for entry in entries:
        if entry["kind"] != "floor":
            continue
        removed = ""
        if entry["removed"] is not None:
            removed = f"; {_percent(entry['removed'])} % gone"
            low, high = entry["removed_interval"]
            if low is not None and high is not None:
                removed += f" [{_percent(low)}, {_percent(high)}]"
        left = f", {entry['left_out']} left out" if entry["left_out"] else ""
        yield (
            f"    floor {entry['action']:<14} {signed(entry['difference'])} "
            f"{ends(entry['interval'])}{removed}; {_value(entry)}, {_n(entry)}{left}"
        )
    others = [entry for entry in entries if entry["kind"] != "floor"]
    telling = [e for e in others if verbose or (e.get("q") is not None and e["q"] <= 0.1)]
    for entry in telling:
        yield (
            f"    {entry['kind']:<5} {entry['action']:<14} {entry['condition']:<20} "
            f"{signed(entry['difference'])} {ends(entry['interval'])} {_value(entry)}, {_n(entry)}"
        )
    quiet = len(others) - len(telling)
    if quiet:
        yield f"    {quiet} differences of rates and gaps with q above 0.1: -v shows them"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}".replace("-", "\N{MINUS SIGN}")


def _n(entry: Entry) -> str:
    return f"n={entry['vignettes']}"


def _value(entry: Entry) -> str:
    if entry.get("q") is not None:
        return f"q={chance(entry['q'])}"
    if entry.get("p_adjusted") is not None:
        return f"p={chance(entry['p_adjusted'])}"
    return "not tested"


def baseline_lines(baseline: Entry, *, verbose: bool = False) -> Iterator[str]:
    """Yield what a run and its baseline have come to."""
    yield f"compared with {baseline['file']} of {baseline['created']}"
    for run in baseline["runs"]:
        yield from comparison_lines(run, several=len(baseline["runs"]) > 1, verbose=verbose)


def comparison_lines(run: Entry, *, several: bool = False, verbose: bool = False) -> Iterator[str]:
    """Yield what changed between two runs, and what of them was compared."""
    if several:
        yield f"  {run['b']} (before: {run['a']})"
    yield from shared_lines(run)
    told = [e for e in run["changes"] if e["change"] != "open"]
    for entry in told if not verbose else run["changes"]:
        yield f"  {change_line(entry)}"
    counts = run["counts"]
    yield (
        f"  {counts['worse']} got worse, {counts['better']} better beyond both floors; "
        f"{counts['more'] + counts['fewer']} rates moved; {counts['open']} stay open, which is not "
        "the same as unchanged."
    )
    yield bound_line(run)


def shared_lines(run: Entry) -> Iterator[str]:
    """Yield what two runs have in common, and what they do not."""
    plan = "same plan" if run["same_plan"] else "another plan, compared on what both have"
    yield f"  {plan}, {run['vignettes']} vignettes"
    for line in [*run["differs"], *run["notes"]]:
        yield f"    {line}"
    for index, line in enumerate(run["configuration"]):
        yield f"  {'configuration:' if not index else '              '} {line}"


def bound_line(run: Entry) -> str:
    """Return the error rate of a comparison, and what it could have seen."""
    levels = run["levels"]
    seen = [e["detectable"] for e in run["changes"] if e["detectable"] is not None and e["gating"]]
    unseen = f" Changes of a gap below {min(seen):.2f} would pass unseen." if seen else ""
    return (
        f"  If nothing changed, anything at all is reported with chance at most {run['alpha']:g} "
        f"(gaps {levels['gap']:g}, floors {levels['floor']:g}, rates {levels['rate']:g}; Holm)."
        f"{unseen}"
    )


def change_line(entry: Entry) -> str:
    """Return one change in a line that stands alone."""
    form = signed if entry["kind"] == "gap" else rate
    where = f", on {entry['vignette']}" if entry["vignette"] else ""
    return (
        f"{entry['change'].upper():<6} {entry['kind']} {entry['action']}, {entry['condition']}"
        f"{where}: {form(entry['a'])} to {form(entry['b'])}, {signed(entry['difference'])} "
        f"{ends(entry['interval'])}, {_value(entry)}"
    )
