"""What was tested, what can be said, and what cannot: three sentences made from the verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from pytest_fairmedagent.report.claims import claim_of_equivalence
from pytest_fairmedagent.report.contrasts import chance
from pytest_fairmedagent.report.numbers import measured
from pytest_fairmedagent.report.wholes import unnamed

Record = Mapping[str, Any]
Name = Callable[[str], str]

_NAMED = 4  # contrasts that a sentence names one by one


class Sentences(NamedTuple):
    """The three sentences that stand above everything else."""

    tested: str
    said: str
    unsaid: str


def judged_contrasts(record: Record) -> list[Any]:
    """Return the contrasts of actions and of outcomes of other kinds, which have a `unit`."""
    others = ({"action": entry["outcome"], **entry} for entry in record.get("outcomes") or ())
    return [*record["contrasts"], *others]


def gating_contrasts(record: Record) -> list[Any]:
    """Return the contrasts that can fail a run: those of families that are not exploratory."""
    return [contrast for contrast in judged_contrasts(record) if contrast["q"] is None]


def run_names(record: Record) -> dict[Any, str]:
    """Return what stands for each run where there are several: its seat, else its model."""
    runs = record["runs"] if len(record["runs"]) > 1 else ()
    return {run.get("number"): (run.get("seat") or {}).get("id") or run["model"] for run in runs}


def sentences(record: Record, name: Name = str) -> Sentences:
    """Return the three sentences of a record. `name` marks up what is a name and no word of ours.

    The first says what was tested, the second what the verdicts show, the third what they do not.
    """
    return Sentences(_tested(record, name), _said(record, name), _unsaid(record, name))


def _tested(record: Record, name: Name) -> str:
    contrasts, runs = record["contrasts"], record["runs"]
    others = {entry["outcome"] for entry in record.get("outcomes") or ()}
    judged = judged_contrasts(record)
    models = ", ".join(name(model) for model in dict.fromkeys(run["model"] for run in runs))
    toy = ", a toy that says nothing about clinical models," if any(r["toy"] for r in runs) else ""
    names = {row["vignette"]: row.get("cluster") or row["vignette"] for row in record["rows"]}
    n_vignettes = len(set(names.values()))
    several = n_vignettes < len(names)
    variants, of = (f" in {len(names)} variants", "variant") if several else ("", "vignette")
    n_drawn = sum(run["drawn"] + run["earlier"] for run in runs)
    swaps, actions = {c["condition"] for c in judged}, {c["action"] for c in contrasts}
    parts = [count(len(swaps), "swap")]
    parts += [count(len(actions), "action")] if actions or not others else []
    parts += [count(len(others), "other outcome" if actions else "outcome")] if others else []
    tested = f"{', '.join(parts[:-1])} and {parts[-1]}"
    replicates = sorted({family["replicates"] for family in record["plan"]["families"]})
    draws = " or ".join(map(str, replicates))
    if not record["complete"] or any(run.get("saved") or run.get("ended") for run in runs):
        draws = f"up to {draws}"
    return (
        f"{models}{toy} was tested on {count(n_vignettes, 'vignette')}{variants} under "
        f"{tested}, with {draws} draws per arm and {of}: "
        f"{count(n_drawn, 'trajectory', 'trajectories')}."
    )


def _said(record: Record, name: Name) -> str:
    gating, runs = gating_contrasts(record), run_names(record)
    if not gating:
        found = [c for c in judged_contrasts(record) if c["verdict"] == "DISPARITY"]
        tail = (
            f" {_gaps(found, name, runs)} stood out there, and no run fails by it." if found else ""
        )
        return f"Nothing can be said for certain: only exploratory contrasts were run.{tail}"
    shown = [c for c in gating if c["verdict"] in ("EQUIVALENT", "IDENTICAL")]
    found = [c for c in gating if c["verdict"] == "DISPARITY"]
    total = count(len(gating), "contrast")
    parts = []
    somewhere = unnamed(record)
    if somewhere:
        names = " and ".join(name(entry["condition"]) for entry in somewhere)
        p = max(entry["p_adjusted"] for entry in somewhere)
        parts.append(
            f"under {names} the agent differs somewhere by more than its own noise explains "
            f"(p = {chance(p)}{' at most' * (len(somewhere) > 1)}), though no single outcome can "
            "be named"
        )
    if found:
        verb = "differs" if len(found) == 1 else "differ"
        parts.append(
            f"{len(found)} of {total} {verb} by more than the agent’s own noise explains: "
            f"{_gaps(found, name, runs)}"
        )
    if shown:
        margins = sorted({c["margin"] for c in shown if c["margin"]})
        inside = f" inside ±{margins[-1]:g}" if margins else ""
        if any("unit" in c for c in shown):
            inside = " inside their margins"
        of = "" if found else f" of {total}"
        verb = "is" if len(shown) == 1 else "are"
        parts.append(f"{len(shown)}{of} {verb} shown equivalent{inside}")
    if not parts:
        return f"None of {total} was shown to differ, and none was shown not to."
    text = "; ".join(parts)
    if not found and not somewhere:
        text += "; none was shown to differ"
    claim = claim_of_equivalence(len(shown), len(gating), {c["alpha"] for c in gating})
    return f"{text[0].upper()}{text[1:]}. {claim}".rstrip()


def _unsaid(record: Record, name: Name) -> str:
    gating = gating_contrasts(record) or judged_contrasts(record)
    parts = []
    unshown = [c for c in gating if c["verdict"] == "INCONCLUSIVE"]
    rates = [c for c in unshown if "unit" not in c]  # gaps in other units have no common size
    seen = [c["smallest_detectable_gap"] for c in rates if c["smallest_detectable_gap"]]
    if unshown:
        of = " of an action" if len(rates) < len(unshown) else ""
        passed = f", where gaps{of} below {max(seen):.2f} could pass unseen" if seen else ""
        if seen and max(seen) >= 0.995:
            passed = ", some where a gap of any size could pass unseen"
        parts.append(f"{len(unshown)} {'stays' if len(unshown) == 1 else 'stay'} open{passed}")
    unmeasured = sum(c["verdict"] == "UNMEASURED" for c in gating)
    if unmeasured:
        parts.append(f"{unmeasured} could not be measured at all")
    if record["interrupted"]:
        parts.append("the run was interrupted before its plan was drawn")
    elif not record["complete"]:
        parts.append("the plan was not drawn to its end")
    parts.append("nothing here speaks of other cases, swaps or configurations, nor of patients")
    return f"What cannot be said: {'; '.join(parts)}."


def _gaps(contrasts: Iterable[Mapping[str, Any]], name: Name, runs: Mapping[Any, str]) -> str:
    # Points and levels are no rates: by size, only gaps of actions can be ordered.
    ordered = sorted(contrasts, key=lambda c: ("unit" in c, -abs(c["gap"] or 0)))
    told = []
    for c in ordered[:_NAMED]:
        place = f", on {name(c['vignette'])}" if c["vignette"] else ""
        place += f", {name(runs[c['run']])}" if c.get("run") in runs else ""
        unit = c.get("unit", "rate")
        gap = measured(c["gap"], unit if unit == "rate" else name(unit))
        told.append(f"{name(c['action'])} under {name(c['condition'])} ({gap}{place})")
    rest = len(ordered) - len(told)
    if rest:
        return f"{', '.join(told)} and {rest} more"
    return f"{', '.join(told[:-1])} and {told[-1]}" if len(told) > 1 else told[0]


def count(n: int, word: str, plural: str = "") -> str:
    """Return a number with its noun."""
    return f"{n:,} {word if n == 1 else plural or word + 's'}"
