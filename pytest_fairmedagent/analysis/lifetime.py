"""Lines: successive runs of one design and case set, and the evidence that adds up over them.

A line is what its entries in the ledger say. Draws count once: of one series the first verdict on
a contrast, whatever is drawn or judged later. A run that its guards took back, and one that gave
the very answers of an earlier run, can only lower what was won.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_fairmedagent.domain import Contrast
from pytest_fairmedagent.running.ledger import LINE, PLAN, START, VERDICT, Entry, Given, given_of
from pytest_fairmedagent.stats import (
    close_over_means,
    guarded_e,
    moved_by_sham,
    rounds_evidence,
    run_evidence,
    sampling_variance,
)
from pytest_fairmedagent.verdict.lifetime import KEY

Floats = NDArray[np.float64]
Kept = Mapping[str, Any]


@dataclass(frozen=True)
class Seen:
    """One run of a line; `created` in seconds since the epoch. `kept` is what it adds."""

    run: int
    created: float
    configuration: str
    model: str
    kept: Mapping[Contrast, Kept]
    statuses: Mapping[Contrast, str]


@dataclass(frozen=True)
class Terms:
    """What a family of a line registered."""

    name: str
    alpha: float
    size: int
    n_actions: int
    gating: bool


@dataclass(frozen=True)
class Life:
    """One contrast over the runs of its line, arrays `(n_runs,)`, nan where it was not measured.

    `plain` is the e-process against "no run so far had a gap", `e` the smaller of it and the one
    against "no more than shams do": what a gate goes by. `named` is `e`, closed over the family:
    at 1 / alpha the contrast is named.
    """

    contrast: Contrast
    gaps: Floats
    floors: Floats
    p: Floats
    plain: Floats
    e: Floats
    named: Floats

    @property
    def p_anytime(self) -> float:
        """1 / max e, in 0..1: may be looked at after every run, adjusted for no other contrast."""
        return min(1.0, 1 / max(float(self.e.max()), 1.0))

    @property
    def p_named(self) -> float:
        """The same, adjusted in the family."""
        return min(1.0, 1 / max(float(self.named.max()), 1.0))


@dataclass(frozen=True)
class SwapLife:
    """One swap over the runs: `e` is the mean over its actions, `named` closed over the swaps."""

    swap: str
    vignette: str | None
    e: Floats
    named: Floats
    contrasts: tuple[Life, ...]


@dataclass(frozen=True)
class FamilyLife:
    """A family over the runs of its line; `e` is the mean over its registered members."""

    terms: Terms
    e: Floats
    swaps: tuple[SwapLife, ...]

    @property
    def bar(self) -> float:
        """The e-value at which something is red."""
        return 1 / self.terms.alpha

    def red(self, swap: SwapLife) -> int | None:
        """The place of the first run after which a swap is red; None where it never was."""
        reached = swap.named >= self.bar
        for life in swap.contrasts:
            reached = reached | (life.named >= self.bar)
        return int(np.argmax(reached)) if reached.any() else None

    def names(self, swap: SwapLife) -> tuple[Life, ...]:
        """The contrasts of a swap that are red by themselves."""
        return tuple(life for life in swap.contrasts if (life.named >= self.bar).any())


@dataclass(frozen=True)
class Line:
    """A line and its runs in order. `number` counts the lines of its design and cases from 1.

    `why` is what was said when it was declared, at `declared` seconds since the epoch; "" and None
    for the first, which nobody declares.
    """

    design: str
    cases: str
    id: int
    number: int
    why: str
    declared: float | None
    runs: tuple[Seen, ...]
    terms: tuple[Terms, ...] = field(default=())

    @property
    def bound(self) -> float:
        """Bound of the chance, in 0..1, that this line ever turns red while no run had a gap."""
        return min(1.0, sum(family.alpha for family in self.terms if family.gating))

    @cached_property
    def families(self) -> tuple[FamilyLife, ...]:
        return tuple(_family(terms, self.runs) for terms in self.terms)


def lines_of(entries: Iterable[Entry]) -> list[Line]:
    """Return the lines of a ledger that have a run with a verdict, in the order of their starts."""
    places: dict[tuple[str, str, int], list[Entry]] = {}
    declared: dict[int, Entry] = {}
    for entry in entries:
        place = entry.place
        if entry.kind == LINE:
            declared[entry.id] = entry
        elif entry.kind in (PLAN, START, VERDICT) and place.cases:
            places.setdefault((place.design, place.cases, place.line), []).append(entry)
    lines: list[Line] = []
    numbers: dict[tuple[str, str], int] = {}
    for (design, cases, number), found in places.items():
        runs = _runs(found)
        if not runs:
            continue
        numbers[design, cases] = numbers.get((design, cases), 0) + 1
        said = declared.get(number)
        lines.append(
            Line(
                design,
                cases,
                number,
                numbers[design, cases],
                str(said.content.get("name", "")) if said else "",
                said.created if said else None,
                runs,
                _terms(found),
            )
        )
    return lines


def _runs(entries: Sequence[Entry]) -> tuple[Seen, ...]:
    """Return one run for each series of draws: the first verdict on each contrast counts."""
    starts = {entry.place.run: entry for entry in entries if entry.kind == START}
    found: dict[int, dict[Contrast, tuple[Entry, Given]]] = {}
    for entry in entries:
        if entry.kind == VERDICT:
            given = given_of(entry)
            if given.action and not given.post_hoc:
                contrast = Contrast(given.family, given.swap, given.action, given.vignette)
                found.setdefault(entry.place.series, {}).setdefault(contrast, (entry, given))
    runs: list[Seen] = []
    for given_there in found.values():
        first = next(iter(given_there.values()))[0]
        start = starts.get(first.place.run)
        kept = {
            contrast: given.payload[KEY]
            for contrast, (_, given) in given_there.items()
            if KEY in given.payload
        }
        runs.append(
            Seen(
                first.place.run,
                first.created,
                first.place.configuration,
                str(start.content.get("model", "")) if start else "",
                _lowering_only(kept, first.place.configuration, runs),
                {contrast: given.status for contrast, (_, given) in given_there.items()},
            )
        )
    return tuple(runs)


def _lowering_only(
    kept: dict[Contrast, Kept], configuration: str, before: Sequence[Seen]
) -> dict[Contrast, Kept]:
    """Mark answers that are those of an earlier run of the same configuration, one by one."""
    for run in before:
        same = run.configuration == configuration and run.kept.keys() == kept.keys()
        if kept and same and all(_counts(run.kept[c]) == _counts(kept[c]) for c in kept):
            return {contrast: {**what, "measured": False} for contrast, what in kept.items()}
    return kept


def _counts(kept: Kept) -> dict[str, Any]:
    return {name: value for name, value in kept.items() if name != "measured"}


def _terms(entries: Sequence[Entry]) -> tuple[Terms, ...]:
    """Return the families of the line; its runs have registered the same ones."""
    plans = [entry.content for entry in entries if entry.kind == PLAN]
    families = plans[0]["families"] if plans else ()
    return tuple(
        Terms(f["name"], f["alpha"], f["size"], len(f["actions"]), f["gating"])
        for f in families
        if f["size"]
    )


def _family(terms: Terms, runs: Sequence[Seen]) -> FamilyLife:
    members = dict.fromkeys(c for run in runs for c in run.kept if c.family == terms.name)
    bar = terms.size / terms.alpha
    pairs = [_evidence([run.kept.get(contrast) for run in runs], bar) for contrast in members]
    n = len(runs)
    e = np.stack([guarded for _, guarded in pairs], axis=1) if pairs else np.ones((n, 0))
    named = np.array([close_over_means(row, n_members=terms.size) for row in e]).reshape(e.shape)
    lives = [
        Life(contrast, *_told(contrast, runs), pair[0], pair[1], named[:, place])
        for place, (contrast, pair) in enumerate(zip(members, pairs, strict=True))
    ]
    groups: dict[tuple[str, str | None], list[Life]] = {}
    for life in lives:
        groups.setdefault((life.contrast.swap, life.contrast.vignette), []).append(life)
    means = {
        key: _mean([life.e for life in found], terms.n_actions) for key, found in groups.items()
    }
    among = np.stack(list(means.values()), axis=1) if means else np.ones((n, 0))
    size = terms.size // terms.n_actions
    closed = np.array([close_over_means(row, n_members=size) for row in among])
    swaps = tuple(
        SwapLife(*key, means[key], closed[:, place], tuple(found))
        for place, (key, found) in enumerate(groups.items())
    )
    return FamilyLife(terms, (e.sum(axis=1) + (terms.size - len(lives))) / terms.size, swaps)


def _mean(e: Sequence[Floats], size: int) -> Floats:
    """Return the mean of e-values of `size` members, of whom absent ones count as 1."""
    mean: Floats = (np.sum(e, axis=0) + (size - len(e))) / size
    return mean


def _told(contrast: Contrast, runs: Sequence[Seen]) -> tuple[Floats, Floats, Floats]:
    """Return gaps, floors and p of a contrast, run by run."""
    columns = []
    for name in ("gap", "floor", "p"):
        values = [run.kept.get(contrast, {}).get(name) for run in runs]
        columns.append(np.array([np.nan if v is None else v for v in values], dtype=float))
    return columns[0], columns[1], columns[2]


def _evidence(kept: Sequence[Kept | None], bar: float) -> tuple[Floats, Floats]:
    """Return both e-processes of a contrast; a run that did not measure it wins nothing."""
    logs = np.array([_log_payoffs(what) for what in kept])
    sampling = np.array([_sampling(what) for what in kept])
    arms = max((len(what.get("shams", ())) for what in kept if what), default=0)
    cases = max((_n_cases(what) for what in kept if what), default=1)
    moved = np.full((len(kept), arms, cases), np.nan)
    noise = moved.copy()
    for n, what in enumerate(kept):
        if what is None or not what["measured"]:  # what was taken back tells of no sham either
            continue
        for place, sham in enumerate(what.get("shams", ())):
            far, own = _moved(what, sham)
            moved[n, place, : far.size], noise[n, place, : far.size] = far, own
    return guarded_e(logs, moved, noise, sampling, bar=bar)


def _log_payoffs(kept: Kept | None) -> Floats:
    if kept is None:
        return rounds_evidence(0, 0)
    if "b" in kept:
        won = rounds_evidence(kept["b"], kept["c"])
    else:
        won = run_evidence(*(_long(kept[name], kept["cases"]) for name in "kmjn"))
    # Which runs are taken back depends on their answers: what they lost is lost all the same.
    return won if kept["measured"] else np.minimum(won, 0.0)


def _sampling(kept: Kept | None) -> float:
    if kept is None or not kept["measured"]:
        return 0.0
    if "b" in kept:
        pairs = max(1, _long(kept["base"]["n"], kept["size"]).sum()) if "base" in kept else 1
        return float(kept["b"] + kept["c"]) / float(pairs) ** 2
    variance = sampling_variance(*(_long(kept[name], kept["cases"]) for name in "kmjn"))
    return 0.0 if np.isnan(variance) else variance


def _n_cases(kept: Kept) -> int:
    return max(kept["case"]) + 1 if "case" in kept else int(kept.get("size", 1))


def _moved(kept: Kept, sham: Kept) -> tuple[Floats, Floats]:
    """Return how far a sham moved each case, and the variance of that; variants are averaged."""
    size = kept["size"]
    arms = (_long(part[name], size) for part in (sham, kept["base"]) for name in "kn")
    far, own = moved_by_sham(*arms)
    if "case" not in kept:
        return far, own
    case, n = np.array(kept["case"]), _n_cases(kept)
    seen = ~np.isnan(far)
    often = np.bincount(case[seen], minlength=n).astype(float)
    often[often == 0] = np.nan
    return (
        np.bincount(case[seen], far[seen], n) / often,
        np.bincount(case[seen], own[seen], n) / often**2,
    )


def _long(counts: Sequence[int] | int, size: int) -> NDArray[np.int64]:
    return np.broadcast_to(np.asarray(counts, dtype=np.int64), (size,))
