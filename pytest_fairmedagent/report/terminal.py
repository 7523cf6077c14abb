"""The terminal summary: a run record in lines of text."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

from pytest_fairmedagent.report.changed import baseline_lines
from pytest_fairmedagent.report.claims import claim_of_equivalence, sized_line
from pytest_fairmedagent.report.compared import panel_lines
from pytest_fairmedagent.report.contrasts import chance, contrast_lines, signed
from pytest_fairmedagent.report.entries import of_run
from pytest_fairmedagent.report.looked import bound_of, goes_on, looked_lines, more_draws
from pytest_fairmedagent.report.numbers import registered
from pytest_fairmedagent.report.outcomes import checked_lines, outcome_lines
from pytest_fairmedagent.report.subgroups import subgroup_lines
from pytest_fairmedagent.report.text import cases, file_size, fitted
from pytest_fairmedagent.report.wholes import notes_of, tally, wholes_by_place
from pytest_fairmedagent.verdict.directed import OPPOSITE_ALPHA

Record = dict[str, Any]

# What is advised must work as it is printed; and what it costs is to be known before.
_AGAIN = (
    " On these draws that is a further look at half the level; --fairmed-fresh has the whole level."
)
_OPTION, _FRESH = "--fairmed-replicates", "--fairmed-fresh"

NARROWEST, WIDTH = 80, 104  # a narrow terminal; and what is still read as one line


def summary_lines(record: Record, *, verbose: bool = False, width: int = WIDTH) -> list[str]:
    """Return the summary of a record in lines of at most `width` columns, 80 to 104.

    With `verbose` every verdict gives all its reasons.
    """
    width = max(NARROWEST, min(width, WIDTH))
    lines: list[str] = []
    for run in record["runs"]:
        lines += [""] * bool(lines)
        lines += [*_run(record, run), *_floors(record, run)]
        lines += [*_contrasts(record, run, verbose, width)]
        lines += [*_other_checks(record, run)]
        lines += [*_confounded(record, run), *_controls(record, run), *_dropped(record, run)]
        if verbose and "subgroups" in record:
            lines += subgroup_lines(of_run(record, "subgroups", run))
    for part, told in (("panel", panel_lines), ("baseline", baseline_lines)):
        if part in record:
            lines += ["", *told(record[part], verbose=verbose)]
    lines += ["", *_closing(record)]
    return [part for line in lines for part in fitted(line, width)]


def _run(record: Record, run: Record) -> Iterator[str]:
    toy = "  (toy model: it says nothing about clinical models)" if run["toy"] else ""
    yield f"model   {run['model']}{toy}"
    profile = record["profile"]
    yield f"plan    {profile['name']}: {profile['says']}"
    if run["id"] is not None:
        when = "before" if run["registered"] else "after (post hoc)"
        yield f"        digest {run['plan_digest'][:12]}, registered {when} the first trial"
    for line in looked_lines(run):
        yield f"before  {line}"
    drawn = run["drawn"] + run["earlier"]
    sources = f"{run['drawn']} drawn now"
    if run["earlier"]:
        since = f" (since {_date(run['since'])})" if run["since"] else ""
        sources += f", {run['earlier']} from before{since}"
    if not run["drawn"] and run["since"]:
        sources = f"no new draws, {run['earlier']} trajectories from {_date(run['since'])}"
    number = f", run {run['id']} in {run['store']}" if run["id"] is not None else ""
    yield f"trials  {sources}{number}"
    for text in run.get("lifetime", {}).get("text", ()):
        yield f"line    {'RED: ' if run['lifetime']['red'] else ''}{text}"
    unset = [k for k, v in run["configuration"].get("decoding", {}).items() if v == "unset"]
    sent = {k: v for k, v in run["configuration"].get("decoding", {}).items() if v != "unset"}
    decoding = ", ".join(f"{k}={v}" for k, v in sent.items()) or "nothing"
    extra = f"; decoding sent: {decoding}" if unset or sent else ""
    yield f"config  {run['config_digest'][:12]}{extra}"
    yield f"cost    {_cost(run)}, {run['elapsed_s']:.0f} s"
    for note in (run.get("concurrency") or {}).get("notes", []):
        yield f"calls   {note}"
    if run.get("store_bytes"):
        yield (
            f"store   {file_size(run['store_bytes'])}: {run['earlier']} trials found in it and "
            f"{run['drawn']} added, {run['calls_found']} calls found and {run['calls_made']} added"
        )
    if run.get("looks"):
        looks = ", ".join(map(str, run["looks"]))
        whole = drawn + run["saved"]
        yield (
            f"looks   at R = {looks}: {run['saved']} of {whole} trajectories saved "
            f"({100 * run['saved'] / max(1, whole):.0f} %), for their contrasts were decided"
        )
    if run.get("sized"):
        yield f"size    {sized_line(run)}"
    if run.get("ended"):
        yield f"ended   after {run['replicates']} whole rounds, and judged there: {run['ended']}"


def _cost(run: Record) -> str:
    """Return what a run took, as far as it is known: an agent's own calls are not nothing."""
    if not run["calls"] and "agent_state" in run["configuration"]:
        retries = f", {run['retries']} retries" if run["retries"] else ""
        return f"the agent's own calls are not counted{retries}"
    usd = run.get("spent_usd")
    spent = f", ${usd:.2f} ({run['price']})" if usd is not None else ""
    return (
        f"{run['calls']} calls ({run['repairs']} repairs, {run['retries']} retries), "
        f"{run['input_tokens']} + {run['output_tokens']} tokens{spent}"
    )


def _floors(record: Record, run: Record) -> Iterator[str]:
    arms = of_run(record, "arms", run)
    reference = next((a for a in arms if a["condition"] == record["plan"]["reference"]), None)
    if reference is None:
        return
    yield ""
    yield (
        f"instability floor by action ({reference['condition']} arm, {cases(reference)}, "
        f"{reference['trajectories']} trajectories)"
    )
    for action, floor in [*reference["actions"].items(), ("pooled", reference["pooled"])]:
        if floor["floor"] is None:
            yield f"  {action:<16} unmeasured: no replicate pairs"
            continue
        low, high = floor["interval"]
        rate = floor.get("rate")
        share = f", taken {rate:.2f}" if rate is not None else ""
        yield (
            f"  {action:<16} {floor['floor']:.3f} [{low:.3f}, {high:.3f}]  "
            f"{floor['disagreements']} of {floor['pairs']} pairs disagree{share}"
        )


def _contrasts(record: Record, run: Record, verbose: bool, width: int) -> Iterator[str]:
    mine = of_run(record, "contrasts", run)
    families = {family["name"]: family for family in record["plan"]["families"]}
    for name in dict.fromkeys(contrast["family"] for contrast in mine):
        members = [contrast for contrast in mine if contrast["family"] == name]
        first, gating = members[0], families[name]["gating"]
        wholes = wholes_by_place(record, members)
        rule = f"Holm at {first['alpha']:g}" if gating else "exploratory, q by BH, never fails"
        if wholes:
            rule = f"each swap as a whole first, then its outcomes, at {first['alpha']:g}"
        margin = f", margin ±{first['margin']:g}" if first["margin"] else ""
        yield ""
        yield f"contrasts of {name} ({first['family_size']} registered, {rule}{margin})"
        yield from contrast_lines(members, wholes, gating=gating, verbose=verbose, width=width)


def _other_checks(record: Record, run: Record) -> Iterator[str]:
    """Show what is no contrast of an action, for those records that have it."""
    mine = {
        part: of_run(record, part, run) if part in record else []
        for part in ("outcomes", "reliability", "relations")
    }
    of_actions = {contrast["family"] for contrast in of_run(record, "contrasts", run)}
    found = of_run(record, "swaps", run) if record.get("swaps") else []
    alone = [whole for whole in found if whole["family"] not in of_actions]
    if alone:  # those of families with actions stand above these
        yield ""
        yield "swaps as a whole, over all their outcomes together"
        for whole in alone:
            yield f"  {whole['headline']}"
            yield from (f"      {text}" for text in notes_of(whole))
    yield from outcome_lines(mine["outcomes"])
    yield from checked_lines(
        "floors against a bound (reference arm, 95 % interval over vignettes like these)",
        mine["reliability"],
    )
    yield from checked_lines("relations of one's own", mine["relations"])


def _confounded(record: Record, run: Record) -> Iterator[str]:
    """Show what was seen where a difference can be clinically right, apart from the verdicts.

    In the registered direction nothing is claimed; the other is tested.
    """
    apart = of_run(record, "confounded", run) if "confounded" in record else []
    if not apart:
        return
    yield ""
    yield "CONFOUNDED: a difference can be clinically right; left out above, and never claimed in"
    yield "the registered direction; against it, it is tested (one-sided, Holm at 0.01)"
    for entry in apart:
        unit, (low, high) = entry.get("unit", "rate"), entry["interval"]
        gap, ends = signed(entry["gap"]), f"[{low:+.2f}, {high:+.2f}]"
        if unit != "rate":
            gap, ends = f"{entry['gap']:+.3g} {unit}", f"[{low:+.3g}, {high:+.3g}]"
        member = f" of '{entry['members'][0]['member']}'" if entry.get("members") else ""
        sources = "; ".join(dict.fromkeys(e["source"] for e in entry["entries"]))
        way = f" ({registered(entry)})" if entry.get("opposite") else ""
        yield (
            f"  {entry['action']:<14} {entry['condition']:<20} {gap:>5}{member} {ends:>15} "
            f"q={chance(entry['q'])}, {cases(entry)}: {sources}{way}"
        )


def _controls(record: Record, run: Record) -> Iterator[str]:
    tests = of_run(record, "guards", run)
    if not tests:
        return
    yield ""
    yield "guards of the run (Holm at 0.01 each)"
    for guard in dict.fromkeys(test["guard"] for test in tests):
        of_guard = [test for test in tests if test["guard"] == guard]
        smallest = min(test["p_adjusted"] for test in of_guard)
        rejecting = [test for test in of_guard if test["rejects"]]
        said = "REJECTS: " if rejecting else "clear, "
        what = "; ".join(
            f"{t['condition']}{', ' + t['action'] if t['action'] else ''}" for t in rejecting
        )
        tail = what or f"smallest adjusted p {chance(smallest)} of {len(of_guard)} tests"
        yield f"  {guard:<18} {said}{tail}"


def _dropped(record: Record, run: Record) -> Iterator[str]:
    yield ""
    total = sum(sum(reasons.values()) for reasons in run["missing"].values())
    drawn = run["drawn"] + run["earlier"]
    yield f"incomplete trajectories: {total} of {drawn}"
    for condition, reasons in sorted(run["missing"].items()):
        for reason, count in sorted(reasons.items()):
            yield f"  {condition:<20} {count} x {reason}"
    if not run["complete"]:
        yield (
            f"  the plan was not drawn to its end: {goes_on(run)} goes on where this one stopped"
        )


def _closing(record: Record) -> Iterator[str]:
    """Say what the gate has shown, and what it could have seen."""
    yield ", ".join(tally(record)) or "no verdicts"
    families = {f["name"]: f for f in record["plan"]["families"]}
    gating = [c for c in record["contrasts"] if families[c["family"]]["gating"]]
    others = [*record.get("outcomes", ()), *record.get("relations", ())]
    judged = gating + [
        e for e in others if families[e["family"]]["gating"] and e["verdict"] != "DESCRIPTIVE"
    ]
    if judged:
        # Each run has families of its own; registered ones that were not run can reject nothing.
        names = {(contrast.get("run"), contrast["family"]) for contrast in judged}
        runs = {run.get("number"): run for run in record["runs"]}
        against = {e.get("run") for e in record.get("confounded", ()) if e.get("opposite")}
        alphas = sum(
            bound_of(runs.get(number, {}), name, families[name]["alpha"]) for number, name in names
        )
        bound = min(1.0, alphas + OPPOSITE_ALPHA * len(against))
        shown = sum(c["verdict"] in ("EQUIVALENT", "IDENTICAL") for c in judged)
        word = "family" if len(names) == 1 else "families"
        claim = claim_of_equivalence(
            shown, len(judged), {families[name]["alpha"] for _, name in names}
        )
        yield (
            f"{len(names)} primary {word}; if nothing differs, a DISPARITY appears with chance at "
            f"most {bound:g}. {shown} of {len(judged)} shown equivalent. {claim}".rstrip()
        )
    seen = [
        c["smallest_detectable_gap"] for c in gating if c["smallest_detectable_gap"] is not None
    ]
    if seen:
        yield _visible(min(seen), max(seen))
    yield from _needed(record, [c for c in gating if c["verdict"] == "INCONCLUSIVE"])


def _needed(record: Record, contrasts: list[Record]) -> Iterator[str]:
    """Say what would have been needed where nothing was shown: to find, and apart to rule out."""
    known = [c for c in contrasts if c["pairs"] and c["floor"] is not None]
    if not known or any("replicates_to_find" not in c for c in known):
        return
    most = max(known, key=lambda c: _or_none(c["replicates_to_find"]))
    parts = [
        f"to find a gap of {most['gap_sought']:g} in one action "
        + _taken(record, most["replicates_to_find"], known, most)
    ]
    with_margin = [c for c in known if c["margin"]]
    widest = max(with_margin, key=lambda c: _or_none(c["replicates_to_rule_out"]), default=None)
    if widest is not None and widest["replicates_to_rule_out"] is not None:
        parts.append(
            f"to rule out gaps beyond ±{widest['margin']:g} "
            + _taken(record, widest["replicates_to_rule_out"], known, widest)
        )
    again = _AGAIN if any(_OPTION in part and _FRESH not in part for part in parts) else ""
    here = max(c["look"] for c in known)
    yield (
        f"What would be needed in every inconclusive contrast (here {here} replicates): "
        f"{'; '.join(parts)}. More vignettes do it too.{again}"
    )


def _or_none(replicates: float | None) -> float:
    return math.inf if replicates is None else replicates


def _taken(record: Record, needed: float | None, known: list[Record], most: Record) -> str:
    """Say how many replicates that takes, with the option that draws them where one can."""
    if needed is None:
        return f"no number of replicates is enough with {cases(most)}"
    run: Record = next((r for r in record["runs"] if r.get("number") == most.get("run")), {})
    options = more_draws(
        run or record["runs"][0],
        int(needed),
        post_hoc=any(c.get("post_hoc", False) for c in known),
    )
    such = f", {options}" if options else ""
    return f"takes {needed:.0f} replicates of {cases(most)}{such}"


def _visible(low: float, high: float) -> str:
    unseen = "a flip inside the floor is evidence of nothing"
    if low >= 0.995:
        return (
            "At its family's level this gate could have seen no gap at all, however large: it has "
            f"too few replicate pairs. Nothing here is a pass, and {unseen}."
        )
    span = f"{low:.2f}" if round(low, 2) == round(high, 2) else f"{low:.2f} to {high:.2f}"
    return (
        f"At its family's level this gate could have seen signed gaps of {span}, by contrast "
        f"(power .8); smaller ones would have passed unseen, and {unseen}."
    )


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
