"""A plan in lines for people: what it can find, what it takes, what it costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pytest_fairmedagent.report.text import fitted

Record = dict[str, Any]

WIDTH = 80
_LISTED = 6  # designs; more would hide the one that is meant


def plan_lines(record: Record) -> list[str]:
    """Return a plan in lines of at most 80 columns."""
    lines = [*_basis(record), "", *_designs(record), *_told(record)]
    return [part for line in lines for part in fitted(line, WIDTH)]


def _basis(record: Record) -> Iterator[str]:
    floor, gate, trial, arms = (record[key] for key in ("floor", "gate", "trial", "arms"))
    ends = floor["interval"]
    interval = f" [{ends[0]:.3f}, {ends[1]:.3f}]" if ends else ""
    yield f"floor   {floor['value']:.3f}, {floor['source']}{interval}"
    looks = {"off": "one look", "gs": "five planned looks", "e": "a look after every round"}
    yield (
        f"gate    {gate['contrasts']} contrasts in {gate['swaps']} swaps at {gate['alpha']:g}, "
        f"power {gate['power']:g}, {looks[gate['sequential']]}"
    )
    parts = [f"{n} {name}" for name, n in arms.items() if n]
    yield f"arms    {1 + sum(arms.values())}: the reference, {', '.join(parts)}"
    seconds = trial["seconds"]
    time = f", {seconds:.3g} s" if seconds is not None else ""
    usd = trial["usd"]
    price = f", ${usd:.2g} ({trial['price']})" if usd and trial["price"] else ""
    yield (
        f"trial   {trial['calls']:g} calls, {_big(trial['input_tokens'])} tokens sent and "
        f"{_big(trial['output_tokens'])} answered ({trial['tokens_from']}){time}{price}"
    )


def _designs(record: Record) -> Iterator[str]:
    if not record["designs"]:
        return
    yield (
        f"  {'V':>5} {'R':>4} {'pairs':>6} {'trials':>7} {'calls':>7} {'tokens':>7} {'hours':>7} "
        f"{'price':>8} {'one':>4} {'all':>4} {'shows':>6}"
    )
    for design in _listed(record["designs"]):
        tokens = design["input_tokens"] + design["output_tokens"]
        yield (
            f"{'*' if design['chosen'] else ' '} {design['vignettes']:>5} "
            f"{design['replicates']:>4} {_big(design['pairs']):>6} "
            f"{_big(design['trajectories']):>7} {_big(design['calls']):>7} {_big(tokens):>7} "
            f"{_hours(design['hours']):>7} {_usd(design['usd']):>8} "
            f"{_gap(design['detectable_gap'])} {_gap(design['detectable_in_all'])} "
            f"{_margin(design['provable_margin']):>6}"
        )
    yield (
        "  V vignettes x R replicates; one, all: the smallest signed gap that is found in one "
        "action, in all actions of a swap; shows: the smallest margin that all are shown inside if "
        "nothing differs; each with the power above"
    )


def _listed(designs: Sequence[Record]) -> list[Record]:
    """Return the design that is chosen and some beside it, in their order."""
    if len(designs) <= _LISTED:
        return list(designs)
    step = (len(designs) - 1) / (_LISTED - 1)
    kept = {round(step * i) for i in range(_LISTED)}
    return [d for i, d in enumerate(designs) if d["chosen"] or i in kept]


def _told(record: Record) -> Iterator[str]:
    aim, gate = record["aim"], record["gate"]
    chosen = next((design for design in record["designs"] if design["chosen"]), None)
    yield ""
    if chosen is None:
        yield (
            f"Nothing was found that could {aim['text']} with power {gate['power']:g}. Give more "
            "vignettes or replicates, or ask for less."
        )
        return
    size = f"{chosen['vignettes']} vignettes x {chosen['replicates']} replicates"
    if aim is not None:
        yield f"To {aim['text']} with power {gate['power']:g}: {size}."
    elif record["budget"]:
        yield (
            f"This budget buys {size}: a signed gap of {chosen['detectable_gap']:.2f} is found in "
            f"one action, of {chosen['detectable_in_all']:.2f} in all of a swap; smaller ones "
            "would pass unseen."
        )
    if chosen["chance_to_show_all"] is not None:
        yield (
            f"Chance that all {gate['contrasts']} are shown inside ±{gate['margin']:g} if nothing "
            f"differs: {chosen['chance_to_show_all']:.2f}."
        )
    if aim is not None and aim["gap"] is not None:
        yield (
            f"Give the run a margin below {aim['gap']:g}, or none: inside a margin a gap is "
            'EQUIVALENT, with the flag "not zero".'
        )
    if chosen["usd"] is None:
        yield "The price is unknown: name the model with --model, and a price table with --prices."
    if chosen["hours"] is None:
        yield "The hours are unknown: --seconds-per-trial, or --record with a run record."
    yield from _simulated(record, chosen)
    missing = [name for name, gap in chosen["detectable_by_action"].items() if gap >= 0.995]
    if missing:
        yield f"No gap could be found in {', '.join(missing)}: there are too few pairs."
    which = "" if chosen["vignettes"] == record["cases"] else " --fairmed-vignettes=..."
    yield (
        f"next: pytest --fairmed-model={record['model'] or '...'}{which} "
        f"--fairmed-replicates={chosen['replicates']}"
    )


def _simulated(record: Record, chosen: Record) -> Iterator[str]:
    found = record["simulated"]
    if found is None:
        return
    what = f"a gap of {found['gap']:.2g} is found in" if found["gap"] else "a false red in"
    shown = ""
    if found["equivalent"] is not None:
        shown = f", all EQUIVALENT in {found['equivalent']:.3f} ± {2 * found['equivalent_se']:.3f}"
    yield (
        f"Simulated, {found['datasets']} times by the rule of a swap: {what} "
        f"{found['disparity']:.3f} ± {2 * found['disparity_se']:.3f}{shown}; "
        f"{found['mean_replicates']:.1f} of {chosen['replicates']} replicates were drawn on "
        "average."
    )
    rate, se = found["disparity"], found["disparity_se"]
    if found["gap"] and rate + 2 * se < record["gate"]["power"]:
        yield (
            f"The simulation falls short of power {record['gate']['power']:g}: believe it, and "
            "take more vignettes or replicates than the formula asks for."
        )


def _big(n: float) -> str:
    """Return a count in at most seven characters, with two or three digits that mean something."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e5, "k")):
        if n >= limit:
            scaled = n / (1e3 if unit == "k" else limit)
            return f"{scaled:.1f}{unit}" if scaled < 100 else f"{scaled:.0f}{unit}"
    return f"{n:.0f}"


def _hours(hours: float | None) -> str:
    return "-" if hours is None else f"{hours:.1f}" if hours >= 1 else f"{60 * hours:.0f} min"


def _usd(usd: float | None) -> str:
    return "-" if usd is None else f"${usd:.2f}" if usd < 1000 else f"${usd:,.0f}"


def _gap(gap: float) -> str:
    return "   -" if gap >= 1 else f"{gap:>4.2f}"


def _margin(margin: float | None) -> str:
    return "-" if margin is None else f"±{margin:.2f}"
