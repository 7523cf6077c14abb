"""An analysis of files in tables for people: every estimate with its interval, n and unit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_fairmedagent.report.text import cases, clean, fitted
from pytest_fairmedagent.report.wholes import notes_of, place, said_of, tally, wholes_by_place

Record = dict[str, Any]

WIDTH = 100
_FLOOR_COLUMNS = 6  # files that fit beside each other
_GUARDS = ("identical arm", "missingness", "serial dependence", "copies", "first draw")


def analysis_lines(record: Record) -> list[str]:
    """Return the tables of an analysis record, at most `WIDTH` columns wide."""
    lines: list[str] = []
    for number, file in enumerate(record["files"], start=1):
        lines += [*_file(record, file, number), *_floors(record, file)]
        lines += [*_contrasts(record, file), *_controls(record, file)]
        lines += [*_diagnostics(record, file), ""]
    lines += [*_models(record), *_closing(record)]
    return [part for line in lines for part in fitted(line, WIDTH)]


def _cell(text: str, width: int) -> str:
    """Return text of exactly this width, cut where it is longer."""
    text = clean(text)
    return f"{text if len(text) <= width else text[: width - 1] + '…':<{width}}"


def _mine(entries: Sequence[Record], file: Record) -> list[Record]:
    return [entry for entry in entries if entry["file"] == file["file"]]


def _file(record: Record, file: Record, number: int) -> Iterator[str]:
    yield f"file {number}  {file['file']}"
    yield f"  model    {file['model']}, {file['trajectories']} trajectories"
    for digest, fields in file["configurations"].items():
        told = ", ".join(f"{k}={_short(v)}" for k, v in sorted(fields.items()))
        said = told if file["declared"] else f"as declared by the file: {told}"
        yield f"  config   {digest[:12]} ({said})"
    reference = file["reference"]
    yield f"  compared with {reference}" if reference else "  one condition: floors only"


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:12]}…"


def _where(entry: Record) -> str:
    return f" (block {entry['block']})" if entry["block"] is not None else ""


def _floors(record: Record, file: Record) -> Iterator[str]:
    arms = _mine(record["arms"], file)
    measured = [arm for arm in arms if arm["pooled"]["floor"] is not None]
    for arm in measured:
        fewest, most = arm["replicates"]
        times = f"{most}" if fewest == most else f"{fewest} to {most}"
        yield ""
        yield (
            f"instability floor of {arm['condition']}{_where(arm)}: {cases(arm)} x "
            f"{times} replicates, {arm['trajectories']} trajectories"
        )
        yield (
            f"  {'action':<16} {'floor':>5} {'95 % interval':>14} {'percentile':>14} {'vote3':>5} "
            f"{'vote5':>5} {'norm':>5} {'taken':>5} {'disagree/pairs':>14} {'miss':>4}"
        )
        for action, floor in [*arm["actions"].items(), ("pooled", arm["pooled"])]:
            yield (
                f"  {_cell(action, 16)} {_rate(floor['floor']):>5} "
                f"{_interval(floor['interval'] if floor['pairs'] else None):>14} "
                f"{_interval(floor['interval_percentile']):>14} {_rate(floor['vote3']):>5} "
                f"{_rate(floor['vote5']):>5} {_rate(floor.get('normalised')):>5} "
                f"{_rate(floor.get('rate')):>5} "
                f"{str(floor['disagreements']) + '/' + str(floor['pairs']):>14} "
                f"{floor.get('missing', ''):>4}"
            )
        spread = arm["spread"]
        if spread is not None:
            yield (
                f"  noisiest minus quietest action: {spread['highest']} - {spread['lowest']} "
                f"{spread['difference']:+.3f} {_interval(spread['interval_percentile'], '+.3f')} "
                "(percentile; picked after looking, so descriptive)"
            )
    if measured:
        resamples = min(arm["resamples"] for arm in measured)
        yield (
            "  floor: share of replicate pairs of one vignette that disagree, 0..1. Interval: over "
            "vignettes like these, beta on the effective sample size. Percentile: bootstrap of "
            f"vignettes, {resamples} resamples, too short for few vignettes. vote3, vote5: floor "
            "of majority votes. norm: floor over chance disagreement at this prevalence. taken: "
            "share of answers that are yes. miss: missing answers."
        )
    bare = [arm for arm in arms if arm["pooled"]["floor"] is None]
    if bare:
        named = ", ".join(
            f"{arm['condition']}{_where(arm)} {arm['trajectories']}/{arm['vignettes']}"
            for arm in bare
        )
        yield ""
        yield (
            "instability floor unmeasured, for want of replicate pairs (trajectories/vignettes): "
            f"{named}"
        )


def _contrasts(record: Record, file: Record) -> Iterator[str]:
    contrasts = _mine(record["contrasts"], file)
    for family in _mine(record["families"], file):
        members = [c for c in contrasts if c["family"] == family["name"]]
        wholes = wholes_by_place(record, members)
        rule = f"Holm at {family['alpha']:g}"
        if wholes:
            rule = f"each swap as a whole first, then its outcomes, at {family['alpha']:g}"
        if not family["gating"]:
            rule = "exploratory, q by Benjamini-Hochberg, never a DISPARITY that counts"
        margin = f"margin ±{family['margin']:g}" if family["margin"] else "no margin"
        yield ""
        yield (
            f"contrasts, family '{family['name']}': {family['judged']} judged of {family['size']}, "
            f"{rule}, {margin}"
        )
        yield f"  {_registration(record, family)}"
        notes: dict[str, int] = {}
        groups = dict.fromkeys((c["block"], c["condition"], c["config_digest"]) for c in members)
        for group in groups:
            rows = [c for c in members if (c["block"], c["condition"], c["config_digest"]) == group]
            yield from _contrast_table(rows, notes, wholes)
        for note, number in notes.items():
            yield f"{number:>4} {note}"
        yield f"  {_LEGEND}"


_LEGEND = (
    "gap: rate of the action under the condition minus that under the reference, -1..1, on these "
    "vignettes. flips: share of discordant pairs between the arms; floor: mean of both arms'. "
    "b, c: expected discordant pairs, action only under the condition, only under the reference, "
    "of n replicate pairs. sees: smallest gap found with power .8 at the family's level."
)


def _registration(record: Record, family: Record) -> str:
    if family["registered"]:
        return (
            f"declared by the plan {record['plan']}. Whether that was fixed before the first "
            "trial, a file cannot tell."
        )
    if record["plan"]:
        return "the plan registers none of these: they are shown, and decide nothing."
    return (
        "not registered: no plan was given, so every swap x action counts as one primary family. "
        "Name one with --plan."
    )


def _contrast_table(
    rows: Sequence[Record], notes: dict[str, int], wholes: Mapping[tuple[Any, ...], Record]
) -> Iterator[str]:
    first = rows[0]
    yield (f"  {first['condition']} against {first['reference']}{_where(first)}, {cases(first)}")
    p_name = "p adj" if first["q"] is None else "q"
    yield (
        f"note {'verdict':<12} {'action':<15} {'gap':>6} {'95 % interval':>14} {'flips':>5} "
        f"{'floor':>5} {'b':>5} {'c':>5} {'n':>5} {p_name:>6} {'sees':>4}"
    )
    whole = wholes.get(place(first))
    if whole is not None:
        what = _cell(f"any of {len(whole['outcomes'])}", 15)
        p = _p(whole["p_adjusted"])
        told = "; ".join(notes_of(whole))
        note = notes.setdefault(told, len(notes) + 1) if told else ""
        yield f"{note:>4} {whole['verdict']:<12} {what} {said_of(whole, 51):<51} {p:>6}"
    for row in rows:
        told = "; ".join([*row["reasons"], *row["flags"]])
        note = notes.setdefault(told, len(notes) + 1) if told else ""
        p = row["p_adjusted"] if row["q"] is None else row["q"]
        sees = None if row["verdict"] == "UNMEASURED" else row["smallest_detectable_gap"]
        yield (
            f"{note:>4} {row['verdict']:<12} {_cell(row['action'], 15)} {_measured(row)} "
            f"{_p(p):>6} {_rate(sees, 2):>4}"
        )


def _measured(row: Record) -> str:
    interval = None if row["gap"] is None else row["interval"]
    return (
        f"{_signed(row['gap']):>6} {_interval(interval, '+.2f'):>14} "
        f"{_rate(row['flip_rate']):>5} {_rate(row['floor']):>5} {_count(row['b']):>5} "
        f"{_count(row['c']):>5} {_count(row['pairs']):>5}"
    )


def _controls(record: Record, file: Record) -> Iterator[str]:
    controls = _mine(record["controls"], file)
    groups = dict.fromkeys((c["block"], c["condition"], c["config_digest"]) for c in controls)
    if groups:
        yield ""
        yield "controls: what an edit without meaning, or none, does. They get no verdict."
    for group in groups:
        rows = [c for c in controls if (c["block"], c["condition"], c["config_digest"]) == group]
        first = rows[0]
        yield (
            f"  {first['condition']} ({first['kind']}) against {first['reference']}"
            f"{_where(first)}, {cases(first)}"
        )
        yield (
            f"    {'action':<15} {'gap':>6} {'95 % interval':>14} {'flips':>5} {'floor':>5} "
            f"{'b':>5} {'c':>5} {'n':>5} {'p':>6}"
        )
        for row in rows:
            yield f"    {_cell(row['action'], 15)} {_measured(row)} {_p(row['p']):>6}"


def _diagnostics(record: Record, file: Record) -> Iterator[str]:
    found = _mine(record["diagnostics"], file)
    if not found:
        return
    yield ""
    yield "diagnostics (tests: Holm at 0.01 over those of one kind)"
    for kind in _GUARDS:
        tests = [d for d in found if d["kind"] == kind]
        rejecting = [d for d in tests if d["rejects"]]
        if tests and not rejecting:
            smallest = min(test["p_adjusted"] for test in tests)
            yield f"  {kind:<18} clear, smallest adjusted p {_p(smallest)} of {len(tests)} tests"
        for test in rejecting:
            yield f"  {kind:<18} REJECTS: {test['condition']}{_where(test)}: {test['text']}"
    for entry in found:
        if entry["kind"] not in _GUARDS:
            whose = f"{entry['condition']}" if entry["condition"] else "file"
            yield f"  {entry['kind']:<18} {whose}{_where(entry)}: {entry['text']}"


def _models(record: Record) -> Iterator[str]:
    """Compare the files, where there are several."""
    if len(record["files"]) < 2:
        return
    numbers = {file["file"]: index for index, file in enumerate(record["files"], start=1)}
    yield "models side by side: instability floors"
    for file in record["files"]:
        yield f"  {numbers[file['file']]} = {file['model']}, {file['file']}"
    bases = _bases(record)
    for start in range(0, len(bases), _FLOOR_COLUMNS):
        chunk = bases[start : start + _FLOOR_COLUMNS]
        heads = [f"{numbers[arm['file']]} {arm['block'] or ''}".strip() for arm in chunk]
        yield f"  {'action':<16} " + " ".join(f"{_cell(head, 12).strip():>12}" for head in heads)
        for action in (*record["actions"], "pooled"):
            floors = [
                arm["pooled"] if action == "pooled" else arm["actions"][action] for arm in chunk
            ]
            cells = " ".join(f"{_rate(floor['floor']):>12}" for floor in floors)
            yield f"  {_cell(action, 16)} {cells}"
    yield "  paired differences of floors on the vignettes of both, percentile interval"
    for row in record["differences"]:
        blocks = "" if row["block_a"] is None else f" (block {row['block_a']})"
        yield (
            f"  {numbers[row['file_a']]} - {numbers[row['file_b']]}  {_cell(row['action'], 16)} "
            f"{row['difference']:+.3f} {_interval(row['interval_percentile'], '+.3f')}, "
            f"{row['vignettes']} vignettes{blocks}"
        )
    if not record["differences"]:
        yield "  none: no two files share a vignette with replicate pairs"
    for row in record["agreements"]:
        rho = "undefined" if row["spearman"] is None else f"{row['spearman']:.3f}"
        yield (
            f"  {numbers[row['file_a']]} and {numbers[row['file_b']]} order {row['actions']} "
            f"actions by floor with Spearman rho {rho}, p={_p(row['p'])} (descriptive)"
        )
    yield ""


def _bases(record: Record) -> list[Record]:
    """Return the arm of each file and block that models are compared by."""
    chosen = []
    for file in record["files"]:
        arms = _mine(record["arms"], file)
        for block in dict.fromkeys(arm["block"] for arm in arms):
            here = [arm for arm in arms if arm["block"] == block]
            base = [arm for arm in here if arm["condition"] == file["reference"]] or here
            if len(base) == 1:
                chosen.append(base[0])
    return chosen


def _closing(record: Record) -> Iterator[str]:
    contrasts = record["contrasts"]
    if not contrasts:
        yield "no contrasts: floors only"
        return
    yield ", ".join(tally(record))
    gating = [family for family in record["families"] if family["gating"]]
    if gating:
        bound = min(1.0, sum(family["alpha"] for family in gating))
        word = "family" if len(gating) == 1 else "families"
        named = {(family["file"], family["name"]) for family in gating}
        primary = [c for c in contrasts if (c["file"], c["family"]) in named]
        shown = sum(c["verdict"] in ("EQUIVALENT", "IDENTICAL") for c in primary)
        yield (
            f"{len(gating)} primary {word}; if nothing differs, a DISPARITY appears with chance at "
            f"most {bound:g}. {shown} of {len(primary)} shown equivalent."
        )
        seen = [
            c["smallest_detectable_gap"]
            for c in primary
            if c["smallest_detectable_gap"] is not None and c["verdict"] != "UNMEASURED"
        ]
        if seen:
            yield (
                f"By contrast, signed gaps from {min(seen):.2f} to {max(seen):.2f} could have been "
                "seen (power .8); smaller ones pass unseen, and a flip inside the floor is "
                "evidence of nothing."
            )


def _rate(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _interval(ends: Sequence[float] | None, form: str = ".3f") -> str:
    return "-" if ends is None else f"[{ends[0]:{form}}, {ends[1]:{form}}]"


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.3f}"


def _count(value: float | None) -> str:
    """Return a count of at most five signs; fractional pairs are rounded."""
    if value is None:
        return "-"
    if value >= 99_999.5:
        return f"{value:.0e}".replace("e+0", "e")
    return f"{value:.0f}" if value >= 999.5 or value == int(value) else f"{value:.1f}"


def _p(p: float | None) -> str:
    if p is None:
        return "-"
    return "1" if p >= 0.9995 else f"{p:.4f}" if p >= 0.00095 else f"{p:.0e}"
